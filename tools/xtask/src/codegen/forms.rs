//! The language of the form tables (`crates/sass/tables/*.forms`), whose notation the head of `sm_90.forms` explains,
//! and the parsed tables. A table may be a delta: it starts from the forms of another chip, removes some, changes rows
//! of some, and adds its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// For each name of a choice its rows: a value and what it means.
pub type Choices = BTreeMap<String, Vec<(u16, Vec<Token>)>>;

/// A parsed form table.
#[derive(Clone, Default)]
pub struct Tables {
    pub choices: Choices,
    pub orders: BTreeMap<String, Vec<String>>,
    pub forms: Vec<Form>,
    /// The chip whose table this one repeats, if it has no rows of its own.
    pub same_as: Option<String>,
}

/// One interpretation of a word.
#[derive(Clone)]
pub struct Form {
    pub op: String,
    pub opcode: u16,
    pub uniform: bool,
    pub mask: u128,
    pub value: u128,
    pub unused: u128,
    pub always: Vec<Token>,
    pub slots: Vec<Slot>,
    pub sets: Vec<SetRow>,
    pub reuse: [u8; 3],
    pub write_barrier: bool,
    pub read_barrier: bool,
}

/// A modifier field.
#[derive(Clone)]
pub struct SetRow {
    pub bits: Vec<u8>,
    pub choice: String,
    pub slot: Option<u8>,
}

/// An operand.
#[derive(Clone)]
pub struct Slot {
    pub access: String,
    pub kind: String,
    pub float: Option<String>,
    pub fields: Vec<FieldRow>,
    pub width: String,
    pub signs: [u8; 3],
}

/// The bits of one register or immediate inside an operand.
#[derive(Clone)]
pub struct FieldRow {
    pub low: (u8, u8),
    pub high: (u8, u8),
    pub scale: u8,
    pub bias: u8,
    pub signed: bool,
    pub complement: bool,
    pub elided: String,
}

/// A token with the operand it belongs to, if it states that.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token {
    pub slot: Option<u8>,
    pub what: What,
}

/// The meaning of a token.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Mod(String),
    Negate,
    Absolute,
    Invert,
    Suffix(Option<u8>, String),
    Unwritten(String),
    Symbol(String),
}

impl Token {
    pub fn parse(text: &str) -> Result<Token, String> {
        let (slot, rest) = match text.split_once(':') {
            Some((number, rest)) => (Some(number.parse().map_err(|_| format!("token `{text}`"))?), rest),
            None => (None, text),
        };
        let what = match rest {
            "-" => What::Negate,
            "|" => What::Absolute,
            "!" | "~" => What::Invert,
            _ => {
                if let Some(name) = rest.strip_prefix('.') {
                    What::Mod(name.to_owned())
                } else if let Some(name) = rest.strip_prefix('=') {
                    What::Symbol(name.to_owned())
                } else if let Some(name) = rest.strip_prefix("^.") {
                    What::Unwritten(name.to_owned())
                } else if let Some(name) = rest.strip_prefix("].") {
                    What::Suffix(None, name.to_owned())
                } else if let Some((part, name)) = rest.split_once('.') {
                    let part = part.parse().map_err(|_| format!("token `{text}`"))?;
                    What::Suffix(Some(part), name.to_owned())
                } else {
                    return Err(format!("token `{text}`"));
                }
            }
        };
        Ok(Token { slot, what })
    }

    pub fn names(&self, mods: &mut BTreeSet<String>, symbols: &mut BTreeSet<String>) {
        match &self.what {
            What::Mod(name) | What::Suffix(_, name) | What::Unwritten(name) => mods.insert(name.clone()),
            What::Symbol(name) => symbols.insert(name.clone()),
            What::Negate | What::Absolute | What::Invert => false,
        };
    }
}

/// The tables of every chip in a folder, by the name of the file without its ending.
pub fn read_all(folder: &Path) -> Result<BTreeMap<String, Tables>, String> {
    let texts = texts(folder)?;
    let mut done = BTreeMap::new();
    for name in texts.keys() {
        resolve(name, &texts, &mut done, 0)?;
    }
    Ok(done)
}

/// The table of one chip; the others are not read, unless it is a delta of them.
pub fn read_one(folder: &Path, name: &str) -> Result<Tables, String> {
    let mut done = BTreeMap::new();
    resolve(name, &texts(folder)?, &mut done, 0)?;
    done.remove(name).ok_or_else(|| format!("there is no table `{name}.forms`"))
}

fn texts(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut texts = BTreeMap::new();
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        if path.extension().is_some_and(|ending| ending == "forms")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            texts.insert(name.to_owned(), text);
        }
    }
    Ok(texts)
}

