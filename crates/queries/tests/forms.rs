//! Every form of the instruction table, compiled: a form that the table marks as compiled gives a container. Any other is
//! refused with the diagnostic for that, and with no other diagnostic or internal error.
//!
//! The instructions are made from the rows themselves, each way of each slot once.

use oriole_chip::Chip;
use oriole_hir::{resolve_module, unsupported};
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::Options;
use oriole_ptx::table::{Chips, Kind, Opaque, OperandRow, OperandType, Presence, Row, Slot, rows};
use oriole_ptx::{Opcode, Space, Type, Word};
use oriole_queries::compile;
use std::collections::BTreeSet;

/// Targets to try for a form, plainest first.
const TARGETS: [&str; 9] =
    ["sm_90", "sm_90a", "sm_60", "sm_10", "sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"];

/// Features of this chip are known by name, and no table knows the chip.
const UNKNOWN: Chips = Chips::Family(&[107]);

/// One instruction: its words and types, and what it declares.
#[derive(Clone, Default)]
struct Writer {
    words: Vec<String>,
    types: Vec<Type>,
    vector: u8,
    parameters: bool,
    registers: BTreeSet<&'static str>,
    next: usize,
}

impl Writer {
    /// A register of a type, or of the bits that hold it.
    fn register(&mut self, ty: Type) -> String {
        let name = match ty {
            ty if ty.is_fundamental() => ty.name(),
            Type::F16x2 => "f16x2",
            ty => match ty.bits() {
                ..=8 => "b8",
                16 => "b16",
                32 => "b32",
                _ => "b64",
            },
        };
        self.registers.insert(name);
        self.next += 1;
        format!("%{name}_{}", self.next)
    }

    fn vector_of(&mut self, count: usize, ty: Type) -> String {
        let elements: Vec<String> = (0..count).map(|_| self.register(ty)).collect();
        format!("{{{}}}", elements.join(", "))
    }

    fn ty(&self, ty: OperandType) -> Type {
        let at = |index: u8| self.types.get(usize::from(index)).copied().unwrap_or(Type::B32);
        let bits = |ty: Type| match ty.bits() {
            ..=8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            _ => ty,
        };
        match ty {
            OperandType::Of(index) | OperandType::Widening(index) | OperandType::Loose(index) => at(index),
            OperandType::Bits(index) => bits(at(index)),
            OperandType::Double(index) if at(index).bits() == 16 => Type::B32,
            OperandType::Double(_) => Type::B64,
            OperandType::Fixed(ty) | OperandType::Exact(ty) => ty,
            OperandType::LooseFloat => Type::F32,
            OperandType::Word | OperandType::WideWord => Type::B32,
            OperandType::AnyInteger
            | OperandType::AddressIn(_)
            | OperandType::AddressInShared
            | OperandType::None => Type::B64,
        }
    }

    fn count(&self, counts: &[(Word, u8)]) -> usize {
        let found = counts.iter().find(|row| self.words.iter().any(|word| word == row.0.name()));
        found.map_or(1, |row| usize::from(row.1))
    }

    fn operand(&mut self, row: &OperandRow) -> String {
        let ty = self.ty(row.ty);
        match row.kind {
            Kind::Sink => "_".into(),
            Kind::BothDestinations | Kind::Elected => {
                format!("{}|{}", self.register(ty), self.register(Type::Pred))
            }
            Kind::VectorDestination | Kind::VectorSource | Kind::VectorDestinationOrSink | Kind::Texels
                if self.vector > 1 =>
            {
                self.vector_of(usize::from(self.vector), ty)
            }
            Kind::Destinations(count) | Kind::Sources(count) => self.vector_of(usize::from(count), ty),
            Kind::DestinationsBy(counts)
            | Kind::SourcesBy(counts)
            | Kind::Coordinates(counts)
            | Kind::Offsets(counts) => self.vector_of(self.count(counts), ty),
            Kind::LayerCoordinates(counts) => {
                let rest = self.vector_of(self.count(counts) - 1, ty);
                format!("{{{}, {}", self.register(Type::B32), &rest[1..])
            }
            Kind::Constant(i64::MIN, _) => "1".into(),
            Kind::Constant(low, _) => low.to_string(),
            Kind::ConstantOf(list) => list[0].to_string(),
            Kind::Predicate | Kind::PredicateRegister => self.register(Type::Pred),
            Kind::Address if self.parameters => "[parameter]".into(),
            Kind::Address => format!("[{}]", self.register(Type::B64)),
            Kind::TensorAddress => format!("[{}]", self.register(Type::B32)),
            Kind::Parts(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.operand(part)).collect();
                format!("[{}]", parts.join(", "))
            }
            Kind::Opaque(Opaque::Texture) => "texture".into(),
            Kind::Opaque(Opaque::Sampler | Opaque::TextureOrSampler) => "sampler".into(),
            Kind::Opaque(Opaque::Surface) => "surface".into(),
            Kind::Label => "label".into(),
            Kind::BranchTargets => "targets".into(),
            Kind::Call => "callee".into(),
            _ => self.register(ty),
        }
    }
}

