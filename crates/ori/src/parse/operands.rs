//! Operands in Ori text: values and tuples with their registers, results, sources, constants and addresses.

use super::FunctionParser;
use super::cursor::Cursor;
use super::problem::{Parsed, Problem, too_large, unknown};
use crate::{
    Address, AddressPart, BlockId, ConstBase, Destination, File, IndexedConst, Source, SourceKind, SymbolId,
    Value, Values,
};
use oriole_sass::Symbol;

/// Sources that are a word.
static NAMED_SOURCES: [(&str, SourceKind); 14] = [
    ("RZ", SourceKind::Zero(File::R)),
    ("URZ", SourceKind::Zero(File::UR)),
    ("zero(P)", SourceKind::Zero(File::P)),
    ("zero(UP)", SourceKind::Zero(File::UP)),
    ("zero(B)", SourceKind::Zero(File::B)),
    ("PT", SourceKind::True(File::P)),
    ("UPT", SourceKind::True(File::UP)),
    ("true(R)", SourceKind::True(File::R)),
    ("true(UR)", SourceKind::True(File::UR)),
    ("true(B)", SourceKind::True(File::B)),
    ("kernel_start", SourceKind::KernelStart),
    ("return_address(low)", SourceKind::ReturnAddress(AddressPart::Low)),
    ("return_address(high)", SourceKind::ReturnAddress(AddressPart::High)),
    ("return_distance", SourceKind::ReturnDistance),
];

