//! Every form that the instruction table calls supported is interpreted, except for a list of unsupported ones.

use expect_test::expect;
use la_arena::Idx;
use oriole_hir::{
    Address, AddressBase, Body, Immediate, Instruction, Label, Operand, Register, Statement, Table,
};
use oriole_interp::{Function, Program};
use oriole_ptx::table::{Kind, OperandRow, OperandType, Presence, Row, Slot, rows};
use oriole_ptx::{Modifiers, Opcode, Space, Type, Word};

/// One way to write a row: the additions of each of its slots.
#[derive(Clone, Default)]
struct Choice {
    words: Vec<Word>,
    types: Vec<Type>,
    spaces: Vec<Space>,
    vector: u8,
}

/// The alternatives of one slot; the first is the simplest.
fn alternatives(slot: &Slot) -> Vec<Choice> {
    let word = |word: &Word| Choice { words: vec![*word], ..Choice::default() };
    let ty = |ty: &Type| Choice { types: vec![*ty], ..Choice::default() };
    let space = |space: &Space| Choice { spaces: vec![*space], ..Choice::default() };
    let vector = |width: &u8| Choice { vector: *width, ..Choice::default() };
    let none = vec![Choice::default()];
    match slot {
        Slot::Head(words) | Slot::Must(words) => words.iter().map(word).collect(),
        Slot::May(words) => none.into_iter().chain(words.iter().map(word)).collect(),
        Slot::Sequence(words) => vec![Choice { words: words.to_vec(), ..Choice::default() }],
        Slot::Type(types) => types.iter().map(ty).collect(),
        Slot::MayType(types) => none.into_iter().chain(types.iter().map(ty)).collect(),
        Slot::Space(spaces) => spaces.iter().map(space).collect(),
        Slot::MaySpace(spaces) => {
            let generic = Choice { spaces: vec![Space::Generic], ..Choice::default() };
            std::iter::once(generic).chain(spaces.iter().map(space)).collect()
        }
        Slot::Vector(widths) => widths.iter().map(vector).collect(),
        Slot::MayVector(widths) => none.into_iter().chain(widths.iter().map(vector)).collect(),
    }
}

/// Every slot at its simplest, and each alternative of each slot once.
fn choices(row: &Row) -> Vec<Choice> {
    let slots: Vec<Vec<Choice>> = row.slots.iter().map(alternatives).collect();
    let join = |varied: usize, pick: usize| {
        let mut all = Choice::default();
        for (index, slot) in slots.iter().enumerate() {
            let part = &slot[if index == varied { pick } else { 0 }];
            all.words.extend(&part.words);
            all.types.extend(&part.types);
            all.spaces.extend(&part.spaces);
            all.vector = all.vector.max(part.vector);
        }
        all
    };
    let mut found = vec![join(0, 0)];
    for (index, slot) in slots.iter().enumerate() {
        found.extend((1..slot.len()).map(|pick| join(index, pick)));
    }
    found
}

/// Number of elements of a vector by the words of the form.
fn counted(counts: &[(Word, u8)], choice: &Choice) -> u8 {
    counts.iter().find(|row| choice.words.contains(&row.0)).map_or(1, |row| row.1)
}

