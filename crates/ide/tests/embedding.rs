//! The example of `docs/embedding.md`, run; and hosts that are independent of each other.

#[path = "../examples/embed.rs"]
mod embed;

use embed::{Report, kernel, session, two_hosts};
use oriole_chip::Chip;
use oriole_ide::{AnalysisHost, Language, RegisterMarks, Settings, SettingsId};

#[test]
fn a_session_answers_or_is_cancelled() {
    let reports = session(12);
    assert_eq!(reports.len(), 24);
    // The last revision has no change after it that could cancel it.
    let last = |report: &&Report| match report {
        Report::Diagnostics(11, found) => *found == 0,
        Report::Code(11, found) => found.is_ok_and(|rows| rows > 0),
        _ => false,
    };
    assert_eq!(reports.iter().filter(last).count(), 2, "{reports:?}");
}

#[test]
fn the_program_runs() {
    embed::main();
}

/// Compiles one kernel in a host of its own, as a process of its own would.
fn alone(settings: &Settings, times: usize) -> Vec<u8> {
    let mut host = AnalysisHost::new();
    let id = host.add_settings(settings.clone());
    let file = host.open(Language::Ptx, &kernel("k", times), id);
    let bytes = host.analysis().cubin(file, settings.targets[0]).unwrap().unwrap();
    bytes.to_vec()
}

#[test]
fn two_hosts_in_one_process_do_not_know_of_each_other() {
    let together = two_hosts();
    assert_eq!(together.len(), 8);
    let mut quick = Settings { targets: vec![Chip::SM_90], ..Settings::default() };
    quick.options.level = 0;
    let mut tight = Settings { targets: vec![Chip::SM_90A], ..Settings::default() };
    tight.options.set("maxrregcount", "32").unwrap();
    for (name, settings) in [("quick", &quick), ("tight", &tight)] {
        for file in 0..4 {
            let bytes = alone(settings, (file + 1) * 10);
            assert!(together[&format!("{name} {file}")] == bytes, "{name} {file}");
        }
    }
}

#[test]
fn a_closed_file_is_forgotten_and_its_number_used_again() {
    let mut host = AnalysisHost::new();
    let first = host.open(Language::Ptx, &kernel("k", 1), SettingsId(0));
    assert_eq!(host.analysis().kernels(first).unwrap(), ["k"]);
    host.close(first);
    assert!(host.analysis().kernels(first).unwrap().is_empty());
    let second = host.open(Language::Ptx, &kernel("j", 1), SettingsId(0));
    assert_eq!(first, second);
    assert_eq!(host.analysis().kernels(second).unwrap(), ["j"]);
}

#[test]
fn nothing_is_kept_of_a_closed_file() {
    let mut host = AnalysisHost::new();
    // Results about units; queries of no unit are left out.
    let kept = |host: &mut AnalysisHost| -> Vec<(String, usize)> {
        let rows = host.memory().into_iter().map(|row| (row.name, row.count));
        rows.filter(|(name, count)| *count > 0 && name.contains("unit")).collect()
    };
    assert_eq!(kept(&mut host), []);
    let file = host.open(Language::Ptx, &kernel("k", 1), SettingsId(0));
    let analysis = host.analysis();
    analysis.tokens(file, None, &RegisterMarks::default()).unwrap();
    analysis.symbols(file).unwrap();
    drop(analysis);
    assert_ne!(kept(&mut host), []);
    host.close(file);
    assert_eq!(kept(&mut host), []);
}

#[test]
fn a_cancelled_snapshot_says_so() {
    let mut host = AnalysisHost::new();
    let file = host.open(Language::Ptx, &kernel("k", 1), SettingsId(0));
    let analysis = host.analysis();
    analysis.canceller().cancel();
    assert!(analysis.diagnostics(file).is_err());
    drop(analysis);
    assert!(host.analysis().diagnostics(file).is_ok());
}

/// Going back to a target or a level recomputes nothing.
#[test]
fn settings_of_a_file_change_what_they_must() {
    let mut host = AnalysisHost::counting();
    let file = host.open(Language::Ptx, &kernel("k", 1), SettingsId(0));
    let executed = |host: &mut AnalysisHost, chip: Chip| {
        let before: u64 = host.query_counts().iter().map(|row| row.count).sum();
        host.analysis().sass(file, "k", chip).unwrap().unwrap();
        let after: u64 = host.query_counts().iter().map(|row| row.count).sum();
        after - before
    };
    assert!(executed(&mut host, Chip::SM_90) > 0);
    assert!(executed(&mut host, Chip::SM_90A) > 0);
    assert_eq!(executed(&mut host, Chip::SM_90), 0);
    host.set_target(file, Some(Chip::SM_90A));
    assert_eq!(host.analysis().targets(file).unwrap(), [Chip::SM_90A]);
    assert_eq!(executed(&mut host, Chip::SM_90A), 0);
}
