//! The text form: its syntax, that it round-trips, and that equal text means equal functions.

use expect_test::expect;
use oriole_ori::{
    AddressPart, Block, BlockId, CallShape, Clobbers, ConstBase, Destination, File, Function, Guard,
    Instruction, LocalVariable, MemoryInfo, ObjectOperation, Opcode, Origin, Phi, PhiSource, Pseudo, Source,
    SourceKind, Space, SymbolId, SymbolKind, SymbolRef, Table, Value, ValueData, parse,
};
use oriole_sass::{Mod, Mods, Op, Symbol};

/// A small deterministic random number generator (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    fn coin(&mut self) -> bool {
        self.roll(2) == 0
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.roll(items.len() as u64) as usize]
    }

    fn offset(&mut self) -> i32 {
        self.pick(&[0, 0, 4, -8, 0x210, i32::MAX, i32::MIN])
    }
}

/// A function with every kind of operand, meaningless but well-formed.
fn random_function(seed: u64) -> Function {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut function =
        Function { is_entry: dice.coin(), parameter_bytes: dice.roll(100) as u32, ..Function::default() };
    function.barriers = dice.roll(17) as u8;
    if !function.is_entry && dice.coin() {
        function.routine = Some(Clobbers { general: dice.roll(u64::MAX), predicates: dice.roll(128) as u8 });
    }
    function.register_limit = dice.coin().then(|| dice.roll(256) as u16);
    for index in 0..1 + dice.roll(3) {
        let kind = match dice.roll(10) {
            0 => SymbolKind::Shared,
            1 => SymbolKind::Global,
            2 => SymbolKind::Constant,
            3 => SymbolKind::Local(dice.roll(3) as u32),
            4 => SymbolKind::Function,
            5 => SymbolKind::Helper,
            6 => SymbolKind::Opaque,
            7 => SymbolKind::OpaqueParameter(dice.roll(3) as u32),
            8 => SymbolKind::Outside,
            _ => SymbolKind::Extern,
        };
        let name = dice.pick(&["a", "x = y", "q\"uote\\ // slash", "_ZN$1.b\u{e9}\n"]);
        function.symbols.push(SymbolRef { name: format!("{name}{index}"), kind, align: 1 << (index % 3) });
    }
    for _ in 0..dice.roll(3) {
        function.locals.push(LocalVariable { size: dice.roll(1 << 33), align: 1 << dice.roll(5) });
    }
    let blocks = 1 + dice.roll(4) as u32;
    for _ in 0..1 + dice.roll(2) {
        let table = match dice.roll(5) {
            0 | 1 => {
                Table::Targets((0..dice.roll(3)).map(|_| BlockId(dice.roll(blocks.into()) as u32)).collect())
            }
            2 | 3 => Table::Words((0..dice.roll(3)).map(|_| dice.roll(1 << 32) as u32).collect()),
            _ => Table::Functions,
        };
        function.tables.push(table);
    }
    for _ in 0..5 + dice.roll(10) {
        let file = dice.pick(&[File::R, File::R, File::UR, File::P, File::UP, File::B]);
        let source = dice.coin().then(|| (dice.roll(9) as u32, dice.roll(2) as u8));
        function.values.push(ValueData { file, source });
    }
    for _ in 0..blocks {
        let successors = (0..dice.roll(3)).map(|_| BlockId(dice.roll(blocks.into()) as u32)).collect();
        let mut block = Block { successors, ..Block::default() };
        for _ in 0..dice.roll(2) {
            let destination = Value(dice.roll(function.values.len() as u64) as u32);
            let sources = (0..1 + dice.roll(2))
                .map(|i| (BlockId(i as u32 % blocks), random_phi_source(&mut dice, &function)));
            let sources = sources.collect();
            block.phis.push(Phi { destination, sources });
        }
        for _ in 0..dice.roll(6) {
            block.instructions.push(random_instruction(&mut dice, &function));
        }
        function.blocks.push(block);
    }
    function
}

fn random_values(dice: &mut Dice, function: &Function, file: Option<File>) -> Vec<Value> {
    let all: Vec<Value> =
        function.values.keys().filter(|&v| file.is_none_or(|file| function.file(v) == file)).collect();
    if all.is_empty() {
        return Vec::new();
    }
    (0..1 + dice.roll(3)).map(|_| dice.pick(&all)).collect()
}

