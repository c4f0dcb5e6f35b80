//! Parses an instruction: the inverse of the printer, in both its styles. The form table resolves ambiguities (the
//! kind of an immediate, the position of a type name): the reading that has a form, and that prints as it was
//! written, is the right one.

use crate::choose::{Resolved, choose};
use crate::error::EncodeError;
use crate::form::{self, FloatKind, SlotKind, Table};
use crate::register::{PT, RZ, URZ};
use crate::{Control, Guard, Instruction, Mod, Mods, Op, Operand, OperandKind, Symbol, float, print};
use oriole_chip::Chip;
use smallvec::SmallVec;
use std::fmt;

/// Why a text is not an instruction. The integer is the byte offset of the error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParseError {
    /// The mnemonic is unknown.
    Opcode(usize),
    /// A modifier is unknown.
    Modifier(usize),
    /// An operand is invalid.
    Operand(usize),
    /// The guard cannot be read.
    Guard(usize),
    /// The scheduling control after the semicolon is invalid.
    Control(usize),
    /// No form takes the instruction.
    Encode(EncodeError),
    /// The modifiers have a form, but their canonical spelling is this one.
    Spelling(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Opcode(at) => write!(f, "column {at}: unknown opcode"),
            ParseError::Modifier(at) => write!(f, "column {at}: unknown modifier"),
            ParseError::Operand(at) => write!(f, "column {at}: cannot read this operand"),
            ParseError::Guard(at) => write!(f, "column {at}: cannot read the guard"),
            ParseError::Control(at) => write!(f, "column {at}: cannot read the scheduling control"),
            ParseError::Encode(error) => error.fmt(f),
            ParseError::Spelling(right) => write!(f, "this is written `{right}`"),
        }
    }
}

impl std::error::Error for ParseError {}

