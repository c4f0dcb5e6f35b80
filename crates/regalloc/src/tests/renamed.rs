//! Renaming after the allocation: what takes another register, what keeps its own, and random functions with accesses.

use super::random::{Random, function};
use super::written::show;
use super::{options, run};
use expect_test::expect;
use oriole_chip::Chip;
use oriole_options::AllocateOptions;
use oriole_ori::{
    Address, BlockId, Destination, File, Function, Instruction, MemoryInfo, Opcode, Origin, Pseudo, Source,
    SourceKind, Space, Value, Values,
};
use oriole_sass::Op;

/// Each address has another register than the one that a load reads just before.
#[test]
fn addresses_are_not_overwritten_while_loads_read_them() {
    show(
        "kernel params=24 barriers=0
b0:
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = LDC c[0][0x218] ; 0
  {r10 r11} = IMAD.WIDE r2, 0x4, {r0 r1} ; 1
  r20 = LDG.E [{r10 r11}] mem(global r) ; 2
  {r12 r13} = IMAD.WIDE r2, 0x4, {r10 r11} ; 3
  r21 = LDG.E [{r12 r13}] mem(global r) ; 4
  {r14 r15} = IMAD.WIDE r2, 0x4, {r12 r13} ; 5
  r22 = LDG.E [{r14 r15}] mem(global r) ; 6
  {r16 r17} = IMAD.WIDE r2, 0x4, {r14 r15} ; 7
  r23 = LDG.E [{r16 r17}] mem(global r) ; 8
  r24 = IADD3 r20, r21, r22 ; 9
  r25 = IADD3 r24, r23, RZ ; 10
  STS [0x0], r25 mem(shared w) ; 11
  EXIT ; 12
",
        None,
        expect![[r#"
            registers=16 frame=0
            kernel params=24 barriers=0
            b0:
              {r2 r3} = LDC.64 c[0][0x210] ; 0
              r0 = LDC c[0][0x218] ; 0
              {r4 r5} = IMAD.WIDE r0, 0x4, {r2 r3} ; 1
              r6 = LDG.E [{r4 r5}] mem(global r) ; 2
              {r2 r3} = IMAD.WIDE r0, 0x4, {r4 r5} ; 3
              r7 = LDG.E [{r2 r3}] mem(global r) ; 4
              {r8 r9} = IMAD.WIDE r0, 0x4, {r2 r3} ; 5
              r10 = LDG.E [{r8 r9}] mem(global r) ; 6
              {r12 r13} = IMAD.WIDE r0, 0x4, {r8 r9} ; 7
              r0 = LDG.E [{r12 r13}] mem(global r) ; 8
              r6 = IADD3 r6, r7, r10 ; 9
              r6 = IADD3 r6, r0, RZ ; 10
              STS [0x0], r6 mem(shared w) ; 11
              EXIT ; 12
        "#]],
    );
}

/// An address that a loop carries is computed where the next round reads it: no move is on the back edge, though the
/// copy to the name of the next round is gone.
#[test]
fn what_goes_by_two_names_stays() {
    show(
        "kernel params=24 barriers=0
b0: -> b1
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = LDC c[0][0x218] ; 0
  r3 = MOV 0x0 ; 0
  r4 = ParallelCopy r0 ; 0
  r5 = ParallelCopy r1 ; 0
b1: -> b1 b2
  r20 = LDG.E [{r4 r5}] mem(global r) ; 1
  {r6 r7} = IMAD.WIDE r2, 0x4, {r4 r5} ; 2
  r3 = IADD3 r3, r20, RZ ; 3
  p30, PT = ISETP.AND.GE r3, 0x10, PT ; 4
  r4, r5 = ParallelCopy r6, r7 ; 5
  @!p30 BRA b1 ; 6
b2:
  STS [0x0], r3 mem(shared w) ; 7
  EXIT ; 8
",
        None,
        expect![[r#"
            registers=8 frame=0
            kernel params=24 barriers=0
            b0: -> b1
              {r2 r3} = LDC.64 c[0][0x210] ; 0
              r0 = LDC c[0][0x218] ; 0
              r4 = MOV 0x0 ; 0
            b1: -> b1 b2
              r5 = LDG.E [{r2 r3}] mem(global r) ; 1
              {r2 r3} = IMAD.WIDE r0, 0x4, {r2 r3} ; 2
              r4 = IADD3 r4, r5, RZ ; 3
              p320, PT = ISETP.AND.GE r4, 0x10, PT ; 4
              @!p320 BRA b1 ; 6
            b2:
              STS [0x0], r4 mem(shared w) ; 7
              EXIT ; 8
        "#]],
    );
}

/// A function with pieces of address arithmetic and accesses among its instructions.
fn with_accesses(seed: u64) -> Function {
    let mut function = function(seed);
    let random = &mut Random::new(seed ^ 0x5eed);
    let pool: Vec<Value> = function.values.keys().filter(|&v| function.file(v) == File::R).collect();
    for block in 0..function.blocks.len() as u32 {
        let old = std::mem::take(&mut function.block_mut(BlockId(block)).instructions);
        let mut new = Vec::new();
        let mut local: Vec<Value> = Vec::new();
        for mut instruction in old {
            for _ in 0..random.below(4) {
                piece(&mut function, random, &pool, &mut local, &mut new);
            }
            if matches!(instruction.opcode, Opcode::Sass(Op::IMAD)) && random.below(3) == 0 {
                instruction.memory = Some(access());
            }
            new.push(instruction);
        }
        function.block_mut(BlockId(block)).instructions = new;
    }
    function
}

fn access() -> MemoryInfo {
    MemoryInfo { space: Space::Global, reads: true, writes: false, ordered: false, object: None }
}

/// A tuple of new values, computed from others of this block or of any; and mostly a load from it.
fn piece(
    function: &mut Function,
    random: &mut Random,
    pool: &[Value],
    local: &mut Vec<Value>,
    out: &mut Vec<Instruction>,
) {
    let any = |random: &mut Random, local: &[Value]| {
        let from = if local.is_empty() || random.below(3) == 0 { pool } else { local };
        from[random.below(from.len())]
    };
    let width = [1, 2, 2, 2, 4][random.below(5)];
    let tuple: Vec<Value> = (0..width).map(|_| function.new_value(File::R, None)).collect();
    // Now and then the parts are written one by one, and a part again.
    let apart = random.below(3) == 0;
    for written in tuple.chunks(if apart { 1 } else { width }) {
        let mut made = Instruction::new(Op::IMAD, Origin(0));
        made.destinations.push(Destination::new(File::R, written.iter().copied()));
        made.sources.push(Source::value(any(random, local)));
        out.push(made);
    }
    if random.below(8) == 0 {
        let mut copy = Instruction::new(Pseudo::ParallelCopy, Origin(0));
        copy.destinations.push(Destination::new(File::R, [function.new_value(File::R, None)]));
        copy.sources.push(Source::value(tuple[0]));
        local.push(copy.destinations[0].values[0]);
        out.push(copy);
    }
    if random.below(5) > 0 {
        let mut load = Instruction::new(Op::LDG, Origin(0));
        let result = function.new_value(File::R, None);
        load.destinations.push(Destination::new(File::R, [result]));
        load.sources.push(Source::plain(SourceKind::Address(Box::new(Address {
            base: tuple[..width.min(2)].iter().copied().collect::<Values>(),
            ..Address::default()
        }))));
        load.memory = Some(access());
        out.push(load);
        local.push(result);
    }
    if width == 4 {
        let mut store = Instruction::new(Op::IMAD, Origin(0));
        store.sources.push(Source::values(tuple.clone()));
        store.memory = Some(access());
        out.push(store);
    }
    local.extend(tuple);
}

/// The checker follows every value through every register, and finds nothing, with as many registers as there are and
/// with few.
#[test]
fn random_functions_are_renamed_right() {
    let mut renamed = 0;
    for seed in 1..=80 {
        let function = with_accesses(seed);
        for limit in [None, Some(64), Some(32), Some(24)] {
            let Ok((prepared, allocation, problems)) = run(&function, limit) else { continue };
            assert!(
                problems.is_empty(),
                "seed {seed} limit {limit:?}: {}\n{function}\n---\n{}",
                problems.iter().map(|p| format!("{p}\n")).collect::<String>(),
                allocation.function,
            );
            let kept = AllocateOptions { rename: false, ..options(limit) };
            let kept = crate::driver::allocate(prepared, Chip::SM_90, &kept).expect("as before");
            renamed += usize::from(kept.assignment.registers != allocation.assignment.registers);
            let (before, after) =
                (kept.assignment.general_registers, allocation.assignment.general_registers);
            assert!(
                after.next_multiple_of(8) == before.next_multiple_of(8),
                "seed {seed}: {before} to {after}"
            );
        }
    }
    assert!(renamed > 60, "{renamed}");
}
