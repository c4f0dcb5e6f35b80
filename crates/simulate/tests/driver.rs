//! Calls of driver functions: results, clobbered registers, and errors.

use crate::common::{assemble_calling, launch};
use oriole_simulate::{Fault, HazardKind, Launch, Outcome, run};

/// A call of the function whose address is in this slot; its arguments are in registers. Before Ampere the return
/// address is computed by an add.
fn call(chip: &str, slot: usize) -> String {
    let place = match chip {
        "sm_75" => "LEPC R20\nIADD3 R20, P0, R20, 0x40, RZ\nIADD3.X R21, R21, RZ, RZ, P0, !PT\n".to_owned(),
        _ => format!("LEPC R20, .behind{slot}\n"),
    };
    format!("LDC.64 R2, c[0x4][{:#x}]\n{place}CALL.ABS.NOINC R2\n.behind{slot}: NOP", 8 * slot)
}

/// The address of the second parameter in R10, to which a kernel stores its result.
const OUTPUT: &str = "ULDC.64 UR4, c[0x0][0x208]\nLDC.64 R10, c[0x0][0x218]";
const STACK: &str = "LDC R1, c[0x0][0x28]";

/// The first function has the index 0 among those that a kernel calls.
fn runs(functions: &[&str], text: &str, change: impl Fn(&mut Launch)) -> Outcome {
    let cubin = assemble_calling("sm_90a", functions, text);
    let mut launch = launch(2, &[0x6425_2525, 0x20, 7], 64);
    change(&mut launch);
    run(&cubin, &launch)
}

