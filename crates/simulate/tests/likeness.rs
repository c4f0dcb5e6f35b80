//! Kernels that count as alike: only those whose runs must all be the same.

use crate::common::{assemble_for, launch};
use oriole_cubin::Cubin;
use oriole_simulate::{Launch, likeness, run};

const SUM: &str = "
    S2R R0, SR_TID.X
    IADD3 R2, R0, R0, RZ
    P2R R3, PR, RZ, 0x1
    ISETP.NE.AND P1, PT, R3, RZ, PT
    DADD R4, R2, R2
    EXIT";

fn alike(one: &Cubin, other: &Cubin) -> bool {
    let launch = launch(32, &[0; 256], 32);
    let [one, other] = [one, other].map(|cubin| likeness(cubin, &launch).expect("it begins"));
    one == other
}

#[test]
fn chips_with_the_same_code_are_alike_if_the_machine_reads_the_same_of_them() {
    let of = |chip: &str| assemble_for(chip, SUM);
    for (one, other, expected) in [
        ("sm_86", "sm_89", true),
        ("sm_86", "sm_88", true),
        ("sm_120", "sm_121", true),
        ("sm_80", "sm_86", false),
        ("sm_75", "sm_80", false),
        ("sm_100", "sm_103", false), // f64 results use a scoreboard.
        ("sm_100", "sm_120", false),
    ] {
        assert_eq!(alike(&of(one), &of(other)), expected, "{one} {other}");
    }
    let launch = launch(32, &[0; 256], 32);
    assert_eq!(run(&of("sm_86"), &launch), run(&of("sm_89"), &launch));
    // The matrix units differ.
    let product = |chip: &str| assemble_for(chip, &format!("HMMA.16816.F32 R8, R0, R4, R8\n{SUM}"));
    assert!(alike(&product("sm_86"), &product("sm_88")) && !alike(&product("sm_86"), &product("sm_89")));
    // A launch that does not start is not compared.
    let mut large = of("sm_86");
    large.kernels[0].registers = 255;
    assert_eq!(likeness(&large, &Launch { block: [1024, 1, 1], ..launch }), None);
}

#[test]
fn whatever_a_run_may_see_tells_kernels_apart() {
    let same = || assemble_for("sm_90a", SUM);
    assert!(alike(&same(), &same()));
    /// The change, with its description.
    type Change = (&'static str, fn(&mut Cubin));
    let changes: [Change; 8] = [
        ("a word", |cubin| cubin.kernels[0].code[1] ^= 1 << 40),
        ("a control word", |cubin| cubin.kernels[0].code[1] ^= 1 << 105),
        ("registers", |cubin| cubin.kernels[0].registers += 8),
        ("stack", |cubin| cubin.kernels[0].stack_size = None),
        ("shared memory", |cubin| cubin.kernels[0].shared_size += 1),
        ("a parameter", |cubin| cubin.kernels[0].parameters[1].offset += 8),
        ("a bound", |cubin| cubin.kernels[0].bound = oriole_cubin::Bound::AtMost([32, 1, 1])),
        ("a constant bank", |cubin| {
            let bank = cubin.sections.iter_mut().find(|section| section.name.starts_with(".nv.constant"));
            bank.expect("a bank").data[0] ^= 1;
        }),
    ];
    for (what, change) in changes {
        let mut changed = same();
        change(&mut changed);
        assert!(!alike(&same(), &changed), "{what}");
    }
    // Notes about the tool that made it do not count.
    let mut noted = same();
    let note = noted.sections.iter_mut().find(|section| section.name.starts_with(".note"));
    note.expect("a note").data.push(0);
    assert!(alike(&same(), &noted));
}
