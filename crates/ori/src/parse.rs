//! The parser of Ori text, the inverse of the printer; `//` comments, blank lines and free indentation are allowed
//! for handwritten files. The grammar is that of [`crate::print`].

mod cursor;
mod operands;
mod problem;

use crate::{
    Block, BlockId, CallShape, Clobbers, Destination, File, Function, Guard, Instruction, LocalVariable,
    MemoryInfo, ObjectOperation, Opcode, Origin, Phi, PhiSource, Pseudo, Space, SymbolId, SymbolKind,
    SymbolRef, Table, Value, ValueData,
};
use cursor::Cursor;
use oriole_sass::{Mod, Mods, Op};
pub use problem::{ParseError, Problem};
use problem::{Parsed, found, unknown};
use typed_index_collections::TiVec;

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
                ("rows", _) => self.function.warps_in_rows = true,
                ("apart", _) => self.function.lanes_apart = true,
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
