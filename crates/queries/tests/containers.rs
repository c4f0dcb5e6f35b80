//! Variables and limits in a container, in figures that a loader and other tools rely on.

use crate::support::{cold, cold_for};
use oriole_chip::Chip;
use oriole_cubin::attribute::code::{MAXREG_COUNT, MBARRIER_INSTR_OFFSETS, MIN_STACK_SIZE, NUM_MBARRIERS};
use oriole_cubin::{Cubin, Payload};
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::{DebugOptions, Options};
use oriole_queries::compile;

fn compiled(body: &str) -> Cubin {
    let compiled = cold(&format!(".version 8.0\n.target sm_90\n.address_size 64\n{body}"));
    let cubin = compiled.cubin.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    oriole_cubin::read(&cubin).expect("what is written can be read")
}

/// A kernel that stores what is loaded from a shared variable.
fn reads(name: &str, variable: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 p) {{ .reg .b64 %rd<3>; .reg .b32 %r<3>; ld.param.u64 %rd1, [p];\n\
         ld.shared.u32 %r1, [{variable}]; st.global.u32 [%rd1], %r1; ret; }}\n"
    )
}

/// Bytes and alignment of a kernel's shared memory, without the system's part.
fn shared(cubin: &Cubin, kernel: &str) -> Option<(u64, u64)> {
    let name = format!(".nv.shared.{kernel}");
    cubin.sections.iter().find(|it| it.name == name).map(|it| (it.size - 0x400, it.alignment))
}

/// A dynamic array of the module is there for all its kernels, whether they name it or not: what is static is rounded
/// up to its alignment. Figures of the reference.
#[test]
fn a_dynamic_array_shows_in_every_kernel() {
    let none = ".visible .entry none(.param .u64 p) { ret; }\n";
    let dynamic = ".extern .shared .align 16 .b8 dynamic[];\n";
    let fixed = ".shared .align 8 .b8 fixed[24];\n";
    let cubin = compiled(&format!("{dynamic}{fixed}{none}{}", reads("a", "fixed")));
    assert_eq!((shared(&cubin, "none"), shared(&cubin, "a")), (Some((0, 16)), Some((32, 16))));
    let cubin = compiled(&format!("{dynamic}{fixed}{none}{}", reads("a", "dynamic")));
    assert_eq!((shared(&cubin, "none"), shared(&cubin, "a")), (Some((0, 16)), Some((0, 16))));
    let cubin = compiled(&format!("{fixed}{none}{}", reads("a", "fixed")));
    assert_eq!((shared(&cubin, "none"), shared(&cubin, "a")), (None, Some((24, 8))));
}

/// Variables whose size is a multiple of 16 bytes come first, at such places, so that words of them are loaded four at a time;
/// nothing is lost between them. Variables that a linker places are aligned as they are declared.
#[test]
fn shared_variables_of_whole_units_come_first() {
    let module = ".shared .align 4 .b8 few[12];\n.shared .align 4 .b8 many[512];\n\
        .visible .entry k(.param .u64 p) { .reg .b64 %rd<3>; .reg .b32 %r<12>; ld.param.u64 %rd1, [p];\n\
        mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 4; mov.u32 %r2, many; add.u32 %r2, %r2, %r1;\n\
        ld.shared.u32 %r3, [%r2]; ld.shared.u32 %r4, [%r2+4]; ld.shared.u32 %r5, [%r2+8];\n\
        ld.shared.u32 %r6, [%r2+12]; ld.shared.u32 %r7, [few+4]; add.u32 %r3, %r3, %r4;\n\
        add.u32 %r3, %r3, %r5; add.u32 %r3, %r3, %r6; add.u32 %r3, %r3, %r7;\n\
        st.global.u32 [%rd1], %r3; ret; }\n";
    let cubin = compiled(module);
    assert_eq!(shared(&cubin, "k"), Some((524, 4)));
    // `few` is placed after `many`.
    let offset = |first: &str, second: &str| {
        let text = module.replace(first, "#").replace(second, first).replace('#', second);
        shared(&compiled(&text), "k")
    };
    assert_eq!(offset("few[12]", "many[512]"), Some((524, 4)));
}

/// Globals are in falling order of alignment, those of one alignment in order of declaration.
#[test]
fn globals_leave_no_gaps() {
    let cubin = compiled(
        ".visible .global .align 1 .b8 a[3] = {1, 2, 3};\n.visible .global .align 8 .b8 b[12] = {1};\n\
         .visible .global .align 1 .b8 c[5] = {1};\n.visible .global .align 4 .b8 d[6] = {1};\n",
    );
    let at = |name: &str| cubin.symbols.iter().find(|it| it.name == name).map(|it| it.value);
    assert_eq!(["b", "d", "a", "c"].map(at), [0, 12, 18, 21].map(Some));
}