/// Reads the table of a chip, after that of the chip it is a delta of.
fn resolve(
    name: &str,
    texts: &BTreeMap<String, String>,
    done: &mut BTreeMap<String, Tables>,
    depth: usize,
) -> Result<(), String> {
    if done.contains_key(name) {
        return Ok(());
    }
    let text = texts.get(name).ok_or_else(|| format!("there is no table `{name}.forms`"))?;
    if depth > texts.len() {
        return Err(format!("`{name}.forms` is a delta of itself"));
    }
    let mut reader = Reader::default();
    for line in text.lines() {
        let Some(base) = line.strip_prefix("like ").or_else(|| line.strip_prefix("from ")) else { continue };
        let base = base.split(' ').next().unwrap_or(base);
        resolve(base, texts, done, depth + 1)?;
        if line.starts_with("like ") {
            reader.tables = done.get(base).cloned().unwrap_or_default();
        } else if let Some(tables) = done.get(base) {
            reader.others.insert(base.to_owned(), tables.clone());
        }
    }
    for (index, line) in text.lines().enumerate() {
        reader.line(line).map_err(|error| format!("{name}.forms, line {}: {error}", index + 1))?;
    }
    reader.tables.same_as = only_like(text).map(|base| done[base].same_as.clone().unwrap_or(base.to_owned()));
    done.insert(name.to_owned(), reader.tables);
    Ok(())
}

/// The base of a delta without rows of its own.
fn only_like(text: &str) -> Option<&str> {
    let mut rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let base = rows.next()?.strip_prefix("like ")?;
    rows.next().is_none().then_some(base)
}

/// A table that is being read.
#[derive(Default)]
struct Reader {
    tables: Tables,
    /// The tables that it takes opcodes of.
    others: BTreeMap<String, Tables>,
    /// The form that the rows belong to.
    current: Option<usize>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("  ") {
            let form = self.current.and_then(|index| self.tables.forms.get_mut(index));
            return parse_row(rest, form.ok_or("a row before the first form")?);
        }
        self.current = None;
        let mut words = line.split_whitespace();
        match words.next() {
            // The table it starts from is loaded already.
            Some("like") => {}
            Some("from") => {
                let other = self.others.get(words.next().unwrap_or_default()).ok_or("from which chip?")?;
                for op in words {
                    let forms = other.forms.iter().filter(|form| form.op == op);
                    let before = self.tables.forms.len();
                    self.tables.forms.extend(forms.cloned());
                    if self.tables.forms.len() == before {
                        return Err(format!("there is no {op} to take over"));
                    }
                    if let Some(order) = other.orders.get(op) {
                        self.tables.orders.insert(op.to_owned(), order.clone());
                    }
                }
                for (name, rows) in &other.choices {
                    self.tables.choices.entry(name.clone()).or_insert_with(|| rows.clone());
                }
            }
            Some("table") => {
                let name = words.next().ok_or("a table needs a name")?;
                let mut rows = Vec::new();
                for word in line.splitn(3, ' ').nth(2).unwrap_or("").split(' ') {
                    let (value, tokens) = word.split_once('=').ok_or("a row is VALUE=TOKENS")?;
                    let tokens = tokens.split('+').filter(|token| !token.is_empty()).map(Token::parse);
                    rows.push((number(value)? as u16, tokens.collect::<Result<_, _>>()?));
                }
                if self.tables.choices.insert(name.to_owned(), rows).is_some() {
                    return Err(format!("table `{name}` is there twice"));
                }
            }
            Some("order") => {
                let op = words.next().ok_or("an order needs an opcode")?;
                self.tables.orders.insert(op.to_owned(), words.map(str::to_owned).collect());
            }
            Some("form") => {
                let op = words.next().ok_or("a form needs an opcode")?.to_owned();
                let opcode = opcode(words.next())?;
                self.tables.forms.push(Form::new(op, opcode, words.next() == Some("uniform")));
                self.current = Some(self.tables.forms.len() - 1);
            }
            Some("change") => self.current = Some(self.find(&mut words)?),
            Some("without") => match words.clone().collect::<Vec<_>>().as_slice() {
                [op] => {
                    let before = self.tables.forms.len();
                    match *op {
                        "UR" => self.tables.forms.retain(|form| !form.on_uniform_datapath()),
                        op => self.tables.forms.retain(|form| form.op != op),
                    }
                    if self.tables.forms.len() == before {
                        return Err(format!("there is no {op} to leave out"));
                    }
                }
                _ => {
                    let index = self.find(&mut words)?;
                    self.tables.forms.remove(index);
                }
            },
            _ => return Err("neither like, from, table, order, form, change nor without".to_owned()),
        }
        Ok(())
    }

    /// The form that a delta means: mnemonic, opcode, and the mask and value of its `word` row.
    fn find<'a>(&self, words: &mut impl Iterator<Item = &'a str>) -> Result<usize, String> {
        let op = words.next().ok_or("which opcode?")?;
        let opcode = opcode(words.next())?;
        let mask = number(words.next().ok_or("a form is named by its mask and value")?)?;
        let value = number(words.next().ok_or("a form is named by its mask and value")?)?;
        self.tables
            .forms
            .iter()
            .position(|form| {
                form.op == op && form.mask == mask | 0xfff && form.value == value | opcode as u128
            })
            .ok_or_else(|| format!("there is no form {op} {opcode:03x} {mask:#x} {value:#x}"))
    }
}

