//! Exchanges of lanes that are in functions of several files.
//!
//! It is apart from `linking`, whose files are linked with those of the reference in any combination: with code of
//! another compiler lanes do not meet.

use crate::oracle::{ask, recorded_tools};
use crate::support::{compile, oriole, read_cubin, scratch, text};

/// The halves of a warp exchange in functions of two files.
const MEETING: [&str; 2] = [
    "\
.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) there(.param .b32 x);
.func (.param .b32 r) here(.param .b32 x)
{
  .reg .b32 v, w;
  ld.param.u32 v, [x];
  mul.lo.u32 v, v, 3;
  shfl.sync.bfly.b32 w, v, 16, 31, 0xffffffff;
  mad.lo.u32 v, w, 100, v;
  st.param.b32 [r], v;
  ret;
}
.visible .entry meeting(.param .u64 out)
{
  .reg .b64 to; .reg .b32 lane, got; .reg .pred low;
  ld.param.u64 to, [out];
  mov.u32 lane, %tid.x;
  mad.wide.u32 to, lane, 4, to;
  setp.lt.u32 low, lane, 16;
  @low bra first;
  { .param .b32 x; .param .b32 r; st.param.b32 [x], lane; call (r), there, (x); ld.param.b32 got, [r]; }
  bra last;
first:
  { .param .b32 x; .param .b32 r; st.param.b32 [x], lane; call (r), here, (x); ld.param.b32 got, [r]; }
last:
  st.global.u32 [to], got;
  ret;
}
",
    "\
.version 8.0
.target sm_75
.address_size 64
.visible .func (.param .b32 r) there(.param .b32 x)
{
  .reg .b32 v, w;
  ld.param.u32 v, [x];
  add.u32 v, v, 7;
  shfl.sync.bfly.b32 w, v, 16, 31, 0xffffffff;
  mad.lo.u32 v, w, 1000, v;
  st.param.b32 [r], v;
  ret;
}
",
];

/// The word of a lane: its own, and a factor times that of the lane in the other half.
fn met(lane: u32) -> u32 {
    match lane {
        ..16 => 3 * lane + 100 * (lane + 16 + 7),
        _ => lane + 7 + 1000 * 3 * (lane - 16),
    }
}

/// The launch record of the program whose text is in a file.
fn record(ptx: &str) -> String {
    let expected: String =
        (0..32).flat_map(|lane| met(lane).to_le_bytes()).map(|byte| format!("{byte:02x}")).collect();
    format!(
        r#"{{"name":"meeting","ptx":"{ptx}","entry":"meeting","grid":[1,1,1],"block":[32,1,1],"args":[{{"buffer":{{"len":128}}}}],"expect":{{"0":{{"bytes_hex":"{expected}"}}}}}}"#
    )
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvlink, nvdisasm and cuobjdump"]
fn lanes_in_functions_of_two_files_exchange() {
    let tools = recorded_tools();
    let folder = scratch();
    let [caller, callee, linked, record] =
        ["caller.ptx", "callee.ptx", "linked.cubin", "k.json"].map(|name| folder.path().join(name));
    let objects = [&caller, &callee].map(|source| source.with_extension("o"));
    std::fs::write(&record, self::record("caller.ptx")).expect("a temporary file");
    for (source, text) in [&caller, &callee].into_iter().zip(MEETING) {
        std::fs::write(source, text).expect("a temporary file");
    }
    for chip in ["sm_75", "sm_80", "sm_90", "sm_120"] {
        for level in ["-O0", "-O3"] {
            for (source, object) in [&caller, &callee].into_iter().zip(&objects) {
                compile(source, object, &["-c", level, "--arch", chip])
                    .unwrap_or_else(|message| panic!("{message}"));
            }
            let [caller, callee] = objects.each_ref().map(|object| text(object));
            ask(&tools, "nvlink", &["-arch", chip, &caller, &callee, "-o", &text(&linked)]);
            let cubin = read_cubin(&linked);
            let routines = cubin.symbols.iter().filter(|it| it.name == "oriole.linked.shuffle_bfly");
            assert_eq!(routines.count(), 1, "{chip} {level}");
            let run = oriole(&["run", &text(&record), "--on", "sim", "--cubin", &text(&linked)]);
            assert_eq!(run.status, Some(0), "{chip} {level}: {}{}", run.out, run.err);
        }
    }
}

/// A linker keeps one of the routines that several files bring.
#[test]
fn routines_of_exchanges_are_weak_functions() {
    let folder = scratch();
    let [source, output] = ["callee.ptx", "k.o"].map(|name| folder.path().join(name));
    std::fs::write(&source, MEETING[1]).expect("a temporary file");
    for level in ["-O0", "-O3"] {
        compile(&source, &output, &["-c", level]).unwrap_or_else(|message| panic!("{message}"));
        let cubin = read_cubin(&output);
        let weak = |it: &&oriole_cubin::read::Symbol| it.name == "oriole.linked.shuffle_bfly";
        let symbol = cubin.symbols.iter().find(weak).expect("the routine");
        assert_eq!((symbol.binding, symbol.section != 0), (2, true), "{level}");
        let named = &cubin.section(".text.there").expect("the function").relocations;
        assert!(named.iter().any(|it| cubin.symbols[it.symbol].name == symbol.name), "{level}");
    }
}

/// Debug builds have a section for each function, too, and are linked by us.
#[test]
fn lanes_in_functions_of_a_debug_build_exchange() {
    let folder = scratch();
    let [source, output, launch] = ["k.ptx", "k.cubin", "k.json"].map(|name| folder.path().join(name));
    let function = MEETING[1].split_once(".visible ").expect("a function").1;
    let declaration = ".extern .func (.param .b32 r) there(.param .b32 x);\n";
    std::fs::write(&source, MEETING[0].replace(declaration, function)).expect("a temporary file");
    std::fs::write(&launch, record("k.ptx")).expect("a temporary file");
    for chip in ["sm_75", "sm_90", "sm_120"] {
        compile(&source, &output, &["--device-debug", "--arch", chip])
            .unwrap_or_else(|message| panic!("{message}"));
        let run = oriole(&["run", &text(&launch), "--on", "sim", "--cubin", &text(&output)]);
        assert_eq!(run.status, Some(0), "{chip}: {}{}", run.out, run.err);
    }
}