/// The registers that a bound on threads leaves: each quarter of an SM has its share of the registers, so that warps
/// count in fours. Figures of the reference.
#[test]
fn bounds_on_threads_limit_registers() {
    let limit = |chip: &str, threads: u32, blocks: u32| {
        let text = format!(
            ".version 8.7\n.target {chip}\n.address_size 64\n\
             .visible .entry k(.param .u64 p) .maxntid {threads}, 1, 1 .minnctapersm {blocks} {{ ret; }}\n"
        );
        let cubin = oriole_cubin::read(&cold_for(chip.parse().unwrap(), &text).cubin.expect("a cubin"))
            .expect("what is written can be read");
        cubin.kernels[0].info.iter().find(|it| it.code == MAXREG_COUNT).map(|it| it.payload.clone())
    };
    let rows = [(320, 1), (320, 2), (33, 16), (96, 5), (288, 2), (1024, 1), (1024, 2), (544, 1), (544, 2)];
    let expected = [168, 96, 64, 128, 96, 64, 32, 96, 56];
    assert_eq!(
        rows.map(|(threads, blocks)| limit("sm_90", threads, blocks)),
        expected.map(|registers| Some(Payload::Half(registers)))
    );
    // A bound that no SM can hold has no effect: first that of blocks, then that of threads too.
    let rows = [
        ("sm_75", 1024, 2, 0x40),
        ("sm_75", 64, 17, 0xff),
        ("sm_75", 1025, 1, 0xff),
        ("sm_89", 1024, 2, 0x40),
        ("sm_89", 97, 12, 0x28),
        ("sm_89", 97, 13, 0xff),
        ("sm_89", 33, 25, 0xff),
        ("sm_90", 1024, 3, 0x40),
        ("sm_90", 32, 33, 0xff),
        ("sm_120", 512, 4, 0x80),
    ];
    for (chip, threads, blocks, registers) in rows {
        let found = limit(chip, threads, blocks);
        assert_eq!(found, Some(Payload::Half(registers)), "{chip} {threads} {blocks}");
    }
}

/// An instruction reads an address by a constant operand whose offset has sixteen bits.
#[test]
fn addresses_behind_the_reach_of_constant_operands_are_refused() {
    let variables = |count: usize| (0..count).map(|at| format!(".global .b32 g{at};\n")).collect::<String>();
    let reads = |name: &str| {
        format!(
            ".visible .entry k(.param .u64 p) {{ .reg .b64 %rd<3>; .reg .b32 %r<3>; ld.param.u64 %rd1, [p];\n\
             ld.global.u32 %r1, [{name}]; st.global.u32 [%rd1], %r1; ret; }}\n"
        )
    };
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let codes = |count: usize, name: &str| -> Vec<String> {
        let compiled = cold(&format!("{head}{}{}", variables(count), reads(name)));
        compiled.diagnostics.iter().map(|diagnostic| diagnostic.code.to_string()).collect()
    };
    assert_eq!(codes(8192, "g8191"), [""; 0]);
    assert_eq!(codes(8193, "g5"), [""; 0]);
    assert_eq!(codes(8193, "g8192"), ["limit::size"]);
}

/// An access to an mbarrier: whether it has a general register, displacement, kind, whether it has a uniform register.
type Access = (bool, u32, u32, bool);

/// The records of accesses to mbarriers and the number of initialisations.
fn barrier_objects(chip: Chip, statements: &str) -> (Vec<Access>, Option<Payload>) {
    let text = format!(
        ".version 8.6\n.target {chip}\n.address_size 64\n\
         .visible .entry k(.param .u64 o) {{ .reg .b32 a, c; .reg .b64 s, g; .reg .pred p; .shared .b64 bar[4];\n\
         ld.param.u64 g, [o]; ld.global.u32 a, [g]; ld.global.u32 c, [g+4]; ld.global.u64 s, [g+8];\n\
         setp.eq.u32 p, c, 3;\n{statements}\n@p st.global.u64 [g], s; st.global.u32 [g+32], c; ret; }}\n"
    );
    let compiled = cold_for(chip, &text);
    let cubin = compiled.cubin.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let cubin = oriole_cubin::read(&cubin).expect("what is written can be read");
    let attribute =
        |code| cubin.kernels[0].info.iter().find(|it| it.code == code).map(|it| it.payload.clone());
    let words = match attribute(MBARRIER_INSTR_OFFSETS) {
        Some(Payload::Sized(bytes)) => bytes,
        None => Vec::new(),
        other => panic!("{other:?}"),
    };
    let words: Vec<u32> = words.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    let none = (1 << chip.register_files().uniform.field_bits) - 1;
    let records = words.chunks(4).map(|record| {
        assert_eq!(record[3] >> 8 & 0xff, 1);
        (record[1] != 0xff, record[2], record[3] & 0xff, record[3] >> 16 != none)
    });
    (records.collect(), attribute(NUM_MBARRIERS))
}

