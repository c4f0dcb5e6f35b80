//! Textures and surfaces.
//!
//! Rows only. Operand shapes of these forms are not checked yet, since no code is made for them.

use super::pieces::*;
use super::{OperandRow, Row, Slot};
use crate::Opcode::{self, *};
use crate::Type::{self as Ty, *};
use Slot::{Anything, MayType, MayVector, Type};

const VALUES: &[Ty] = &[U32, S32, F16, F16x2, F32, B8, B16, B32, B64, U64, S64];
const ACCESS: &[Slot] = &[Anything, MayVector(&[2, 4]), MayType(VALUES), MayType(VALUES)];
const ALL: &[OperandRow] = &[REST];

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (Tex, &[row(Tex, ACCESS, ALL, "Reads a texture.").later()]),
    (Tld4, &[row(Tld4, ACCESS, ALL, "Reads one component of four texels.").since(20, 2, 2).later()]),
    (
        Txq,
        &[row(Txq, &[Anything, Type(&[B32])], ALL, "Asks for a property of a texture.")
            .since(10, 1, 5)
            .later()],
    ),
    (Suld, &[row(Suld, ACCESS, ALL, "Loads from a surface.").since(20, 1, 5).later()]),
    (Sust, &[row(Sust, ACCESS, ALL, "Stores to a surface.").since(20, 1, 5).later()]),
    (
        Sured,
        &[row(Sured, ACCESS, ALL, "Changes an element of a surface in one step.").since(20, 3, 0).later()],
    ),
    (
        Suq,
        &[row(Suq, &[Anything, Type(&[B32])], ALL, "Asks for a property of a surface.")
            .since(10, 1, 5)
            .later()],
    ),
];