fn random_mods(dice: &mut Dice) -> Mods {
    let all = Mod::all();
    Mods::of(&(0..dice.roll(3)).map(|_| dice.pick(all)).collect::<Vec<_>>())
}

fn random_phi_source(dice: &mut Dice, function: &Function) -> PhiSource {
    let file = dice.pick(&[File::R, File::UR, File::P, File::UP]);
    match dice.roll(5) {
        0 => PhiSource::Zero(file),
        1 => PhiSource::True(file),
        2 => PhiSource::False(file),
        3 => PhiSource::Imm(dice.roll(1 << 32) as u32),
        _ => PhiSource::Value(Value(dice.roll(function.values.len() as u64) as u32)),
    }
}

fn random_source(dice: &mut Dice, function: &Function) -> Source {
    let files = [File::R, File::UR, File::P, File::UP, File::B];
    let symbol = SymbolId(dice.roll(function.symbols.len() as u64) as u32);
    let bank = dice.roll(5) as u8;
    let base = match dice.roll(5) {
        0 => ConstBase::Bank,
        1 => ConstBase::Variable(symbol),
        2 => ConstBase::AddressSlot(symbol),
        3 => ConstBase::HeaderSlot(symbol),
        _ => ConstBase::Table(dice.roll(function.tables.len() as u64) as u32),
    };
    let offset = dice.offset();
    let kind = match dice.roll(12) {
        0 => SourceKind::Values(random_values(dice, function, None).into_iter().collect()),
        1 => SourceKind::Zero(dice.pick(&files)),
        2 => SourceKind::True(dice.pick(&files)),
        3 => SourceKind::Imm(dice.roll(1 << 32) as u32),
        4 => SourceKind::Literal(dice.pick(&[0, 5, -7, i64::MAX, i64::MIN])),
        5 => SourceKind::Const { bank, base, offset },
        6 => match random_values(dice, function, Some(File::R)).first() {
            Some(&index) => {
                SourceKind::ConstIndexed(Box::new(oriole_ori::IndexedConst { bank, base, index, offset }))
            }
            None => SourceKind::Imm(1),
        },
        7 => {
            let descriptor = random_values(dice, function, Some(File::UR));
            SourceKind::Address(Box::new(oriole_ori::Address {
                descriptor: (dice.coin() && !descriptor.is_empty()).then(|| descriptor.into_iter().collect()),
                base: if dice.coin() { random_values(dice, function, None) } else { Vec::new() }
                    .into_iter()
                    .collect(),
                uniform: if dice.coin() { random_values(dice, function, Some(File::UR)) } else { Vec::new() }
                    .into_iter()
                    .collect(),
                symbol: dice.coin().then_some(symbol),
                offset,
            }))
        }
        8 => {
            SourceKind::Address32 { symbol, part: dice.pick(&[AddressPart::Low, AddressPart::High]), offset }
        }
        9 => SourceKind::Block(BlockId(dice.roll(4) as u32)),
        10 => SourceKind::Scoreboard(dice.roll(6) as u8),
        _ => SourceKind::Symbol(dice.pick(Symbol::all())),
    };
    let mut source = Source::plain(kind);
    source.negate = dice.roll(4) == 0;
    source.absolute = dice.roll(4) == 0;
    source.invert = dice.roll(4) == 0;
    if dice.roll(4) == 0 {
        source.suffixes = random_mods(dice).into();
    }
    source.fixed = (dice.roll(8) == 0).then(|| dice.roll(256) as u8);
    source
}