/// The records of ptxas for each form: kind of operation, and by which register the address is.
#[test]
fn accesses_to_barrier_objects_are_told() {
    let general = |kind: u32| (true, 0, kind, false);
    let rows = [
        ("mbarrier.init.shared.b64 [a], c;", vec![(false, 0, 0, true)], 1),
        ("mbarrier.inval.shared.b64 [a];", vec![general(8)], 0),
        ("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [a], c;", vec![general(11)], 0),
        ("mbarrier.complete_tx.shared.b64 [a], c;", vec![general(12)], 0),
        ("mbarrier.arrive.shared.b64 s, [a];", vec![general(1)], 0),
        ("mbarrier.arrive.shared.b64 s, [a+16], c;", vec![(true, 16, 1, false)], 0),
        ("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a];", vec![general(1)], 0),
        ("mbarrier.arrive.noComplete.shared.b64 s, [a], c;", vec![general(2)], 0),
        ("mbarrier.arrive_drop.shared.b64 s, [a];", vec![general(3)], 0),
        ("mbarrier.arrive_drop.noComplete.shared.b64 s, [a], c;", vec![general(4)], 0),
        ("mbarrier.test_wait.shared.b64 p, [a], s;", vec![general(5)], 0),
        ("mbarrier.test_wait.parity.shared.b64 p, [a], c;", vec![general(6)], 0),
        ("mbarrier.try_wait.shared.b64 p, [a], s, c;", vec![general(9)], 0),
        ("mbarrier.try_wait.parity.shared.b64 p, [a], c, c;", vec![general(10)], 0),
    ];
    let [oldest, newest] = [80, 100].map(|number| Chip::of_number(number).expect("a chip"));
    for (statement, records, initialized) in rows {
        let expected = (records, Some(Payload::Half(initialized)));
        assert_eq!(barrier_objects(Chip::SM_90, statement), expected, "{statement}");
        let (newer, _) = barrier_objects(newest, statement);
        assert_eq!(newer, expected.0, "{statement}");
    }
    for statement in ["mbarrier.arrive.expect_tx.shared.b64 s, [a], c;", "mbarrier.pending_count.b64 c, s;"] {
        assert_eq!(barrier_objects(Chip::SM_90, statement), (Vec::new(), None), "{statement}");
    }
    // Without the unit the words that stand for the object are recorded.
    let (records, initialized) =
        barrier_objects(oldest, "mbarrier.init.shared.b64 [a], c; mbarrier.test_wait.shared.b64 p, [a], s;");
    assert_eq!((records, initialized), (vec![general(0), (true, 4, 5, false)], Some(Payload::Half(1))));
}

/// The registers that allocation loses to tuples are known when registers were spilled: the function is scheduled anew for fewer.
/// Without that, and with a word for each spilled value, this kernel took 272 bytes.
#[test]
fn a_kernel_that_spills_is_ordered_for_fewer_registers() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-data/kernels/attention.ptx");
    let text = std::fs::read_to_string(path).expect("a kernel of the repository");
    let begin = text.find('{').expect("a body");
    let (head, body) = text.split_at(begin);
    let cubin = cold(&format!("{head}.maxnreg 32\n{body}")).cubin.expect("a cubin");
    let cubin = oriole_cubin::read(&cubin).expect("what is written can be read");
    let stacks = cubin.info.iter().filter(|it| it.code == MIN_STACK_SIZE);
    let sizes: Vec<u32> = stacks
        .map(|it| match &it.payload {
            Payload::Sized(words) => u32::from_le_bytes(words[4..8].try_into().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sizes, [192]);
}

/// Which generic addresses are constants is asked of as many bytes as the module has: global variables are placed right after them.
/// In debug builds too, whose functions have sections of their own.
#[test]
fn constants_end_where_those_of_the_module_do() {
    let numbers = |bytes: u32, options: &Options| -> Vec<u32> {
        let constants = if bytes > 0 { format!(".const .b8 values[{bytes}];\n") } else { String::new() };
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n{constants}\
             .visible .entry k(.param .u64 p) {{ .reg .b64 %a; .reg .b32 %r; .reg .pred %p;\n\
             ld.param.u64 %a, [p]; isspacep.const %p, %a; selp.u32 %r, 1, 0, %p; st.global.u32 [%a], %r; ret; }}\n"
        );
        let db = Database::default();
        let file = SourceFile::open(&db, &text);
        let compiled = compile(&db, file, Config::create(&db, Chip::SM_90, options), 1);
        let cubin =
            oriole_cubin::read(&compiled.cubin.expect("a cubin")).expect("what is written can be read");
        let words = cubin.kernels[0].code.iter().map(|word| (word >> 32) as u32);
        words.filter(|number| [0x104, 0x10000].contains(number)).collect()
    };
    let mut for_debuggers = Options::default();
    for_debuggers.level = 0;
    for_debuggers.debug = DebugOptions { full: true, ..DebugOptions::default() };
    for options in [Options::default(), for_debuggers] {
        assert_eq!(numbers(0x104, &options), [0x104]);
        assert_eq!(numbers(0x10000, &options), [0x10000]);
        assert!(numbers(0, &options).is_empty());
    }
}
