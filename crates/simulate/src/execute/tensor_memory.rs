//! Tensor memory: loads and stores, copies, MMAs, and allocation of columns. Asynchronous operations are done at once;
//! a separate check follows whether a program waits for them.

use super::context::Context;
use super::float::Extreme;
use super::matrix::{Steps, Term};
use crate::barrier_object::{Change, fresh};
use crate::cluster::SHARED_BITS;
use crate::launch::Fault;
use crate::number::{BF16, E4M3, E5M2, F16, F32, Round, TF32};
use crate::warp::{Lanes, bits};
use oriole_machine_model::races::{Bytes, TensorCell};
use oriole_machine_model::tensor_memory::{
    Address, Copy, CopyShape, Element, Form, Kind, Left, Movement, Operands, Outcome, PIECE, Product, Row,
    Shape, Spread, Sum, TensorMemory, Touched, shift,
};
use oriole_sass::register::RZ;
use oriole_sass::{Mod, Op, OperandKind};

/// Number of columns for one bit of the allocation masks.
const UNIT: u32 = 32;

/// The place where blocks of a pair exchange their allocations of columns, below the shared memory of the program: an
/// mbarrier, and the parity of the phase to wait for.
const PAIR_OBJECT: usize = 0x48;
const PAIR_PARITY: usize = 0x50;

/// The initial contents when blocks start, inferred from code of ptxas that reads them: the even block need not wait
/// for its first columns, the odd one waits for the even one.
pub(crate) fn prepare_for_pairs(rank: usize, shared: &mut [u8]) {
    if let Some(place) = shared.get_mut(PAIR_OBJECT..PAIR_OBJECT + 8) {
        place.copy_from_slice(&fresh(1).to_le_bytes());
    }
    if let Some(place) = shared.get_mut(PAIR_PARITY..PAIR_PARITY + 4) {
        place.copy_from_slice(&u32::from(rank.is_multiple_of(2)).to_le_bytes());
    }
}

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    if context.active == 0 {
        return Ok(());
    }
    match context.instruction.op {
        Op::LDTM => load(context),
        Op::STTM => store(context),
        Op::UTCATOMSWS => take_or_give(context),
        Op::UTCBAR => tell(context),
        _ => start(context),
    }
}

impl From<oriole_machine_model::tensor_memory::Fault> for Fault {
    fn from(broken: oriole_machine_model::tensor_memory::Fault) -> Fault {
        match broken {
            oriole_machine_model::tensor_memory::Fault::Shared(address) => {
                Fault::OutOfBounds { space: "shared", address, size: PIECE as u32 }
            }
            other => Fault::TensorMemory(other.to_string()),
        }
    }
}

impl Context<'_> {
    /// The tensor memory of the block.
    fn own_tensor(&mut self) -> &mut TensorMemory {
        &mut self.cluster.tensor[self.block.rank as usize]
    }

    /// A uniform register of an operand, or one after it.
    fn uniform_at(&self, index: usize, part: u8) -> Result<u32, Fault> {
        let register = match self.kind(index)? {
            OperandKind::UReg(register)
            | OperandKind::MatrixDescriptor(register)
            | OperandKind::InstructionDescriptor(register)
            | OperandKind::Memory { uniform: Some(register), .. } => register,
            OperandKind::TensorMemory { address, .. } => address,
            _ => return Err(self.refuse()),
        };
        Ok(self.warp().read_uniform(register.saturating_add(part)))
    }

    /// The address in tensor memory that an operand names.
    fn tensor_address(&self, index: usize) -> Result<Address, Fault> {
        let OperandKind::TensorMemory { offset, .. } = self.kind(index)? else { return Err(self.refuse()) };
        Ok(Address::new(self.uniform_at(index, 0)?.wrapping_add(offset as u32)))
    }

    fn descriptor(&self, index: usize) -> Result<u64, Fault> {
        Ok(u64::from(self.uniform_at(index, 0)?) | u64::from(self.uniform_at(index, 1)?) << 32)
    }

    /// The ranks of the participating blocks, the even one first.
    fn ranks(&self) -> Result<Vec<u32>, Fault> {
        let blocks = if self.has(Mod::_2CTA) { 2 } else { 1 };
        let first = self.block.rank / blocks * blocks;
        let ranks: Vec<u32> = (first..first + blocks).collect();
        if ranks.last().is_some_and(|last| (*last as usize) < self.cluster.tensor.len()) {
            Ok(ranks)
        } else {
            Err(Fault::TensorMemory("the block has no other one to pair with".into()))
        }
    }
}

