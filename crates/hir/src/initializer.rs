//! Initial values of module variables: bytes, and references that the linker fills in.
//!
//! Constants, addresses and nested lists have one reader, for all kinds of variables. Which variables may have a value
//! is decided where they are declared.

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::{Space, Type};
use oriole_syntax::TokenRef;
use oriole_syntax::ast::{
    AstNode, Binary, BinaryOperator, CallExpression, Index, InitializerValue, ListValue, Number, Operand,
};

use crate::constant::literal;
use crate::declaration::Shape;
use crate::{Constant, ModuleContext, evaluate};

/// Most bytes that an initializer may give; more would only exhaust memory.
const MAX_INITIAL_BYTES: u64 = 1 << 30;

/// An initial value: bytes, and references that the linker adds.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct InitialValue {
    /// Bytes from the start of the variable; what follows is zero.
    pub bytes: Vec<u8>,
    /// References, by rising offset.
    pub relocations: Vec<Relocation>,
}

/// A reference to a symbol inside an initial value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Relocation {
    /// Byte offset into the variable.
    pub offset: u64,
    /// Bytes that are written.
    pub width: u8,
    /// Name of the variable or function.
    pub symbol: String,
    /// Added to the symbol's address.
    pub addend: i64,
    /// `generic(...)`: the generic address and not the one of the symbol's space.
    pub generic: bool,
    /// Whether the symbol is a function.
    pub function: bool,
    /// The index of the byte taken from the address, 0 for the lowest: `0xff00(symbol)` takes byte 1. `None` for the
    /// whole address.
    pub byte: Option<u8>,
}

/// Reads an initial value of a variable of this shape.
pub(crate) fn read(
    value: &InitializerValue,
    shape: &Shape,
    context: &dyn ModuleContext,
    diagnostics: &mut Vec<Diagnostic>,
) -> InitialValue {
    let mut reader = Reader { context, shape, value: InitialValue::default(), diagnostics };
    reader.level(value, 0, 0);
    let mut initial = reader.value;
    initial.relocations.sort_by_key(|relocation| relocation.offset);
    initial
}