fn random_instruction(dice: &mut Dice, function: &Function) -> Instruction {
    let opcode: Opcode =
        if dice.coin() { dice.pick(Op::all()).into() } else { dice.pick(Pseudo::ALL).into() };
    let mut instruction = Instruction::new(opcode, Origin(dice.roll(1000) as u32));
    instruction.mods = random_mods(dice);
    if dice.roll(3) == 0 {
        let value = random_values(dice, function, None)[0];
        instruction.guard = Some(Guard { value, negated: dice.coin() });
    }
    for _ in 0..dice.roll(3) {
        let file = dice.pick(&[File::R, File::UR, File::P, File::UP, File::B]);
        let values = random_values(dice, function, Some(file));
        let mut destination = if values.is_empty() || dice.coin() {
            Destination::dropped(file, 1 + dice.roll(3) as u8)
        } else {
            Destination::new(file, values)
        };
        destination.fixed = (dice.roll(8) == 0).then(|| dice.roll(256) as u8);
        instruction.destinations.push(destination);
    }
    for _ in 0..dice.roll(5) {
        instruction.sources.push(random_source(dice, function));
    }
    if dice.roll(4) == 0 {
        instruction.tied = random_values(dice, function, None).into_iter().collect();
    }
    if dice.roll(3) == 0 {
        let space = dice.pick(&[
            Space::Generic,
            Space::Global,
            Space::Shared,
            Space::Local,
            Space::Constant,
            Space::Spill,
        ]);
        let object = dice.coin().then(|| dice.pick(&ObjectOperation::NAMES).0);
        instruction.memory =
            Some(MemoryInfo { space, reads: dice.coin(), writes: dice.coin(), ordered: dice.coin(), object });
    }
    if dice.roll(6) == 0 {
        instruction.call = Some(Box::new(CallShape {
            callee: dice.coin().then_some(SymbolId(0)),
            stack_bytes: dice.roll(64) as u32,
            clobbers: [dice.roll(u64::MAX), 0, u64::MAX, 1],
            clobbered_predicates: dice.roll(128) as u8,
            clobbers_uniform: dice.coin(),
            exchanges: dice.coin(),
            arguments: [0, 0, 0, if dice.coin() { 5 } else { 0 }],
            argument_predicates: u8::from(dice.coin()),
        }));
    }
    instruction.contract = dice.roll(4) == 0;
    instruction
}

#[test]
fn text_parses_back_to_the_same_function() {
    for seed in 0..1500 {
        let function = random_function(seed);
        let text = function.to_string();
        match parse(&text) {
            Ok(parsed) => {
                assert_eq!(parsed.to_string(), text, "seed {seed}");
                assert!(parsed == function, "seed {seed}: same text, other function\n{text}");
            }
            Err(error) => panic!("seed {seed}: {error}\n{text}"),
        }
    }
}

#[test]
fn different_functions_have_different_text() {
    // One change at a time, each of a different kind.
    let function = random_function(3);
    let text = function.to_string();
    let changes: [fn(&mut Function); 5] = [
        |f| f.parameter_bytes += 1,
        |f| f.values.push(ValueData { file: File::P, source: None }),
        |f| f.values[Value(0)].source = Some((77, 1)),
        |f| f.symbols[SymbolId(0)].name.push('z'),
        |f| f.blocks.push(Block::default()),
    ];
    for change in changes {
        let mut other = function.clone();
        change(&mut other);
        assert_ne!(other.to_string(), text);
    }
}

#[test]
fn example_of_every_line() {
    let text = r#"
kernel params=24 barriers=1 registers=32
  symbol s0 shared "tile"
  symbol s1 local(0) "buffer"
  local l0 size=16 align=4
  table t0 targets b1 b2
  table t1 words 0x1 0xffffffff
  value r1 = %3.0
b0: -> b2 b1
  {r2 r3} = LDC.64 c[0][0x210] ; 0
  r1 = S2R %(SR_TID.X) ; 1
  p4, PT = ISETP.AND.GE r1, 0x10, PT ; 1
  @p4 BRA b2 ; 2
b1: -> b2
  {u6 u7} = ULDC.64 c[0][0x208] ; 3
  r5 = LDG.E desc{u6 u7}[{r2 r3}.64+0x4] mem(global r) ; 3
b2:
  EXIT ; 4
"#;
    let error = parse(text).unwrap_err();
    expect!["line 16: expected `]` before `.64+0x4] mem(global r) ; 3`"].assert_eq(&error.to_string());
    let text = text.replace(".64+", "+").replace("  value r1 =", "  value r0\n  value r1 =");
    let function = parse(&text).unwrap();
    assert_eq!(function.to_string().trim(), text.trim());
}

#[test]
fn errors_name_the_line() {
    let cases = [
        ("", "line 1: expected `kernel` or `function`"),
        ("kernel\nb0:\n  r1 = NOTHING r2 ; 0", "line 3: unknown opcode `NOTHING`"),
        ("kernel\nb1:", "line 2: expected block b0"),
        ("kernel\nb0: -> b7", "line 2: there is no block b7"),
        ("kernel\nb0:\n  r1 = IADD3 p1, RZ ; 0", "line 3: register 1 has two files"),
        ("kernel\nb0:\n  r1 = IADD3 r99999999 ; 0", "line 3: register number 99999999 is too large"),
        ("kernel\nb0:\n  EXIT ; 0 x", "line 3: unexpected `x`"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}