/// The shape of a load or a store.
fn movement(context: &Context) -> Movement {
    const SHAPES: [(Mod, Shape); 5] = [
        (Mod::_16dp64bit, Shape::Bits64),
        (Mod::_16dp128bit, Shape::Bits128),
        (Mod::_16dp256bit, Shape::Bits256),
        (Mod::_16dp32bit_t0_t15, Shape::Half { upper: false }),
        (Mod::_16dp32bit_t16_t31, Shape::Half { upper: true }),
    ];
    let shape = SHAPES.iter().find(|row| context.has(row.0)).map_or(Shape::Lanes32, |row| row.1);
    let named = [Mod::x2, Mod::x4, Mod::x8, Mod::x16, Mod::x32, Mod::x64, Mod::x128];
    let doublings = named.iter().position(|&name| context.has(name)).map_or(0, |at| at + 1);
    let packed = context.has(Mod::PACK16BIT) || context.has(Mod::EXPAND16BIT);
    Movement { shape, count: 1 << doublings, packed }
}

fn cells(rank: u32, touched: Touched) -> impl Iterator<Item = TensorCell> {
    touched.into_iter().map(move |(half, column)| (rank, half, column))
}

fn load(context: &mut Context) -> Result<(), Fault> {
    let last = context.count() - 1;
    let (movement, address) = (movement(context), context.tensor_address(last)?);
    let (pc, who, rank) = (context.pc, context.who(), context.block.rank);
    let transfers = &mut context.cluster.transfers;
    transfers.access_tensor(cells(rank, movement.touched(address)), false, pc, who);
    // Scoreboards signal that a load is complete; waits for them are checked with the scoreboards.
    transfers.wait_for_tensor(false, who);
    let warp = context.warp_index as u32;
    let registers = movement.load(context.own_tensor(), warp, address)?;
    let OperandKind::Reg(first) = context.kind(last - 1)? else { return Err(context.refuse()) };
    let lanes = context.active & movement.threads();
    if first != RZ {
        for (at, values) in (0..).zip(&registers) {
            context.warp_mut().write(first.saturating_add(at), lanes, values);
        }
    }
    if context.has(Mod::STAT) {
        let OperandKind::Reg(register) = context.kind(0)? else { return Err(context.refuse()) };
        let values = statistics(context, &registers);
        context.warp_mut().write(register, lanes, &values);
    }
    Ok(())
}

/// The min or max of the registers of each lane.
fn statistics(context: &Context, registers: &[Lanes]) -> Lanes {
    let has = |name| context.has(name);
    let least = has(Mod::MIN) || has(Mod::MINABS);
    let kept = if has(Mod::MINABS) || has(Mod::MAXABS) { !F32.sign() } else { u64::MAX };
    let rules = Extreme::of(context);
    let choose = |a: u64, b: u64| match (has(Mod::F32), has(Mod::S32)) {
        (true, _) => rules.choose(F32, a, b, least, 0),
        (_, true) if (a as u32 as i32) < b as u32 as i32 => {
            if least {
                a
            } else {
                b
            }
        }
        (_, true) => {
            if least {
                b
            } else {
                a
            }
        }
        _ => {
            if least {
                a.min(b)
            } else {
                a.max(b)
            }
        }
    };
    std::array::from_fn(|lane| {
        let values = registers.iter().map(|words| u64::from(words[lane]) & kept);
        let result = values.reduce(choose).unwrap_or(0);
        let result = if has(Mod::F32) && F32.is_nan(result) { F32.not_a_number() } else { result };
        result as u32
    })
}

fn store(context: &mut Context) -> Result<(), Fault> {
    let (movement, address) = (movement(context), context.tensor_address(0)?);
    let (pc, who, rank) = (context.pc, context.who(), context.block.rank);
    let touched = cells(rank, movement.touched(address));
    context.cluster.transfers.access_tensor(touched, true, pc, who);
    let OperandKind::Reg(first) = context.kind(1)? else { return Err(context.refuse()) };
    let register = |at: u32| context.warp().read(first.saturating_add(at as u8));
    let registers: Vec<Lanes> = (0..movement.registers()).map(register).collect();
    let warp = context.warp_index as u32;
    Ok(movement.store(context.own_tensor(), warp, address, &registers)?)
}