impl Form {
    /// True if it names a uniform register or predicate, or is guarded by one.
    fn on_uniform_datapath(&self) -> bool {
        self.uniform || self.slots.iter().any(|slot| slot.kind.contains("UR") || slot.kind.contains("UP"))
    }

    /// A form with an opcode and nothing else.
    pub fn new(op: String, opcode: u16, uniform: bool) -> Form {
        Form {
            op,
            opcode,
            uniform,
            mask: 0xfff,
            value: opcode as u128,
            unused: 0,
            always: Vec::new(),
            slots: Vec::new(),
            sets: Vec::new(),
            reuse: [255; 3],
            write_barrier: true,
            read_barrier: true,
        }
    }
}

fn opcode(word: Option<&str>) -> Result<u16, String> {
    u16::from_str_radix(word.ok_or("a form needs its opcode bits")?, 16)
        .map_err(|_| "opcode bits are hexadecimal".to_owned())
}

/// Reads one row of a form; it replaces the row of that kind, if there is one.
fn parse_row(row: &str, form: &mut Form) -> Result<(), String> {
    let (key, rest) = row.split_once(' ').unwrap_or((row, ""));
    let words = || rest.split(' ').filter(|word| !word.is_empty());
    match key {
        "word" => {
            let (mask, value) = rest.split_once(' ').ok_or("word needs a mask and a value")?;
            form.mask = number(mask)? | 0xfff;
            form.value = number(value)? | form.opcode as u128;
        }
        "unused" => form.unused = number(rest)?,
        "always" => form.always = words().map(Token::parse).collect::<Result<_, _>>()?,
        "set" => {
            form.sets.clear();
            for set in rest.split("; ").filter(|set| !set.is_empty()) {
                let words: Vec<&str> = set.split(' ').collect();
                let bits =
                    words[0].split(',').map(|bit| Ok(number(bit)? as u8)).collect::<Result<_, String>>()?;
                let slot = match words.get(2..) {
                    Some(["on", slot]) => Some(number(slot)? as u8),
                    Some([]) => None,
                    _ => return Err(format!("set `{set}`")),
                };
                form.sets.push(SetRow { bits, choice: words[1].to_owned(), slot });
            }
        }
        "reuse" => {
            form.reuse = [255; 3];
            for word in words() {
                let (bit, slot) = word.split_once('=').ok_or("reuse is BIT=OPERAND")?;
                form.reuse[number(bit)? as usize] = number(slot)? as u8;
            }
        }
        "no_barrier" => {
            (form.write_barrier, form.read_barrier) = (true, true);
            for word in words() {
                match word {
                    "write" => form.write_barrier = false,
                    "read" => form.read_barrier = false,
                    _ => return Err(format!("barrier `{word}`")),
                }
            }
        }
        "def" | "use" | "mod" => {
            form.slots = row.split("; ").map(parse_slot).collect::<Result<_, _>>()?;
        }
        _ => return Err(format!("row `{key}`")),
    }
    Ok(())
}

fn parse_slot(text: &str) -> Result<Slot, String> {
    let mut words = text.split(' ');
    let access = match words.next() {
        Some("def") => "Def",
        Some("use") => "Use",
        Some("mod") => "DefUse",
        _ => return Err(format!("access of `{text}`")),
    };
    let kind = words.next().ok_or("a slot needs a kind")?.to_owned();
    let mut slot = Slot {
        access: access.to_owned(),
        kind,
        float: None,
        fields: Vec::new(),
        width: "one".to_owned(),
        signs: [255; 3],
    };
    for word in words {
        let first = word.as_bytes().first().copied().unwrap_or(b' ');
        match first {
            b'0'..=b'9' => {
                let (field, float) = parse_field(word, &slot.kind)?;
                slot.fields.push(field);
                slot.float = float.or(slot.float);
            }
            b'-' => slot.signs[0] = number(&word[1..])? as u8,
            b'|' => slot.signs[1] = number(&word[1..])? as u8,
            b'!' | b'~' => slot.signs[2] = number(&word[1..])? as u8,
            _ => slot.width = word.to_owned(),
        }
    }
    Ok(slot)
}