/// An operand of the kind and type that a row says.
fn plain_operand(operand: &OperandRow, choice: &Choice, body: &mut Body) -> Operand {
    let at = |index: u8| choice.types.get(usize::from(index)).copied().unwrap_or(Type::B32);
    let ty = match operand.ty {
        OperandType::Of(index)
        | OperandType::Widening(index)
        | OperandType::Loose(index)
        | OperandType::Bits(index) => at(index),
        OperandType::Double(index) => match at(index).bits() {
            16 => Type::B32,
            _ => Type::B64,
        },
        OperandType::Fixed(ty) | OperandType::Exact(ty) => ty,
        OperandType::LooseFloat => Type::F32,
        OperandType::AnyInteger | OperandType::AddressIn(_) | OperandType::AddressInShared => Type::B64,
        OperandType::Word | OperandType::WideWord | OperandType::None => Type::B32,
    };
    if let Kind::Parts(parts) = operand.kind {
        return Operand::List(parts.iter().map(|part| plain_operand(part, choice, body)).collect());
    }
    let mut register = |ty: Type| Operand::Register(body.registers.alloc(Register { ty }));
    let mut vector = |count: u8, ty: Type| Operand::Vector((0..count).map(|_| register(ty)).collect());
    let wide = choice.vector.max(1);
    match operand.kind {
        Kind::VectorDestination | Kind::VectorSource if wide > 1 => vector(wide, ty),
        Kind::Destinations(count) | Kind::Sources(count) => vector(count, ty),
        Kind::Texels => vector(wide, ty),
        Kind::Opaque(_) => register(Type::B64),
        Kind::SourcesBy(counts) => vector(counted(counts, choice), ty),
        Kind::Coordinates(counts) | Kind::LayerCoordinates(counts) | Kind::Offsets(counts) => {
            vector(counted(counts, choice), Type::B32)
        }
        Kind::PairDestination | Kind::PairDestinationOrSink | Kind::BothDestinations => {
            Operand::Pair(Box::new(register(ty)), Box::new(register(Type::Pred)))
        }
        Kind::Constant(low, _) => Operand::Immediate(Immediate::Integer(low)),
        Kind::ConstantOf(values) => Operand::Immediate(Immediate::Integer(values[0])),
        Kind::Predicate => register(Type::Pred),
        Kind::Address | Kind::TensorAddress => {
            let width = if operand.kind == Kind::TensorAddress { Type::B32 } else { Type::B64 };
            let Operand::Register(base) = register(width) else { unreachable!() };
            Operand::Address(Address { base: AddressBase::Register(base), offset: 0 })
        }
        Kind::Label => Operand::Label(first()),
        Kind::BranchTargets => Operand::Table(first()),
        Kind::Call => Operand::Function(first()),
        _ => register(ty),
    }
}

/// The first element of an arena that has one when the kernel is made.
fn first<T>() -> Idx<T> {
    Idx::from_raw(0.into())
}

/// A kernel with this one instruction, with or without its optional operands.
fn kernel(row: &Row, choice: &Choice, optional: bool) -> Program {
    let mut body = Body { is_entry: true, ..Body::default() };
    let label = body.labels.alloc(Label);
    body.tables.alloc(Table::Labels(vec![label]));
    body.statements.push(Statement::Label(label));
    let mut operands = Vec::new();
    for operand in row.operands {
        match operand.presence {
            Presence::Always => {}
            Presence::With(word) if choice.words.contains(&word) => {}
            Presence::Optional if optional => {}
            _ => continue,
        }
        operands.push(plain_operand(operand, choice, &mut body));
    }
    if row.opcode == Opcode::Call {
        body.functions.alloc(oriole_hir::FunctionRef {
            name: "callee".into(),
            signature: oriole_hir::Signature::default(),
            external: true,
            is_entry: false,
        });
    }
    let instruction = Instruction {
        guard: None,
        opcode: row.opcode,
        modifiers: Modifiers(choice.words.iter().copied().collect()),
        types: choice.types.iter().copied().collect(),
        space: choice.spaces.first().copied(),
        second_space: choice.spaces.get(1).copied(),
        vector: choice.vector.max(1),
        compiled: row.supported,
        destinations: row.operands.iter().take_while(|operand| operand.kind.is_written()).count() as u8,
        operands,
    };
    body.statements.push(Statement::Instruction(instruction));
    Program { functions: vec![Function { name: "k".into(), body }], ..Program::default() }
}

#[test]
fn supported_forms_have_a_meaning() {
    let mut missing = Vec::new();
    let mut count = 0;
    for opcode in Opcode::all() {
        for row in rows(opcode).filter(|row| row.supported) {
            for choice in choices(row) {
                for optional in [false, true] {
                    count += 1;
                    let program = kernel(row, &choice, optional);
                    for (_, _, text) in oriole_interp::unsupported(&program, "k").expect("a kernel") {
                        missing.push(text);
                    }
                }
            }
        }
    }
    missing.sort();
    missing.dedup();
    assert!(count > 2000, "only {count} forms");
    println!("{count} forms");
    expect![[""]].assert_eq(&missing.join("\n"));
}