/// `UTCATOMSWS`: allocates columns if there are as many, or frees those whose bits are zero.
fn take_or_give(context: &mut Context) -> Result<(), Fault> {
    if context.has(Mod::FIND_AND_SET) {
        let columns = context.uniform_at(2, 0)?.saturating_mul(UNIT);
        let ranks = context.ranks()?;
        let mut taken = Vec::new();
        for &rank in &ranks {
            let Some(address) = context.cluster.tensor[rank as usize].allocate(columns)? else { break };
            taken.push(address);
        }
        let all = taken.len() == ranks.len();
        if !all {
            // Columns that are free in only one block of the pair.
            for (&rank, address) in ranks.iter().zip(&taken) {
                context.cluster.tensor[rank as usize].release(*address, columns)?;
            }
        } else if taken.iter().any(|address| *address != taken[0]) {
            return Err(Fault::TensorMemory("blocks of a pair have taken different columns before".into()));
        }
        let unit = if all { taken[0].column / UNIT } else { u32::MAX };
        context.write(1, &[unit; 32])?;
        return context.write_predicate(0, if all { u32::MAX } else { 0 });
    }
    if !context.has(Mod::AND) {
        return Err(context.refuse());
    }
    let kept = context.uniform_at(1, 0)?;
    Ok(context.own_tensor().keep(|column| kept >> (column / UNIT) & 1 == 1)?)
}

/// `UTCBAR`: operations are done at once, so that mbarriers are signalled at once.
fn tell(context: &mut Context) -> Result<(), Fault> {
    let object = u64::from(context.uniform_at(0, 0)?);
    let offset = object & ((1 << SHARED_BITS) - 1);
    let objects: Vec<u64> = if context.has(Mod::MULTICAST) {
        bits(context.uniform_at(2, 0)? & 0xffff).map(|rank| (rank as u64) << SHARED_BITS | offset).collect()
    } else {
        vec![object]
    };
    for object in objects {
        let (phase, who) = ((object, context.parity(object)?), context.who());
        context.cluster.transfers.commit_operations(phase, who);
        context.change_object(object, Change { arrivals: 1, transactions: 0, leaves: false })?;
    }
    Ok(())
}

/// Asynchronous operations.
fn start(context: &mut Context) -> Result<(), Fault> {
    let ranks = context.ranks()?;
    let outcome = match context.instruction.op {
        Op::UTCCP => copy(context, &ranks)?,
        Op::UTCSHIFT => {
            let address = context.tensor_address(0)?;
            let mut outcome = Outcome::default();
            for rank in ranks {
                let moved = shift(&mut context.cluster.tensor[rank as usize], address)?;
                outcome.written.push((rank, moved));
            }
            outcome
        }
        _ => multiply(context, &ranks)?,
    };
    let (pc, who) = (context.pc, context.who());
    let named = |sets: Vec<(u32, Touched)>| {
        sets.into_iter().flat_map(|(rank, set)| cells(rank, set)).collect::<Vec<_>>()
    };
    let transfers = &mut context.cluster.transfers;
    let operation = transfers.start_operation(pc, who, named(outcome.read), named(outcome.written));
    let mut pieces = outcome.pieces;
    pieces.sort_unstable();
    pieces.dedup();
    for (rank, start) in pieces {
        transfers.operation_reads(Bytes { rank, start, size: PIECE as u64 }, operation, who);
    }
    Ok(())
}

fn copy(context: &mut Context, ranks: &[u32]) -> Result<Outcome, Fault> {
    const SHAPES: [(Mod, CopyShape); 5] = [
        (Mod::_128dp128bit, CopyShape::Lanes128Bits128),
        (Mod::_4dp256bit, CopyShape::Lanes4Bits256),
        (Mod::_2x64dp128bit_lw02_lw13, CopyShape::Lanes64Warps02And13),
        (Mod::_2x64dp128bit_lw01_lw23, CopyShape::Lanes64Warps01And23),
        (Mod::_4x32dp128bit, CopyShape::Lanes32EachWarp),
    ];
    let shape = SHAPES.iter().find(|row| context.has(row.0)).map_or(CopyShape::Lanes128Bits256, |row| row.1);
    let spread = match (context.has(Mod::U4x16P64), context.has(Mod::U6x16P32)) {
        (true, _) => Some(Spread::Four),
        (_, true) => Some(Spread::Six),
        _ => None,
    };
    let (address, descriptor) = (context.tensor_address(0)?, context.descriptor(1)?);
    let mut outcome = Outcome::default();
    for &rank in ranks {
        let cluster = &mut *context.cluster;
        let memory = &mut cluster.tensor[rank as usize];
        let copy = Copy { shape, spread };
        let (pieces, written) = copy.execute(memory, &cluster.shared, rank, address, descriptor)?;
        outcome.pieces.extend(pieces);
        outcome.written.push((rank, written));
    }
    Ok(outcome)
}