fn parse_field(word: &str, kind: &str) -> Result<(FieldRow, Option<String>), String> {
    let bad = || format!("field `{word}`");
    let (word_rest, elided) = match word.split_once('?') {
        Some((rest, "")) => (rest, "Neutral"),
        Some((rest, "0")) => (rest, if matches!(kind, "R" | "P") { "Neutral" } else { "Zero" }),
        Some((rest, "1")) => (rest, "Ones"),
        Some((rest, "8")) => (rest, "Byte"),
        Some((rest, "!")) => (rest, "Written"),
        Some((rest, hidden)) => match hidden.strip_prefix('=').map(number) {
            Some(Ok(value)) => (rest, &*format!("Hidden({value})")),
            _ => return Err(bad()),
        },
        None => (word, "Never"),
    };
    let elided = elided.to_owned();
    let (rest, float) = match word_rest.split_once(':') {
        Some((rest, float)) => (rest, Some(float.to_owned())),
        None => (word_rest, None),
    };
    let (rest, scale) = match rest.split_once('*') {
        Some((rest, scale)) => (rest, number(scale)? as u8),
        None => (rest, 1),
    };
    let (rest, signed) = rest.strip_suffix('s').map_or((rest, false), |rest| (rest, true));
    let (rest, complement) = rest.strip_suffix('~').map_or((rest, false), |rest| (rest, true));
    let mut runs = [(0, 0); 2];
    let mut bias = 0;
    for (n, run) in rest.split(',').enumerate() {
        let mut numbers = run.split('+');
        let low = number(numbers.next().ok_or_else(bad)?)? as u8;
        let width = number(numbers.next().ok_or_else(bad)?)? as u8;
        if let Some(extra) = numbers.next() {
            bias = number(extra)? as u8;
        }
        *runs.get_mut(n).ok_or_else(bad)? = (low, width);
    }
    Ok((FieldRow { low: runs[0], high: runs[1], scale, bias, signed, complement, elided }, float))
}

pub fn number(text: &str) -> Result<u128, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[(&str, &str)]) -> Result<BTreeMap<String, Tables>, String> {
        let texts = texts.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
        let mut done = BTreeMap::new();
        for name in ["new", "old"] {
            resolve(name, &texts, &mut done, 0)?;
        }
        Ok(done)
    }

    const OLD: &str = "table f 0= 1=.FTZ\nform FADD 221\n  word 0xf000 0x1000\n  def R 16+8; use R 24+8 -72\n  set 80 f\n  \
         no_barrier read\nform FMUL 220\n  def R 16+8\nform NOP 918\n";

    #[test]
    fn a_delta_leaves_out_changes_and_adds() {
        let new = "like old\nwithout FMUL\nchange FADD 221 0xf000 0x1000\n  set \n  def R 16+8\n  no_barrier\nform EXIT 94d\n";
        let tables = read(&[("old", OLD), ("new", new)]).unwrap();
        let forms = &tables["new"].forms;
        let names: Vec<&str> = forms.iter().map(|form| form.op.as_str()).collect();
        assert_eq!(names, ["FADD", "NOP", "EXIT"]);
        assert_eq!((forms[0].slots.len(), forms[0].sets.len()), (1, 0));
        assert_eq!((forms[0].mask, forms[0].value, forms[0].read_barrier), (0xffff, 0x1221, true));
        assert_eq!(tables["old"].forms.len(), 3);
    }

    #[test]
    fn a_delta_leaves_out_the_uniform_datapath() {
        let old = "form MOV 202\n  def R 16+8; use R 32+8\nform MOV c02\n  def R 16+8; use UR 32+6\nform LDG 981\n  \
             def R 16+8; use [R+UR+I] 24+8? 32+6 40+24s?0\nform UMOV 882 uniform\n";
        let tables = read(&[("old", old), ("new", "like old\nwithout UR\n")]).unwrap();
        assert_eq!(tables["new"].forms.iter().map(|form| form.opcode).collect::<Vec<_>>(), [0x202]);
        let error = read(&[("old", OLD), ("new", "like old\nwithout UR\n")]).err().unwrap_or_default();
        assert!(error.contains("there is no UR to leave out"), "{error}");
    }

    #[test]
    fn a_delta_must_fit_its_base() {
        for (delta, said) in [
            ("like old\nwithout IMAD\n", "there is no IMAD to leave out"),
            ("like old\nchange FADD 221 0x0 0x0\n", "there is no form FADD 221 0x0 0x0"),
            ("like new\n", "a delta of itself"),
            ("like none\n", "there is no table `none.forms`"),
            ("  set 80 f\n", "a row before the first form"),
        ] {
            let error = read(&[("old", OLD), ("new", delta)]).err().unwrap_or_default();
            assert!(error.contains(said), "{delta}: {error}");
        }
    }
}
