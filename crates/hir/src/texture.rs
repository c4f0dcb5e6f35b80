//! Initial values of textures, samplers and surfaces: named fields instead of bytes.
//!
//! These variables are opaque: a field sets a property of the object, and no byte of memory.

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::Type;
use oriole_syntax::ast::{AstNode, FieldInitializer, InitializerValue, ListValue, Operand};

use crate::declaration::Shape;
use crate::evaluate;

/// The fields of each opaque type.
const FIELDS: [(Type, &[&str]); 3] = [
    (
        Type::Texref,
        &[
            "addr_mode_0",
            "addr_mode_1",
            "addr_mode_2",
            "filter_mode",
            "normalized_coords",
            "width",
            "height",
            "depth",
            "channel_data_type",
            "channel_order",
            "array_size",
            "num_mipmap_levels",
            "num_samples",
        ],
    ),
    (
        Type::Samplerref,
        &["addr_mode_0", "addr_mode_1", "addr_mode_2", "filter_mode", "force_unnormalized_coords"],
    ),
    (
        Type::Surfref,
        &["width", "height", "depth", "channel_data_type", "channel_order", "array_size", "memory_layout"],
    ),
];

/// Names of the values of a field.
const VALUES: [&str; 7] =
    ["wrap", "mirror", "clamp_to_edge", "clamp_to_border", "clamp_ogl", "nearest", "linear"];

/// Checks the initial value of a variable of an opaque type: a list of fields, or one for each element of an array.
pub(crate) fn check_fields(value: &InitializerValue, shape: &Shape, diagnostics: &mut Vec<Diagnostic>) {
    check_level(value, shape, 0, diagnostics);
}

fn check_level(value: &InitializerValue, shape: &Shape, level: usize, diagnostics: &mut Vec<Diagnostic>) {
    let InitializerValue::InitializerList(list) = value else {
        diagnostics.push(no_fields(value.span(), shape));
        return;
    };
    if let Some(&length) = shape.dimensions.get(level) {
        for (count, value) in list.values().enumerate() {
            if count as u64 == length {
                diagnostics.push(Diagnostic::new(
                    Code::InvalidInitializer,
                    value.span(),
                    format!("more than {length} values"),
                ));
                return;
            }
            match value {
                ListValue::Value(value) => check_level(&value, shape, level + 1, diagnostics),
                ListValue::Number(number) => diagnostics.push(no_fields(number.span(), shape)),
            }
        }
        return;
    }
    for value in list.values() {
        match value {
            ListValue::Value(InitializerValue::FieldInitializer(field)) => {
                check_field(&field, shape.ty, diagnostics);
            }
            other => diagnostics.push(Diagnostic::new(
                Code::InvalidInitializer,
                other.span(),
                format!("a `{}` is initialized with named fields", shape.ty),
            )),
        }
    }
}

fn no_fields(span: Span, shape: &Shape) -> Diagnostic {
    let message = format!("a `{}` is initialized with fields in braces", shape.ty);
    Diagnostic::new(Code::InvalidInitializer, span, message)
}

fn check_field(field: &FieldInitializer, ty: Type, diagnostics: &mut Vec<Diagnostic>) {
    let Some(name) = field.field() else { return };
    let fields = FIELDS.iter().find(|row| row.0 == ty).map_or(&[][..], |row| row.1);
    if !fields.contains(&name.text()) {
        diagnostics.push(Diagnostic::new(
            Code::InvalidInitializer,
            name.span(),
            format!("a `{ty}` has no field `{}`; it has `{}`", name.text(), fields.join("`, `")),
        ));
        return;
    }
    // A missing value has been reported by the parser.
    let Some(value) = field.value() else { return };
    match value.operand() {
        Some(Operand::Name(word)) if word.token().is_some_and(|token| VALUES.contains(&token.text())) => {}
        Some(Operand::Name(word)) => diagnostics.push(Diagnostic::new(
            Code::InvalidInitializer,
            word.span(),
            format!("a number is needed here, or `{}`", VALUES.join("`, `")),
        )),
        Some(operand) => {
            if let Err(error) = evaluate(&operand) {
                diagnostics.push(error);
            }
        }
        None => diagnostics.push(Diagnostic::new(
            Code::InvalidInitializer,
            value.span(),
            "one value is needed here, not a list",
        )),
    }
}
