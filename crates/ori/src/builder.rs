//! The builder: the only way for stages to append instructions to a function. It appends to one block and carries the
//! origin of the current PTX statement (and its guard, if any), so every instruction has an origin.
//!
//! Helpers cover the machine operations that lowering and expansions need most; their operand order is that of SASS
//! text. No choice of instructions may enter here: that belongs to the stages.

use crate::{
    BlockId, CallShape, Destination, File, Function, Guard, Instruction, MemoryInfo, Opcode, Origin, Pseudo,
    Source, SourceKind, Value,
};
use oriole_sass::{Mod, Op, Symbol};

/// Appends instructions at the end of a block.
pub struct Builder<'f> {
    function: &'f mut Function,
    block: BlockId,
    origin: Origin,
    guard: Option<Guard>,
}

/// An instruction under construction; [`Draft::emit`] appends it.
#[must_use = "a draft does nothing until it is emitted"]
pub struct Draft<'b, 'f> {
    builder: &'b mut Builder<'f>,
    instruction: Instruction,
}

impl<'f> Builder<'f> {
    /// A builder at the end of this block, for this statement, without a guard.
    pub fn new(function: &'f mut Function, block: BlockId, origin: Origin) -> Builder<'f> {
        Builder { function, block, origin, guard: None }
    }

    /// The function.
    pub fn function(&self) -> &Function {
        self.function
    }

    /// The function, to change symbols, tables or values.
    pub fn function_mut(&mut self) -> &mut Function {
        self.function
    }

    /// The block that is appended to.
    pub fn block(&self) -> BlockId {
        self.block
    }

    /// Moves to the end of another block.
    pub fn set_block(&mut self, block: BlockId) {
        self.block = block;
    }

    /// Makes an empty block without moving there.
    pub fn new_block(&mut self) -> BlockId {
        let id = self.function.blocks.next_key();
        self.function.blocks.push(crate::Block::default());
        id
    }

    /// The current statement.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Sets the origin of the instructions that follow.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// The guard of emitted instructions, if any.
    pub fn guard(&self) -> Option<Guard> {
        self.guard
    }

    /// Sets the guard of the instructions that follow.
    pub fn set_guard(&mut self, guard: Option<Guard>) {
        self.guard = guard;
    }

    /// A new compiler temporary.
    pub fn temporary(&mut self, file: File) -> Value {
        self.function.new_value(file, None)
    }

    /// A new general register.
    pub fn r(&mut self) -> Value {
        self.temporary(File::R)
    }

    /// Two new general registers, low word first.
    pub fn pair(&mut self) -> [Value; 2] {
        [self.r(), self.r()]
    }

    /// A new predicate.
    pub fn p(&mut self) -> Value {
        self.temporary(File::P)
    }

    /// Reserves space for `count` more instructions in the current block.
    pub fn reserve(&mut self, count: usize) {
        self.function.block_mut(self.block).instructions.reserve_exact(count);
    }

    /// Appends a finished instruction. The builder's guard is applied if it has none.
    pub fn push(&mut self, mut instruction: Instruction) {
        if instruction.guard.is_none() {
            instruction.guard = self.guard;
        }
        self.function.block_mut(self.block).instructions.push(instruction);
    }

    /// Starts an instruction.
    pub fn op(&mut self, opcode: impl Into<Opcode>) -> Draft<'_, 'f> {
        let instruction = Instruction::new(opcode, self.origin);
        Draft { builder: self, instruction }
    }

    // Moves and selections.

    /// `d <- a`: register copy, immediate or constant.
    pub fn mov(&mut self, d: Value, a: impl Into<Source>) {
        let a = a.into();
        match (self.function.file(d), &a.kind) {
            (File::R, SourceKind::Values(_) | SourceKind::Zero(_)) | (File::P | File::UP | File::B, _) => {
                self.op(Pseudo::Copy).to(d).from(a).emit()
            }
            (File::UR, SourceKind::Values(_) | SourceKind::Zero(_)) => {
                self.op(Pseudo::Copy).to(d).from(a).emit()
            }
            (File::UR, _) => self.op(Op::UMOV).to(d).from(a).emit(),
            (File::R, _) => self.op(Op::MOV).to(d).from(a).emit(),
        }
    }

    /// `d <- p ? a : b`.
    pub fn sel(&mut self, d: Value, a: impl Into<Source>, b: impl Into<Source>, p: impl Into<Source>) {
        self.op(Op::SEL).to(d).from(a).from(b).from(p).emit();
    }

    /// `d <- byte permutation of {c, a}` by selector `selector`, as `PRMT d, a, selector, c`.
    pub fn prmt(
        &mut self,
        d: Value,
        a: impl Into<Source>,
        selector: impl Into<Source>,
        c: impl Into<Source>,
    ) {
        self.op(Op::PRMT).to(d).from(a).from(selector).from(c).emit();
    }

    // Integer arithmetic.

    /// `d <- a + b + c`.
    pub fn iadd3(&mut self, d: Value, a: impl Into<Source>, b: impl Into<Source>, c: impl Into<Source>) {
        self.op(Op::IADD3).to(d).from(a).from(b).from(c).emit();
    }

    /// `d, carry <- a + b`; `d` may be dropped.
    pub fn add_carry_out(
        &mut self,
        d: Option<Value>,
        carry: Value,
        a: impl Into<Source>,
        b: impl Into<Source>,
    ) {
        self.op(Op::IADD3).to_or_drop(d, File::R).to(carry).from(a).from(b).from(Source::rz()).emit();
    }

    /// `d <- a + b + carry`; negation of a source must be written as complement (`inverted`) here.
    pub fn add_carry_in(&mut self, d: Value, a: impl Into<Source>, b: impl Into<Source>, carry: Value) {
        self.op(Op::IADD3)
            .m(Mod::X)
            .to(d)
            .from(a)
            .from(b)
            .from(Source::rz())
            .from(carry)
            .from(Source::not_pt())
            .emit();
    }

    /// `d, carry_out <- a + b + carry_in`.
    pub fn add_carry_in_out(
        &mut self,
        d: Option<Value>,
        carry_out: Value,
        a: impl Into<Source>,
        b: impl Into<Source>,
        carry_in: Value,
    ) {
        self.op(Op::IADD3)
            .m(Mod::X)
            .to_or_drop(d, File::R)
            .to(carry_out)
            .from(a)
            .from(b)
            .from(Source::rz())
            .from(carry_in)
            .from(Source::not_pt())
            .emit();
    }

    /// `d <- low 32 bits of a * b + c`.
    pub fn imad(&mut self, d: Value, a: impl Into<Source>, b: impl Into<Source>, c: impl Into<Source>) {
        self.op(Op::IMAD).to(d).from(a).from(b).from(c).emit();
    }

    /// `d <- high 32 bits of a * b + c x2`, `U32` or signed.
    pub fn imad_hi(
        &mut self,
        d: Value,
        unsigned: bool,
        a: impl Into<Source>,
        b: impl Into<Source>,
        c: impl Into<Source>,
    ) {
        self.op(Op::IMAD).m(Mod::HI).m_if(unsigned, Mod::U32).to(d).from(a).from(b).from(c).emit();
    }

    /// `d x2 <- a * b + c x2`, `U32` or signed.
    pub fn imad_wide(
        &mut self,
        d: [Value; 2],
        unsigned: bool,
        a: impl Into<Source>,
        b: impl Into<Source>,
        c: impl Into<Source>,
    ) {
        self.op(Op::IMAD).m(Mod::WIDE).m_if(unsigned, Mod::U32).to_tuple(d).from(a).from(b).from(c).emit();
    }

    /// `d <- table(a, b, c)`: bit 4a+2b+c of the table for each bit.
    pub fn lop3(
        &mut self,
        d: Value,
        a: impl Into<Source>,
        b: impl Into<Source>,
        c: impl Into<Source>,
        table: u8,
    ) {
        self.op(Op::LOP3)
            .m(Mod::LUT)
            .to(d)
            .from(a)
            .from(b)
            .from(c)
            .from(Source::literal(table.into()))
            .from(Source::not_pt())
            .emit();
    }

    /// `d <- a & b`.
    pub fn and(&mut self, d: Value, a: impl Into<Source>, b: impl Into<Source>) {
        self.lop3(d, a, b, Source::rz(), 0xc0);
    }

    /// `d <- a | b`.
    pub fn or(&mut self, d: Value, a: impl Into<Source>, b: impl Into<Source>) {
        self.lop3(d, a, b, Source::rz(), 0xfc);
    }

    /// `d <- a ^ b`.
    pub fn xor(&mut self, d: Value, a: impl Into<Source>, b: impl Into<Source>) {
        self.lop3(d, a, b, Source::rz(), 0x3c);
    }

    /// `d <- ~a`.
    pub fn not(&mut self, d: Value, a: impl Into<Source>) {
        self.lop3(d, Source::rz(), a, Source::rz(), 0x33);
    }

    /// `d <- a (compare) b`, signed or unsigned 32 bits.
    pub fn isetp(
        &mut self,
        d: Value,
        compare: Mod,
        unsigned: bool,
        a: impl Into<Source>,
        b: impl Into<Source>,
    ) {
        self.isetp_and(d, compare, unsigned, a, b, Source::pt());
    }

    /// `d <- (a (compare) b) and p`.
    pub fn isetp_and(
        &mut self,
        d: Value,
        compare: Mod,
        unsigned: bool,
        a: impl Into<Source>,
        b: impl Into<Source>,
        p: impl Into<Source>,
    ) {
        self.op(Op::ISETP)
            .m(compare)
            .m_if(unsigned, Mod::U32)
            .m(Mod::AND)
            .to(d)
            .drop_result(File::P)
            .from(a)
            .from(b)
            .from(p)
            .emit();
    }

    /// `d <- high words compare, given the comparison `low` of the low words` (`ISETP.EX`).
    pub fn isetp_ex(
        &mut self,
        d: Value,
        compare: Mod,
        unsigned: bool,
        a: impl Into<Source>,
        b: impl Into<Source>,
        low: Value,
    ) {
        self.op(Op::ISETP)
            .m(compare)
            .m_if(unsigned, Mod::U32)
            .m(Mod::AND)
            .m(Mod::EX)
            .to(d)
            .drop_result(File::P)
            .from(a)
            .from(b)
            .from(Source::pt())
            .from(low)
            .emit();
    }

    /// Shift: `SHF` with these modifiers (`L`/`R`, `U32`/`S32`/`U64`/`S64`, `HI`, `W`): `d <- {high, low} by amount`.
    pub fn shf(
        &mut self,
        d: Value,
        mods: &[Mod],
        low: impl Into<Source>,
        amount: impl Into<Source>,
        high: impl Into<Source>,
    ) {
        self.op(Op::SHF).mods(mods).to(d).from(low).from(amount).from(high).emit();
    }

    /// `d <- a << amount`, 32 bits, amount clamped at 32.
    pub fn shl(&mut self, d: Value, a: impl Into<Source>, amount: impl Into<Source>) {
        self.shf(d, &[Mod::L, Mod::U32], a, amount, Source::rz());
    }

    /// `d <- a >> amount`, logical, 32 bits, amount clamped at 32.
    pub fn shr(&mut self, d: Value, a: impl Into<Source>, amount: impl Into<Source>) {
        self.shf(d, &[Mod::R, Mod::U32, Mod::HI], Source::rz(), amount, a);
    }

    /// `d <- a >> amount`, arithmetic, 32 bits, amount clamped.
    pub fn sar(&mut self, d: Value, a: impl Into<Source>, amount: impl Into<Source>) {
        self.shf(d, &[Mod::R, Mod::S32, Mod::HI], Source::rz(), amount, a);
    }

    /// `d <- (p (op) q) (op) r` by two tables is rare; this is `PLOP3` with one result: `d <- table(a, b, c)`.
    pub fn plop3(
        &mut self,
        d: Value,
        a: impl Into<Source>,
        b: impl Into<Source>,
        c: impl Into<Source>,
        table: u8,
    ) {
        self.op(Op::PLOP3)
            .m(Mod::LUT)
            .to(d)
            .drop_result(File::P)
            .from(a)
            .from(b)
            .from(c)
            .from(Source::literal(table.into()))
            .from(Source::literal(0))
            .emit();
    }

    // Floating point.

    /// A floating-point operation on 32 bits with these modifiers: `FADD`, `FMUL`, `FFMA`, `MUFU` ...
    pub fn float(&mut self, op: Op, mods: &[Mod], d: Value, sources: impl IntoIterator<Item = Source>) {
        self.op(op).mods(mods).to(d).from_all(sources).emit();
    }

    // Memory and special registers.

    /// `d <- constant`: `LDC` (or `LDC.64` for a pair) of a constant-bank operand.
    pub fn ldc(&mut self, d: impl IntoIterator<Item = Value>, constant: SourceKind) {
        let draft = self.op(Op::LDC).to_tuple(d);
        let wide = draft.instruction.destinations[0].values.len() == 2;
        draft.m_if(wide, Mod::_64).from(Source::plain(constant)).emit();
    }

    /// `d <- special register`.
    pub fn s2r(&mut self, d: Value, register: Symbol) {
        self.op(Op::S2R).to(d).from(Source::plain(SourceKind::Symbol(register))).emit();
    }

    // Control flow. These end the block: they set its successors.

    /// Unconditional jump; ends the block.
    pub fn jump(&mut self, target: BlockId) {
        let guard = self.guard.take();
        self.op(Op::BRA).from(Source::plain(SourceKind::Block(target))).emit();
        self.guard = guard;
        self.function.block_mut(self.block).successors = smallvec::smallvec![target];
    }

    /// Continues in `next` by fall-through; ends the block.
    pub fn fall_through(&mut self, next: BlockId) {
        self.function.block_mut(self.block).successors = smallvec::smallvec![next];
    }

    /// Jump to `taken` if the guard holds, else go on in `otherwise`; ends the block.
    pub fn branch(&mut self, guard: Guard, taken: BlockId, otherwise: BlockId) {
        self.op(Op::BRA).guarded(guard).from(Source::plain(SourceKind::Block(taken))).emit();
        self.function.block_mut(self.block).successors = [taken, otherwise].into_iter().collect();
    }

    /// The thread ends; ends the block.
    pub fn exit(&mut self) {
        let guard = self.guard.take();
        self.op(Op::EXIT).emit();
        self.guard = guard;
        self.function.block_mut(self.block).successors.clear();
    }
}

impl Draft<'_, '_> {
    /// Adds a modifier.
    pub fn m(mut self, modifier: Mod) -> Self {
        self.instruction.mods.insert(modifier);
        self
    }