/// The instruction of a text. `address` is its address, as in the printer; a text without control gets the
/// neutral one.
pub fn parse(chip: Chip, text: &str, address: Option<u64>) -> Result<Instruction, ParseError> {
    let table = form::table(chip).ok_or(ParseError::Encode(EncodeError::UnsupportedChip(chip)))?;
    let (body, control, descriptor) = match text.split_once(';') {
        Some((body, rest)) => {
            let (control, descriptor) = parse_control(rest, body.len() + 1)?;
            (body, control, descriptor)
        }
        None => (text, Control::NEUTRAL, None),
    };
    let mut rest = body.trim();
    let at = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let mut guard = Guard::ALWAYS;
    if let Some(after) = rest.strip_prefix('@') {
        let (word, following) = after.split_once(char::is_whitespace).ok_or(ParseError::Guard(at(rest)))?;
        guard = parse_guard(word).ok_or(ParseError::Guard(at(rest)))?;
        rest = following.trim_start();
    }
    let (head, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let mut names = head.split('.');
    let op_name = names.next().unwrap_or("");
    let op = Op::from_name(op_name).ok_or(ParseError::Opcode(at(head)))?;
    let readings = modifier_readings(table, op, names).map_err(|name| ParseError::Modifier(at(name)))?;
    let mut parts: SmallVec<[Part; 6]> = SmallVec::new();
    let mut words = split_operands(operands);
    if print::is_indirect_jump(op)
        && let Some((base, distance)) =
            words.last().and_then(|last| last.trim().split_once(char::is_whitespace))
    {
        words.pop();
        words.extend([base, distance]);
    }
    for word in words {
        if let (Some(before), true) = (parts.last(), op.info().text.next_register) {
            names_next(&before.operand, word.trim()).ok_or(ParseError::Operand(at(word)))?;
            continue;
        }
        match word.trim().strip_prefix("idesc[") {
            Some(behind) => join_descriptor(parts.last_mut(), behind).ok_or(ParseError::Operand(at(word)))?,
            None => parts.push(parse_operand(word.trim()).ok_or(ParseError::Operand(at(word)))?),
        }
    }
    // Targets count from the end of the instruction.
    let end = address.map(|address| (address as i64).wrapping_add(table.words().end(0)));
    let mut error = None;
    for mods in readings {
        for numbers in NUMBERS {
            let Some(operands) = settle(&parts, numbers, end) else { continue };
            let mut instruction = Instruction { guard, op, mods: mods.clone(), operands, control };
            let mut chosen = choose(table, &instruction);
            // A written descriptor is never the hidden one.
            if chosen.as_ref().is_ok_and(|(resolved, _)| writes_hidden(&instruction, resolved)) {
                for operand in &mut instruction.operands {
                    if matches!(operand.kind, OperandKind::Memory { descriptor: Some(_), .. }) {
                        operand.suffixes.insert(Mod::DESC);
                    }
                }
                chosen = choose(table, &instruction);
            }
            match chosen {
                Ok((resolved, _)) => {
                    if !agrees(&parts, numbers, &resolved, &instruction) {
                        continue;
                    }
                    let right = print::head(table, &instruction, &resolved);
                    if right == head {
                        fill_hidden(&mut instruction, &resolved, descriptor);
                        return Ok(instruction);
                    }
                    error = Some(ParseError::Spelling(right));
                }
                Err(found) => {
                    if !matches!(error, Some(ParseError::Spelling(_))) {
                        error = Some(ParseError::Encode(found));
                    }
                }
            }
        }
    }
    Err(error.unwrap_or(ParseError::Encode(EncodeError::Operands(op))))
}

/// How untyped numerals are read: integers as targets or immediates, others as this float.
#[derive(Clone, Copy)]
struct Numbers {
    target: bool,
    float: FloatKind,
}

const NUMBERS: [Numbers; 5] = [
    Numbers { target: false, float: FloatKind::F32 },
    Numbers { target: true, float: FloatKind::F32 },
    Numbers { target: false, float: FloatKind::F64High },
    Numbers { target: false, float: FloatKind::F16 },
    Numbers { target: false, float: FloatKind::Bf16 },
];

/// An operand as far as its text determines it.
struct Part<'a> {
    operand: Operand,
    float: Option<&'a str>,
    absolute_target: Option<i64>,
}

/// The operands under one reading of the numerals; `None` if a numeral has no such reading.
fn settle(parts: &[Part], numbers: Numbers, end: Option<i64>) -> Option<SmallVec<[Operand; 6]>> {
    let last = parts.len().wrapping_sub(1);
    parts
        .iter()
        .enumerate()
        .map(|(index, part)| {
            let mut operand = part.operand.clone();
            if let Some(text) = part.float {
                operand.kind = OperandKind::Float(float::parse(numbers.float, text)?);
            }
            if let (true, Some(target)) = (numbers.target && index == last, part.absolute_target) {
                operand.kind = OperandKind::Target(target.wrapping_sub(end?));
            }
            Some(operand)
        })
        .collect()
}

/// True if an operand names a descriptor where the form has a hidden one.
fn writes_hidden(instruction: &Instruction, resolved: &Resolved) -> bool {
    instruction.operands.iter().zip(&resolved.slots).any(|(operand, &slot)| {
        matches!(operand.kind, OperandKind::Memory { descriptor: Some(_), .. })
            && resolved.form.slots[slot as usize].hidden_descriptor().is_some()
    })
}

/// Names the descriptors that the text of the instruction itself left out.
fn fill_hidden(instruction: &mut Instruction, resolved: &Resolved, named: Option<u8>) {
    for (operand, &slot) in instruction.operands.iter_mut().zip(&resolved.slots) {
        if let OperandKind::Memory { descriptor, .. } = &mut operand.kind {
            let hidden = resolved.form.slots[slot as usize].hidden_descriptor();
            *descriptor = descriptor.or(hidden.map(|usual| named.unwrap_or(usual)));
        }
    }
}

