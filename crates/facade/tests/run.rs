//! Kernels without a GPU: the interpreter, the simulator, and the report of a launch that stops.

use oriole::run::{Argument, Launch, RunError, interpret, parameters, parameters_of_code, simulate};
use oriole::{
    Options, Verdict, Where, checks, compile, disassemble, interpret_checked, profile, profile_code, verify,
};

/// Each thread adds its number to an element.
const ADD: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p, .param .u32 times)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [p];
  ld.param.u32 %r1, [times];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %d2, %r2, 4;
  add.u64 %d3, %d1, %d2;
  ld.global.u32 %r3, [%d3];
  mad.lo.u32 %r4, %r1, %r2, %r3;
  st.global.u32 [%d3], %r4;
  ret;
}
";

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn launch(threads: u32) -> Launch {
    let arguments = vec![Argument::Buffer(words([7; 4])), Argument::Scalar(words([3]))];
    Launch { block: [threads, 1, 1], arguments, ..Launch::new("add") }
}

fn cubin(text: &str) -> Vec<u8> {
    compile(text, &Options::new()).unwrap_or_else(|report| panic!("{report:?}")).bytes
}

#[test]
fn text_and_code_give_the_same() {
    let expected = vec![Some(words([7, 10, 13, 16])), None];
    let (text, code) =
        (interpret(ADD, &launch(4)).unwrap(), simulate(&cubin(ADD), &launch(4), true).unwrap());
    assert_eq!((&text.buffers, &code.buffers), (&expected, &expected));
    assert_eq!((text.cycles, code.hazards), (0, Vec::new()));
    let sizes = |of: Vec<oriole::run::Parameter>| of.iter().map(|it| (it.size, it.ty)).collect::<Vec<_>>();
    assert_eq!(sizes(parameters(ADD, "add").unwrap()), [(8, Some("u64")), (4, Some("u32"))]);
    assert_eq!(sizes(parameters_of_code(&cubin(ADD), "add").unwrap()), [(8, None), (4, None)]);
}

#[test]
fn a_fault_has_its_place_and_the_memory_of_its_moment() {
    for result in [interpret(ADD, &launch(5)), simulate(&cubin(ADD), &launch(5), false)] {
        let Err(RunError::Fault(fault)) = result else { panic!("thread 4 reads outside of the buffer") };
        assert_eq!(fault.thread, Some(([0, 0, 0], [4, 0, 0])), "{}", fault.message);
        assert_eq!(fault.run.buffers[0].as_ref().map(Vec::len), Some(16));
    }
    let Err(RunError::Fault(fault)) = interpret(ADD, &launch(5)) else { unreachable!() };
    assert_eq!((fault.line, fault.address.is_some()), (Some(13), true));
    let limited = Launch { step_limit: Some(3), ..launch(4) };
    assert!(matches!(interpret(ADD, &limited), Err(RunError::Fault(_))));
    assert!(matches!(interpret(&ADD.replace("mad.lo", "mad.no"), &launch(4)), Err(RunError::Text(_))));
    assert!(matches!(simulate(b"\x7fELF", &launch(4), false), Err(RunError::Cubin(_))));
    assert!(matches!(interpret(ADD, &Launch::new("sub")), Err(RunError::Fault(_))));
}

#[test]
fn code_is_compared_with_its_text_and_shown() {
    let same = verify(ADD, &cubin(ADD), Some("add"), 2).unwrap();
    assert!(matches!(&same[..], [only] if only.verdict == Verdict::Same && only.launches == 2), "{same:?}");
    let other = cubin(&ADD.replace("%r1, %r2, %r3", "%r1, %r2, %r2"));
    let Verdict::Different { message, line, .. } = &verify(ADD, &other, None, 2).unwrap()[0].verdict else {
        panic!("the code adds something else")
    };
    assert!(message.contains("PTX gives") && *line == Some(15), "{message} {line:?}");
    let listings = disassemble(&other).unwrap();
    let [only] = &listings[..] else { panic!("{listings:?}") };
    assert!(only.name == "add" && only.to_string().contains("/*0000*/ "), "{only}");
    assert!(disassemble(b"").is_err());
}

#[test]
fn checks_find_mistakes_with_their_lines() {
    let all = checks(["all"]).unwrap();
    assert!(interpret_checked(ADD, &launch(4), all).unwrap().findings.is_empty());
    let racing = ADD.replace("mul.wide.u32 %d2, %r2, 4", "mov.u64 %d2, 0");
    let found = interpret_checked(&racing, &launch(4), all).unwrap();
    let race = &found.findings[0];
    assert_eq!((race.code.as_str(), race.places[0].line), ("check::race", Some(13)), "{race:?}");
    assert!(found.run.is_ok() && !found.is_partial);
    // A launch that stops has its findings too.
    let outside = interpret_checked(ADD, &launch(5), checks(["bounds"]).unwrap()).unwrap();
    assert_eq!(outside.findings[0].code.as_str(), "check::out-of-bounds");
    assert!(matches!(outside.run, Err(RunError::Fault(_))));
    assert!(checks(["rases"]).unwrap_err().to_string().contains("there is no check `rases`"));
}

#[test]
fn a_profile_names_faults_and_counts_by_line() {
    let strided = ADD.replace("mul.wide.u32 %d2, %r2, 4", "mul.wide.u32 %d2, %r2, 128");
    let arguments = vec![Argument::Buffer(vec![0; 64 * 128]), Argument::Scalar(words([3]))];
    let launch = Launch { block: [64, 1, 1], arguments, ..Launch::new("add") };
    let found = profile(&strided, &Options::new(), &launch, Some(1056)).unwrap();
    let first = &found.findings[0];
    assert_eq!((first.kind, first.code), ("strided", "perf::strided-access"));
    let load = found.places.iter().find(|place| place.place == Where::Line(13)).unwrap();
    assert_eq!((load.sectors.0 / load.requests, load.sectors.1 / load.requests), (32, 4));
    let code = profile_code(&cubin(&strided), &launch, Some(1056)).unwrap();
    assert_eq!((code.cycles, code.findings.len()), (found.cycles, found.findings.len()));
    assert!(matches!(code.findings[0].places[0], Where::Address(_)));
    let wrong = profile(&ADD.replace("mad.lo", "mad.la"), &Options::new(), &launch, None);
    assert!(matches!(wrong, Err(RunError::Text(_))));
    let missing = profile(ADD, &Options::new(), &Launch::new("none"), None).unwrap_err();
    assert_eq!(missing.to_string(), "there is no kernel `none`");
}
