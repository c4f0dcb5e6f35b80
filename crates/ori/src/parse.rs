//! The parser of Ori text, the inverse of the printer; `//` comments, blank lines and free indentation are allowed
//! for handwritten files. The grammar is that of [`crate::print`].

use crate::{
    Address, AddressPart, Block, BlockId, CallShape, Clobbers, ConstBase, Destination, File, Function, Guard,
    IndexedConst, Instruction, LocalVariable, MemoryInfo, ObjectOperation, Opcode, Origin, Phi, PhiSource,
    Pseudo, Source, SourceKind, Space, SymbolId, SymbolKind, SymbolRef, Table, Value, ValueData, Values,
};
use oriole_sass::{Mod, Mods, Op, Symbol};
use typed_index_collections::TiVec;

/// A line that is not Ori.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ParseError {
    /// Line number, from 1.
    pub line: usize,
    /// The reason.
    pub problem: Problem,
}

/// Why a line is not Ori.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// Text after the end of a statement.
    #[error("unexpected `{0}`")]
    Rest(String),
    /// Something is missing.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A token is missing.
    #[error("expected `{token}` before `{rest}`")]
    Token {
        /// The token.
        token: String,
        /// The rest of the line.
        rest: String,
    },
    /// A register is missing before the rest of the line.
    #[error("expected a register before `{0}`")]
    Register(String),
    /// Another word than those that may be here.
    #[error("expected {expected}, found `{found}`")]
    Found {
        /// The allowed words.
        expected: &'static str,
        /// The word.
        found: String,
    },
    /// Items of a kind have consecutive numbers.
    #[error("expected {kind}{number}")]
    Next {
        /// The kind and its letter.
        kind: &'static str,
        /// The next number.
        number: usize,
    },
    /// No item of this kind has the name.
    #[error("unknown {kind} `{name}`")]
    Unknown {
        /// The kind.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A number that does not fit.
    #[error("{0} is too large")]
    TooLarge(String),
    /// A register that was in another file before.
    #[error("register {0} has two files")]
    TwoFiles(u32),
    /// A successor that does not exist.
    #[error("there is no block b{0}")]
    NoBlock(u32),
    /// The number of an escape is not that of a character.
    #[error("`{0}` is no character")]
    Character(String),
    /// A rule of the text form.
    #[error("{0}")]
    Rule(&'static str),
}

fn unknown(kind: &'static str, name: &str) -> Problem {
    Problem::Unknown { kind, name: name.to_owned() }
}

fn found(expected: &'static str, found: &str) -> Problem {
    Problem::Found { expected, found: found.to_owned() }
}

fn too_large(what: &str) -> Problem {
    Problem::TooLarge(what.to_owned())
}

/// The predicates of a mask.
fn predicates(mask: u64) -> Parsed<u8> {
    u8::try_from(mask).map_err(|_| Problem::Rule("there are seven predicates"))
}

/// Parses one function.
///
/// # Errors
/// The first line that is not Ori, with the syntax expected there.
pub fn parse(text: &str) -> Result<Function, ParseError> {
    let mut parser =
        FunctionParser { function: Function::default(), files: TiVec::new(), sources: TiVec::new() };
    let mut last = 0;
    let mut seen_header = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        // A quoted name may contain two slashes.
        let line = if line.contains('"') {
            line
        } else {
            line.split_once("//").map_or(line, |(before, _)| before).trim()
        };
        if line.is_empty() {
            continue;
        }
        last = index + 1;
        let mut cursor = Cursor { rest: line };
        let result = if seen_header { parser.line(&mut cursor) } else { parser.header(&mut cursor) };
        seen_header = true;
        result.and_then(|()| cursor.end()).map_err(|problem| ParseError { line: index + 1, problem })?;
    }
    if !seen_header {
        return Err(ParseError { line: 1, problem: Problem::Expected("`kernel` or `function`") });
    }
    parser.finish().map_err(|problem| ParseError { line: last, problem })
}

type Parsed<T> = Result<T, Problem>;

/// A line being read from the left.
struct Cursor<'t> {
    rest: &'t str,
}