/// True if the form reads its floats as they were read here.
fn agrees(parts: &[Part], numbers: Numbers, resolved: &Resolved, instruction: &Instruction) -> bool {
    parts.iter().zip(&resolved.slots).all(|(part, &slot)| match resolved.form.slots[slot as usize].kind {
        SlotKind::Float(kind) => {
            part.float.is_none() || float::kind_under(kind, &instruction.mods) == numbers.float
        }
        _ => true,
    })
}

/// The modifier sets that the names may mean: a name may be in first, second or third position. On failure, the
/// unknown name.
fn modifier_readings<'a>(
    table: &'static Table,
    op: Op,
    names: impl Iterator<Item = &'a str>,
) -> Result<Vec<Mods>, &'a str> {
    let order = table.order(op);
    let mut readings = vec![Mods::none()];
    for (index, name) in names.enumerate() {
        if op == Op::IMAD && index == 0 && matches!(name, "MOV" | "SHL" | "IADD") {
            continue;
        }
        let first = Mod::from_name(name);
        let later = ["_2", "_3"].map(|place| Mod::from_name(&format!("{name}{place}")));
        let later = later.into_iter().flatten().filter(|later| order.contains(later));
        let choices: SmallVec<[Mod; 3]> = first.into_iter().chain(later).collect();
        if choices.is_empty() {
            return Err(name);
        }
        readings = choices
            .iter()
            .flat_map(|&choice| {
                readings
                    .iter()
                    .filter(move |mods| !mods.has(choice))
                    .map(move |mods| mods.clone().with(choice))
            })
            .collect();
    }
    Ok(readings)
}

fn parse_guard(word: &str) -> Option<Guard> {
    let (word, negated) = word.strip_prefix('!').map_or((word, false), |word| (word, true));
    let (number, uniform) = match word.strip_prefix("UP") {
        Some(number) => (number, true),
        None => (word.strip_prefix('P')?, false),
    };
    let register = if number == "T" { PT } else { number.parse().ok().filter(|&number: &u8| number < PT)? };
    Some(Guard { uniform: uniform && (register != PT || negated), register, negated })
}

/// The operands between commas that are not inside brackets.
fn split_operands(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

/// `idesc[URn+1]` after `tmem[URn]`: the two are one operand.
fn join_descriptor(before: Option<&mut Part>, behind: &str) -> Option<()> {
    let operand = &mut before?.operand;
    let OperandKind::TensorMemory { address, offset: 0 } = operand.kind else { return None };
    let behind = number_of(behind.strip_suffix(']')?, "UR", URZ)?;
    operand.kind = OperandKind::InstructionDescriptor(address);
    (behind == address.saturating_add(1)).then_some(())
}

/// `[URn+1]` after `[URn]`: the two are one operand.
fn names_next(before: &Operand, behind: &str) -> Option<()> {
    let OperandKind::Memory { uniform: Some(register), .. } = before.kind else { return None };
    let behind = number_of(behind.strip_prefix('[')?.strip_suffix(']')?, "UR", URZ)?;
    (behind == register.saturating_add(1)).then_some(())
}

fn parse_operand(text: &str) -> Option<Part<'_>> {
    let mut part = Part { operand: Operand::plain(OperandKind::Imm(0)), float: None, absolute_target: None };
    if let Some(symbol) = Symbol::from_name(text) {
        part.operand.kind = OperandKind::Symbol(symbol);
        return Some(part);
    }
    if let Some(value) = parse_integer(text) {
        part.operand.kind = OperandKind::Imm(value);
        part.absolute_target = Some(value);
        return Some(part);
    }
    if let Some(distance) =
        text.strip_prefix(".+").or_else(|| text.strip_prefix('.').filter(|_| text.starts_with(".-")))
    {
        part.operand.kind = OperandKind::Target(parse_integer(distance)?);
        return Some(part);
    }
    // A suffix begins with a letter, unlike the digits after a decimal point.
    let letter = |tail: &str| tail.starts_with(|first: char| first.is_ascii_alphabetic());
    let number = text.rsplit_once('.').filter(|(_, tail)| letter(tail)).map_or(text, |(number, _)| number);
    if FLOATS.iter().any(|&kind| float::parse(kind, number).is_some()) {
        suffixes(&text[number.len()..], &mut part.operand)?;
        part.float = Some(number);
        return Some(part);
    }
    let mut rest = text;
    if let Some(after) = rest.strip_prefix('-') {
        part.operand.negate = true;
        rest = after;
    }
    if let Some(after) = rest.strip_prefix(['!', '~']) {
        part.operand.invert = true;
        rest = after;
    }
    let mut tail = "";
    if let Some(after) = rest.strip_prefix('|') {
        part.operand.absolute = true;
        (rest, tail) = after.split_once('|')?;
    }
    core(rest, &mut part.operand)?;
    suffixes(tail, &mut part.operand)?;
    Some(part)
}

