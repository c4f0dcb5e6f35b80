//! Quotients, remainders, reciprocals and roots: which template stands for which operation.
//!
//! The templates are `helpers/*.ori`, generated from the PTX beside them. One row of [`ROWS`] is one template.

use crate::template::{Template, TemplateError};
use oriole_ori::{Function, Instruction, Opcode, Pseudo};
use oriole_sass::{Mod, Mods};

struct Row {
    operation: Pseudo,
    /// Modifiers that the operation must have; a floating operation without a rounding is rounded to nearest.
    mods: &'static [Mod],
    text: &'static str,
}

macro_rules! rows {
    ($( $operation:ident [ $($modifier:ident),* ] $name:literal; )*) => {
        &[ $( Row {
            operation: Pseudo::$operation,
            mods: &[ $( Mod::$modifier ),* ],
            text: include_str!(concat!("../helpers/", $name, ".ori")),
        }, )* ]
    };
}

const ROWS: &[Row] = rows! {
    Divide [U32] "divide_u32";
    Divide [S32] "divide_s32";
    Divide [U64] "divide_u64";
    Divide [S64] "divide_s64";
    Remainder [U32] "remainder_u32";
    Remainder [S32] "remainder_s32";
    Remainder [U64] "remainder_u64";
    Remainder [S64] "remainder_s64";
    FDivide [F32] "divide_f32_rn";
    FDivide [F32, RZ] "divide_f32_rz";
    FDivide [F32, RM] "divide_f32_rm";
    FDivide [F32, RP] "divide_f32_rp";
    FDivide [F32, FTZ] "divide_f32_rn_ftz";
    FDivide [F32, FTZ, RZ] "divide_f32_rz_ftz";
    FDivide [F32, FTZ, RM] "divide_f32_rm_ftz";
    FDivide [F32, FTZ, RP] "divide_f32_rp_ftz";
    FReciprocal [F32] "reciprocal_f32_rn";
    FReciprocal [F32, RZ] "reciprocal_f32_rz";
    FReciprocal [F32, RM] "reciprocal_f32_rm";
    FReciprocal [F32, RP] "reciprocal_f32_rp";
    FReciprocal [F32, FTZ] "reciprocal_f32_rn_ftz";
    FReciprocal [F32, FTZ, RZ] "reciprocal_f32_rz_ftz";
    FReciprocal [F32, FTZ, RM] "reciprocal_f32_rm_ftz";
    FReciprocal [F32, FTZ, RP] "reciprocal_f32_rp_ftz";
    FSquareRoot [F32] "square_root_f32_rn";
    FSquareRoot [F32, RZ] "square_root_f32_rz";
    FSquareRoot [F32, RM] "square_root_f32_rm";
    FSquareRoot [F32, RP] "square_root_f32_rp";
    FSquareRoot [F32, FTZ] "square_root_f32_rn_ftz";
    FSquareRoot [F32, FTZ, RZ] "square_root_f32_rz_ftz";
    FSquareRoot [F32, FTZ, RM] "square_root_f32_rm_ftz";
    FSquareRoot [F32, FTZ, RP] "square_root_f32_rp_ftz";
    FDivide [F64] "divide_f64_rn";
    FDivide [F64, RZ] "divide_f64_rz";
    FDivide [F64, RM] "divide_f64_rm";
    FDivide [F64, RP] "divide_f64_rp";
    FReciprocal [F64] "reciprocal_f64_rn";
    FReciprocal [F64, RZ] "reciprocal_f64_rz";
    FReciprocal [F64, RM] "reciprocal_f64_rm";
    FReciprocal [F64, RP] "reciprocal_f64_rp";
    FSquareRoot [F64] "square_root_f64_rn";
    FSquareRoot [F64, RZ] "square_root_f64_rz";
    FSquareRoot [F64, RM] "square_root_f64_rm";
    FSquareRoot [F64, RP] "square_root_f64_rp";
};

/// An operation without a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DivideError {
    /// No row has these modifiers.
    NoTemplate(Pseudo, Mods),
    /// The template is broken or does not fit.
    Template(TemplateError),
}

impl std::fmt::Display for DivideError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DivideError::NoTemplate(operation, mods) => write!(f, "no template for {operation:?} {mods:?}"),
            DivideError::Template(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for DivideError {}

/// True if the operation is one of this file.
pub fn is_division(instruction: &Instruction) -> bool {
    matches!(
        instruction.opcode,
        Opcode::Pseudo(
            Pseudo::Divide | Pseudo::Remainder | Pseudo::FDivide | Pseudo::FReciprocal | Pseudo::FSquareRoot
        )
    )
}

/// Replaces every quotient, remainder, reciprocal and root by its template.
///
/// # Errors
/// An operation without a template; lowering should not have made it.
pub fn expand_divisions(function: &mut Function) -> Result<(), DivideError> {
    for index in 0..function.blocks.len() {
        if !function.blocks[index].instructions.iter().any(is_division) {
            continue;
        }
        let old = std::mem::take(&mut function.blocks[index].instructions);
        let mut new = Vec::with_capacity(old.len() + 64);
        for instruction in old {
            if is_division(&instruction) {
                new.extend(
                    template(&instruction)?.splice(&instruction, function).map_err(DivideError::Template)?,
                );
            } else {
                new.push(instruction);
            }
        }
        function.blocks[index].instructions = new;
    }
    Ok(())
}

fn template(instruction: &Instruction) -> Result<Template, DivideError> {
    let Opcode::Pseudo(operation) = instruction.opcode else {
        unreachable!("the caller asked is_division first");
    };
    // Rounding to nearest is the default and has no token in the rows.
    let mut mods = instruction.mods.clone();
    mods.remove(Mod::RN);
    let row = ROWS.iter().find(|row| row.operation == operation && Mods::of(row.mods) == mods);
    let row = row.ok_or(DivideError::NoTemplate(operation, mods))?;
    Template::parse(row.text).map_err(DivideError::Template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_one() {
        for row in ROWS {
            Template::parse(row.text)
                .unwrap_or_else(|error| panic!("{:?} {:?}: {error}", row.operation, row.mods));
        }
    }
}