    /// Adds a modifier if the condition holds.
    pub fn m_if(self, condition: bool, modifier: Mod) -> Self {
        if condition { self.m(modifier) } else { self }
    }

    /// Adds modifiers.
    pub fn mods(mut self, modifiers: &[Mod]) -> Self {
        for &modifier in modifiers {
            self.instruction.mods.insert(modifier);
        }
        self
    }

    /// Adds a destination of one component.
    pub fn to(self, value: Value) -> Self {
        self.to_tuple([value])
    }

    /// Adds a destination of one component, or a dropped one.
    pub fn to_or_drop(self, value: Option<Value>, file: File) -> Self {
        match value {
            Some(value) => self.to(value),
            None => self.drop_result(file),
        }
    }

    /// Adds a destination that is a tuple, lowest component first.
    pub fn to_tuple(mut self, values: impl IntoIterator<Item = Value>) -> Self {
        let values: crate::Values = values.into_iter().collect();
        let file = values.first().map_or(File::R, |&v| self.builder.function.file(v));
        self.instruction.destinations.push(Destination::new(file, values));
        self
    }

    /// Adds a finished destination.
    pub fn destination(mut self, destination: Destination) -> Self {
        self.instruction.destinations.push(destination);
        self
    }

    /// Adds a destination of one component whose result is dropped (`RZ`, `PT`).
    pub fn drop_result(mut self, file: File) -> Self {
        self.instruction.destinations.push(Destination::dropped(file, 1));
        self
    }