/// Operands of MMAs: the left factor, the right one, the result, metadata with the instruction descriptor, then masks
/// or scales if there are any, whether to accumulate, and the scale of the accumulator.
fn multiply(context: &mut Context, ranks: &[u32]) -> Result<Outcome, Fault> {
    let description = context.uniform_at(3, 1)?;
    let form = form(context, description, ranks.len() as u32)?;
    let mut operands = Operands {
        result: context.tensor_address(2)?,
        left: match context.kind(0)? {
            OperandKind::TensorMemory { .. } => Left::Tensor(context.tensor_address(0)?),
            _ => Left::Shared(context.descriptor(0)?),
        },
        right: context.descriptor(1)?,
        metadata: Address::new(context.uniform_at(3, 0)?),
        scales: [Address::new(0); 2],
        adds: true,
        kept_lanes: [0; 8],
        zero_columns: 0,
    };
    let mut down = 0;
    for index in 4..context.count() {
        match context.kind(index)? {
            OperandKind::TensorMemory { .. } => {
                operands.scales = [
                    Address::new(context.uniform_at(index, 0)?),
                    Address::new(context.uniform_at(index, 1)?),
                ];
            }
            OperandKind::UReg(_) if form.weights_stay => operands.zero_columns = context.descriptor(index)?,
            OperandKind::UReg(_) => {
                for (part, word) in (0..4 * form.blocks as u8).zip(&mut operands.kept_lanes) {
                    *word = context.uniform_at(index, part)?;
                }
            }
            OperandKind::UPred(_) => operands.adds = context.predicate(index)? != 0,
            OperandKind::Imm(value) => down = value as i32,
            _ => return Err(context.refuse()),
        }
    }
    let deep = context.launch_context.matrix_unit.depth_of_96;
    let product = Product::new(form, description, deep)?;
    let sum = Addition::of(&product, context, down).ok_or_else(|| context.refuse())?;
    let cluster = &mut *context.cluster;
    Ok(product.execute(&mut cluster.tensor, &cluster.shared, ranks, &operands, |row| sum.evaluate(row))?)
}

/// The form of an MMA by its opcode; the instruction descriptor marks sparse ones, and separates f32 from f16.
fn form(context: &Context, description: u32, blocks: u32) -> Result<Form, Fault> {
    let scaled = matches!(context.kind(4)?, OperandKind::TensorMemory { .. });
    let (kind, scales) = match context.instruction.op {
        Op::UTCHMMA if description >> 7 & 7 == 2 => (Kind::Tf32, 0),
        Op::UTCHMMA => (Kind::F16, 0),
        Op::UTCIMMA => (Kind::I8, 0),
        Op::UTCQMMA if scaled => (Kind::Mxf8f6f4, 1),
        Op::UTCQMMA => (Kind::F8F6F4, 0),
        _ if context.has(Mod::_4X) || context.has(Mod::BLOCK16) => (Kind::Mxf4Nvf4, 4),
        _ => (Kind::Mxf4Nvf4, 2),
    };
    Ok(Form {
        kind,
        blocks,
        weights_stay: context.has(Mod::WS),
        sparse: description >> 2 & 1 == 1,
        shifted: context.has(Mod::ASHIFT),
        scales,
    })
}

/// The accumulation of an element's terms.
struct Addition {
    elements: [Element; 2],
    sum: Sum,
    steps: Steps,
    sign: f64,
    saturates: bool,
    exponents: bool,
    down: i32,
}

