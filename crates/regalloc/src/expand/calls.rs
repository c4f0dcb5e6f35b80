//! Calls and returns of functions and routines as machine instructions: the return address, the target, and the
//! registers that the call names. Arguments are in their registers already.

use super::copies::copy;
use super::expander::Expander;
use crate::abi;
use crate::error::AllocateError;
use crate::set::RegisterSet;
use oriole_chip::{Chip, allocated};
use oriole_ori::{
    AddressPart, CallShape, ConstBase, Destination, File, Instruction, Origin, Source, SourceKind,
    SymbolKind, Value,
};
use oriole_sass::{Mod, Mods, Op, Operand, OperandKind, form, legal};

/// Register of a driver function's address for its call: it holds no argument.
pub(super) const EXTERNAL_TARGET: u8 = 2;

/// True if `LEPC` gives the address of any code location, not only its own.
fn names_places(chip: Chip) -> bool {
    let operands = [Operand::plain(OperandKind::Reg(0)), Operand::plain(OperandKind::Target(0))];
    form::table(chip).is_some_and(|forms| legal(forms, Op::LEPC, &Mods::none(), &operands).is_some())
}

impl Expander {
    /// The shape of the machine call, whose only operand is the callee. Code motion across it needs the registers
    /// that the callee reads, its arguments and the return address, and its clobbers.
    fn machine_shape(&self, call: &Instruction, shape: &CallShape, back: std::ops::Range<u8>) -> CallShape {
        let mut shape = shape.clone();
        let mut general = RegisterSet::default();
        back.for_each(|register| general.insert(register));
        for source in &call.sources {
            source.for_each_value(|value| match (self.function.file(value), self.register(value)) {
                (File::R, Some(register)) => general.insert(register),
                (File::P, Some(register)) => shape.argument_predicates |= 1 << register,
                _ => {}
            });
        }
        shape.arguments = general.words();
        shape
    }

    /// Puts the return address into its pair, then calls.
    pub(super) fn call(
        &mut self,
        instruction: Instruction,
        out: &mut Vec<Instruction>,
    ) -> Result<(), AllocateError> {
        let origin = instruction.origin;
        let Some(shape) = &instruction.call else {
            return Err(AllocateError::Input("a call without its shape".into()));
        };
        if instruction.guard.is_some() {
            return Err(AllocateError::Input("a guarded call".into()));
        }
        let shape: CallShape =
            self.machine_shape(&instruction, shape, abi::RETURN_ADDRESS..abi::RETURN_ADDRESS + 2);
        let external =
            shape.callee.is_some_and(|symbol| self.function.symbols[symbol].kind == SymbolKind::Extern);
        let low = self.physical(File::R, abi::RETURN_ADDRESS);
        let high = self.physical(File::R, abi::RETURN_ADDRESS + 1);
        self.assignment.general_registers =
            self.assignment.general_registers.max(allocated(u16::from(abi::RETURN_ADDRESS) + 2));
        let mut call = Instruction::new(Op::CALL, origin);
        call.mods.insert(Mod::NOINC);
        call.memory = instruction.memory;
        call.call = Some(Box::new(shape.clone()));
        match shape.callee {
            Some(symbol) if external => {
                // Functions of the driver: absolute addresses, the target from its slot in constant bank 4.
                let mut load = Instruction::new(Op::LDC, origin);
                let target =
                    [self.physical(File::R, EXTERNAL_TARGET), self.physical(File::R, EXTERNAL_TARGET + 1)];
                load.mods.insert(Mod::_64);
                load.destinations.push(Destination::new(File::R, target));
                load.sources.push(Source::plain(SourceKind::Const {
                    bank: 4,
                    base: ConstBase::AddressSlot(symbol),
                    offset: 0,
                }));
                out.push(load);
                self.name_return(low, high, origin, out);
                call.mods.insert(Mod::ABS);
                call.sources.push(Source::values(target));
            }
            callee => {
                for (value, part) in [(low, AddressPart::Low), (high, AddressPart::High)] {
                    let address = Source::plain(SourceKind::ReturnAddress(part));
                    out.push(copy(Destination::new(File::R, [value]), address, None, origin));
                }
                let outside =
                    callee.is_some_and(|symbol| self.function.symbols[symbol].kind == SymbolKind::Outside);
                let absolute = self.function.is_separate || outside;
                call.mods.insert(if absolute { Mod::ABS } else { Mod::REL });
                match callee {
                    Some(symbol) => call.sources.push(Source::plain(SourceKind::Callee(symbol))),
                    None => {
                        let target = instruction.sources.last().cloned();
                        let target = target
                            .ok_or_else(|| AllocateError::Input("an indirect call of nothing".into()))?;
                        call.sources.push(Source { fixed: None, ..target });
                        if !absolute {
                            call.sources.push(Source::plain(SourceKind::KernelStart));
                        }
                    }
                }
            }
        }
        out.push(call);
        Ok(())
    }