/// Ways to fill a slot: words as written. A space that may be left out is `.global` first, since generic addresses came
/// later.
fn ways(row: &Row, slot: &Slot) -> Vec<Vec<String>> {
    let cta = row.needs.iter().any(|need| need.token == "shared" && need.chips == Chips::AnyOf(&[]));
    let space = |space: &Space| match space {
        Space::Shared if cta => vec!["shared::cta".to_owned()],
        space => vec![space.name().to_owned()],
    };
    let own = |word: &Word| vec![word.name().to_owned()];
    let none = || std::iter::once(Vec::new());
    match slot {
        Slot::Head(words) | Slot::Must(words) => words.iter().map(own).collect(),
        Slot::May(words) => none().chain(words.iter().map(own)).collect(),
        Slot::Sequence(words) => vec![words.iter().map(|word| word.name().to_owned()).collect()],
        Slot::Type(types) => types.iter().map(|ty| vec![ty.name().to_owned()]).collect(),
        Slot::MayType(types) => none().chain(types.iter().map(|ty| vec![ty.name().to_owned()])).collect(),
        Slot::Space(spaces) => spaces.iter().map(space).collect(),
        Slot::MaySpace(spaces) => {
            let mut found: Vec<_> = spaces.iter().map(space).collect();
            found.sort_by_key(|word| word[0] != "global");
            found.push(Vec::new());
            found
        }
        Slot::Vector(widths) => widths.iter().map(|width| vec![format!("v{width}")]).collect(),
        Slot::MayVector(widths) => {
            none().chain(widths.iter().map(|width| vec![format!("v{width}")])).collect()
        }
    }
}

/// One way to write a row: what its registers are declared for, and its text. Slot `varied` is filled in the way `pick`,
/// every other one in its plainest.
fn instruction(row: &Row, varied: usize, pick: usize, optional: bool) -> (Writer, String) {
    let slots: Vec<_> = row.slots.iter().map(|slot| ways(row, slot)).collect();
    let chosen = slots.iter().enumerate().map(|(at, slot)| &slot[if at == varied { pick } else { 0 }]);
    let words: Vec<String> = chosen.flatten().flat_map(|word| word.split('.')).map(str::to_owned).collect();
    let mut writer = Writer { vector: 1, ..Writer::default() };
    for word in &words {
        writer.types.extend(Type::from_name(word));
        writer.parameters |= word.starts_with("param");
        if let ("v2" | "v4" | "v8", Some(width)) = (word.as_str(), word[1..].parse().ok()) {
            writer.vector = width;
        }
    }
    writer.words = words;
    let mut operands = Vec::new();
    for operand in row.operands {
        let there = match operand.presence {
            Presence::Always => true,
            Presence::Optional => optional,
            Presence::With(word) => writer.words.iter().any(|own| own == word.name()),
        };
        if there {
            operands.push(writer.operand(operand));
        }
    }
    let name =
        std::iter::once(row.opcode.name()).chain(writer.words.iter().map(String::as_str)).collect::<Vec<_>>();
    let text = format!("{} {};", name.join("."), operands.join(", "));
    (writer, text)
}

/// The instructions of a row, the plainest first: registers that they declare, and their text.
fn instructions(row: &Row) -> Vec<(Writer, String)> {
    let mut picks = vec![(0, 0)];
    for (at, slot) in row.slots.iter().enumerate() {
        picks.extend((1..ways(row, slot).len()).map(|pick| (at, pick)));
    }
    let mut found: Vec<(Writer, String)> = Vec::new();
    for (varied, pick) in picks {
        for optional in [false, true] {
            let (writer, text) = instruction(row, varied, pick, optional);
            if found.iter().all(|(_, known)| *known != text) {
                found.push((writer, text));
            }
        }
    }
    found
}

