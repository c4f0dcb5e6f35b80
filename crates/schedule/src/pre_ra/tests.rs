//! Schedules of small functions of Ori.

use crate::before_allocation;
use crate::tests::tables;
use expect_test::{Expect, expect};
use oriole_options::{Options, OrderOptions, ScheduleMode};
use oriole_ori::BlockId;

#[test]
fn loads_come_early() {
    let mut function = oriole_ori::parse::parse(
        "kernel params=0 barriers=0
b0:
  r2 = MOV 0x1 ; 1
  r3 = FADD r2, r2 ; 2
  r4 = FADD r3, r2 ; 3
  r5 = LDS [r2] mem(shared r) ; 4
  STS [r2+0x4], r4 mem(shared w) ; 5
  r6 = LDS [r2+0x8] mem(shared r) ; 6
  r7 = FADD r6, r5 ; 7
  STS [r2+0x8], r7 mem(shared w) ; 8
  EXIT ; 9
",
    )
    .expect("Ori");
    before_allocation(&mut function, &tables(), &Options::default().order(), None);
    expect![[r#"
        kernel params=0 barriers=0
          value r0
          value r1
        b0:
          r2 = MOV 0x1 ; 1
          r3 = FADD r2, r2 ; 2
          r4 = FADD r3, r2 ; 3
          r5 = LDS [r2] mem(shared r) ; 4
          STS [r2+0x4], r4 mem(shared w) ; 5
          r6 = LDS [r2+0x8] mem(shared r) ; 6
          r7 = FADD r6, r5 ; 7
          STS [r2+0x8], r7 mem(shared w) ; 8
          EXIT ; 9
    "#]]
    .assert_eq(&function.to_string());
}

/// Schedules a block of Ori before allocation.
fn early(input: &str, mode: ScheduleMode, expected: Expect) {
    let mut function = oriole_ori::parse::parse(input).expect("Ori");
    before_allocation(&mut function, &tables(), &OrderOptions { mode, ..Options::default().order() }, None);
    let text = function.to_string();
    let lines = text.lines().skip_while(|line| !line.starts_with("b0")).skip(1);
    let body: Vec<&str> = lines.map(str::trim_start).collect();
    expected.assert_eq(&(body.join("\n") + "\n"));
}

/// The old value of a guarded result dies where it is copied: its other readers come before, so that old and new
/// share a register.
#[test]
fn an_old_value_is_copied_behind_its_last_reader() {
    let values = 12;
    let mut input = String::from("kernel params=0 barriers=0\nb0:\n");
    for k in 0..values {
        input += &format!("  r{k} = LDS [{:#x}] mem(shared r) ; 1\n", 4 * k);
        input += &format!("  p{}, PT = ISETP.AND.LT r{k}, 0x3, PT ; 1\n", 20 + k);
    }
    for k in 0..values {
        // The reader waits for nothing, and many wait for the copy.
        let (old, holds, new) = (k, 20 + k, 40 + k);
        input += &format!("  r{} = FADD r{old}, 0x3f000000 ; 2\n", 60 + k);
        input += &format!("  r{new} = ParallelCopy r{old} ; 3\n");
        input += &format!("  @!p{holds} r{new} = FMUL r{new}, 0x3f000000 ; 3\n");
        input += &format!("  r{} = MUFU.RCP r{new} ; 4\n", 80 + k);
        input += &format!("  r{} = MUFU.RCP r{} ; 4\n", 100 + k, 80 + k);
    }
    for k in 0..values {
        input += &format!("  STS [{:#x}], r{} mem(shared w) ; 5\n", 4 * k, 100 + k);
        input += &format!("  STS [{:#x}], r{} mem(shared w) ; 5\n", 4 * k + 128, 60 + k);
    }
    input += "  EXIT ; 6\n";
    for mode in [ScheduleMode::Pressure, ScheduleMode::Latency, ScheduleMode::Batches] {
        let mut function = oriole_ori::parse::parse(&input).expect("Ori");
        before_allocation(
            &mut function,
            &tables(),
            &OrderOptions { mode, ..Options::default().order() },
            None,
        );
        let text = function.to_string();
        let place = |start: &str| {
            let found = text.lines().position(|line| line.trim_start().starts_with(start));
            found.unwrap_or_else(|| panic!("{start} in {text}"))
        };
        for k in 0..values {
            let (read, copy) = (place(&format!("r{} =", 60 + k)), place(&format!("r{} =", 40 + k)));
            assert!(read < copy, "{mode:?}: r{k} is read at {read} and copied at {copy}");
        }
    }
}

#[test]
fn few_registers_mean_one_chain_after_the_other() {
    let input = "kernel params=0 barriers=0
b0:
  r0 = MOV 0x1 ; 1
  r1 = MOV 0x2 ; 2
  r2 = MOV 0x3 ; 3
  r3 = FADD r0, r0 ; 4
  r4 = FADD r1, r1 ; 5
  r5 = FADD r2, r2 ; 6
  r6 = FMUL r3, r3 ; 7
  r7 = FMUL r4, r4 ; 8
  r8 = FMUL r5, r5 ; 9
  STS [r6], r6 mem(shared w) ; 10
  STS [r7], r7 mem(shared w) ; 11
  STS [r8], r8 mem(shared w) ; 12
  EXIT ; 13
";
    early(
        input,
        ScheduleMode::Pressure,
        expect![[r#"
              r0 = MOV 0x1 ; 1
              r3 = FADD r0, r0 ; 4
              r6 = FMUL r3, r3 ; 7
              STS [r6], r6 mem(shared w) ; 10
              r1 = MOV 0x2 ; 2
              r4 = FADD r1, r1 ; 5
              r7 = FMUL r4, r4 ; 8
              STS [r7], r7 mem(shared w) ; 11
              r2 = MOV 0x3 ; 3
              r5 = FADD r2, r2 ; 6
              r8 = FMUL r5, r5 ; 9
              STS [r8], r8 mem(shared w) ; 12
              EXIT ; 13
        "#]],
    );
    early(
        input,
        ScheduleMode::Batches,
        expect![[r#"
              r0 = MOV 0x1 ; 1
              r1 = MOV 0x2 ; 2
              r2 = MOV 0x3 ; 3
              r3 = FADD r0, r0 ; 4
              r4 = FADD r1, r1 ; 5
              r5 = FADD r2, r2 ; 6
              r6 = FMUL r3, r3 ; 7
              r7 = FMUL r4, r4 ; 8
              r8 = FMUL r5, r5 ; 9
              STS [r6], r6 mem(shared w) ; 10
              STS [r7], r7 mem(shared w) ; 11
              STS [r8], r8 mem(shared w) ; 12
              EXIT ; 13
        "#]],
    );
}

#[test]
fn the_copy_before_a_guarded_instruction_is_no_wall() {
    early(
        "kernel params=0 barriers=0
b0:
  r0 = MOV 0x1 ; 1
  p1, PT = ISETP.AND.LT r0, 0x4, PT ; 2
  r2 = FADD r0, r0 ; 3
  r3 = ParallelCopy r0 ; 4
  @p1 r3 = FADD r2, r2 ; 5
  r4 = LDS [r0] mem(shared r) ; 6
  r5 = FADD r3, r4 ; 7
  STS [r0+0x4], r5 mem(shared w) ; 8
  EXIT ; 9
",
        ScheduleMode::Batches,
        expect![[r#"
              r0 = MOV 0x1 ; 1
              p1, PT = ISETP.AND.LT r0, 0x4, PT ; 2
              r4 = LDS [r0] mem(shared r) ; 6
              r2 = FADD r0, r0 ; 3
              r3 = ParallelCopy r0 ; 4
              @p1 r3 = FADD r2, r2 ; 5
              r5 = FADD r3, r4 ; 7
              STS [r0+0x4], r5 mem(shared w) ; 8
              EXIT ; 9
        "#]],
    );
}

#[test]
fn addresses_pass_barriers_where_registers_are_short() {
    let input = "kernel params=0 barriers=1
b0:
  r9 = S2R %(SR_TID.X) ; 0
  r0 = LDS [r9] mem(shared r) ; 1
  r1 = IADD3 r0, 0x10, RZ ; 2
  r2 = IADD3 r0, 0x20, RZ ; 3
  r3 = IADD3 r0, 0x30, RZ ; 4
  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 5
  STS [r1], r0 mem(shared w) ; 6
  STS [r2], r0 mem(shared w) ; 7
  STS [r3], r0 mem(shared w) ; 8
  EXIT ; 9
";
    let places = |limit: u16, across_barriers: bool| -> (Vec<u32>, Option<u32>) {
        let mut function = oriole_ori::parse::parse(input).expect("Ori");
        let options = OrderOptions { limit: Some(limit), across_barriers, ..Options::default().order() };
        let short = before_allocation(&mut function, &tables(), &options, None)
            .map(|budget| budget.general[BlockId(0)]);
        (function.block(BlockId(0)).instructions.iter().map(|i| i.origin.0).collect(), short)
    };
    let kept = vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    assert_eq!(places(11, true), (kept.clone(), None), "they fit");
    assert_eq!(places(10, false), (kept, Some(3)), "each stays on its side");
    let (order, short) = places(10, true);
    assert_eq!(short, None, "{order:?}");
    let place = |origin: u32| order.iter().position(|&found| found == origin);
    assert!(place(1) < place(5) && place(5) < place(6) && place(5) < place(4), "{order:?}");
}

/// Loads of kernel-constant memory move across stores: it is not written while the kernel runs.
#[test]
fn constant_loads_pass_stores() {
    let order = |load: &str| {
        let text = format!(
            "kernel params=0 barriers=0
b0:
  {{r2 r3}} = Parameters ; 0
  r4 = LDG.E [{{r2 r3}}] mem(global r) ; 1
  r5 = FADD r4, r4 ; 2
  STG.E [{{r2 r3}}+0x40], r5 mem(global w) ; 3
  r6 = {load} [{{r2 r3}}+0x80] mem(global r) ; 4
  r7 = FADD r6, r6 ; 5
  STG.E [{{r2 r3}}+0xc0], r7 mem(global w) ; 6
  EXIT ; 7
"
        );
        let mut function = oriole_ori::parse::parse(&text).expect("Ori");
        before_allocation(&mut function, &tables(), &Options::default().order(), None);
        function.block(BlockId(0)).instructions.iter().map(|i| i.origin.0).collect::<Vec<u32>>()
    };
    let before = |order: &[u32]| order.iter().position(|&it| it == 4) < order.iter().position(|&it| it == 3);
    let (plain, constant) = (order("LDG.E"), order("LDG.E.CONSTANT"));
    assert!(!before(&plain), "{plain:?}");
    assert!(before(&constant), "{constant:?}");
}

/// Each part of a kernel has its own register count: a schedule of a block within the count of another part would not
/// do.
#[test]
fn each_part_is_ordered_within_its_own_registers() {
    let values = 24;
    let line = |k: u32, text: &str| text.replace('#', &k.to_string()).replace('@', &format!("{:#x}", 4 * k));
    let all = |text: &str| -> String { (0..values).map(|k| line(k, text)).collect() };
    let [loads, stores] = ["  r# = LDC c[0][@] ; 1\n", "  STS [@], r# mem(shared w) ; 2\n"].map(all);
    let ordered = |grant: &str, between: &str| {
        let text = format!(
            "kernel params=0 barriers=1 registers=64\nb0: -> b1\n  r99 = MOV 0x0 ; 0\nb1: -> b2\n{grant}\
             b2:\n{loads}{between}{stores}  EXIT ; 3\n"
        );
        let mut function = oriole_ori::parse::parse(&text).expect("Ori");
        let options = OrderOptions { across_barriers: false, ..Options::default().order() };
        let short = before_allocation(&mut function, &tables(), &options, None);
        let places = function.block(BlockId(2)).instructions.iter().map(|i| i.origin.0);
        let (mut live, mut most) = (0, 0);
        for place in places {
            live = if place == 1 {
                live + 1
            } else if place == 2 {
                live - 1
            } else {
                live
            };
            most = most.max(live);
        }
        (most, short.map(|budget| budget.general.into_iter().collect::<Vec<u32>>()))
    };
    let grant = "  USETMAXREG.CTAPOOL.DEALLOC #24 ; 0\n";
    let (most, short) = ordered("", "");
    assert!(most > 17 && short.is_none(), "there is room for more: {most} {short:?}");
    let (most, short) = ordered(grant, "");
    assert!(most <= 17 && short.is_none(), "{most} {short:?}");
    let meeting = "  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 4\n";
    assert_eq!(ordered(grant, meeting), (values, Some(vec![57, 17, 17])), "no order is within them");
}
