//! Textures, samplers and surfaces as operands.
//!
//! Whether a sampler is named separately from its texture is a mode of the module.

use oriole_diagnostics::Code;
use oriole_ptx::Type;
use oriole_ptx::table::{Form, Kind, Opaque, OperandRow};
use oriole_syntax::ast::{self, AstNode};

use super::Named;
use crate::Operand;
use crate::resolver::Resolver;

impl<'a> Resolver<'a> {
    /// Several operands in brackets.
    pub(super) fn parts(
        &mut self,
        node: &ast::Operand<'a>,
        rows: &[OperandRow],
        form: &Form,
    ) -> Option<Operand> {
        let span = node.span();
        let sampler = rows.iter().any(|row| row.kind == Kind::Opaque(Opaque::Sampler));
        let texture = rows.iter().any(|row| row.kind == Kind::Opaque(Opaque::Texture)) && rows.len() > 1;
        if texture && sampler != self.independent_samplers() {
            let message = if sampler {
                "a sampler is allowed here with `texmode_independent` only"
            } else {
                "a sampler is needed here with `texmode_independent`"
            };
            self.report(Code::InvalidOperand, span, message);
            return None;
        }
        let ast::Operand::Address(address) = node else {
            self.report(Code::InvalidOperand, span, "operands in brackets are needed here");
            return None;
        };
        let parts: Vec<_> = address.parts().collect();
        if parts.len() != rows.len() {
            let message = format!("{} operands in the brackets are needed here", rows.len());
            self.report(Code::InvalidOperand, span, message);
            return None;
        }
        let parts: Vec<Option<Operand>> =
            parts.iter().zip(rows).map(|(part, row)| self.operand(part, row, form)).collect();
        parts.into_iter().collect::<Option<Vec<_>>>().map(Operand::List)
    }

    /// A variable of an opaque type, or a register with its handle.
    pub(super) fn opaque(&mut self, node: &ast::Operand<'a>, opaque: Opaque) -> Option<Operand> {
        let span = node.span();
        let apart = opaque != Opaque::Surface && self.independent_samplers();
        self.body.independent_samplers |= apart;
        let wanted = match opaque {
            Opaque::Texture => [Type::Texref; 2],
            Opaque::Sampler => [Type::Samplerref; 2],
            Opaque::Surface => [Type::Surfref; 2],
            // In the unified mode a texture holds its sampler.
            Opaque::TextureOrSampler if self.independent_samplers() => [Type::Samplerref; 2],
            Opaque::TextureOrSampler => [Type::Texref; 2],
        };
        match self.as_name(node) {
            Some(Ok(Named::Variable(id))) if wanted.contains(&self.body.variables[id].ty) => {
                Some(Operand::VariableAddress(id, 0))
            }
            Some(Ok(Named::Register(id, ty))) if ty.bits() == 64 && !ty.is_float() => {
                Some(Operand::Register(id))
            }
            Some(Err(())) => None,
            _ => {
                self.report(
                    Code::InvalidOperand,
                    span,
                    format!("a `{}` variable or its handle of 64 bits is needed here", wanted[0]),
                );
                None
            }
        }
    }

    /// Whether samplers are separate from textures in this module.
    pub fn independent_samplers(&self) -> bool {
        self.header.has_independent_textures()
    }
}