/// A module whose kernel is one instruction.
fn module(row: &Row, target: &str, writer: &Writer, instruction: &str) -> String {
    let independent = row.operands.iter().any(|operand| match operand.kind {
        Kind::Parts(parts) => parts
            .iter()
            .any(|part| matches!(part.kind, Kind::Opaque(Opaque::Sampler | Opaque::TextureOrSampler))),
        _ => false,
    });
    let mode = if independent { ", texmode_independent" } else { "" };
    let mut text = format!(".version 9.5\n.target {target}{mode}\n.address_size 64\n");
    for (name, ty) in [("texture", "texref"), ("sampler", "samplerref"), ("surface", "surfref")] {
        if instruction.contains(&format!("[{name}")) || instruction.contains(&format!(", {name}")) {
            text += &format!(".global .{ty} {name};\n");
        }
    }
    text += ".func callee() { ret; }\n.visible .entry k(.param .b64 input)\n{\n";
    for name in &writer.registers {
        text += &format!(".reg .{name} %{name}_<{}>;\n", writer.next + 1);
    }
    if writer.parameters {
        text += if row.opcode == Opcode::Ld { "" } else { ".param .align 16 .b8 parameter[64];\n" };
    }
    let instruction = match row.opcode {
        Opcode::Ld => instruction.replace("[parameter]", "[input]"),
        _ => instruction.to_owned(),
    };
    if instruction.contains("targets") {
        text += "targets: .branchtargets label;\n";
    }
    text + &format!("{instruction}\nlabel:\nret;\n}}\n")
}

/// The result of compiling: codes of errors, each once, or nothing where there is a container.
fn codes(text: &str, chip: Chip) -> Vec<&'static str> {
    let db = Database::default();
    let file = SourceFile::open(&db, text);
    let compiled = compile(&db, file, Config::create(&db, chip, &Options::default()), 1);
    let errors = compiled.diagnostics.iter().filter(|found| found.is_error());
    let codes: BTreeSet<&str> = errors.map(|found| found.code.as_str()).collect();
    assert_eq!(codes.is_empty(), compiled.cubin.is_some(), "{text}");
    codes.into_iter().collect()
}

/// How many rows there are, compiled and not, and how many ways to write them were tried.
#[derive(Default)]
struct Counts {
    compiled: usize,
    refused: usize,
    elsewhere: usize,
    ways: usize,
}

fn check_row(row: &'static Row, counts: &mut Counts, wrong: &mut Vec<String>) {
    let mut known = false;
    for (writer, instruction) in instructions(row) {
        // The first target that has the form; a way that none has, or that another row takes, says nothing.
        let having = TARGETS.iter().filter(|target| target.parse().is_ok_and(|target| row.chips.has(target)));
        let legal = having.into_iter().find_map(|target| {
            let text = module(row, target, &writer, &instruction);
            let module = resolve_module(&text);
            (!module.has_errors()).then_some((*target, text, module))
        });
        let Some((target, text, module)) = legal else { continue };
        let shapes = writer.words.iter().map(String::as_str).collect::<Vec<_>>();
        let resolved = module.function("k").expect("the kernel");
        let form =
            oriole_ptx::table::match_form(row.opcode, &shapes, operand_count(&resolved.body, row.opcode));
        if form.is_ok_and(|form| form.row != row && form.row.supported != row.supported) {
            continue;
        }
        counts.ways += 1;
        let lacking = unsupported(&resolved.body, &resolved.source_map);
        if lacking.is_empty() != row.supported {
            wrong.push(format!(
                "{target} {instruction} table {} support {}",
                row.supported,
                lacking.is_empty()
            ));
        }
        // One way to write a form that is compiled is enough: vectors and kernels have the others. On chips that no code
        // is made for, the chip is what is refused.
        let chip: Chip = target.parse().unwrap_or(Chip::SM_90);
        let supported_chip = chip.is_supported() || Chip::SM_90.accepts(target.parse().expect("a target"));
        if known && (row.supported || !supported_chip) {
            continue;
        }
        let found = codes(&text, if chip.is_supported() || !supported_chip { chip } else { Chip::SM_90 });
        let right = match (row.supported, supported_chip) {
            (_, false) => matches!(found[..], ["oriole::not-supported" | "oriole::not-supported-target"]),
            (true, true) => found.is_empty(),
            (false, true) => found == ["oriole::not-supported"],
        };
        if !right {
            wrong.push(format!("{target} {instruction} gives {found:?}, compiled: {}", row.supported));
        }
        if !known {
            known = true;
            match (supported_chip, row.supported) {
                (false, _) => counts.elsewhere += 1,
                (true, true) => counts.compiled += 1,
                (true, false) => counts.refused += 1,
            }
        }
    }
    if !known && row.chips == UNKNOWN && !row.supported {
        counts.elsewhere += 1;
    } else if !known {
        wrong.push(format!("no way to write {}", row.spelling()));
    }
}

