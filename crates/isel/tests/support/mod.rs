//! Random instructions that a chip can write, made from its form table.

use oriole_chip::Chip;
use oriole_ori::pattern::{Kinds, Number, Pattern, Signs, Test};
use oriole_ori::{
    Address, Assignment, Destination, File, Function, Guard, Instruction, Opcode, Origin, Pseudo, Source,
    SourceKind, Value, Values, is_legal,
};
use oriole_sass::Op;
use oriole_sass::form::{self, Access, Form, NO_BIT, SELF, Slot, SlotKind, Token};

/// A small random number generator with a fixed seed, so that every run tests the same instructions.
pub struct Random(pub u64);

impl Random {
    /// An integer below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545f4914f6cdd1d) >> 33) as usize % end
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

const FILES: [File; 5] = [File::R, File::UR, File::P, File::UP, File::B];
/// Values of each file in a function; value n of a file has register n + 2, except one that shares its register.
const VALUES: u32 = 5;

/// A function without instructions, whose values have registers: five in each file, of which the last one shares the
/// register of the first.
pub fn function() -> (Function, Assignment) {
    let mut function = Function { is_entry: true, ..Function::default() };
    let mut assignment = Assignment::default();
    for file in FILES {
        for n in 0..VALUES {
            function.new_value(file, None);
            assignment.registers.push(Some(2 + (n % (VALUES - 1)) as u8));
        }
    }
    (function, assignment)
}

fn value(random: &mut Random, file: File) -> Value {
    let at = FILES.iter().position(|&each| each == file).expect("a file");
    Value(at as u32 * VALUES + random.below(VALUES as usize) as u32)
}

fn file_of(kind: SlotKind) -> Option<File> {
    Some(match kind {
        SlotKind::Reg => File::R,
        SlotKind::UReg => File::UR,
        SlotKind::Pred => File::P,
        SlotKind::UPred => File::UP,
        SlotKind::Barrier => File::B,
        _ => return None,
    })
}

fn source(random: &mut Random, form: &Form, at: usize, slot: &Slot) -> Option<Source> {
    let mut source = match (slot.kind, file_of(slot.kind)) {
        (_, Some(file)) if random.once_in(4) && file != File::B => Source::plain(match file {
            File::R | File::UR => SourceKind::Zero(file),
            _ => SourceKind::True(file),
        }),
        (_, Some(file)) => Source::value(value(random, file)),
        (SlotKind::Imm, _) if random.once_in(2) => Source::literal(random.below(34) as i64),
        (SlotKind::Imm | SlotKind::Float(_), _) => {
            Source::imm(*random.pick(&[0, 1, 2, 16, 0x3f800000, 0xffff_fff0]))
        }
        (SlotKind::Const, _) => Source::constant(0, 4 * random.below(64) as i32),
        (SlotKind::Scoreboard, _) => Source::plain(SourceKind::Scoreboard(random.below(6) as u8)),
        (SlotKind::FixedSymbol(symbol), _) => Source::plain(SourceKind::Symbol(symbol)),
        (SlotKind::Symbol, _) => {
            let named = form.sets.iter().flat_map(|set| set.rows.iter().map(move |row| (set.slot, row)));
            let names: Vec<_> = named
                .flat_map(|(own, row)| row.tokens.iter().map(move |&token| (own, token)))
                .filter_map(|(own, token)| match token {
                    Token::Symbol(of, symbol) if usize::from(if of == SELF { own } else { of }) == at => {
                        Some(symbol)
                    }
                    _ => None,
                })
                .collect();
            Source::plain(SourceKind::Symbol(*random.pick(&names)))
        }
        (SlotKind::Memory { descriptor, base, uniform, offset }, _) => {
            let mut part = |present: bool, file: File| -> Values {
                if present { [value(random, file)].into_iter().collect() } else { Values::new() }
            };
            let (base, uniform) = (part(base, File::R), part(uniform, File::UR));
            let descriptor = descriptor.then(|| part(true, File::UR));
            let offset = if offset { 16 } else { 0 };
            let address = Address { descriptor, base, uniform, symbol: None, offset };
            Source::plain(SourceKind::Address(Box::new(address)))
        }
        _ => return None,
    };
    let mut sign = |bit: u8| bit != NO_BIT && random.once_in(3);
    source.negate = sign(slot.negate);
    source.absolute = sign(slot.absolute);
    source.invert = sign(slot.invert);
    Some(source)
}

/// An instruction in a form of the chip; `None` if this attempt produced none.
pub fn instruction(random: &mut Random, chip: Chip, function: &Function, op: Op) -> Option<Instruction> {
    let forms = form::table(chip)?.forms_of(op);
    if forms.is_empty() {
        return None;
    }
    let form = random.pick(forms);
    let mut made = Instruction::new(op, Origin(0));
    // Operands that the text may leave out are left out now and then, and always beyond the first one written.
    for (at, slot) in form.slots.iter().enumerate() {
        match (slot.access, file_of(slot.kind)) {
            (Access::Def, Some(file)) if made.sources.is_empty() => {
                if file == File::P && !made.destinations.is_empty() && random.once_in(2) {
                    continue;
                }
                made.destinations.push(match random.once_in(8) && file != File::B {
                    true => Destination::dropped(file, 1),
                    false => Destination::new(file, [value(random, file)]),
                });
            }
            _ => made.sources.push(source(random, form, at, slot)?),
        }
    }
    let tokens: Vec<Token> = form
        .always
        .iter()
        .copied()
        .chain(form.sets.iter().flat_map(|set| random.pick(set.rows).tokens.iter().copied()))
        .collect();
    for token in tokens {
        if let Token::Mod(name) = token {
            made.mods.insert(name);
        }
    }
    if random.once_in(6) {
        made.guard = Some(Guard { value: value(random, File::P), negated: random.once_in(2) });
    }
    is_legal(chip, function, &made).then_some(made)
}

/// True if the chip cannot have this instruction, since it names uniform registers and the chip has none.
pub fn lacks_registers(chip: Chip, function: &Function, instruction: &Instruction) -> bool {
    let uniform = |file: File| matches!(file, File::UR | File::UP);
    let source = |source: &Source| match &source.kind {
        SourceKind::Zero(file) | SourceKind::True(file) => uniform(*file),
        SourceKind::Values(values) => values.iter().any(|&value| uniform(function.file(value))),
        _ => false,
    };
    !chip.has_uniform_datapath()
        && (instruction.destinations.iter().any(|it| uniform(it.file))
            || instruction.sources.iter().any(source))
}

/// A copy between two random places.
pub fn copy(random: &mut Random) -> Instruction {
    let mut made = Instruction::new(Pseudo::Copy, Origin(0));
    let to = *random.pick(&FILES);
    made.destinations.push(Destination::new(to, [value(random, to)]));
    made.sources.push(match random.below(6) {
        0 => Source::imm(random.below(4) as u32),
        1 => Source::constant(0, 16),
        2 => Source::plain(SourceKind::Zero(FILES[random.below(2)])),
        3 => Source::plain(SourceKind::True(FILES[2 + random.below(2)])),
        _ => {
            let file = *random.pick(&FILES);
            Source::value(value(random, file))
        }
    });
    made
}

/// An instruction that satisfies the tests of a row on operation and single operands; the rest is random. `None` if
/// this attempt produced none that the chip can encode.
pub fn aimed<T>(
    random: &mut Random,
    chip: Chip,
    function: &Function,
    row: &Pattern<T>,
) -> Option<Instruction> {
    let mut made = Instruction::new(Op::NOP, Origin(0));
    let (mut destinations, mut sources) = (1, 1);
    let mut to = Kinds::REGISTER;
    for test in row.tests {
        match *test {
            Test::Opcode(opcode) => made.opcode = opcode,
            Test::Opcodes(opcodes) => made.opcode = *random.pick(opcodes),
            Test::Mods(mods) => mods.iter().for_each(|&name| made.mods.insert(name)),
            Test::Destinations(count) => destinations = count,
            Test::Sources(count) => sources = count,
            Test::Destination(0, kinds, _) => to = kinds,
            _ => {}
        }
    }
    for n in 0..destinations {
        let file = if n == 0 { file_of_kind(to)? } else { File::P };
        made.destinations.push(Destination::new(file, [value(random, file)]));
    }
    for n in 0..sources {
        let mut kinds = Kinds::GENERAL;
        let (mut signs, mut range) = (Signs::Plain, (0, 40));
        for test in row.tests {
            match *test {
                Test::Source(m, of, _) if m == n => kinds = of,
                Test::Signs(m, of) if m == n => signs = of,
                Test::Number(m, Number::Between(low, high)) if m == n => {
                    (kinds, range) = (Kinds::IMMEDIATE.or(Kinds::NUMBER), (low, high));
                }
                _ => {}
            }
        }
        let number = range.0 + random.below((range.1 - range.0 + 1) as usize) as i64;
        let one =
            *random.pick(&Kinds::ALL.into_iter().filter(|&kind| kinds.covers(kind)).collect::<Vec<_>>());
        let neutral = [Kinds::ZERO, Kinds::UNIFORM_ZERO, Kinds::TRUE, Kinds::UNIFORM_TRUE].contains(&one);
        let mut source = match (one, file_of_kind(one)) {
            (Kinds::IMMEDIATE, _) => Source::imm(number as u32),
            (Kinds::NUMBER, _) => Source::literal(number),
            (Kinds::CONSTANT, _) => Source::constant(0, 0x210),
            (_, Some(file @ (File::R | File::UR))) if neutral => Source::plain(SourceKind::Zero(file)),
            (_, Some(file)) if neutral => Source::plain(SourceKind::True(file)),
            (_, Some(file)) => Source::value(value(random, file)),
            _ => return None,
        };
        source.negate = signs == Signs::Negated || signs == Signs::MaybeNegated && random.once_in(2);
        source.invert = signs == Signs::Inverted || signs == Signs::MaybeInverted && random.once_in(2);
        made.sources.push(source);
    }
    (matches!(made.opcode, Opcode::Pseudo(_)) || is_legal(chip, function, &made)).then_some(made)
}

/// The instruction with the other register of each pair.
pub fn other_half(function: &Function, instruction: &Instruction) -> Instruction {
    let mut other = instruction.clone();
    let half = |value: &mut Value| {
        // Value n of a file has register n + 2, except the last one.
        let n = value.0 % VALUES;
        if matches!(function.file(*value), File::R | File::UR) {
            *value = Value(value.0 - n + ((n % (VALUES - 1)) ^ 1));
        }
    };
    other.for_each_use_mut(half);
    other.for_each_definition_mut(half);
    other
}

fn file_of_kind(kind: Kinds) -> Option<File> {
    FILES.into_iter().find(|&file| kind == Kinds::of_file(file, false) || kind == Kinds::of_file(file, true))
}
