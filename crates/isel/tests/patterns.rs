//! The pattern tables: results for copies, tree and scan agree, no two rows tie, every row gives an encodable
//! instruction.

mod support;

use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_isel::template::Template;
use oriole_isel::{Tables, explain, patterns, select, tree};
use oriole_options::SelectOptions;
use oriole_ori::pattern::{Kinds, Pattern, Patterns, Pipe, Site, Test, Width};
use oriole_ori::{
    Assignment, Block, BlockId, Destination, File, Function, Instruction, Opcode, Origin, Pseudo, Source,
    SourceKind, Value, is_legal,
};
use oriole_sass::{Mod, Mods, Op, Style};
use support::Random;

const CHIP: Chip = Chip::SM_90A;

const FILES: [File; 5] = [File::R, File::UR, File::P, File::UP, File::B];

const PLAIN: SelectOptions = SelectOptions { alternatives: false };
const ALTERNATIVES: SelectOptions = SelectOptions { alternatives: true };

fn supported() -> impl Iterator<Item = Chip> {
    Chip::all().into_iter().filter(|chip| chip.is_supported())
}

/// A function of one block, whose values have the listed registers.
fn function(values: &[(File, u8)], instructions: Vec<Instruction>) -> (Function, Assignment) {
    let mut function = Function { is_entry: true, ..Function::default() };
    let mut assignment = Assignment::default();
    for &(file, register) in values {
        function.new_value(file, None);
        assignment.registers.push(Some(register));
    }
    function.blocks.push(Block { instructions, ..Block::default() });
    (function, assignment)
}

/// The selected instructions, as text.
fn selected(values: &[(File, u8)], instructions: Vec<Instruction>, options: SelectOptions) -> String {
    selected_on("sm_90a", values, instructions, options)
}

/// [`selected`] on another chip.
fn selected_on(
    chip: &str,
    values: &[(File, u8)],
    instructions: Vec<Instruction>,
    options: SelectOptions,
) -> String {
    let chip: Chip = chip.parse().expect("a chip");
    let (function, assignment) = function(values, instructions);
    match select(&Tables::of(chip).expect("tables"), &function, &assignment, &options) {
        Ok(machine) => {
            let lines = machine.blocks[BlockId(0)].instructions.iter().map(|chosen| {
                oriole_sass::text(chip, &chosen.instruction, Some(0), Style::Plain).expect("it has a form")
            });
            lines.collect::<Vec<_>>().join("\n")
        }
        Err(error) => error.reason.to_string(),
    }
}

fn copy_of(to: File, value: u32, from: Source) -> Instruction {
    let mut instruction = Instruction::new(Pseudo::Copy, Origin(0));
    instruction.destinations.push(Destination::new(to, [Value(value)]));
    instruction.sources.push(from);
    instruction
}

fn check(found: &str, expected: Expect) {
    expected.assert_eq(found);
}