impl<'t> Cursor<'t> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn end(&mut self) -> Parsed<()> {
        self.skip();
        if self.rest.is_empty() { Ok(()) } else { Err(Problem::Rest(self.rest.to_owned())) }
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) {
            return Ok(());
        }
        Err(Problem::Token { token: token.to_owned(), rest: self.rest.to_owned() })
    }

    fn peek(&mut self) -> Option<char> {
        self.skip();
        self.rest.chars().next()
    }

    fn word(&mut self) -> &'t str {
        self.skip();
        let end =
            self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// An unsigned integer: decimal, or hexadecimal with `0x`.
    fn number(&mut self) -> Parsed<u64> {
        let word = self.word();
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        parsed.map_err(|_| found("a number", &format!("{word}{}", self.rest)))
    }

    fn number_as<T: TryFrom<u64>>(&mut self) -> Parsed<T> {
        let number = self.number()?;
        T::try_from(number).map_err(|_| Problem::TooLarge(format!("number {number}")))
    }

    fn in_parentheses(&mut self) -> Parsed<u32> {
        self.expect("(")?;
        let number = self.number_as()?;
        self.expect(")")?;
        Ok(number)
    }

    /// A mask: hexadecimal digits only.
    fn mask(&mut self) -> Parsed<u64> {
        let digits = self.word();
        u64::from_str_radix(digits, 16).map_err(|_| found("a mask", digits))
    }

    /// `letter` and an index.
    fn indexed(&mut self, letter: &str) -> Parsed<u32> {
        self.expect(letter)?;
        self.number_as()
    }

    /// Optional `+0x..` or `-0x..`.
    fn offset(&mut self) -> Parsed<i32> {
        let negative = match self.peek() {
            Some('+') => false,
            Some('-') => true,
            _ => return Ok(0),
        };
        self.rest = &self.rest[1..];
        let magnitude = self.number()? as i64;
        i32::try_from(if negative { -magnitude } else { magnitude }).map_err(|_| too_large("offset"))
    }
}

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

struct FunctionParser {
    function: Function,
    files: TiVec<Value, Option<File>>,
    sources: TiVec<Value, Option<(u32, u8)>>,
}

impl FunctionParser {
    fn header(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        match cursor.word() {
            "kernel" => self.function.is_entry = true,
            "function" => {}
            "routine" => self.function.routine = Some(Clobbers { general: 0, predicates: 0 }),
            other => return Err(found("`kernel`, `function` or `routine`", other)),
        }
        while cursor.peek().is_some() {
            match (cursor.word(), &mut self.function.routine) {
                ("clobbers", Some(clobbers)) => {
                    cursor.expect("=")?;
                    clobbers.general = cursor.mask()?;
                }
                ("predicates", Some(clobbers)) => {
                    cursor.expect("=")?;
                    clobbers.predicates = predicates(cursor.mask()?)?;
                }
                ("params", _) => {
                    cursor.expect("=")?;
                    self.function.parameter_bytes = cursor.number_as()?;
                }
                ("barriers", _) => {
                    cursor.expect("=")?;
                    self.function.barriers = cursor.number_as()?;
                }
                ("separate", _) => self.function.is_separate = true,
                ("stated", _) => self.function.states_registers = true,
                ("library", _) => self.function.calls_library = true,
                ("fixed_point", _) => self.function.at_fixed_point = true,
                ("registers", _) => {
                    cursor.expect("=")?;
                    self.function.register_limit = Some(cursor.number_as()?);
                }
                ("threads", _) => {
                    cursor.expect("=")?;
                    self.function.block_threads = Some(cursor.number_as()?);
                }
                ("shared", _) => {
                    cursor.expect("=")?;
                    self.function.shared_bytes = cursor.number_as()?;
                }
                (other, _) => return Err(unknown("property", other)),
            }
        }
        Ok(())
    }