fn operand_count(body: &oriole_hir::Body, opcode: Opcode) -> usize {
    let operands = body.statements.iter().find_map(|statement| match statement {
        oriole_hir::Statement::Instruction(instruction) if instruction.opcode == opcode => {
            Some(instruction.operands.len())
        }
        _ => None,
    });
    operands.unwrap_or(0)
}

#[test]
fn every_form_is_compiled_or_refused_as_the_table_says() {
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    for opcode in Opcode::all() {
        for row in rows(opcode) {
            check_row(row, &mut counts, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{} of {} ways:\n{}", wrong.len(), counts.ways, wrong.join("\n"));
    let Counts { compiled, refused, elsewhere, ways } = counts;
    let total = Opcode::all().map(|opcode| rows(opcode).count()).sum::<usize>();
    println!("{compiled} compiled, {refused} refused, {elsewhere} for other chips; {ways} ways");
    assert_eq!(compiled + refused + elsewhere, total);
}

/// Where the fields of offsets end, on both sides of zero. Each is a multiple of the bytes of the widest
/// access.
fn borders() -> Vec<i64> {
    let ends = (7..31).map(|bits| 1i64 << bits);
    ends.flat_map(|end| [end - 32, end, -end, -end - 32]).chain([0, 32]).collect()
}

/// A module with the instruction once for each border and each address in it, its registers loaded.
fn swept(row: &Row, target: &str, writer: &Writer, instruction: &str) -> Option<String> {
    let places: Vec<usize> = instruction.match_indices("[%b").map(|(at, _)| at).collect();
    let mut all = String::new();
    for at in places {
        let end = at + instruction[at..].find(']')?;
        let register = &instruction[at + 1..end];
        if register.contains(',') {
            continue;
        }
        all += &format!("ld.param.{} {register}, [input];\n", &register[1..4]);
        let rest = &instruction[end..];
        for offset in borders() {
            all += &format!("{}[{register}+{offset}{rest}\n", &instruction[..at]);
            if writer.words.iter().any(|word| word.starts_with("shared")) {
                all += &format!("{}[place+{offset}{rest}\n", &instruction[..at]);
            }
        }
    }
    let declared = ".visible .entry k(";
    let text = module(row, target, writer, &all);
    let text = text.replace(declared, &format!(".shared .align 128 .b8 place[4096];\n{declared}"));
    (!all.is_empty() && !resolve_module(&text).has_errors()).then_some(text)
}

/// An offset that has no room in an instruction goes into a register: with every form that has an address, at each border of a
/// field, on chips of each generation, by turns with and without optimization.
#[test]
fn every_address_takes_every_offset() {
    let address = |kind| matches!(kind, Kind::Address | Kind::TensorAddress);
    // The other spellings of a form differ in the data that they move.
    let instructions = Opcode::all()
        .flat_map(rows)
        .filter(|row| row.supported && row.operands.iter().any(|operand| address(operand.kind)))
        .filter_map(|row| instructions(row).into_iter().next().map(|(writer, text)| (row, writer, text)));
    let mut sweeps = Vec::new();
    for (at, (row, writer, instruction)) in instructions.enumerate() {
        let chips = ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"].into_iter().enumerate();
        // By turns: a chip of each generation meets every kind of form.
        for (_, target) in chips.filter(|(chip, _)| (chip + at + 1) % 5 == 0) {
            if let Some(text) = swept(row, target, &writer, &instruction) {
                let level = if sweeps.len() % 2 == 0 { 3 } else { 0 };
                sweeps.push((target, level, instruction.clone(), text));
            }
        }
    }
    // The longest test of this program: half of it for another thread.
    let (one, other) = sweeps.split_at(sweeps.len() / 2);
    let wrong = std::thread::scope(|scope| {
        let other = scope.spawn(|| refused_sweeps(other));
        [refused_sweeps(one), other.join().expect("the other half ends")].concat()
    });
    println!("{} ways", sweeps.len());
    assert!(
        wrong.is_empty() && sweeps.len() > 150,
        "{} of {}:\n{}",
        wrong.len(),
        sweeps.len(),
        wrong.join("\n")
    );
}

/// Those of the compiles (target, level, instruction, module) that give no cubin, with their first error.
fn refused_sweeps(sweeps: &[(&str, u8, String, String)]) -> Vec<String> {
    let mut refused = Vec::new();
    for (target, level, instruction, text) in sweeps {
        let chip: Chip = target.parse().expect("a chip");
        let db = Database::default();
        let file = SourceFile::open(&db, text);
        let mut options = Options::default();
        options.level = *level;
        let compiled = compile(&db, file, Config::create(&db, chip, &options), 1);
        if compiled.cubin.is_none() {
            let first = compiled.diagnostics.iter().find(|found| found.is_error());
            let first = first.map(ToString::to_string).unwrap_or_default();
            refused.push(format!("{target} -O{level} {instruction}: {first}"));
        }
    }
    refused
}

/// The Ori of one instruction after lowering, for a chip with code generation, or nothing where the form is not legal.
fn lowered(row: &Row, writer: &Writer, instruction: &str) -> Option<String> {
    let (text, chip) = ["sm_90", "sm_90a"].iter().find_map(|target| {
        let text = module(row, target, writer, instruction);
        let chip: Chip = target.parse().ok()?;
        (!resolve_module(&text).has_errors()).then_some((text, chip))
    })?;
    let resolved = resolve_module(&text);
    let environment = oriole_lower::Environment { chip, options: oriole_options::LowerOptions::default() };
    let function = oriole_lower::lower(&resolved.function("k")?.body, &environment);
    Some(function.unwrap_or_else(|errors| panic!("{instruction} is refused: {errors:?}")).to_string())
}

/// Words of compiled forms that lowering treats alike: of each line, the words of one position (`-` where none is
/// written) that give the same code. A word that a form gains and lowering does not look at shows here.
#[test]
fn words_that_change_nothing() {
    let mut lines = BTreeSet::new();
    for row in Opcode::all().flat_map(rows).filter(|row| row.supported) {
        for (varied, slot) in row.slots.iter().enumerate() {
            let (Slot::Head(words) | Slot::Must(words) | Slot::May(words)) = slot else { continue };
            let optional = matches!(slot, Slot::May(_));
            let names = optional.then_some("-").into_iter().chain(words.iter().map(|word| word.name()));
            let mut alike: std::collections::BTreeMap<String, Vec<&str>> = std::collections::BTreeMap::new();
            for (pick, name) in names.enumerate() {
                let (writer, text) = instruction(row, varied, pick, true);
                if let Some(code) = lowered(row, &writer, &text) {
                    alike.entry(code).or_default().push(name);
                }
            }
            let groups = alike.values().filter(|group| group.len() > 1);
            lines.extend(groups.map(|group| format!("{}: {}\n", row.opcode.name(), group.join(" "))));
        }
    }
    expect_test::expect![[r#"
        atom: - cluster gpu
        atom: - relaxed
        bar: - cta
        barrier: - acquire
        barrier: - aligned
        barrier: - cta
        barrier: - release
        bra: - uni
        brx: - uni
        call: - uni
        cp: - tile
        cp: cluster gpu
        createpolicy: - L2::evict_unchanged
        cvt: - ftz
        cvt: - rn
        cvt: - rn rz rm rp
        cvt: - sat
        cvt: rn rz rm rp
        fence: - acq_rel
        fence: cluster gpu
        fence: cluster gpu sys
        fence: cta cluster gpu
        fence: cta cluster gpu sys
        ld: - L1::evict_normal
        ld: - ca cg
        ld: - weak
        ld: cluster gpu
        ld: relaxed acquire
        mbarrier: - acquire relaxed
        mbarrier: - cta
        mbarrier: acquire relaxed
        mbarrier: cta cluster
        mbarrier: release relaxed
        mma: - rn
        multimem: - weak
        multimem: cluster gpu
        multimem: cta cluster gpu sys
        rcp: - ftz
        red: - cluster gpu
        red: - relaxed
        ret: - uni
        set: ge hs
        set: gt hi
        set: le ls
        set: lt lo
        setmaxnreg: inc dec
        setp: ge hs
        setp: gt hi
        setp: le ls
        setp: lt lo
        st: - L1::evict_normal
        st: - weak
        st: cluster gpu
        suld: - ca
        suld: cg cv
        sust: - wb
        sust: cg wt
        tensormap: - global_address
        tensormap: cta cluster gpu
        tex: - uni
        tld4: - uni
        wgmma: - aligned
        wmma: - rn
        wmma: row col
    "#]]
    .assert_eq(&lines.into_iter().collect::<String>());
}