#[test]
fn copies() {
    let mut lines = String::new();
    let mut note = |to: File, name: &str, text: String| {
        if !text.starts_with("no ") {
            lines += &format!("{to:?} <- {name}: {text}\n");
        }
    };
    for to in FILES {
        for from in FILES {
            let copy = copy_of(to, 0, Source::value(Value(1)));
            note(to, &format!("{from:?}"), selected(&[(to, 2), (from, 3)], vec![copy], PLAIN));
        }
        for (name, source) in [
            ("immediate", Source::imm(0x7fffffff)),
            ("constant", Source::constant(0, 0x210)),
            ("zero", Source::plain(SourceKind::Zero(to))),
            ("true", Source::plain(SourceKind::True(to))),
            ("not true", Source::plain(SourceKind::True(to)).inverted()),
        ] {
            note(to, name, selected(&[(to, 2)], vec![copy_of(to, 0, source)], PLAIN));
        }
    }
    check(
        &lines,
        expect![[r#"
            R <- R: MOV R2, R3
            R <- UR: MOV R2, UR3
            R <- immediate: MOV R2, 0x7fffffff
            R <- constant: MOV R2, c[0x0][0x210]
            R <- zero: MOV R2, RZ
            R <- true: MOV R2, RZ
            UR <- R: R2UR UR2, R3
            UR <- UR: UMOV UR2, UR3
            UR <- immediate: UMOV UR2, 0x7fffffff
            UR <- zero: UMOV UR2, URZ
            UR <- true: UMOV UR2, URZ
            P <- P: PLOP3.LUT P2, PT, P3, PT, PT, 0x80, 0x0
            P <- zero: PLOP3.LUT P2, PT, PT, PT, PT, 0x80, 0x0
            P <- true: PLOP3.LUT P2, PT, PT, PT, PT, 0x80, 0x0
            P <- not true: PLOP3.LUT P2, PT, !PT, PT, PT, 0x80, 0x0
        "#]],
    );
}

/// Moves without dependencies alternate between the pipes. Zeros that fill a pair are one instruction.
#[test]
fn moves_take_turns_between_the_pipes() {
    let values: Vec<(File, u8)> = (2..10).map(|register| (File::R, register)).collect();
    let moves = || {
        let sources = [
            Source::imm(7),
            Source::constant(0, 0x210),
            Source::value(Value(6)),
            Source::value(Value(7)),
            Source::rz(),
            Source::rz(),
        ];
        (0..).zip(sources).map(|(to, source)| copy_of(File::R, to, source)).collect::<Vec<_>>()
    };
    check(
        &selected(&values, moves(), ALTERNATIVES),
        expect![[r#"
            IMAD.MOV.U32 R2, RZ, RZ, 0x7
            MOV R3, c[0x0][0x210]
            IMAD.MOV.U32 R4, RZ, RZ, R8
            MOV R5, R9
            CS2R R6, SRZ"#]],
    );
    check(
        &selected(&values, moves(), PLAIN),
        expect![[r#"
            MOV R2, 0x7
            MOV R3, c[0x0][0x210]
            MOV R4, R8
            MOV R5, R9
            MOV R6, RZ
            MOV R7, RZ"#]],
    );
}

/// Two equal instructions on the halves of pairs are one where the chip has it; swapped halves, or registers that are
/// no pair, are not.
#[test]
fn halves_of_pairs_at_once() {
    let values: Vec<(File, u8)> = (2..10)
        .map(|register| (File::R, register))
        .chain((4..8).map(|register| (File::UR, register)))
        .chain([(File::P, 1)])
        .collect();
    let register = |file: File, n: u32| Source::value(Value(if file == File::R { n - 2 } else { n - 4 + 8 }));
    let general = |n: u32| register(File::R, n);
    let choice = |to: u32, a: Source, b: Source| {
        let mut choice = copy_of(File::R, to - 2, a);
        choice.opcode = Op::SEL.into();
        choice.sources.extend([b, Source::value(Value(12))]);
        choice
    };
    let set = |to: u32, from: Source| copy_of(File::R, to - 2, from);
    let uniform = |to: u32, from: Source| copy_of(File::UR, to - 4 + 8, from);
    let instructions = vec![
        set(2, general(4)),
        set(3, general(5)),
        set(3, general(5)),
        set(2, general(4)),
        set(3, general(5)),
        set(4, general(6)),
        set(2, register(File::UR, 6)),
        set(3, register(File::UR, 7)),
        set(2, Source::rz()),
        set(3, Source::imm(0x3ff0_0000)),
        uniform(4, register(File::UR, 6)),
        uniform(5, register(File::UR, 7)),
        uniform(4, Source::plain(SourceKind::Zero(File::UR))),
        uniform(5, Source::plain(SourceKind::Zero(File::UR))),
        choice(2, general(4), register(File::UR, 6)),
        choice(3, general(5), register(File::UR, 7)),
        choice(2, Source::rz(), general(6)),
        choice(3, Source::rz(), general(7)),
        choice(2, general(4), general(6)),
        choice(3, general(5), general(6)),
    ];
    check(
        &selected_on("sm_120", &values, instructions, ALTERNATIVES),
        expect![[r#"
        MOV.64 R2, R4
        IMAD.MOV.U32 R3, RZ, RZ, R5
        MOV.64 R2, R4
        IMAD.MOV.U32 R4, RZ, RZ, R6
        IMAD.U32 R2, RZ, RZ, UR6
        IMAD.U32 R3, RZ, RZ, UR7
        MOV.64 R2, 0x3ff0000000000000
        UMOV UR4, UR6
        UMOV UR5, UR7
        UMOV.64 UR4, 0x0
        SEL.64 R2, R4, UR6, P1
        SEL.64 R2, RZ, R6, P1
        SEL R2, R4, R6, P1
        SEL R3, R5, R6, P1"#]],
    );
}

/// A dependency chain stays on one pipe.
#[test]
fn a_chain_stays_on_its_pipe() {
    let values: Vec<(File, u8)> = (2..10).map(|register| (File::R, register)).collect();
    let chain = |first: Op| {
        let mut multiply = Instruction::new(first, Origin(0));
        multiply.destinations.push(Destination::new(File::R, [Value(0)]));
        multiply.sources.extend([Source::value(Value(1)), Source::value(Value(2)), Source::value(Value(3))]);
        if first == Op::LOP3 {
            multiply.mods.insert(Mod::LUT);
            multiply.sources.extend([Source::literal(0x96), Source::not_pt()]);
        }
        let mut sum = Instruction::new(Op::IADD3, Origin(0));
        sum.destinations.push(Destination::new(File::R, [Value(4)]));
        sum.sources.extend([Source::value(Value(0)), Source::value(Value(1)), Source::rz()]);
        vec![multiply, sum]
    };
    check(
        &selected(&values, chain(Op::IMAD), ALTERNATIVES),
        expect![[r#"
            IMAD R2, R3, R4, R5
            IADD3 R6, R2, R3, RZ"#]],
    );
    check(
        &selected(&values, chain(Op::LOP3), ALTERNATIVES),
        expect![[r#"
            LOP3.LUT R2, R3, R4, R5, 0x96, !PT
            IADD3 R6, R2, R3, RZ"#]],
    );
}

/// A choice that the next comparison waits for is a select, which knows the predicate first. One that nothing waits for, or next to
/// others that keep the pipe of selects busy, is a guarded move.
#[test]
fn a_chain_of_choices_waits_for_no_guard() {
    let values: Vec<(File, u8)> =
        (2..34).map(|register| (File::R, register)).chain((1..6).map(|at| (File::P, at))).collect();
    let predicate = |n: u32| Value(31 + n);
    let largest = |predicate: Value, best: u32, other: u32| {
        let mut compare = Instruction::new(Op::FSETP, Origin(0));
        compare.mods = Mods::of(&[Mod::GT, Mod::AND]);
        compare
            .destinations
            .extend([Destination::new(File::P, [predicate]), Destination::dropped(File::P, 1)]);
        compare.sources.extend([best, other].map(|n| Source::value(Value(n))));
        compare.sources.push(Source::pt());
        let mut choice = copy_of(File::R, best, Source::value(Value(best)));
        choice.opcode = Op::SEL.into();
        choice.sources.extend([Source::value(Value(other)), Source::value(predicate)]);
        [compare, choice]
    };
    check(
        &selected(&values, (1..4).flat_map(|at| largest(predicate(at), 0, at)).collect(), ALTERNATIVES),
        expect![[r#"
            FSETP.GT.AND P1, PT, R2, R3, PT
            SEL R2, R2, R3, P1
            FSETP.GT.AND P2, PT, R2, R4, PT
            SEL R2, R2, R4, P2
            FSETP.GT.AND P3, PT, R2, R5, PT
            SEL R2, R2, R5, P3"#]],
    );
    let alone = [largest(predicate(1), 0, 1), largest(predicate(2), 2, 3)].concat();
    check(
        &selected(&values, alone, ALTERNATIVES),
        expect![[r#"
        FSETP.GT.AND P1, PT, R2, R3, PT
        @!P1 IMAD.MOV.U32 R2, RZ, RZ, R3
        FSETP.GT.AND P2, PT, R4, R5, PT
        @!P2 IMAD.MOV.U32 R4, RZ, RZ, R5"#]],
    );
    let wide = (0..16).flat_map(|at| largest(predicate(1 + at % 4), 2 * at, 2 * at + 1)).collect();
    let wide = selected(&values, wide, ALTERNATIVES);
    let guarded = wide.lines().filter(|line| line.starts_with('@')).count();
    check(&format!("{guarded} of 16"), expect!["16 of 16"]);
}

#[test]
fn no_two_rows_tie() {
    for chip in supported() {
        assert_eq!(patterns(chip).find_tie(), None);
        assert!(tree(chip).is_ok());
    }
}

#[test]
fn a_tie_is_refused_when_the_tree_is_made() {
    const ROWS: &[Pattern<()>] = &[
        Pattern { name: "one", tests: &[Test::Sources(2), Test::Machine], template: () },
        Pattern { name: "other", tests: &[Test::Machine, Test::Sources(2), Test::Mods(&[])], template: () },
        Pattern { name: "third", tests: &[Test::Mods(&[]), Test::Sources(2), Test::Machine], template: () },
    ];
    let tie = oriole_ori::pattern::Tree::new(&Patterns(&[ROWS])).expect_err("two rows ask the same");
    assert_eq!(tie.to_string(), "patterns `other` and `third` may both match, with the same priority");
}

/// Random legal instructions of every chip: tree and scan find the same row whichever pipe is free, and the result of
/// the row is legal too.
#[test]
fn the_tree_finds_what_the_scan_finds_and_that_is_legal() {
    for chip in supported() {
        let table = patterns(chip);
        let tree = tree(chip).expect("no two rows tie");
        let (function, assignment) = support::function();
        let mut random = Random(88172645463325252);
        let rows: Vec<_> = table.rows().collect();
        let mut hits = vec![0u32; rows.len()];
        let mut unused = Vec::new();
        let common = [Op::MOV, Op::IADD3, Op::SHF, Op::LEA, Op::SEL, Op::UMOV];
        let mut legal = 0;
        for _ in 0..24_000 {
            let op = match random.below(3) {
                0 => *random.pick(Op::all()),
                _ => *random.pick(&common),
            };
            let row = rows[random.below(rows.len())].1;
            let instruction = match random.below(60) {
                0..12 => support::copy(&mut random),
                12..30 => match support::aimed(&mut random, chip, &function, row) {
                    Some(instruction) => instruction,
                    None => continue,
                },
                _ => match support::instruction(&mut random, chip, &function, op) {
                    Some(instruction) => instruction,
                    None => continue,
                },
            };
            if support::lacks_registers(chip, &function, &instruction) {
                // A row that only matches such instructions has no use on the chip.
                for pipe in [Pipe::Alu, Pipe::Fma] {
                    let assignment = Some(&assignment);
                    let site =
                        Site { function: &function, instruction: &instruction, next: None, assignment, pipe };
                    unused.extend(table.scan(&site).map(|found| found.0));
                }
                continue;
            }
            legal += 1;
            let mut twin = instruction.clone();
            if let Some(destination) = twin.destinations.first_mut()
                && !destination.values.is_empty()
            {
                destination.values[0] = Value(destination.values[0].0 / 5 * 5 + 1);
            }
            let half = support::other_half(&function, &instruction);
            let nexts = [None, Some(&twin), Some(&half)];
            for (pipe, next) in nexts.into_iter().flat_map(|next| [(Pipe::Alu, next), (Pipe::Fma, next)]) {
                let site = Site {
                    function: &function,
                    instruction: &instruction,
                    next,
                    assignment: Some(&assignment),
                    pipe,
                };
                let scanned = table.scan(&site);
                let found = tree.find(&site);
                assert_eq!(scanned.map(|row| row.0), found.map(|row| row.0), "{instruction:?}");
                let Some((row, pattern)) = scanned else { continue };
                let at = rows.iter().position(|&(id, _)| id == row).expect("a row of the table");
                hits[at] += 1;
                if let Template::Build(build) = pattern.template {
                    let made = build.apply(&instruction, next).expect("the row asks all that it needs");
                    assert!(is_legal(chip, &function, &made), "{}: {instruction:?}\n{made:?}", pattern.name);
                }
            }
        }
        assert!(legal > 6_000, "{legal} instructions");
        for ((row, pattern), hits) in rows.into_iter().zip(hits) {
            assert!(hits > 0 || unused.contains(&row), "{chip}: no instruction matched `{}`", pattern.name);
        }
    }
}

/// Exclusion and implication between tests hold for random instructions.
#[test]
fn exclusion_and_implication_are_true() {
    let (function, assignment) = support::function();
    let mut random = Random(2463534242);
    let mut tests: Vec<Test> = patterns(CHIP).rows().flat_map(|(_, row)| row.tests).copied().collect();
    for width in [Width::Any, Width::W32, Width::W64, Width::W128] {
        tests.extend([Test::Source(1, Kinds::ANY, width), Test::Source(0, Kinds::CONSTANT, width)]);
    }
    tests.extend([Test::OneOf(&[Mod::F64, Mod::U32]), Test::Mod(Mod::X), Test::Destinations(2)]);
    tests.sort();
    tests.dedup();
    for _ in 0..6_000 {
        let op = *random.pick(&[Op::MOV, Op::IADD3, Op::SHF, Op::LEA, Op::SEL, Op::LDG, Op::DADD, Op::IMAD]);
        let Some(instruction) = support::instruction(&mut random, CHIP, &function, op) else { continue };
        let pipe = if random.once_in(2) { Pipe::Alu } else { Pipe::Fma };
        let site = Site {
            function: &function,
            instruction: &instruction,
            next: None,
            assignment: Some(&assignment),
            pipe,
        };
        let answers: Vec<bool> = tests.iter().map(|test| test.holds(&site)).collect();
        for (a, &one) in tests.iter().zip(&answers) {
            for (b, &other) in tests.iter().zip(&answers) {
                assert!(!(one && other && a.excludes(*b)), "{a:?} excludes {b:?}: {instruction:?}");
                assert!(!(one && !other && a.implies(*b)), "{a:?} implies {b:?}: {instruction:?}");
            }
        }
    }
}

#[test]
fn explanation_names_every_candidate() {
    let copy = copy_of(File::R, 0, Source::imm(5));
    let (function, assignment) = function(&[(File::R, 4)], vec![copy]);
    let tables = Tables::of(CHIP).expect("tables");
    let blocks = explain(&tables, &function, &assignment, &PLAIN);
    let mut lines = format!("{}\n", blocks[0][0].before);
    for candidate in &blocks[0][0].candidates {
        let verdict = candidate.failed.map_or("matches".to_owned(), |test| test.to_string());
        lines += &format!("{} {}: {verdict}\n", candidate.priority, candidate.name);
    }
    check(
        &lines,
        expect![[r#"
            r0 = Copy 0x5 ; 0
            147 move zero to a pair: CS2R: source 0 is not RZ
            129 move immediate: IMAD.MOV: the Fma pipe has less time for it
            129 move uniform register: IMAD.U32: source 0 is not uniform register
            129 move constant: IMAD.MOV: source 0 is not constant
            127 move to uniform register: R2UR: destination 0 is not uniform register of 32 bits
            127 move between uniform registers: UMOV: destination 0 is not uniform register of 32 bits
            127 move predicate: PLOP3: destination 0 is not predicate of 32 bits
            126 move register: IMAD.MOV: source 0 is not register or RZ
            124 move immediate: MOV: matches
            124 move uniform register: MOV: source 0 is not uniform register
            124 move constant: MOV: source 0 is not constant
            121 move register: MOV: source 0 is not register or RZ
        "#]],
    );
}

/// An opcode without a row is taken as it is; a pseudo-operation without a row has no form.
#[test]
fn the_rest_is_taken_as_it_is() {
    let site = |instruction: &Instruction| {
        let function = Function::default();
        let site = Site { function: &function, instruction, next: None, assignment: None, pipe: Pipe::Alu };
        patterns(CHIP).scan(&site).map(|(_, row)| row.name)
    };
    assert_eq!(site(&Instruction::new(Opcode::Sass(Op::FFMA), Origin(0))), Some("as it is"));
    assert_eq!(site(&Instruction::new(Opcode::Pseudo(Pseudo::Add64), Origin(0))), None);
}
