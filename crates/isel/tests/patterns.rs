//! The pattern table: what copies become, that tree and scan agree, that no two rows tie.

use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_isel::matcher::{Tree, find_tie, scan};
use oriole_isel::{explain, patterns, select};
use oriole_ori::{
    Assignment, Block, Destination, File, Function, Instruction, Opcode, Origin, Pseudo, Source, SourceKind,
    Value,
};
use oriole_sass::{Mod, Op, Style};

const CHIP: Chip = Chip::SM_90A;

const FILES: [File; 5] = [File::R, File::UR, File::P, File::UP, File::B];

/// A function of one instruction, whose values have the register numbers that they are listed with.
fn function(values: &[(File, u8)], instruction: Instruction) -> (Function, Assignment) {
    let mut function = Function { is_entry: true, ..Function::default() };
    let mut assignment = Assignment::default();
    for &(file, register) in values {
        function.new_value(file, None);
        assignment.registers.push(Some(register));
    }
    function.blocks.push(Block { instructions: vec![instruction], ..Block::default() });
    (function, assignment)
}

fn copy(to: File, from: Source, values: &[(File, u8)]) -> String {
    let mut instruction = Instruction::new(Pseudo::Copy, Origin(0));
    instruction.destinations.push(Destination::new(to, [Value(0)]));
    instruction.sources.push(from);
    let (function, assignment) = function(values, instruction);
    match select(CHIP, &function, &assignment) {
        Ok(machine) => {
            let chosen = &machine.blocks[0].instructions[0].instruction;
            oriole_sass::text(CHIP, chosen, Some(0), Style::Plain).expect("what is chosen has a form")
        }
        Err(error) => error.reason,
    }
}

fn check(found: &str, expected: Expect) {
    expected.assert_eq(found);
}

#[test]
fn copies() {
    let from = |file| [(file, 3)];
    let mut lines = String::new();
    for to in FILES {
        for file in FILES {
            let text = copy(to, Source::value(Value(1)), &[(to, 2), from(file)[0]]);
            if !text.starts_with("no ") {
                lines += &format!("{to:?} <- {file:?}: {text}\n");
            }
        }
        for (name, source) in [
            ("immediate", Source::imm(0x7fffffff)),
            ("constant", Source::constant(0, 0x210)),
            ("zero", Source::plain(SourceKind::Zero(to))),
            ("true", Source::plain(SourceKind::True(to))),
            ("not true", Source::plain(SourceKind::True(to)).inverted()),
        ] {
            let text = copy(to, source, &[(to, 2)]);
            if !text.starts_with("no ") {
                lines += &format!("{to:?} <- {name}: {text}\n");
            }
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
            UR <- R: R2UR UR2, R3
            UR <- UR: UMOV UR2, UR3
            UR <- immediate: UMOV UR2, 0x7fffffff
            UR <- constant: ULDC UR2, c[0x0][0x210]
            UR <- zero: UMOV UR2, URZ
            P <- P: PLOP3.LUT P2, PT, P3, PT, PT, 0x80, 0x0
            P <- UP: PLOP3.LUT P2, PT, PT, PT, UP3, 0x80, 0x0
            P <- true: PLOP3.LUT P2, PT, PT, PT, PT, 0x80, 0x0
            P <- not true: PLOP3.LUT P2, PT, !PT, PT, PT, 0x80, 0x0
            UP <- UP: UPLOP3.LUT UP2, UPT, UP3, UPT, UPT, 0x80, 0x0
            UP <- true: UPLOP3.LUT UP2, UPT, UPT, UPT, UPT, 0x80, 0x0
            UP <- not true: UPLOP3.LUT UP2, UPT, !UPT, UPT, UPT, 0x80, 0x0
        "#]],
    );
}

#[test]
fn no_two_rows_tie() {
    for chip in Chip::all().into_iter().filter(|chip| chip.is_supported()) {
        assert_eq!(find_tie(patterns(chip)), None);
    }
}

/// A small generator of numbers, so that every run tests the same instructions.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545f4914f6cdd1d) >> 33) as usize % end
    }
}

fn random_source(random: &mut Random) -> Source {
    let mut source = match random.below(7) {
        0 => Source::imm(random.below(4) as u32),
        1 => Source::constant(0, 16),
        2 => Source::literal(3),
        3 => Source::plain(SourceKind::Zero(FILES[random.below(2)])),
        4 => Source::plain(SourceKind::True(FILES[2 + random.below(2)])),
        _ => Source::value(Value(random.below(5) as u32)),
    };
    source.negate = random.below(4) == 0;
    if random.below(6) == 0 {
        source.suffixes.insert(Mod::H0_H0);
    }
    source
}

#[test]
fn the_tree_finds_what_the_scan_finds() {
    let table = patterns(CHIP);
    let tree = Tree::new(table).expect("no two rows tie");
    let mut random = Random(88172645463325252);
    let mut function = Function::default();
    for file in FILES {
        function.new_value(file, None);
    }
    let mut hits = vec![0; table.len()];
    for _ in 0..20_000 {
        let opcode = match random.below(4) {
            0 => Opcode::Sass(Op::all()[random.below(Op::all().len())]),
            1 => Opcode::Sass(Op::UMOV),
            2 => Opcode::Pseudo(Pseudo::ALL[random.below(Pseudo::ALL.len())]),
            _ => Opcode::Pseudo(Pseudo::Copy),
        };
        let mut instruction = Instruction::new(opcode, Origin(0));
        for _ in 0..random.below(3) {
            let file = FILES[random.below(5)];
            instruction.destinations.push(Destination::dropped(file, 1));
        }
        for _ in 0..random.below(4) {
            instruction.sources.push(random_source(&mut random));
        }
        if random.below(4) == 0 {
            instruction.mods.insert(Mod::X);
        }
        let scanned = scan(table, &function, &instruction).map(|pattern| pattern.name);
        let found = tree.find(&function, &instruction).map(|pattern| pattern.name);
        assert_eq!(scanned, found, "{instruction:?}");
        if let Some(at) = table.iter().position(|pattern| Some(pattern.name) == scanned) {
            hits[at] += 1;
        }
    }
    for (pattern, hits) in table.iter().zip(hits) {
        assert!(hits > 0, "no instruction matched `{}`", pattern.name);
    }
}

#[test]
fn explanation_names_every_candidate() {
    let mut instruction = Instruction::new(Pseudo::Copy, Origin(0));
    instruction.destinations.push(Destination::new(File::UR, [Value(0)]));
    instruction.sources.push(Source::constant(0, 0x210));
    let (function, _) = function(&[(File::UR, 4)], instruction);
    let mut lines = String::new();
    for candidate in explain(CHIP, &function, &function.blocks[0].instructions[0]) {
        let verdict = candidate.failed.map_or("matches".to_owned(), |test| format!("not {test:?}"));
        lines += &format!("{} {}: {verdict}\n", candidate.priority, candidate.name);
    }
    check(
        &lines,
        expect![[r#"
        120 copy register: not Destination(0, R)
        120 copy immediate: not Destination(0, R)
        120 copy constant: not Destination(0, R)
        120 copy from uniform: not Destination(0, R)
        120 copy to uniform: not Source(0, File(R))
        120 copy uniform: not Source(0, File(UR))
        120 copy uniform immediate: not Source(0, Immediate)
        120 copy uniform constant: matches
        120 copy predicate: not Destination(0, P)
        120 copy predicate from uniform: not Destination(0, P)
        120 copy uniform predicate: not Destination(0, UP)
    "#]],
    );
}