impl FunctionParser {
    pub(super) fn value(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Value> {
        let file = match cursor.peek() {
            Some('r') => File::R,
            Some('u') => File::UR,
            Some('p') => File::P,
            Some('q') => File::UP,
            Some('x') => File::B,
            _ => return Err(Problem::Register(cursor.rest.to_owned())),
        };
        cursor.rest = &cursor.rest[1..];
        let number: u32 = cursor.number_as()?;
        // Keeps a typing error from asking for gigabytes.
        if number >= 1 << 24 {
            return Err(Problem::TooLarge(format!("register number {number}")));
        }
        let value = Value(number);
        if value >= self.files.next_key() {
            self.files.resize(usize::from(value) + 1, None);
            self.sources.resize(usize::from(value) + 1, None);
        }
        match self.files[value] {
            Some(known) if known != file => return Err(Problem::TwoFiles(number)),
            _ => self.files[value] = Some(file),
        }
        Ok(value)
    }

    fn tuple(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Values> {
        let mut values = Values::new();
        if cursor.eat("{") {
            while !cursor.eat("}") {
                values.push(self.value(cursor)?);
            }
        } else {
            values.push(self.value(cursor)?);
        }
        Ok(values)
    }

    fn fixed(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Option<u8>> {
        if cursor.rest.starts_with('$') {
            cursor.rest = &cursor.rest[1..];
            return cursor.number_as().map(Some);
        }
        Ok(None)
    }

    pub(super) fn destination(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Destination> {
        for (name, file) in
            [("RZ", File::R), ("URZ", File::UR), ("PT", File::P), ("UPT", File::UP), ("XZ", File::B)]
        {
            if cursor.eat(name) {
                let width = if cursor.rest.starts_with(':') {
                    cursor.expect(":")?;
                    cursor.number_as()?
                } else {
                    1
                };
                let fixed = self.fixed(cursor)?;
                return Ok(Destination { fixed, ..Destination::dropped(file, width) });
            }
        }
        let values = self.tuple(cursor)?;
        let first = values.first().ok_or(Problem::Rule("a destination tuple must not be empty"))?;
        let file = self.files[*first].expect("the value was just read");
        let fixed = self.fixed(cursor)?;
        Ok(Destination { fixed, ..Destination::new(file, values) })
    }

    pub(super) fn source(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Source> {
        let negate = cursor.eat("-");
        let invert = cursor.eat("!") || cursor.eat("~");
        let absolute = cursor.eat("|");
        let kind = self.source_kind(cursor)?;
        if absolute {
            cursor.expect("|")?;
        }
        let suffixes = self.suffixes(cursor)?;
        let fixed = self.fixed(cursor)?;
        Ok(Source { kind, negate, absolute, invert, suffixes: suffixes.into(), fixed })
    }

    fn source_kind(&mut self, cursor: &mut Cursor<'_>) -> Parsed<SourceKind> {
        cursor.skip();
        // Most sources are a letter and digits, and no name is.
        let numbered = cursor.rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        if !numbered && let Some((_, kind)) = NAMED_SOURCES.iter().find(|(name, _)| cursor.eat(name)) {
            return Ok(kind.clone());
        }
        if cursor.eat("#") {
            let negative = cursor.eat("-");
            let magnitude = i128::from(cursor.number()?);
            let number = i64::try_from(if negative { -magnitude } else { magnitude });
            return number.map(SourceKind::Literal).map_err(|_| too_large("literal"));
        }
        if cursor.eat("c[") {
            return self.constant(cursor);
        }
        if cursor.eat("desc") {
            let descriptor = self.tuple(cursor)?;
            cursor.expect("[")?;
            return self.address(cursor, Some(descriptor));
        }
        if cursor.eat("[") {
            return self.address(cursor, None);
        }
        for (name, part) in [("low(", AddressPart::Low), ("high(", AddressPart::High)] {
            if cursor.eat(name) {
                let symbol = SymbolId(cursor.indexed("s")?);
                let offset = cursor.offset()?;
                cursor.expect(")")?;
                return Ok(SourceKind::Address32 { symbol, part, offset });
            }
        }
        if cursor.eat("callee(") {
            let symbol = SymbolId(cursor.indexed("s")?);
            cursor.expect(")")?;
            return Ok(SourceKind::Callee(symbol));
        }
        if cursor.rest.starts_with("SB") {
            cursor.expect("SB")?;
            return Ok(SourceKind::Scoreboard(cursor.number_as()?));
        }
        if cursor.eat("%(") {
            let end = cursor.rest.find(')').ok_or(Problem::Expected("`)`"))?;
            let name = &cursor.rest[..end];
            let symbol = Symbol::from_name(name).ok_or_else(|| unknown("name", name))?;
            cursor.rest = &cursor.rest[end + 1..];
            return Ok(SourceKind::Symbol(symbol));
        }
        match cursor.peek() {
            Some('b') => Ok(SourceKind::Block(BlockId(cursor.indexed("b")?))),
            Some(c) if c.is_ascii_digit() => Ok(SourceKind::Imm(cursor.number_as()?)),
            Some(_) => Ok(SourceKind::Values(self.tuple(cursor)?)),
            None => Err(Problem::Expected("an operand")),
        }
    }

    /// After `c[`.
    pub(super) fn constant(&mut self, cursor: &mut Cursor<'_>) -> Parsed<SourceKind> {
        let bank = cursor.number_as()?;
        cursor.expect("]")?;
        cursor.expect("[")?;
        let base = match cursor.peek() {
            Some('s') if cursor.eat("slot") => ConstBase::AddressSlot(SymbolId(cursor.indexed("s")?)),
            Some('h') if cursor.eat("header") => ConstBase::HeaderSlot(SymbolId(cursor.indexed("s")?)),
            Some('s') => ConstBase::Variable(SymbolId(cursor.indexed("s")?)),
            Some('t') => ConstBase::Table(cursor.indexed("t")?),
            _ => ConstBase::Bank,
        };
        let has_index = match cursor.rest.strip_prefix('+') {
            Some(rest) => rest.starts_with(['r', 'u']),
            None => cursor.rest.starts_with(['r', 'u']),
        };
        if has_index {
            cursor.eat("+");
            let index = self.value(cursor)?;
            let offset = cursor.offset()?;
            cursor.expect("]")?;
            return Ok(SourceKind::ConstIndexed(Box::new(IndexedConst { bank, base, index, offset })));
        }
        let offset = self.bracket_offset(cursor)?;
        cursor.expect("]")?;
        Ok(SourceKind::Const { bank, base, offset })
    }

    fn bracket_offset(&mut self, cursor: &mut Cursor<'_>) -> Parsed<i32> {
        if cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
            let number = cursor.number()?;
            return i32::try_from(number).map_err(|_| too_large("offset"));
        }
        cursor.offset()
    }

    /// After `[`.
    fn address(&mut self, cursor: &mut Cursor<'_>, descriptor: Option<Values>) -> Parsed<SourceKind> {
        let (mut base, mut uniform, mut symbol) = (Values::new(), Values::new(), None);
        let mut more = true;
        if matches!(cursor.peek(), Some('r' | 'u' | 'p' | 'q' | 'x' | '{')) {
            base = self.tuple(cursor)?;
            more = cursor.rest.starts_with("+^") || cursor.rest.starts_with("+s");
            if more {
                cursor.eat("+");
            }
        }
        if more && cursor.eat("^") {
            uniform = self.tuple(cursor)?;
            more = cursor.rest.starts_with("+s");
            if more {
                cursor.eat("+");
            }
        }
        if more && cursor.peek() == Some('s') {
            symbol = Some(SymbolId(cursor.indexed("s")?));
        }
        let offset = self.bracket_offset(cursor)?;
        cursor.expect("]")?;
        Ok(SourceKind::Address(Box::new(Address { descriptor, base, uniform, symbol, offset })))
    }
}
