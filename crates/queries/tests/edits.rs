//! The queries that an edit runs again: the exact executions, against the table in `docs/edits.md`.
//!
//! Each test starts from a session in which everything is compiled for one configuration, makes one edit, asks again,
//! and compares the log of executed queries with the rows of the table that bear the edit's name. A row that says
//! nothing about a query says that it does not run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::support::{DIVISION, KERNELS, Session, cold, kernel, module};
use expect_test::expect;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::Options;
use oriole_queries::functions::STAGES;

/// The part of the page between the markers, as rows of cells.
fn table() -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/edits.md");
    let page = std::fs::read_to_string(path).expect("the page of edits is there");
    let (_, rest) = page.split_once("<!-- edits -->").expect("the page has the table of edits");
    let (table, _) = rest.split_once("<!-- end of edits -->").expect("the table of edits ends");
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// The queries that a cell names: `` `a`, `b` to `c` ``.
fn queries(cell: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut range = false;
    for (at, part) in cell.split('`').enumerate() {
        if at % 2 == 0 {
            range = part.trim() == "to";
        } else if range {
            let place =
                |name: &str| STAGES.iter().position(|query| *query == name).expect("a range of groups");
            let first = found.last().map_or(0, |last| place(last) + 1);
            found.extend(STAGES[first..=place(part)].iter().map(|query| query.to_string()));
        } else {
            found.push(part.to_owned());
        }
    }
    found
}

/// The units that a cell names: one, several, `each kernel`, or `-` for none.
fn units(cell: &str) -> Vec<String> {
    cell.split(", ")
        .flat_map(|part| match part {
            "-" => vec![String::new()],
            "each kernel" => (0..KERNELS).map(|number| format!("entry k{number}")).collect(),
            "each kernel but k7" => {
                (0..KERNELS).filter(|&number| number != 7).map(|number| format!("entry k{number}")).collect()
            }
            "each function" => vec!["function once".to_owned(), "function twice".to_owned()],
            "each stage of passes" => STAGES[..6].iter().map(|stage| format!("stage {stage}")).collect(),
            part => vec![part.to_owned()],
        })
        .collect()
}

/// The row of the table for an edit: query and unit, with how often.
fn expected(edit: &str) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    let mut current = String::new();
    let mut known = false;
    for row in table() {
        if !row[0].is_empty() {
            current.clone_from(&row[0]);
        }
        if current != edit {
            continue;
        }
        known = true;
        assert!(row.len() == 4 && !row[3].is_empty(), "a row without a reason: {row:?}");
        if row[1] == "-" {
            continue;
        }
        for query in queries(&row[1]) {
            for unit in units(&row[2]) {
                *counts.entry((query.clone(), unit)).or_default() += 1;
            }
        }
    }
    assert!(known, "the table has no row `{edit}`");
    counts
}

/// The queries that are keyed by a chip.
const CHIP: [&str; 4] = ["forms", "latency_model", "selection_tree", "target"];

/// Compares the executions since the last call with the table; gives what differs. All are for one configuration.
fn differences(edit: &str, session: &Session, config: &str) -> String {
    let mut actual = BTreeMap::new();
    for (execution, count) in session.executed() {
        let keyed = STAGES.contains(&execution.query)
            || execution.query.ends_with("_options")
            || [
                "chip_info",
                "chosen",
                "known_choices",
                "search_trials",
                "chip_key",
                "register_limit",
                "register_budget",
                "routine",
                "kernel_image",
                "kernel_lines",
                "code_places",
                "debug_sections",
                "cubin",
            ]
            .contains(&execution.query)
            || CHIP.contains(&execution.query);
        assert_eq!(execution.config, if keyed { config } else { "" }, "{execution}");
        actual.insert((execution.query.to_owned(), execution.unit), count);
    }
    let expected = expected(edit);
    let show = |map: &BTreeMap<(String, String), usize>, other: &BTreeMap<(String, String), usize>| {
        let lines = map.iter().filter(|&(key, count)| other.get(key) != Some(count));
        lines.map(|((query, unit), count)| format!("  {query} {unit} x{count}\n")).collect::<String>()
    };
    if actual == expected {
        return String::new();
    }
    let (ran, missing) = (show(&actual, &expected), show(&expected, &actual));
    format!("{edit}\nran, not in the table:\n{ran}in the table, did not run:\n{missing}")
}