fn words(outcome: &Outcome) -> Vec<u32> {
    assert_eq!((&outcome.error, &outcome.hazards), (&None, &Vec::new()));
    let bytes = outcome.buffers[1].chunks(4);
    bytes.map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

fn fault(outcome: &Outcome) -> &Fault {
    &outcome.error.as_ref().expect("a fault").fault
}

/// The subset of these general registers, each holding its own index, that a call preserves.
fn kept(chip: &str, registers: &[u8]) -> Vec<u8> {
    let before: String = registers.iter().map(|r| format!("MOV R{r}, {r:#x}\n")).collect();
    let (stack, output) = match chip {
        "sm_75" => ("MOV R1, c[0x0][0x28]", "MOV R10, c[0x0][0x168]\nMOV R11, c[0x0][0x16c]"),
        _ => (STACK, OUTPUT),
    };
    let store = |at: usize, register: u8| match chip {
        "sm_75" => format!("STG.E.SYS [R10+{:#x}], R{register}\n", 4 * at),
        _ => format!("STG.E desc[UR4][R10.64+{:#x}], R{register}\n", 4 * at),
    };
    let after: String = registers.iter().enumerate().map(|(at, &register)| store(at, register)).collect();
    let text = format!("{stack}\nMOV R4, 0x20\nMOV R5, RZ\n{before}{}\n{output}\n{after}EXIT", call(chip, 0));
    let outcome = run(&assemble_calling(chip, &["malloc"], &text), &launch(1, &[0], 64));
    let values = words(&outcome);
    registers.iter().zip(values).filter(|&(&r, value)| u32::from(r) == value).map(|(&r, _)| r).collect()
}

#[test]
fn registers_outside_the_convention_are_kept_and_no_others() {
    let registers = [0, 6, 12, 15, 16, 22, 31, 32, 35, 36, 39, 40, 47, 56, 60];
    assert_eq!(kept("sm_90a", &registers), [16, 22, 31, 32, 35, 36, 39, 40, 47, 56, 60]);
    assert_eq!(kept("sm_75", &registers), [16, 22, 31, 36, 39, 47, 60]);
}

#[test]
fn no_other_register_file_is_kept_in_its_lower_part() {
    let text = format!(
        "{STACK}
         MOV R4, 0x20\nMOV R5, RZ
         UMOV UR4, 0x4\nUMOV UR35, 0x23\nUMOV UR36, 0x24
         ISETP.EQ.AND P6, PT, RZ, RZ, PT
         UISETP.EQ.AND UP0, UPT, URZ, URZ, UPT
         BMOV.32 B5, R4 ; stall=15 read=0\nBMOV.32 B6, R4 ; stall=15 read=0 wait=0
         {}
         MOV R12, UR4\nMOV R13, UR35\nMOV R14, UR36
         SEL R15, RZ, 0x1, !P6\nUSEL UR5, URZ, 0x1, !UP0\nMOV R7, UR5
         BMOV.32.CLEAR R8, B5\nBMOV.32.CLEAR R9, B6
         {OUTPUT}
         STG.E.64 desc[UR4][R10.64], R12\nSTG.E.64 desc[UR4][R10.64+0x8], R14
         STG.E.64 desc[UR4][R10.64+0x10], R8\nSTG.E desc[UR4][R10.64+0x18], R7
         EXIT",
        call("sm_90a", 0)
    );
    let found = words(&runs(&["malloc"], &text, |launch| launch.block = [1; 3]));
    assert_ne!(found[0], 4, "UR4");
    assert_ne!(found[1], 0x23, "UR35");
    assert_eq!(found[2], 0x24, "UR36");
    assert_eq!(found[3], 0, "P6");
    assert_ne!(found[4], 0x20, "B5");
    assert_eq!(found[5], 0x20, "B6");
    assert_eq!(found[6], 0, "UP0");
}

#[test]
fn memory_of_the_heap_is_of_one_lane_until_it_is_given_back() {
    let taken =
        format!("{STACK}\nMOV R4, 0x20\nMOV R5, RZ\n{}\nULDC.64 UR4, c[0x0][0x208]\n", call("sm_90a", 0));
    let free = format!("MOV R16, R4\nMOV R17, R5\n{}\nULDC.64 UR4, c[0x0][0x208]\n", call("sm_90a", 1));
    let functions = ["malloc", "free"];
    // Each of two lanes has words of its own, zero at first.
    let text = format!(
        "{taken}S2R R8, SR_TID.X\nLDG.E R6, desc[UR4][R4.64+0x1c]\nIADD3 R6, R6, R8, RZ
         STG.E desc[UR4][R4.64+0x1c], R6\nLDG.E R7, desc[UR4][R4.64+0x1c]
         LDC.64 R10, c[0x0][0x218]\nIMAD.WIDE.U32 R10, R8, 0x4, R10\nSTG.E desc[UR4][R10.64], R7\nEXIT"
    );
    assert_eq!(words(&runs(&functions, &text, |_| {}))[..2], [0, 1]);
    let beyond = runs(&functions, &format!("{taken}LDG.E R6, desc[UR4][R4.64+0x20]\nEXIT"), |_| {});
    assert!(matches!(fault(&beyond), Fault::OutOfBounds { space: "global", .. }), "{:?}", beyond.error);
    let late = runs(&functions, &format!("{taken}{free}LDG.E R6, desc[UR4][R16.64]\nEXIT"), |_| {});
    assert!(matches!(fault(&late), Fault::OutOfBounds { space: "global", .. }), "{:?}", late.error);
    let twice = format!(
        "{taken}{free}MOV R4, R16\nMOV R5, R17\n{}\nEXIT",
        call("sm_90a", 1).replace("behind1", "again")
    );
    let twice = runs(&functions, &twice, |_| {});
    assert!(matches!(fault(&twice), Fault::NotAllocated(_)), "{:?}", twice.error);
    // The whole heap.
    let text = format!(
        "{STACK}\nMOV R4, RZ\nMOV R5, 0x1\n{}\n{OUTPUT}\nSTG.E.64 desc[UR4][R10.64], R4\nEXIT",
        call("sm_90a", 0)
    );
    assert_eq!(words(&runs(&functions, &text, |_| {}))[..2], [0, 0]);
}

/// `%%%d` and a space are the input; the value is read from memory.
#[test]
fn a_print_counts_its_values_and_reads_them() {
    let print = |values: &str| {
        let text = format!(
            "{STACK}\nLDC.64 R4, c[0x0][0x210]\n{values}\n{}\n{OUTPUT}\nSTG.E desc[UR4][R10.64], R4\nEXIT",
            call("sm_90a", 0)
        );
        runs(&["vprintf"], &text, |_| {})
    };
    assert_eq!(words(&print("IADD3 R6, R4, 0x8, RZ\nMOV R7, R5"))[0], 1);
    let nowhere = print("MOV R6, RZ\nMOV R7, RZ");
    assert!(matches!(fault(&nowhere), Fault::OutOfBounds { .. }), "{:?}", nowhere.error);
}

#[test]
fn what_ends_a_kernel_is_told_with_the_place_of_the_call() {
    let text = format!(
        "{STACK}\nLDC.64 R4, c[0x0][0x210]\nMOV R6, R4\nMOV R7, R5\nMOV R8, 0x9\nMOV R10, R4\nMOV R11, R5\n{}\nEXIT",
        call("sm_90a", 0)
    );
    let failed = runs(&["__assertfail"], &text, |_| {}).error.expect("a failed assertion");
    let told = "at 0x90, block [0, 0, 0], thread 0: assertion `%%%d ` failed: %%%d :9, %%%d ";
    assert_eq!(failed.to_string(), told);
    let other = runs(&["cudaLaunchDevice"], &text, |_| {});
    let told = "not simulated: a call of `cudaLaunchDevice`, which the file does not define";
    assert_eq!(fault(&other).to_string(), told);
}

/// The function may use any register, and allocates its frame on the stack.
#[test]
fn a_call_finds_nothing_under_way_and_a_stack() {
    let text = |stack: &str, load: &str| {
        format!(
            "{stack}\nULDC.64 UR4, c[0x0][0x208]\nLDC.64 R8, c[0x0][0x210]
             MOV R4, 0x20\nMOV R5, RZ\n{load}\nLDC.64 R2, c[0x4][0x0] ; stall=2 write=1
             LEPC R20, .behind ; stall=15 wait=1\nCALL.ABS.NOINC R2 ; stall=15\n.behind: NOP
             {OUTPUT}\nSTG.E desc[UR4][R10.64], R4\nEXIT"
        )
    };
    let right = runs(&["malloc"], &text(STACK, "LDG.E R24, desc[UR4][R8.64]\nNOP"), |_| {});
    assert_eq!((right.error, right.hazards), (None, Vec::new()));
    let early = runs(&["malloc"], &text(STACK, "LDG.E R24, desc[UR4][R8.64] ; stall=15 write=2"), |_| {});
    let found: Vec<_> = early.hazards.iter().map(|hazard| (hazard.kind, hazard.register)).collect();
    assert!(found.contains(&(HazardKind::ReadWithoutWait, 24)), "{found:?}");
    // The upper half of the size has not arrived: the size is small enough.
    let late = text(STACK, "LDG.E R5, desc[UR4][R8.64] ; stall=15 write=2");
    let late = runs(&["malloc"], &late, |launch| {
        launch.options.late_results = true;
        launch.options.check_hazards = false;
    });
    assert_ne!(words(&late)[0], 0);
    let offset =
        text(STACK, "NOP").replace("LEPC R20, .behind ; stall=15 wait=1", "MOV R20, .behind\nMOV R21, RZ");
    let offset = runs(&["malloc"], &offset, |_| {});
    assert_eq!(fault(&offset), &Fault::RunAway, "an offset is no address");
    let without = runs(&["malloc"], &text("NOP", "NOP"), |_| {});
    assert!(matches!(fault(&without), Fault::OutOfBounds { space: "local", .. }), "{:?}", without.error);
}