const FLOATS: [FloatKind; 4] = [FloatKind::F32, FloatKind::F64High, FloatKind::F16, FloatKind::Bf16];

/// Parses the kind of an operand, and the suffixes after it.
fn core(text: &str, operand: &mut Operand) -> Option<()> {
    if let Some(members) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        let mut set = 0u8;
        for member in members.split(',') {
            set |= 1 << member.trim().parse::<u8>().ok().filter(|&n| n < 6)?;
        }
        operand.kind = OperandKind::ScoreboardSet(set);
        return Some(());
    }
    if let Some(open) = text.find('[') {
        let (name, rest) = text.split_at(open);
        let (first, rest) = bracket(rest)?;
        let rest = rest.trim_start();
        let (second, rest) = if rest.starts_with('[') {
            let (second, rest) = bracket(rest)?;
            (Some(second), rest)
        } else {
            (None, rest)
        };
        operand.kind = match (name, second) {
            ("c", Some(inner)) => {
                let bank = u8::try_from(parse_integer(first)?).ok()?;
                let Address { base, uniform, offset } = address(inner, operand)?;
                match (base, uniform) {
                    (None, None) => OperandKind::Const { bank, offset },
                    (Some(index), None) => OperandKind::ConstIndexed { bank, index, offset },
                    (None, Some(index)) => OperandKind::ConstUniformIndexed { bank, index, offset },
                    _ => return None,
                }
            }
            ("cx", Some(inner)) => {
                let handle = number_of(first, "UR", URZ)?;
                let Address { base, uniform: None, offset } = address(inner, operand)? else { return None };
                match base {
                    None => OperandKind::ConstBindless { handle, offset },
                    Some(index) => OperandKind::ConstBindlessIndexed { handle, index, offset },
                }
            }
            ("gdesc", None) => OperandKind::MatrixDescriptor(number_of(first, "UR", URZ)?),
            ("tmem", None) => match address(first, operand)? {
                Address { base: None, uniform, offset } => {
                    OperandKind::TensorMemory { address: uniform.unwrap_or(URZ), offset }
                }
                _ => return None,
            },
            ("desc", inner) => {
                let descriptor = Some(number_of(first, "UR", URZ)?);
                let Address { base, uniform, offset } = match inner {
                    Some(inner) => address(inner, operand)?,
                    None => Address::default(),
                };
                OperandKind::Memory { descriptor, base, uniform, offset }
            }
            ("", None) => {
                let Address { base, uniform, offset } = address(first, operand)?;
                OperandKind::Memory { descriptor: None, base, uniform, offset }
            }
            ("a", None) => {
                let Address { base, uniform, offset } = address(first, operand)?;
                OperandKind::Attribute { base, uniform, offset }
            }
            _ => return None,
        };
        return suffixes(rest, operand);
    }
    let end = text.find('.').unwrap_or(text.len());
    operand.kind = register(&text[..end])?;
    suffixes(&text[end..], operand)
}