    /// Adds a source.
    pub fn from(mut self, source: impl Into<Source>) -> Self {
        self.instruction.sources.push(source.into());
        self
    }

    /// Adds sources.
    pub fn from_all(mut self, sources: impl IntoIterator<Item = Source>) -> Self {
        self.instruction.sources.extend(sources);
        self
    }

    /// Sets the memory access.
    pub fn memory(mut self, memory: MemoryInfo) -> Self {
        self.instruction.memory = Some(memory);
        self
    }

    /// Allows contraction with a neighbour, if the condition holds.
    pub fn contract_if(mut self, condition: bool) -> Self {
        self.instruction.contract |= condition;
        self
    }

    /// Sets the callee and its convention.
    pub fn call(mut self, shape: CallShape) -> Self {
        self.instruction.call = Some(Box::new(shape));
        self
    }

    /// Guards it, in place of the builder's guard.
    pub fn guarded(mut self, guard: Guard) -> Self {
        self.instruction.guard = Some(guard);
        self
    }

    /// Names the old values of a partial definition in SSA, one for each component of the destinations.
    pub fn keeping(mut self, old: &[Value]) -> Self {
        old.iter().for_each(|&value| self.instruction.tied.push(value));
        self
    }

    /// Appends the instruction to the builder's block.
    pub fn emit(self) {
        self.builder.push(self.instruction);
    }
}