impl Addition {
    fn of(product: &Product, context: &Context, down: i32) -> Option<Addition> {
        let descriptor = &product.descriptor;
        let unit = context.launch_context.matrix_unit.of_tensor_memory();
        let steps = Steps::new(&unit, product.form.kind.container_bits(), false)?;
        let negated = descriptor.negated[0] != descriptor.negated[1];
        Some(Addition {
            elements: descriptor.elements,
            sum: descriptor.sum,
            steps,
            sign: if negated { -1.0 } else { 1.0 },
            saturates: descriptor.saturates,
            exponents: descriptor.exponents,
            down,
        })
    }

    fn evaluate(&self, row: &Row) -> u32 {
        let format = match self.sum {
            Sum::Integer => return self.integers(row),
            Sum::Half => F16,
            Sum::Single => F32,
        };
        let terms: Vec<Term> = (0..row.left.len()).map(|at| self.term(row, at)).collect();
        let mut old = Term::of(format, u64::from(row.old) & (u64::MAX >> (64 - format.bits())));
        if old.value != 0.0 {
            old = Term { value: old.value * 2f64.powi(-self.down), exponent: old.exponent - self.down };
        }
        let mut steps = terms.chunks(self.steps.depth);
        let first = self.steps.add_to(format, steps.next().unwrap_or_default(), &old);
        steps.fold(first, |sum, terms| self.steps.add(format, terms, sum)) as u32
    }

    /// A product of two elements and the scales of their block.
    fn term(&self, row: &Row, at: usize) -> Term {
        let [left, right] = [number(self.elements[0], row.left[at]), number(self.elements[1], row.right[at])];
        let mut term =
            Term { value: self.sign * left.value * right.value, exponent: left.exponent + right.exponent };
        let parts = row.scales.len();
        if let Some(scales) = row.scales.get(at * parts / row.left.len()).filter(|_| term.value != 0.0) {
            for &byte in scales {
                let scale = self.scale(byte);
                term = Term { value: term.value * scale.value, exponent: term.exponent + scale.exponent };
            }
        }
        term
    }

    fn scale(&self, byte: u8) -> Term {
        match (self.exponents, byte) {
            (true, u8::MAX) => Term { value: f64::NAN, exponent: 0 },
            (true, byte) => {
                let exponent = i32::from(byte) - 127;
                Term { value: 2f64.powi(exponent), exponent }
            }
            (false, byte) => Term::of(E4M3, u64::from(byte & 0x7f)),
        }
    }

    fn integers(&self, row: &Row) -> u32 {
        let value = |element: Element, bits: u64| match element {
            Element::S8 => i64::from(bits as u8 as i8),
            _ => i64::from(bits as u8),
        };
        let products = row.left.iter().zip(row.right);
        let total: i64 =
            products.map(|(a, b)| value(self.elements[0], *a) * value(self.elements[1], *b)).sum();
        let total = total + i64::from(row.old as i32);
        let held = total.max(i32::MIN.into()).min(i32::MAX.into());
        if self.saturates { held as u32 } else { total as u32 }
    }
}

/// The value of an element.
fn number(element: Element, bits: u64) -> Term {
    match element {
        Element::F16 => Term::of(F16, bits),
        Element::BF16 => Term::of(BF16, bits),
        Element::TF32 => Term::of(TF32, bits),
        Element::E4M3 => Term::of(E4M3, bits),
        Element::E5M2 => Term::of(E5M2, bits),
        Element::E2M3 => small(bits, 2, 3),
        Element::E3M2 => small(bits, 3, 2),
        Element::E2M1 => small(bits, 2, 1),
        Element::U8 | Element::S8 => Term { value: 0.0, exponent: 0 },
    }
}

/// A value of a format without NaN and infinities.
fn small(bits: u64, exponent_bits: u32, fraction_bits: u32) -> Term {
    let single = |magnitude: u64| {
        // As an f32 with a rebiased exponent; subnormals are converted as well.
        let bias = (1 << (exponent_bits - 1)) - 1;
        let moved = f32::from_bits((magnitude << (23 - fraction_bits)) as u32);
        f64::from(moved) * 2f64.powi(127 - bias)
    };
    let magnitude = bits & ((1 << (exponent_bits + fraction_bits)) - 1);
    let negative = bits >> (exponent_bits + fraction_bits) & 1 == 1;
    let least = 2 - (1 << (exponent_bits - 1));
    let value = single(magnitude);
    let exponent = Term::of(F32, F32.of_f64(value, Round::Nearest)).exponent;
    let exponent = if value == 0.0 { exponent } else { exponent.max(least) };
    Term { value: if negative { -value } else { value }, exponent }
}