fn replace_kernel(text: &str, number: usize, new: &str) -> String {
    let old = kernel(number);
    assert!(text.contains(&old));
    text.replacen(&old, new, 1)
}

fn in_kernel(text: &str, number: usize, from: &str, to: &str) -> String {
    let old = kernel(number);
    assert!(old.contains(from));
    replace_kernel(text, number, &old.replacen(from, to, 1))
}

/// An edit of the table: its name there, and what it makes of the module's text.
type Edit = (&'static str, fn(&str) -> String);

const EDITS: &[Edit] = &[
    ("a comment in k7, the first edit of it", |text| in_kernel(text, 7, "\tmov", "\t// first\n\tmov")),
    ("an instruction of k7", |text| in_kernel(text, 7, "add.u32 %r2, %r1, 7;", "add.u32 %r2, %r1, 70;")),
    ("another division in k5", |text| {
        in_kernel(text, 5, "\tcvt.u32.u64", "\tdiv.u64 %rd3, %rd3, %rd2;\n\tcvt.u32.u64")
    }),
    ("a division in k7, the second of the module", |text| {
        in_kernel(text, 7, "\tst.global", &format!("{DIVISION}\tst.global"))
    }),
    ("a comment in k7", |text| in_kernel(text, 7, "\tmov", "\t// why\n\tmov")),
    ("three lines above all", |text| format!("// a\n// b\n\n{text}")),
    ("a register of k7 renamed", |text| {
        let new = kernel(7).replace("%r2", "%sum").replace(".reg .b32 %r<6>;", ".reg .b32 %r<6>, %sum;");
        replace_kernel(text, 7, &new)
    }),
    ("k7 renamed", |text| replace_kernel(text, 7, &kernel(7).replace("k7", "seven"))),
    ("k7 moved to the end", |text| replace_kernel(text, 7, "") + &kernel(7)),
    ("k7 duplicated", |text| replace_kernel(text, 7, &(kernel(7) + &kernel(7)))),
    ("k7 removed", |text| replace_kernel(text, 7, "")),
    ("the body of a callee", |text| text.replace("%r1, 1000;", "%r1, 3000;")),
    ("the signature of a callee", |text| {
        text.replace("once(.param .b32 a)", "once(.param .b32 a, .param .b32 b)")
            .replace("call.uni (q), once, (p);", "call.uni (q), once, (p, p);")
    }),
    ("a call made recursive", |text| text.replace("call.uni (q), once, (p)", "call.uni (q), twice, (p)")),
    ("a `.shared` variable added", |text| {
        text.replace(".shared .align 4 .b8 tile", ".shared .align 4 .b8 more[16];\n.shared .align 4 .b8 tile")
    }),
    ("the size of a `.shared` variable", |text| text.replace("tile[", "tile[1")),
    ("a `.loc` in k7", |text| in_kernel(text, 7, "\tmov", "\t.loc 1 5 0\n\tmov")),
    ("the initial value of a global", |text| text.replace("{1, 2, 3, 4}", "{1, 2, 3, 5}")),
    ("another `.target`", |text| text.replace(".target sm_90\n", ".target sm_80\n")),
    ("another `.version`", |text| text.replace(".version 8.0\n", ".version 7.8\n")),
    ("the order in a table of functions", |text| text.replace("{once, twice}", "{twice, once}")),
    ("a function taken from its table", |text| text.replace("{once, twice}", "{twice, twice}")),
];

/// The module with a place in the source of one kernel, and so with line tables.
fn with_lines() -> String {
    let named = module().replacen(".address_size 64\n", ".address_size 64\n.file 1 \"a.cu\"\n", 1);
    in_kernel(&named, 7, "\tmov", "\t.loc 1 5 0\n\tmov")
}

/// Edits of that module: no stage looks at a line.
const EDITS_OF_LINES: &[Edit] = &[
    ("with line tables, a line above k7", |text| text.replace("\t// .globl\tk7", "\n\t// .globl\tk7")),
    ("with line tables, a line above all", |text| format!("\n{text}")),
    ("with line tables, another line in a `.loc`", |text| text.replace(".loc 1 5 0", ".loc 1 6 0")),
    ("with line tables, another file", |text| text.replace("a.cu", "b.cu")),
    ("with line tables, an instruction of k7", |text| {
        text.replace("add.u32 %r2, %r1, 7;", "add.u32 %r2, %r1, 70;")
    }),
];

/// Edits while the output is relocatable.
const RELOCATABLE: &[Edit] = &[
    ("the body of a callee, relocatable", |text| text.replace("%r1, 1000;", "%r1, 3000;")),
    ("the initial value of a global, relocatable", |text| text.replace("{1, 2, 3, 4}", "{1, 2, 3, 5}")),
];

/// Edits of the debug build, at level 0.
const FOR_DEBUGGERS: &[Edit] = &[
    ("the body of a callee, for debuggers", |text| text.replace("%r1, 1000;", "%r1, 3000;")),
    ("a variable in `.debug_info`, for debuggers", |text| text.replace(".b64 table", ".b64 table+4")),
];

/// Edits at level 4, where the choices of each function are searched for. No stage may have seen them before, or its result is in the
/// history.
const SEARCHING: &[Edit] = &[
    ("an instruction of k7, at level 4", |text| {
        text.replace("add.u32 %r2, %r1, 7;", "add.u32 %r2, %r1, 71;")
    }),
    ("the body of a callee, at level 4", |text| text.replace("%r1, 1000;", "%r1, 3001;")),
];

/// The module with a kernel that launches another one: it reads the descriptor of that from its slot.
fn with_a_launch() -> String {
    in_kernel(
        &module(),
        8,
        "\tmov",
        "\t.reg .b64 %rk;\n\tmov.u64 %rk, k6;\n\tst.global.u64 [%rk], %rk;\n\tmov",
    )
}

/// Edits of that module.
const LAUNCHING: &[Edit] = &[
    ("with a launch, an instruction of k7", |text| {
        text.replace("add.u32 %r2, %r1, 7;", "add.u32 %r2, %r1, 70;")
    }),
    ("with a launch, another kernel launched", |text| text.replace("%rk, k6;", "%rk, k0;")),
];

/// The module whose `k8` asks whether an address is one of a constant.
fn with_a_question() -> String {
    let asks = "\t.reg .pred %pk;\n\tisspacep.const %pk, %rd1;\n\t@%pk ret;\n\tmov";
    in_kernel(&module(), 8, "\tmov", asks).replacen(".visible", ".const .align 4 .b8 fixed[8];\n.visible", 1)
}

/// Edits of that module.
const ASKING: &[Edit] =
    &[("with a question, a constant of another size", |text| text.replace("fixed[8]", "fixed[12]"))];

/// A change of options of the table.
type Knob = (&'static str, fn(&mut Options));

const KNOBS: &[Knob] = &[
    ("an optimization knob", |options| options.set("no-licm", "true").unwrap()),
    ("the switch of the routines", |options| options.set("no-routines", "true").unwrap()),
    ("an optimization of one stage", |options| options.set("no-strength", "true").unwrap()),
    ("a knob of scheduling before allocation", |options| options.switch_on("no-remat").unwrap()),
    ("a selection knob", |options| options.switch_on("no-select-alternatives").unwrap()),
    ("a knob of control words", |options| options.set("stall-cap", "14").unwrap()),
    ("the register limit", |options| options.set("maxrregcount", "200").unwrap()),
    ("the level", |options| options.level = 1),
    ("the level, to 2", |options| options.level = 2),
];

/// The changes of options after which the table says what setting them back runs.
const SET_BACK: &[&str] = &["an optimization knob", "a selection knob", "the level"];

/// All edits in one session; after each the module is put back as it was, which is an edit, too.
#[test]
fn edits_run_what_the_table_says() {
    let base = module();
    let mut session = Session::new(&base);
    let first = session.compile();
    assert_eq!(first.diagnostics.first(), None, "the module compiles");
    session.executed();
    let mut differing = String::new();
    for (name, change) in EDITS {
        let text = change(&base);
        assert_ne!(text, base, "the edit `{name}` changes something");
        session.edit(&text);
        session.compile();
        differing += &differences(name, &session, "sm_90");
        session.edit(&base);
        assert!(session.compile() == first, "back from `{name}`");
        if *name == "k7 removed" {
            differing += &differences("k7 put back", &session, "sm_90");
        }
        session.executed();
    }
    for (name, change) in KNOBS {
        let mut options = Options::default();
        change(&mut options);
        session.config.update(&mut session.db, &options);
        session.compile();
        differing += &differences(name, &session, "sm_90");
        session.config.update(&mut session.db, &Options::default());
        assert!(session.compile() == first, "back from `{name}`");
        if SET_BACK.contains(name) {
            differing += &differences(&format!("{name}, set back"), &session, "sm_90");
        }
        session.executed();
    }
    differing += &edits_with(&mut session, &with_a_launch(), &Options::default(), LAUNCHING);
    differing += &edits_with(&mut session, &with_a_question(), &Options::default(), ASKING);
    session.edit(&base);
    session.compile();
    session.executed();
    let mut options = Options::default();
    options.linking = oriole_options::Linking::Relocatable;
    differing += &edits_with(&mut session, &base, &options, RELOCATABLE);
    let mut options = Options::default();
    options.level = 4;
    differing += &edits_with(&mut session, &base, &options, SEARCHING);
    let mut options = Options::default();
    options.level = 0;
    let section = ".section .debug_abbrev\n{\n.b8 0\n}\n.section .debug_info\n{\n.b64 table\n}\n";
    let debug = base.replace(".target sm_90\n", ".target sm_90, debug\n") + section;
    differing += &edits_with(&mut session, &debug, &options, FOR_DEBUGGERS);
    session.edit(&base);
    session.compile();
    session.executed();
    oriole_queries::compile(&session.db, session.file, session.other, 1);
    differing += &differences("a second target", &session, "sm_90a");
    session.compile();
    differing += &differences("back to the first target", &session, "sm_90");
    assert!(differing.is_empty(), "{differing}");
}

#[test]
fn no_code_is_compiled_for_the_sake_of_lines() {
    let base = with_lines();
    let mut session = Session::new(&base);
    // The first edit of a kernel verifies everything; what is measured here is what comes after it.
    session.compile();
    session.edit(&base.replace(".loc 1 5 0", ".loc 1 50 0"));
    session.compile();
    session.edit(&base);
    let first = session.compile();
    assert_eq!(first.diagnostics.first(), None, "the module compiles");
    session.executed();
    let mut differing = String::new();
    for (name, change) in EDITS_OF_LINES {
        let text = change(&base);
        assert_ne!(text, base, "the edit `{name}` changes something");
        session.edit(&text);
        let compiled = session.compile();
        assert!(compiled.cubin.is_some() && compiled != first, "the edit `{name}` shows");
        differing += &differences(name, &session, "sm_90");
        assert!(compiled == cold(&text), "`{name}` from scratch");
        session.edit(&base);
        assert!(session.compile() == first, "back from `{name}`");
        session.executed();
    }
    let mut options = Options::default();
    options.debug.suppressed = true;
    session.config.update(&mut session.db, &options);
    session.compile();
    differing += &differences("with line tables, no debug information", &session, "sm_90");
    assert!(differing.is_empty(), "{differing}");
}

/// The differences from the table for edits of a module that is compiled with other options.
fn edits_with(session: &mut Session, base: &str, options: &Options, edits: &[Edit]) -> String {
    session.config.update(&mut session.db, options);
    session.edit(base);
    let first = session.compile();
    assert_eq!(first.diagnostics.first(), None, "the module compiles with these options");
    session.executed();
    let mut differing = String::new();
    for (name, change) in edits {
        session.edit(&change(base));
        assert!(session.compile() != first, "the edit `{name}` changes the file");
        differing += &differences(name, session, "sm_90");
        session.edit(base);
        assert!(session.compile() == first, "back from `{name}`");
        session.executed();
    }
    session.config.update(&mut session.db, &Options::default());
    session.compile();
    session.executed();
    differing
}

/// More kernels than results of stages are kept for. A knob runs the stages before it only for kernels whose results were dropped, and an
/// edit runs nothing for any other kernel.
#[test]
fn six_hundred_kernels() {
    let kernels: String = (0..600)
        .map(|at| {
            format!(
                ".visible .entry k{at}(.param .u64 p)\n{{\n\t.reg .b64 %rd1;\n\tld.param.u64 %rd1, [p];\n\tst.global.u32 [%rd1], {at};\n\tret;\n}}\n"
            )
        })
        .collect();
    let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n{kernels}");
    let mut session = Session::new(&text);
    session.compile();
    let counts = |session: &Session| -> Vec<String> {
        let executed = session.executed();
        let count = |query: &&str| {
            executed.iter().filter(|row| row.0.query == *query).map(|row| row.1).sum::<usize>()
        };
        STAGES
            .iter()
            .map(|query| format!("{query} {}", count(query)))
            .filter(|row| !row.ends_with(" 0"))
            .collect()
    };
    session.executed();
    session.edit(&text.replace("[%rd1], 300;", "[%rd1], 301;"));
    session.compile();
    let after_an_edit = counts(&session);
    let mut options = Options::default();
    options.set("stall-cap", "14").expect("a knob");
    session.config.update(&mut session.db, &options);
    session.compile();
    let after_a_knob = counts(&session);
    session.config.update(&mut session.db, &Options::default());
    session.compile();
    let set_back = counts(&session);
    expect![[r#"
        ["bridged 1", "early 1", "ssa_early 1", "ssa_mid 1", "ssa_late 1", "legal 1", "allocated 1", "selected 1", "finished 1", "encoded 1"]
        ["finished 600"]
        []
    "#]].assert_eq(&format!("{after_an_edit:?}\n{after_a_knob:?}\n{set_back:?}\n"));
}

/// Types something into `k7` and deletes it: nothing of the back end runs for another kernel.
#[test]
fn half_typed_text() {
    let mut session = Session::new(&module());
    session.compile();
    session.executed();
    for typed in ["{", "\"", "/*"] {
        for text in [in_kernel(&module(), 7, "\tmov", &format!("\t{typed}mov")), module()] {
            session.edit(&text);
            let compiled = session.compile();
            assert_eq!(compiled.cubin.is_none(), text != module(), "{typed}: {:?}", compiled.diagnostics);
            for execution in session.executed().keys() {
                let back_end = STAGES.contains(&execution.query) || execution.query == "kernel_image";
                assert!(!back_end || execution.unit == "entry k7", "{typed}: {execution}");
            }
        }
    }
}

/// The facts about a chip are computed once, whatever configurations for it there are and whatever changes in them.
#[test]
fn a_chip_is_made_once() {
    let mut session = Session::new(&module());
    session.compile();
    let made = |session: &Session| {
        let executed = session.executed();
        CHIP.map(|query| executed.iter().filter(|row| row.0.query == query).map(|row| row.1).sum::<usize>())
    };
    assert_eq!(made(&session), [1; 4]);
    let mut options = Options::default();
    let second = Config::create(&session.db, oriole_chip::Chip::SM_90, &options);
    oriole_queries::compile(&session.db, session.file, second, 1);
    assert_eq!(made(&session), [0; 4], "another configuration for the chip");
    options.set("no-licm", "true").expect("a knob");
    second.update(&mut session.db, &options);
    session.edit(&in_kernel(&module(), 7, "\tmov", "\tmov.u32 %r0, 1;\n\tmov"));
    oriole_queries::compile(&session.db, session.file, second, 1);
    assert_eq!(made(&session), [0; 4], "another text and another knob");
}

/// A family and its base chip are two chips: what an edit means is asked once, each runs its own stages of what was edited, and
/// an option of one runs nothing of the other.
#[test]
fn a_family_and_its_base_chip_run_their_own_stages() {
    let text = module().replace(".version 8.0", ".version 9.0").replace("sm_90", "sm_100f");
    let mut db = Database::with_log();
    let file = SourceFile::open(&db, &text);
    let configs = ["sm_100", "sm_100f"]
        .map(|name| Config::create(&db, name.parse().expect("a chip"), &Options::default()));
    let compiled = |db: &Database, config: Config| {
        assert!(oriole_queries::compile(db, file, config, 1).cubin.is_some());
        db.log().expect("the database logs").take()
    };
    for config in configs {
        assert!(!compiled(&db, config).is_empty());
    }
    for number in [70, 71] {
        let edited = in_kernel(&text, 7, "add.u32 %r2, %r1, 7;", &format!("add.u32 %r2, %r1, {number};"));
        file.update(&mut db, &edited);
        for (config, asks) in configs.into_iter().zip([true, false]) {
            let own = config.chip(&db).to_string();
            let executed = compiled(&db, config);
            assert_eq!(executed.iter().any(|row| row.query == "resolved"), asks, "{own}");
            for row in &executed {
                let fits = row.config == own || asks && row.config.is_empty();
                assert!(fits && ["", "entry k7"].contains(&row.unit.as_str()), "{own} {number}: {row}");
            }
            let once = |query: &str| executed.iter().filter(|row| row.query == query).count() == 1;
            assert!(STAGES.iter().all(|query| once(query)), "{own} {number}");
        }
    }
    let mut options = Options::default();
    options.set("no-licm", "true").expect("a knob");
    configs[1].update(&mut db, &options);
    assert_eq!(compiled(&db, configs[0]), []);
    let executed = compiled(&db, configs[1]);
    assert!(!executed.is_empty() && executed.iter().all(|row| row.config == "sm_100f"), "{executed:?}");
    assert!(executed.iter().all(|row| row.query != "resolved" && row.query != "bridged"), "{executed:?}");
}

/// The log misses no execution and invents none: it agrees with salsa's own events.
#[test]
fn the_log_is_complete() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static EVENTS: AtomicUsize = AtomicUsize::new(0);
    let observer = |event: salsa::Event| {
        if matches!(event.kind, salsa::EventKind::WillExecute { .. }) {
            EVENTS.fetch_add(1, Ordering::Relaxed);
        }
    };
    let db = Database::with_observer(Box::new(observer));
    let file = SourceFile::open(&db, &module());
    let config = Config::create(&db, oriole_chip::Chip::SM_90, &Options::default());
    oriole_queries::compile(&db, file, config, 1);
    assert_eq!(db.log().unwrap().take().len(), EVENTS.load(Ordering::Relaxed));
}

/// The queries that the last step validated without running them, by name.
#[derive(Clone, Default)]
struct Validated(Arc<Mutex<BTreeMap<String, usize>>>);

impl Validated {
    fn database(&self) -> Database {
        let kept = self.0.clone();
        Database::with_observer(Box::new(move |event| {
            if let salsa::EventKind::DidValidateMemoizedValue { database_key } = event.kind {
                let key = format!("{database_key:?}");
                let name = key.split('(').next().unwrap_or_default().to_owned();
                *kept.lock().unwrap().entry(name).or_default() += 1;
            }
        }))
    }

    fn take(&self) -> BTreeMap<String, usize> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Once a kernel has been edited, its edits do not concern the queries that the results of the other kernels depend on: those are not
/// even verified.
#[test]
fn stages_of_other_kernels_are_not_verified() {
    const BEHIND: [&str; 5] = ["bridged", "early", "ssa_early", "ssa_mid", "ssa_late"];
    let validated = Validated::default();
    let mut db = validated.database();
    let file = SourceFile::open(&db, &module());
    let config = Config::create(&db, oriole_chip::Chip::SM_90, &Options::default());
    oriole_queries::compile(&db, file, config, 1);
    validated.take();
    let mut edit = |to: &str| {
        file.update(&mut db, &in_kernel(&module(), 7, "add.u32 %r2, %r1, 7;", to));
        assert!(oriole_queries::compile(&db, file, config, 1).cubin.is_some());
        let validated = validated.take();
        assert!(validated.contains_key("kernel_image"), "{validated:?}");
        BEHIND.map(|query| validated.get(query).copied().unwrap_or_default())
    };
    assert!(edit("add.u32 %r2, %r1, 70;").iter().all(|&count| count >= KERNELS - 1));
    assert_eq!(edit("add.u32 %r2, %r1, 71;"), [0; 5]);
    assert_eq!(edit("add.u32 %r2, %r1, 72;"), [0; 5]);
}

/// Inputs are never freed, so those of units that went serve units that come.
#[test]
fn inputs_of_units_are_used_again() {
    let mut session = Session::new(&module());
    let mut inputs = || {
        let usage = <dyn salsa::Database>::memory_usage(&mut session.db);
        let count =
            usage.structs.iter().find(|info| info.debug_name() == "UnitInput").map(|info| info.count());
        let file = session.file;
        for text in [&replace_kernel(&module(), 7, &kernel(7).replace("k7", "seven")), "", &module()] {
            file.update(&mut session.db, text);
        }
        count.expect("units have inputs")
    };
    let first = inputs();
    assert_eq!([inputs(), inputs()], [first; 2]);
}

/// A chain of calls of any length is compiled in a stack of the usual size; only its last functions are inlined.
#[test]
fn long_chains_of_calls_are_inlined_in_part() {
    const LENGTH: usize = 3_000;
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    for number in (0..LENGTH).rev() {
        let call = match number + 1 {
            LENGTH => String::new(),
            next => format!("st.param.b32 [x], %r2; call (y), f{next}, (x); ld.param.b32 %r2, [y];"),
        };
        text.push_str(&format!(
            ".func (.param .b32 r) f{number}(.param .b32 a) {{ .reg .b32 %r<3>; .param .b32 x; .param .b32 y;\n\
             ld.param.b32 %r1, [a]; add.u32 %r2, %r1, {number}; {call} st.param.b32 [r], %r2; ret; }}\n"
        ));
    }
    text.push_str(
        ".visible .entry k(.param .u64 out) { .reg .b32 %r1; .reg .b64 %d; .param .b32 x; .param .b32 y;\n\
         ld.param.u64 %d, [out]; st.param.b32 [x], 1; call (y), f0, (x); ld.param.b32 %r1, [y];\n\
         st.global.u32 [%d], %r1; ret; }\n",
    );
    let db = Database::default();
    let file = SourceFile::open(&db, &text);
    let config = Config::create(&db, oriole_chip::Chip::SM_90, &Options::default());
    let index = oriole_queries::files::index(&db, file);
    let inlined = |name: &str| {
        let unit = index.definition(name).expect("a function");
        oriole_queries::inlined::inlined(&db, unit).is_some()
    };
    assert!(!inlined("k") && !inlined("f0") && inlined(&format!("f{}", LENGTH - 2)));
    assert!(oriole_queries::compile(&db, file, config, 1).cubin.is_some());
}
