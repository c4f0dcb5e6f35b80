//! The queries that an edit causes to run, and the causes, as the host reports them.

use std::fmt::Write as _;

use expect_test::expect;
use oriole_chip::Chip;
use oriole_ide::{AnalysisHost, Because, Change, Language, Query, Range, Reads, SettingsId, record_reads};
use tracing_subscriber::layer::SubscriberExt;

const TEXT: &str = "\
.version 9.0
.target sm_90
.address_size 64

.visible .entry first(.param .u64 out)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	add.u32 %r2, %r1, 5;
	st.global.u32 [%rd1], %r2;
	ret;
}

.visible .entry second(.param .u64 out)
{
	ret;
}
";

/// The queries that an edit caused to run, a line each.
fn told(host: &AnalysisHost) -> String {
    let words = |query: &Query| {
        let parts = [query.name, &query.unit, &query.chip];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let mut text = String::new();
    let edit = host.last_edit().expect("edits are recorded");
    assert_eq!(edit.left_out, 0);
    for ran in edit.queries {
        let because = match &ran.because {
            Some(Because::Query(query)) => words(query),
            Some(Because::Field(name)) => format!("the field {name}"),
            None => "nothing that it read".to_owned(),
        };
        let _ = writeln!(text, "{} <- {because}", words(&ran.what));
    }
    text
}

#[test]
fn each_query_that_runs_again_says_what_made_it() {
    let subscriber = tracing_subscriber::registry().with(Reads::layer());
    tracing::subscriber::set_global_default(subscriber).expect("no other test sets one");
    assert!(record_reads(true), "the subscriber has the layer");
    let mut host = AnalysisHost::counting();
    host.record_edits(true);
    let file = host.open(Language::Ptx, TEXT, SettingsId(0));
    let show = |host: &AnalysisHost| {
        for kernel in ["first", "second"] {
            host.analysis().sass(file, kernel, Chip::SM_90).unwrap().unwrap();
        }
    };
    show(&host);
    // Everything is new, and each query has a new input as its cause.
    let first = host.last_edit().unwrap();
    assert!(first.queries.iter().any(|ran| ran.what.name == "bridged" && ran.what.unit == "entry second"));

    // An immediate of an instruction: all stages of one kernel, each because of the one before.
    let at = TEXT.find("5;").unwrap() as u32;
    let change =
        |text: &str, from: u32, to: u32| Change { range: Some(Range::new(from, to)), text: text.into() };
    host.change(file, &[change("7", at, at + 1)]);
    show(&host);
    expect![[r#"
        function_tree entry first <- the field UnitInput.text
        declared entry first <- function_tree entry first
        resolved entry first <- function_tree entry first
        body entry first <- resolved entry first
        kernel_image entry first sm_90 <- body entry first
        encoded entry first sm_90 <- body entry first
        bridged entry first sm_90 <- body entry first
        early entry first sm_90 <- bridged entry first sm_90
        ssa_early entry first sm_90 <- early entry first sm_90
        ssa_mid entry first sm_90 <- ssa_early entry first sm_90
        ssa_late entry first sm_90 <- ssa_mid entry first sm_90
        legal entry first sm_90 <- ssa_late entry first sm_90
        allocated entry first sm_90 <- legal entry first sm_90
        selected entry first sm_90 <- allocated entry first sm_90
        finished entry first sm_90 <- selected entry first sm_90
        facts entry first sm_90 <- allocated entry first sm_90
        source_map entry first <- resolved entry first
    "#]]
    .assert_eq(&told(&host));

    // White space: the tree changes, the meaning does not.
    host.change(file, &[change(" 7", at, at + 1)]);
    show(&host);
    expect![[r#"
        function_tree entry first <- the field UnitInput.text
        declared entry first <- function_tree entry first
        resolved entry first <- function_tree entry first
        body entry first <- resolved entry first
        source_map entry first <- resolved entry first
    "#]]
    .assert_eq(&told(&host));

    // Edits are not recorded by default.
    host.record_edits(false);
    assert_eq!(host.last_edit(), None);
}