/// The content of the first bracket, and the rest.
fn bracket(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('[')?.split_once(']')
}

#[derive(Default)]
struct Address {
    base: Option<u8>,
    uniform: Option<u8>,
    offset: i32,
}

fn address(text: &str, operand: &mut Operand) -> Option<Address> {
    let mut found = Address::default();
    for word in text.split('+') {
        if let Some(value) = parse_integer(word) {
            found.offset = i32::try_from(value).ok()?;
            continue;
        }
        let end = word.find('.').unwrap_or(word.len());
        match register(&word[..end])? {
            OperandKind::Reg(n) => found.base = Some(n),
            OperandKind::UReg(n) => found.uniform = Some(n),
            _ => return None,
        }
        suffixes(&word[end..], operand)?;
    }
    Some(found)
}

fn suffixes(text: &str, operand: &mut Operand) -> Option<()> {
    if text.is_empty() {
        return Some(());
    }
    for name in text.strip_prefix('.')?.split('.') {
        if name == "reuse" {
            operand.reuse = true;
        } else {
            operand.suffixes.insert(Mod::from_name(name)?);
        }
    }
    Some(())
}

fn register(name: &str) -> Option<OperandKind> {
    number_of(name, "UR", URZ)
        .map(OperandKind::UReg)
        .or_else(|| number_of(name, "UP", PT).map(OperandKind::UPred))
        .or_else(|| number_of(name, "SB", NONE).map(OperandKind::Scoreboard))
        .or_else(|| number_of(name, "R", RZ).map(OperandKind::Reg))
        .or_else(|| number_of(name, "P", PT).map(OperandKind::Pred))
        .or_else(|| number_of(name, "B", NONE).map(OperandKind::Barrier))
}

/// Instead of a neutral register's index: the file has none.
const NONE: u8 = u8::MAX;

/// The index of a register of this file; `Z` and `T` stand for the neutral one.
fn number_of(name: &str, file: &str, neutral: u8) -> Option<u8> {
    let number = name.strip_prefix(file)?;
    match number {
        "Z" if file.ends_with('R') => Some(neutral),
        "T" if file.ends_with('P') => Some(neutral),
        _ => number.parse().ok().filter(|&number| number != neutral),
    }
}

fn parse_integer(text: &str) -> Option<i64> {
    let (digits, negative) = text.strip_prefix('-').map_or((text, false), |digits| (digits, true));
    let magnitude = u64::from_str_radix(digits.strip_prefix("0x")?, 16).ok()?;
    Some(if negative { (magnitude as i64).wrapping_neg() } else { magnitude as i64 })
}

/// The scheduling control, and the descriptor that the text of the instruction does not show.
fn parse_control(text: &str, start: usize) -> Result<(Control, Option<u8>), ParseError> {
    if text.trim().is_empty() {
        return Ok((Control::NEUTRAL, None));
    }
    let mut descriptor = None;
    let mut control = Control { stall: 0, ..Control::NEUTRAL };
    for word in text.split_whitespace() {
        let at = start + (word.as_ptr() as usize - text.as_ptr() as usize);
        let bad = || ParseError::Control(at);
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u8>().map_err(|_| bad());
        match key {
            "stall" => control.stall = number()?,
            "desc" => descriptor = Some(number()?),
            "yield" if value.is_empty() => control.yields = true,
            "write" => control.write_barrier = Some(number()?),
            "read" => control.read_barrier = Some(number()?),
            "batch" => control.batch = number()?,
            "wait" => {
                for member in value.split(',') {
                    let member = member.parse::<u8>().ok().filter(|&n| n < 6).ok_or_else(bad)?;
                    control.wait_mask |= 1 << member;
                }
            }
            _ => return Err(bad()),
        }
    }
    Ok((control, descriptor))
}
