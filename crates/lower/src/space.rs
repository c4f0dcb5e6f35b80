//! Addresses: of variables and functions, conversions to and from the generic address space, and queries of the space
//! of an address. Accesses are in `memory`.

use std::ops::Range;

use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::operand::imm;
use crate::special::bank_0;
use oriole_chip::ParameterWindow;
use oriole_diagnostics::Code;
use oriole_hir::{FunctionId, Instruction, Operand, VariableId, VariableKind};
use oriole_options::Linking;
use oriole_ori::{
    AddressPart, CONSTANT_SIZE, ConstBase, File, LocalVariable, Pseudo, Source, SourceKind, SymbolId,
    SymbolKind, Value, shared_alignment,
};
use oriole_ptx::{Space, Word};
use oriole_sass::{Mod, Op, Symbol};
use smallvec::SmallVec;

impl Lower<'_> {
    /// One word of an address that the layout fills in.
    pub fn address_word(symbol: SymbolId, part: AddressPart, offset: i32) -> Source {
        Source::plain(SourceKind::Address32 { symbol, part, offset })
    }

    /// The frame slot of a `.local` variable.
    pub fn frame_symbol(&mut self, variable: VariableId) -> SymbolId {
        if let Some(&symbol) = self.frame.get(&variable) {
            return symbol;
        }
        let declared = &self.body.variables[variable];
        let locals = &mut self.b.function_mut().locals;
        let index = locals.len() as u32;
        locals.push(LocalVariable { size: declared.size.next_multiple_of(4), align: declared.align.max(4) });
        let symbol = self.symbol(SymbolKind::Local(index), &declared.name);
        self.frame.insert(variable, symbol);
        symbol
    }

    /// The symbol of a module-level variable, or of a shared one of the body.
    pub fn variable_symbol(&mut self, variable: VariableId) -> Result<SymbolId, LowerError> {
        let declared = &self.body.variables[variable];
        let kind = match declared.space {
            Space::Global => SymbolKind::Global,
            Space::Constant => SymbolKind::Constant,
            Space::Shared | Space::SharedCluster => SymbolKind::Shared,
            Space::Local => return Ok(self.frame_symbol(variable)),
            _ => return Err(self.unsupported(format!("the address of `{}`", declared.name))),
        };
        self.has_address(variable)?;
        let mut align = u64::from(declared.align.max(1));
        // A linker has its own layout.
        if kind == SymbolKind::Shared && !self.options.linking.leaves_open() {
            align = shared_alignment(declared.size, align);
        }
        let symbol = self.symbol(kind, declared.module_name());
        self.b.function_mut().symbols[symbol].align = align as u32;
        Ok(symbol)
    }

    /// Rejects objects without an address: textures, samplers and surfaces.
    fn has_address(&self, variable: VariableId) -> Result<(), LowerError> {
        let declared = &self.body.variables[variable];
        if !declared.ty.is_opaque() {
            return Ok(());
        }
        let what = if declared.kind == VariableKind::Module { "variable" } else { "parameter" };
        Err(self.unsupported(format!("`{}`, a {what} of the type `{}`", declared.name, declared.ty)))
    }

    /// The address of a variable in its own space, as a pair.
    pub fn variable_address(&mut self, variable: VariableId, offset: i64) -> Result<[Value; 2], LowerError> {
        let declared = &self.body.variables[variable];
        let Ok(small) = i32::try_from(offset) else {
            return Err(self.unsupported(format!("an offset of {offset} bytes from `{}`", declared.name)));
        };
        let d = self.b.pair();
        match (declared.space, declared.kind) {
            (Space::Global, _) if self.separate || self.options.linking.leaves_open() => {
                let symbol = self.variable_symbol(variable)?;
                self.b.mov(d[0], Self::address_word(symbol, AddressPart::Low, small));
                self.b.mov(d[1], Self::address_word(symbol, AddressPart::High, small));
                return Ok(d);
            }
            (Space::Global, _) => {
                let symbol = self.variable_symbol(variable)?;
                let slot = SourceKind::Const { bank: 4, base: ConstBase::AddressSlot(symbol), offset: 0 };
                self.b.ldc(d, slot);
                if small != 0 {
                    let sum = self.b.pair();
                    let low = imm(small as u32);
                    let high = imm(if small < 0 { !0 } else { 0 });
                    let offset = self.tuple([low, high]);
                    self.pseudo(Pseudo::Add64, &[], sum, [d.into(), offset]);
                    return Ok(sum);
                }
                return Ok(d);
            }
            (Space::Shared | Space::SharedCluster, _) => {
                let symbol = self.variable_symbol(variable)?;
                let own = Self::address_word(symbol, AddressPart::Low, small);
                match self.cluster_base() {
                    Some(base) => {
                        let place = self.b.r();
                        self.b.mov(place, own);
                        self.b.iadd3(d[0], base, place, Source::rz());
                    }
                    None => self.b.mov(d[0], own),
                }
            }
            // A linker fills in sixteen bits of an address in constant memory.
            (Space::Constant, _) if (self.separate || self.options.linking.leaves_open()) && small < 0 => {
                let symbol = self.variable_symbol(variable)?;
                let start = self.b.r();
                self.b.mov(start, Self::address_word(symbol, AddressPart::Low, 0));
                self.add(d[0], start.into(), imm(small as u32));
            }
            (Space::Constant, _) => {
                let symbol = self.variable_symbol(variable)?;
                self.b.mov(d[0], Self::address_word(symbol, AddressPart::Low, small));
            }
            (Space::Local, _) => {
                let symbol = self.frame_symbol(variable);
                self.frame_address(d[0], symbol, small);
            }
            (Space::KernelParameter, VariableKind::Parameter(index)) => {
                self.has_address(variable)?;
                let place = i64::from(self.body.parameters[index as usize].offset) + offset;
                self.b.mov(d[0], imm(place as u32));
            }
            (_, VariableKind::Parameter(_) | VariableKind::Body)
                if self.in_registers(variable) && self.parameter_memory(variable).is_some() =>
            {
                if let Some(memory) = self.parameter_memory(variable) {
                    let (base, start) = self.parameter_base(memory);
                    self.add(d[0], base.into(), imm((small + start) as u32));
                }
            }
            (Space::FunctionParameter, VariableKind::Parameter(_)) if self.frame.contains_key(&variable) => {
                let symbol = self.frame[&variable];
                self.frame_address(d[0], symbol, small);
            }
            _ => return Err(self.unsupported(format!("the address of `{}`", declared.name))),
        }
        self.b.mov(d[1], Source::rz());
        Ok(d)
    }

    /// The local address of a frame slot.
    pub fn frame_address(&mut self, d: Value, symbol: SymbolId, offset: i32) {
        let place = Self::address_word(symbol, AddressPart::Low, offset);
        self.b.op(Pseudo::FrameAddress).to(d).from(place).emit();
    }

    /// The address of a function, as a pair: an index that only a call through a pointer understands, or the address
    /// that a linker assigns. That of a kernel is one of a descriptor, which the loader puts into a slot of constant
    /// bank 4 where no linker does.
    pub fn function_address(&mut self, function: FunctionId) -> Result<[Value; 2], LowerError> {
        let named = &self.body.functions[function];
        if named.external && !self.separate && self.options.linking == Linking::Extensible {
            let message =
                format!("the address of `{}`, which another file defines, is not known", named.name);
            return Err(LowerError::new(Code::OpenAddress, Some(self.ordinal), message));
        }
        if named.external && !self.separate {
            return Err(self.unsupported(format!("the address of the external function `{}`", named.name)));
        }
        let symbol = self.symbol(SymbolKind::Function, &named.name);
        let d = self.b.pair();
        if named.is_entry && !self.separate && self.options.linking == Linking::Whole {
            let slot = SourceKind::Const { bank: 4, base: ConstBase::AddressSlot(symbol), offset: 0 };
            self.b.ldc(d, slot);
            return Ok(d);
        }
        self.b.mov(d[0], Self::address_word(symbol, AddressPart::Low, 0));
        self.b.mov(d[1], Self::address_word(symbol, AddressPart::High, 0));
        Ok(d)
    }

    /// A pair of words of constant bank 0.
    pub fn window(&mut self, offset: u32) -> Source {
        let d = self.b.pair();
        self.b.ldc(d, bank_0(offset));
        d.into()
    }

    /// `cvta`: into the generic address space, or out of it.
    pub fn cvta(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let (d, a) = (self.operand(i, 0)?, self.operand(i, 1)?);
        let space = i.space.or(i.second_space).unwrap_or(Space::Generic);
        let words = self.words(a, ty)?;
        if ty.bits() != 64 {
            return Err(self.unsupported_form(i));
        }
        let to = i.modifiers.has(Word::To);
        let base = match space {
            Space::Global | Space::Generic => return self.write(d, ty, &words),
            Space::Shared if self.bank.shared_window.is_some() => {
                let a = self.tuple(words);
                let words = self.through_shared_window(a, to);
                let high = if to { Source::rz() } else { words[1].into() };
                return self.write(d, ty, &[words[0].into(), high]);
            }
            Space::Shared | Space::SharedCluster => {
                // The window of shared memory covers one high word, so its low word is the address in the window.
                let high = if to {
                    Source::rz()
                } else {
                    let high = self.b.r();
                    self.b.s2r(high, Symbol::SR_SWINHI);
                    high.into()
                };
                return self.write(d, ty, &[words[0].clone(), high]);
            }
            Space::Local => self.bank.local_window,
            Space::Constant => self.bank.constant_window,
            Space::KernelParameter => {
                let start = self.parameter_bounds(i)?.start;
                return self.move_window(d, ty, words, start, to);
            }
            // Parameters of a function whose address is taken are in its frame.
            Space::FunctionParameter => self.bank.local_window,
            Space::Register => return Err(self.unsupported_form(i)),
        };
        let base = self.window(base);
        self.move_window(d, ty, words, base, to)
    }

    /// `d <- address + start of a window`, or with `to` the difference.
    fn move_window(
        &mut self,
        d: &Operand,
        ty: oriole_ptx::Type,
        address: SmallVec<[Source; 4]>,
        start: Source,
        to: bool,
    ) -> Lowered {
        let a = self.tuple(address);
        let d = self.result_pair(d, ty)?;
        self.pseudo(Pseudo::Add64, &[], d, [a, if to { start.negated() } else { start }]);
        Ok(())
    }

    /// The generic addresses of the first kernel parameter and of the end of the last.
    pub fn parameter_bounds(&mut self, i: &Instruction) -> Result<Range<Source>, LowerError> {
        match self.bank.parameter_window {
            ParameterWindow::Bounds(place) => Ok(self.window(place)..self.window(place + 8)),
            // The start of the parameters in the bank depends on the kernel, and a function has several.
            ParameterWindow::Bank { .. } if !self.body.is_entry => Err(self.unsupported_form(i)),
            ParameterWindow::Bank { start, end } => {
                let bank = self.window(start);
                let first = self.bank.parameters_start(self.b.function().parameter_bytes);
                let last = self.b.r();
                self.b.ldc([last], bank_0(end));
                let offsets = [[imm(first), Source::rz()], [last.into(), Source::rz()]];
                let [first, last] = offsets.map(|offset| {
                    let (sum, offset) = (self.b.pair(), self.tuple(offset));
                    self.pseudo(Pseudo::Add64, &[], sum, [bank.clone(), offset]);
                    Source::from(sum)
                });
                Ok(first..last)
            }
        }
    }

    /// A generic address from a shared address, or with `to` the reverse, on a chip whose window is in the constant
    /// bank; elsewhere the address unchanged.
    pub fn through_shared_window(&mut self, a: Source, to: bool) -> [Value; 2] {
        let d = self.b.pair();
        let Some(place) = self.bank.shared_window else {
            self.pseudo(Pseudo::Add64, &[], d, [a, Source::literal(0)]);
            return d;
        };
        let base = self.window(place);
        self.pseudo(Pseudo::Add64, &[], d, [a, if to { base.negated() } else { base }]);
        d
    }

    /// `isspacep`.
    pub fn isspacep(&mut self, i: &Instruction) -> Lowered {
        let Some(d) = self.result_predicate(self.operand(i, 0)?)? else { return Ok(()) };
        let a = self.operand(i, 1)?;
        let address = self.pair(a, oriole_ptx::Type::B64)?;
        match i.space.unwrap_or(Space::Generic) {
            Space::Shared => self.query_space(d, Mod::S, address),
            Space::SharedCluster => self.query_space(d, Mod::D, address),
            Space::Local => self.query_space(d, Mod::L, address),
            Space::Global => {
                // The constant window is within global addresses.
                let [global, constant] = [self.b.p(), self.b.p()];
                self.query_space(global, Mod::G, address.clone());
                let bounds = self.constant_bounds();
                self.in_window(constant, address, bounds);
                self.b.plop3(d, global, Source::value(constant).inverted(), Source::pt(), 0x80);
            }
            Space::Constant => {
                let bounds = self.constant_bounds();
                self.in_window(d, address, bounds);
            }
            Space::KernelParameter | Space::FunctionParameter => {
                let bounds = self.parameter_bounds(i)?;
                self.in_window(d, address, bounds);
            }
            Space::Generic | Space::Register => return Err(self.unsupported_form(i)),
        }
        Ok(())
    }

    /// `d <- the address is in the space`, by a hardware query.
    pub fn query_space(&mut self, d: Value, space: Mod, address: Source) {
        let address = address_of(address, 0);
        self.b.op(Op::QSPC).m(Mod::E).m(space).to(d).drop_result(File::R).from(address).emit();
    }

    /// The generic addresses of the start and of the end of the user's constants.
    fn constant_bounds(&mut self) -> Range<Source> {
        let start = self.window(self.bank.constant_window);
        let (end, low) = (self.b.pair(), self.b.r());
        // The linker knows it: global variables follow the constants.
        let symbol = self.symbol(SymbolKind::ConstantSize, CONSTANT_SIZE);
        self.b.mov(low, Self::address_word(symbol, AddressPart::Low, 0));
        let size = self.tuple([low.into(), Source::rz()]);
        self.pseudo(Pseudo::Add64, &[], end, [start.clone(), size]);
        start..end.into()
    }

    /// `d <- the address is in a window of the constant bank`.
    fn in_window(&mut self, d: Value, address: Source, Range { start, end }: Range<Source>) {
        let [above, below] = [self.b.p(), self.b.p()];
        self.pseudo(Pseudo::SetPredicate64, &[Mod::GE, Mod::U64], [above], [address.clone(), start]);
        self.pseudo(Pseudo::SetPredicate64, &[Mod::LT, Mod::U64], [below], [address, end]);
        self.b.plop3(d, above, below, Source::pt(), 0x80);
    }

    /// `mapa`: the address of a shared variable in another block of the cluster. The rank is byte 3 of the address.
    pub fn mapa(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let (d, a) = (self.operand(i, 0)?, self.operand(i, 1)?);
        let words = self.words(a, ty)?;
        let rank = self.word(self.operand(i, 2)?, oriole_ptx::Type::U32)?;
        let rank = self.in_register(rank);
        let low = self.in_register(words[0].clone());
        let moved = self.b.r();
        self.b.prmt(moved, rank, 0x0654u32, low);
        let mut result: Vec<Source> = words.to_vec();
        result[0] = moved.into();
        self.write(d, ty, &result)
    }

    /// `getctarank`.
    pub fn getctarank(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let a = self.word(self.operand(i, 1)?, ty)?;
        let a = self.in_register(a);
        let d = self.result_word(self.operand(i, 0)?, oriole_ptx::Type::U32)?;
        self.b.shr(d, a, 24u32);
        Ok(())
    }
}

/// A memory operand of these base registers and this offset, without descriptor.
pub(crate) fn address_of(base: Source, offset: i32) -> Source {
    let base = match base.kind {
        SourceKind::Values(values) => values,
        _ => oriole_ori::Values::new(),
    };
    Source::plain(SourceKind::Address(Box::new(oriole_ori::Address {
        descriptor: None,
        base,
        uniform: oriole_ori::Values::new(),
        symbol: None,
        offset,
    })))
}