struct Reader<'a> {
    context: &'a dyn ModuleContext,
    shape: &'a Shape,
    value: InitialValue,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn report(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(Code::InvalidInitializer, span, message.into()));
    }

    /// Bytes of one item at a nesting level: a row of an array, an array's element, a vector's component.
    fn bytes_at(&self, level: usize) -> u64 {
        let element = u64::from(self.shape.ty.bytes());
        let vector = if level <= self.shape.dimensions.len() { u64::from(self.shape.vector) } else { 1 };
        self.shape.dimensions.iter().skip(level).product::<u64>() * vector * element
    }

    fn level(&mut self, value: &InitializerValue, level: usize, offset: u64) {
        let deepest = self.shape.dimensions.len() + usize::from(self.shape.vector > 1);
        match value {
            InitializerValue::InitializerList(list) if level < deepest => {
                let item = self.bytes_at(level + 1);
                let capacity = self.bytes_at(level) / item.max(1);
                let mut count = 0;
                for value in list.values() {
                    if count == capacity {
                        self.report(value.span(), format!("more than {capacity} values"));
                        return;
                    }
                    let offset = offset + count * item;
                    match value {
                        ListValue::Number(number) if level + 1 < deepest => self.no_list(number.span()),
                        ListValue::Number(number) => self.number(number, offset),
                        ListValue::Value(value) => self.level(&value, level + 1, offset),
                    }
                    count += 1;
                }
                let vector = self.shape.vector > 1 && level + 1 == deepest;
                if vector && count != capacity {
                    self.report(list.span(), format!("a vector of {capacity} needs {capacity} values"));
                }
            }
            InitializerValue::InitializerList(list) => {
                self.report(list.span(), "one value is needed here, not a list")
            }
            InitializerValue::FieldInitializer(field) => {
                self.report(field.span(), "only a sampler has fields");
            }
            other if level < deepest => self.no_list(other.span()),
            other => match other.operand() {
                Some(operand) => self.scalar(&operand, offset),
                None => self.report(other.span(), "a value is needed here"),
            },
        }
    }

    fn no_list(&mut self, span: Span) {
        self.report(span, "a list in braces is needed here");
    }

    /// A number of a run, which is not a node of the tree.
    fn number(&mut self, number: Number, offset: u64) {
        match literal(number.number()) {
            Ok(value) => self.constant(value, number.span(), offset),
            Err(message) => {
                self.diagnostics.push(Diagnostic::new(Code::InvalidExpression, number.span(), message));
            }
        }
    }

    fn write(&mut self, span: Span, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        if end > MAX_INITIAL_BYTES {
            self.report(span, format!("an initial value of more than {MAX_INITIAL_BYTES} bytes"));
            return;
        }
        let (offset, end) = (offset as usize, end as usize);
        if self.value.bytes.len() < end {
            self.value.bytes.resize(end, 0);
        }
        self.value.bytes[offset..end].copy_from_slice(bytes);
    }

    fn scalar(&mut self, operand: &Operand, offset: u64) {
        if let Some(reference) = self.reference(operand) {
            let Ok(reference) = reference else { return };
            let ty = self.shape.ty;
            let width = ty.bytes() as usize;
            let masked = reference.byte.is_some();
            if !(ty.is_bits() || ty.is_integer()) || (width < 4 && !masked) {
                self.report(operand.span(), format!("an address does not fit the type `{ty}`"));
                return;
            }
            self.write(operand.span(), offset, &[0; 16][..width]);
            self.value.relocations.push(Relocation { offset, width: width as u8, ..reference });
            return;
        }
        match evaluate(operand) {
            Ok(value) => self.constant(value, operand.span(), offset),
            Err(error) => self.diagnostics.push(error),
        }
    }

    fn constant(&mut self, value: Constant, span: Span, offset: u64) {
        let ty = self.shape.ty;
        let bits: u64 = match (value, ty) {
            (Constant::Integer { bits, .. }, _) if !ty.is_float() => bits,
            (Constant::F32(bits), Type::F32) => u64::from(bits),
            (Constant::F32(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
            (Constant::F64(bits), Type::F32 | Type::B32) => {
                u64::from((f64::from_bits(bits) as f32).to_bits())
            }
            (Constant::F64(bits), Type::F64) => bits,
            // Untyped variables hold the bits of the value, truncated to their size.
            (Constant::F32(bits), _) if ty.is_bits() => u64::from(bits),
            (Constant::F64(bits), _) if ty.is_bits() => bits,
            _ => {
                self.report(span, format!("this value does not fit the type `{ty}`"));
                return;
            }
        };
        let extended = match value {
            Constant::Integer { bits, unsigned } if !unsigned => i128::from(bits as i64) as u128,
            _ => u128::from(bits),
        };
        self.write(span, offset, &extended.to_le_bytes()[..ty.bytes() as usize]);
    }

    /// Reads `symbol`, `symbol + n`, `generic(symbol)`, `mask(symbol)` and the like; `None` if it is a plain
    /// constant, an error value if it has been reported.
    fn reference(&mut self, operand: &Operand) -> Option<Result<Relocation, ()>> {
        match operand {
            Operand::Name(name) => self.symbol(name.token()?),
            Operand::Paren(paren) => {
                let reference = self.reference(&paren.operand()?)?;
                if reference.is_ok() {
                    let message = "a name cannot be in parentheses";
                    self.diagnostics.push(Diagnostic::new(Code::Syntax, operand.span(), message));
                }
                Some(reference.and(Err(())))
            }
            Operand::Index(index) => self.element(index),
            Operand::Binary(binary) => self.displaced(binary, operand.span()),
            Operand::CallExpression(call) => self.converted(call),
            _ => None,
        }
    }

    /// `symbol`
    fn symbol(&mut self, token: TokenRef<'_>) -> Option<Result<Relocation, ()>> {
        let symbol = token.text();
        if symbol == "WARP_SZ" {
            return None;
        }
        let global = self.context.global(symbol);
        if let Some(info) = &global
            && !matches!(info.space, Space::Global | Space::Constant)
        {
            self.report(token.span(), format!("`{symbol}` is in neither `.global` nor `.const`"));
            return Some(Err(()));
        }
        if global.is_none() && self.context.signature(symbol).is_none() {
            let message = format!("no variable or function is called `{symbol}`");
            self.diagnostics.push(Diagnostic::new(Code::UnknownName, token.span(), message));
            return Some(Err(()));
        }
        Some(Ok(Relocation {
            offset: 0,
            width: 0,
            symbol: symbol.to_string(),
            addend: 0,
            generic: false,
            function: global.is_none(),
            byte: None,
        }))
    }

    /// `symbol[n]`
    fn element(&mut self, index: &Index) -> Option<Result<Relocation, ()>> {
        let base = self.reference(&index.base()?)?;
        let Ok(mut base) = base else { return Some(base) };
        let at = match evaluate(&index.index()?) {
            Ok(at) => at.integer().unwrap_or(0),
            Err(error) => {
                self.diagnostics.push(error);
                return Some(Err(()));
            }
        };
        let element = match self.context.global(&base.symbol) {
            Some(info) => i64::from(info.ty.bytes()) * i64::from(info.vector),
            None => i64::from(self.shape.ty.bytes()) * i64::from(self.shape.vector),
        };
        base.addend = base.addend.wrapping_add(at.wrapping_mul(element));
        Some(Ok(base))
    }

    /// `symbol + n`, `symbol - n`
    fn displaced(&mut self, binary: &Binary, span: Span) -> Option<Result<Relocation, ()>> {
        let left = self.reference(&binary.left()?)?;
        let Ok(mut left) = left else { return Some(left) };
        let right = match evaluate(&binary.right()?) {
            Ok(right) => right.integer(),
            Err(error) => {
                self.diagnostics.push(error);
                return Some(Err(()));
            }
        };
        match (binary.operator()?, right) {
            (BinaryOperator::Add, Some(value)) => left.addend = left.addend.wrapping_add(value),
            (BinaryOperator::Subtract, Some(value)) => left.addend = left.addend.wrapping_sub(value),
            _ => {
                self.report(span, "only a constant can be added to an address");
                return Some(Err(()));
            }
        }
        Some(Ok(left))
    }

    /// `generic(symbol)`, `0xff(symbol)`, `mask(0xff)(symbol)`
    fn converted(&mut self, call: &CallExpression) -> Option<Result<Relocation, ()>> {
        let argument = self.reference(&call.argument()?)?;
        let Ok(mut argument) = argument else { return Some(argument) };
        match call.callee()? {
            Operand::Name(name) if name.token().is_some_and(|token| token.text() == "generic") => {
                argument.generic = true;
            }
            Operand::Literal(literal) => match evaluate(&Operand::Literal(literal)) {
                Ok(Constant::Integer { bits, .. }) => {
                    argument.byte = match self.masked_byte(bits, call.span()) {
                        Ok(byte) => Some(byte),
                        Err(()) => return Some(Err(())),
                    }
                }
                _ => return None,
            },
            Operand::CallExpression(inner) => {
                if let Some(Ok(Constant::Integer { bits, .. })) = inner.argument().map(|mask| evaluate(&mask))
                {
                    argument.byte = match self.masked_byte(bits, call.span()) {
                        Ok(byte) => Some(byte),
                        Err(()) => return Some(Err(())),
                    };
                }
            }
            other => {
                self.report(other.span(), "`generic` or a mask is needed here");
                return Some(Err(()));
            }
        }
        Some(Ok(argument))
    }

    /// The index of the byte that a mask selects; an error, already reported, for any other mask.
    fn masked_byte(&mut self, mask: u64, span: Span) -> Result<u8, ()> {
        let byte = (0..8).find(|byte| mask == 0xff << (8 * byte));
        byte.ok_or_else(|| {
            self.report(span, format!("the mask `{mask:#x}` does not take one byte of an address"))
        })
    }
}