    fn line(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        if self.function.blocks.is_empty() {
            for (keyword, item) in [
                ("symbol ", Self::symbol as fn(&mut Self, &mut Cursor<'_>) -> Parsed<()>),
                ("local ", Self::local),
                ("table ", Self::table),
                ("value ", Self::declared_value),
            ] {
                if cursor.eat(keyword) {
                    return item(self, cursor);
                }
            }
        }
        let is_label = cursor.rest.starts_with('b')
            && cursor.rest[1..].split_once(':').is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if is_label {
            let number = cursor.indexed("b")?;
            if number as usize != self.function.blocks.len() {
                return Err(Problem::Next { kind: "block b", number: self.function.blocks.len() });
            }
            cursor.expect(":")?;
            let nounroll = cursor.eat("nounroll");
            let mut block = Block { nounroll, cold: cursor.eat("cold"), ..Block::default() };
            if cursor.eat("->") {
                while cursor.peek().is_some() {
                    block.successors.push(BlockId(cursor.indexed("b")?));
                }
            }
            self.function.blocks.push(block);
            return Ok(());
        }
        if self.function.blocks.is_empty() {
            return Err(Problem::Expected("a block label"));
        }
        self.instruction(cursor)
    }

    fn symbol(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        if cursor.indexed("s")? as usize != self.function.symbols.len() {
            return Err(Problem::Next { kind: "symbol s", number: self.function.symbols.len() });
        }
        let kind = match cursor.word() {
            "shared" => SymbolKind::Shared,
            "global" => SymbolKind::Global,
            "constant" => SymbolKind::Constant,
            "local" => SymbolKind::Local(cursor.in_parentheses()?),
            "function" => SymbolKind::Function,
            "helper" => SymbolKind::Helper,
            "extern" => SymbolKind::Extern,
            "outside" => SymbolKind::Outside,
            "opaque" => SymbolKind::Opaque,
            "opaque_parameter" => SymbolKind::OpaqueParameter(cursor.in_parentheses()?),
            "descriptor_size" => SymbolKind::DescriptorSize,
            "constant_size" => SymbolKind::ConstantSize,
            "arguments" => SymbolKind::Arguments,
            other => return Err(unknown("symbol kind", other)),
        };
        cursor.expect("\"")?;
        let end = cursor.rest.rfind('"').ok_or(Problem::Expected("a closing quote"))?;
        let name = unescape(&cursor.rest[..end])?;
        cursor.rest = &cursor.rest[end + 1..];
        let align = if cursor.eat("align=") { cursor.number_as()? } else { 1 };
        self.function.symbols.push(SymbolRef { name, kind, align });
        Ok(())
    }

    fn local(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        if cursor.indexed("l")? as usize != self.function.locals.len() {
            return Err(Problem::Next { kind: "local l", number: self.function.locals.len() });
        }
        cursor.expect("size=")?;
        let size = cursor.number()?;
        cursor.expect("align=")?;
        let align = cursor.number_as()?;
        self.function.locals.push(LocalVariable { size, align });
        Ok(())
    }

    fn table(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        if cursor.indexed("t")? as usize != self.function.tables.len() {
            return Err(Problem::Next { kind: "table t", number: self.function.tables.len() });
        }
        let table = match cursor.word() {
            "targets" => {
                let mut blocks = Vec::new();
                while cursor.peek().is_some() {
                    blocks.push(BlockId(cursor.indexed("b")?));
                }
                Table::Targets(blocks)
            }
            "words" => {
                let mut words = Vec::new();
                while cursor.peek().is_some() {
                    words.push(cursor.number_as()?);
                }
                Table::Words(words)
            }
            "functions" => Table::Functions,
            other => return Err(found("`targets`, `words` or `functions`", other)),
        };
        self.function.tables.push(table);
        Ok(())
    }

    fn declared_value(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let value = self.value(cursor)?;
        if cursor.eat("=") {
            cursor.expect("%")?;
            let register = cursor.number_as()?;
            cursor.expect(".")?;
            let component = cursor.number_as()?;
            self.sources[value] = Some((register, component));
        }
        Ok(())
    }

    fn value(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Value> {
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

    fn destination(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Destination> {
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

    fn instruction(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let mut guard = None;
        if cursor.eat("@") {
            let negated = cursor.eat("!");
            guard = Some(Guard { value: self.value(cursor)?, negated });
        }
        // Destinations come before ` = `, which occurs nowhere else.
        let mut destinations = smallvec::SmallVec::new();
        if cursor.rest.contains(" = ") {
            loop {
                destinations.push(self.destination(cursor)?);
                if !cursor.eat(",") {
                    break;
                }
            }
            cursor.expect("=")?;
        }
        let name = cursor.word();
        let block = self.function.blocks.last_key().expect("a label comes before instructions");
        if name == "phi" {
            let [Destination { values, .. }] = destinations.as_slice() else {
                return Err(Problem::Rule("a phi has one destination"));
            };
            let destination = values[0];
            let mut sources = crate::PhiSources::new();
            while cursor.peek().is_some() {
                let predecessor = BlockId(cursor.indexed("b")?);
                cursor.expect(":")?;
                let source = PhiSource::of(&self.source(cursor)?);
                sources
                    .push((predecessor, source.ok_or(Problem::Rule("a phi merges values and constants"))?));
                if !cursor.eat(",") {
                    break;
                }
            }
            self.function.blocks[block].phis.push(Phi { destination, sources });
            return Ok(());
        }
        let opcode = opcode_from_name(name).ok_or_else(|| unknown("opcode", name))?;
        let mut instruction = Instruction::new(opcode, Origin(0));
        instruction.guard = guard;
        instruction.destinations = destinations;
        instruction.mods = self.suffixes(cursor)?;
        let mut first = true;
        loop {
            if cursor.eat("tied(") {
                while !cursor.eat(")") {
                    instruction.tied.push(self.value(cursor)?);
                }
            } else if cursor.eat("mem(") {
                instruction.memory = Some(self.memory(cursor)?);
            } else if cursor.eat("call(") {
                instruction.call = Some(Box::new(self.call(cursor)?));
            } else if cursor.eat("contract") {
                instruction.contract = true;
            } else if cursor.eat(";") {
                instruction.origin = Origin(cursor.number_as()?);
                break;
            } else if cursor.peek().is_none() {
                break;
            } else {
                if !first {
                    cursor.expect(",")?;
                }
                first = false;
                let source = self.source(cursor)?;
                instruction.sources.push(source);
            }
        }
        self.function.blocks[block].instructions.push(instruction);
        Ok(())
    }

    fn suffixes(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Mods> {
        let mut mods = Mods::none();
        while cursor.rest.starts_with('.') {
            cursor.rest = &cursor.rest[1..];
            let name = cursor.word();
            mods.insert(Mod::from_name(name).ok_or_else(|| unknown("modifier", name))?);
        }
        Ok(mods)
    }

    fn memory(&mut self, cursor: &mut Cursor<'_>) -> Parsed<MemoryInfo> {
        let space = match cursor.word() {
            "generic" => Space::Generic,
            "global" => Space::Global,
            "shared" => Space::Shared,
            "local" => Space::Local,
            "constant" => Space::Constant,
            "spill" => Space::Spill,
            other => return Err(unknown("memory space", other)),
        };
        let (reads, writes) = match cursor.word() {
            "rw" => (true, true),
            "r" => (true, false),
            "w" => (false, true),
            "none" => (false, false),
            other => return Err(found("`r`, `w`, `rw` or `none`", other)),
        };
        let ordered = cursor.eat("ordered");
        let object = if cursor.eat("object") {
            let name = cursor.word();
            let known = ObjectOperation::from_name(name);
            Some(known.ok_or_else(|| unknown("operation on a barrier object", name))?)
        } else {
            None
        };
        cursor.expect(")")?;
        Ok(MemoryInfo { space, reads, writes, ordered, object })
    }

    fn call(&mut self, cursor: &mut Cursor<'_>) -> Parsed<CallShape> {
        let callee = if cursor.eat("indirect") { None } else { Some(SymbolId(cursor.indexed("s")?)) };
        cursor.expect("stack=")?;
        let stack_bytes = cursor.number_as()?;
        cursor.expect("clobbers=")?;
        let mut clobbers = [0; 4];
        for (index, word) in clobbers.iter_mut().enumerate() {
            if index > 0 {
                cursor.expect(",")?;
            }
            *word = cursor.mask()?;
        }
        cursor.expect("predicates=")?;
        let clobbered_predicates = predicates(cursor.mask()?)?;
        let clobbers_uniform = cursor.eat("uniform");
        let exchanges = cursor.eat("exchanges");
        let mut arguments = [0; 4];
        let mut argument_predicates = 0;
        if cursor.eat("arguments=") {
            for word in &mut arguments {
                *word = cursor.mask()?;
                cursor.expect(",")?;
            }
            argument_predicates = predicates(cursor.mask()?)?;
        }
        cursor.expect(")")?;
        Ok(CallShape {
            callee,
            stack_bytes,
            clobbers,
            clobbered_predicates,
            clobbers_uniform,
            exchanges,
            arguments,
            argument_predicates,
        })
    }

    fn source(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Source> {
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
    fn constant(&mut self, cursor: &mut Cursor<'_>) -> Parsed<SourceKind> {
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

    fn finish(mut self) -> Parsed<Function> {
        let mut values = TiVec::with_capacity(self.files.len());
        for (file, source) in self.files.iter().zip(&self.sources) {
            // Handwritten text may skip value numbers; such a value is never read.
            values.push(ValueData { file: file.unwrap_or(File::R), source: *source });
        }
        self.function.values = values;
        let end = self.function.blocks.next_key();
        for block in &self.function.blocks {
            if let Some(bad) = block.successors.iter().find(|&&s| s >= end) {
                return Err(Problem::NoBlock(bad.0));
            }
        }
        Ok(self.function)
    }
}

/// The opcode with this spelling: a machine mnemonic or the name of a pseudo-operation.
pub fn opcode_from_name(name: &str) -> Option<Opcode> {
    if let Some(op) = Op::from_name(name) {
        return Some(Opcode::Sass(op));
    }
    Pseudo::ALL.iter().copied().find(|pseudo| format!("{pseudo:?}") == name).map(Opcode::Pseudo)
}

fn unescape(text: &str) -> Parsed<String> {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('0') => out.push('\0'),
            Some('u') => {
                let rest = characters.as_str();
                let (digits, after) = rest
                    .strip_prefix('{')
                    .and_then(|r| r.split_once('}'))
                    .ok_or(Problem::Expected("`{` after `\\u`"))?;
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                out.push(code.ok_or_else(|| Problem::Character(digits.to_owned()))?);
                characters = after.chars();
            }
            Some(other) => out.push(other),
            None => return Err(Problem::Rule("a name must not end in a backslash")),
        }
    }
    Ok(out)
}
