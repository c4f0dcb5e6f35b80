//! Calls: direct, indirect and of functions that the driver provides, by the calling convention.

use crate::context::{Lower, Lowered};
use crate::parameters::assign;
use oriole_hir::{Instruction, Operand, Signature};
use oriole_ori::{CallShape, Destination, File, Pseudo, Source, SymbolId, SymbolKind};
use oriole_ptx::Type;

/// General registers that a callee keeps: 2, 16 to 31 but for the return address, and from 32 on the upper four of
/// each eight.
pub(crate) fn clobbers() -> [u64; 4] {
    let mut set = [0u64; 4];
    for register in 0..255usize {
        let kept = match register {
            // The stack pointer comes back as it was.
            1 | 2 => true,
            0 | 3..=15 | 20 | 21 => false,
            16..=31 => true,
            _ => register % 8 >= 4,
        };
        if !kept {
            set[register / 64] |= 1 << (register % 64);
        }
    }
    set
}

enum Callee {
    Direct(SymbolId),
    Indirect(Source),
}

impl Lower<'_> {
    /// `call`.
    pub fn call(&mut self, i: &Instruction) -> Lowered {
        let behind = self.begin_region();
        self.call_unguarded(i)?;
        self.end_region(behind);
        Ok(())
    }

    fn call_unguarded(&mut self, i: &Instruction) -> Lowered {
        let at = i
            .operands
            .iter()
            .position(|o| matches!(o, Operand::Function(_) | Operand::Register(_)))
            .ok_or_else(|| self.unsupported_form(i))?;
        let list = |operand: Option<&Operand>| match operand {
            Some(Operand::List(list)) => list.clone(),
            _ => Vec::new(),
        };
        let results = if at > 0 { list(i.operands.first()) } else { Vec::new() };
        let arguments = list(i.operands.get(at + 1));
        let mut signature = Signature::default();
        let callee = match &i.operands[at] {
            Operand::Function(id) => {
                let function = &self.body.functions[id.0 as usize];
                signature = function.signature.clone();
                let kind = if function.external { SymbolKind::Extern } else { SymbolKind::Function };
                Callee::Direct(self.symbol(kind, &function.name))
            }
            target => {
                for operand in &i.operands[at + 1..] {
                    match operand {
                        Operand::Prototype(id) => signature = self.body.prototypes[id.0 as usize].clone(),
                        Operand::Table(id) => {
                            if let Some(oriole_hir::Table::Functions(list)) =
                                self.body.tables.get(id.0 as usize)
                                && let Some(first) = list.first()
                            {
                                signature = self.body.functions[first.0 as usize].signature.clone();
                            }
                        }
                        _ => {}
                    }
                }
                Callee::Indirect(self.pair(target, Type::B64)?)
            }
        };
        if signature.parameters.len() != arguments.len() || signature.results.len() != results.len() {
            return Err(self.unsupported("a call whose arguments do not match its signature"));
        }
        let (Some(argument_places), Some(result_places)) =
            (assign(&signature.parameters), assign(&signature.results))
        else {
            return Err(self.unsupported("a call whose arguments or results do not fit into registers"));
        };
        let mut sources = Vec::new();
        for ((argument, &(first, count)), parameter) in
            arguments.iter().zip(&argument_places).zip(&signature.parameters)
        {
            let words: Vec<Source> = match argument {
                Operand::Variable(variable) => {
                    self.parameter_words(*variable)?.iter().map(|&v| Source::value(v)).collect()
                }
                other => self.words(other, parameter.ty)?.to_vec(),
            };
            for (word, source) in words.into_iter().take(usize::from(count)).enumerate() {
                let mut source = Source::value(self.value_of(source));
                source.fixed = Some(first + word as u8);
                sources.push(source);
            }
        }
        let mut destinations = Vec::new();
        for ((result, &(first, count)), parameter) in
            results.iter().zip(&result_places).zip(&signature.results)
        {
            let words = match result {
                Operand::Variable(variable) => self.parameter_words(*variable)?,
                other => self.result(other, parameter.ty)?,
            };
            for (word, &value) in words.iter().take(usize::from(count)).enumerate() {
                let mut destination = Destination::new(File::R, [value]);
                destination.fixed = Some(first + word as u8);
                destinations.push(destination);
            }
        }
        let mut shape = CallShape {
            callee: None,
            stack_bytes: 0,
            clobbers: clobbers(),
            clobbered_predicates: 0x7f,
            clobbers_uniform: true,
        };
        match callee {
            Callee::Direct(symbol) => shape.callee = Some(symbol),
            Callee::Indirect(target) => sources.push(target),
        }
        let memory = oriole_ori::MemoryInfo {
            space: oriole_ori::Space::Generic,
            reads: true,
            writes: true,
            ordered: true,
        };
        let mut call = self.b.op(Pseudo::Call);
        for destination in destinations {
            call = call.destination(destination);
        }
        call.from_all(sources).memory(memory).call(shape).emit();
        // Results in registers wider than their type are extended before control goes on.
        for pending in std::mem::take(&mut self.pending) {
            self.write_widened(pending);
        }
        if signature.noreturn {
            self.b.exit();
            self.terminated = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn callees_keep_the_upper_half_of_each_eight() {
        let set = super::clobbers();
        let clobbered = |r: usize| set[r / 64] >> (r % 64) & 1 != 0;
        assert!((4..16).all(clobbered));
        assert!(clobbered(20) && clobbered(21) && clobbered(0) && clobbered(3));
        assert!(!(clobbered(1) || clobbered(2) || clobbered(16) || clobbered(24) || clobbered(36)));
        assert!(clobbered(32) && clobbered(40) && clobbered(254 - 6));
    }
}