    /// Puts the address after the next call into a pair. Where `LEPC` gives only its own address, the distance is
    /// added; no predicate is live across a call.
    fn name_return(&mut self, low: Value, high: Value, origin: Origin, out: &mut Vec<Instruction>) {
        let mut here = Instruction::new(Op::LEPC, origin);
        here.destinations.push(Destination::new(File::R, [low, high]));
        if names_places(self.chip) {
            here.sources.push(Source::plain(SourceKind::ReturnAddress(AddressPart::Low)));
            out.push(here);
            return;
        }
        out.push(here);
        let carry = self.physical(File::P, 0);
        let mut add = Instruction::new(Op::IADD3, origin);
        add.destinations.extend([Destination::new(File::R, [low]), Destination::new(File::P, [carry])]);
        add.sources.extend([Source::value(low), Source::plain(SourceKind::ReturnDistance), Source::rz()]);
        out.push(add);
        let mut add = Instruction::new(Op::IADD3, origin);
        add.mods.insert(Mod::X);
        add.destinations.push(Destination::new(File::R, [high]));
        add.sources.extend([Source::value(high), Source::rz(), Source::rz(), Source::value(carry)]);
        add.sources.push(Source { invert: true, ..Source::plain(SourceKind::True(File::P)) });
        out.push(add);
    }

    /// Puts the return address into its register, then calls.
    pub(super) fn call_routine(
        &mut self,
        instruction: Instruction,
        out: &mut Vec<Instruction>,
    ) -> Result<(), AllocateError> {
        let called = instruction.call.as_ref().and_then(|shape| Some((shape, shape.callee?)));
        let Some((shape, callee)) = called else {
            return Err(AllocateError::Input("a call of no routine".into()));
        };
        if instruction.guard.is_some() {
            return Err(AllocateError::Input("a guarded call".into()));
        }
        // One in a section of its own goes back to an address, others to a place of the section.
        let absolute = self.function.symbols[callee].kind == SymbolKind::Function;
        let words = abi::ROUTINE_RETURN..abi::ROUTINE_RETURN + if absolute { 2 } else { 1 };
        let shape = self.machine_shape(&instruction, shape, words.clone());
        self.assignment.general_registers =
            self.assignment.general_registers.max(allocated(u16::from(abi::ROUTINE_RETURN) + 2));
        for (register, part) in words.zip([AddressPart::Low, AddressPart::High]) {
            let address = Source::plain(SourceKind::ReturnAddress(part));
            let place = Destination::new(File::R, [self.physical(File::R, register)]);
            out.push(copy(place, address, None, instruction.origin));
        }
        let mut call = Instruction::new(Op::CALL, instruction.origin);
        call.call = Some(Box::new(shape));
        call.mods.insert(if absolute { Mod::ABS } else { Mod::REL });
        call.mods.insert(Mod::NOINC);
        call.sources.push(Source::plain(SourceKind::Callee(callee)));
        out.push(call);
        Ok(())
    }
}
