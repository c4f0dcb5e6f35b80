//! Renames what a module declares, as a programmer and a compiler do: for tests that names are no part of what is stored.
//!
//! It works on the project's own trees, so that text that only looks like a name stays. Nothing is compiled here.

use std::collections::{BTreeMap, BTreeSet};

use oriole_hir::DRIVER_FUNCTIONS;
use oriole_syntax::ast::{AstNode, Declarator, Function, Label, Opcode};
use oriole_syntax::{Parse, SyntaxKind, parse_unit, split_file};

/// How much is renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renaming {
    /// Kernels, and the parameters that nvcc, clang and Triton name after them.
    Kernels,
    /// Everything that the module declares: functions, variables, parameters, labels, registers.
    Everything,
}

/// Declared names.
#[derive(Default)]
struct Declared {
    kernels: BTreeSet<String>,
    /// Other names, and those of ranges, to which numbers are appended.
    others: BTreeSet<String>,
    ranges: BTreeSet<String>,
}

impl Declared {
    fn add(&mut self, parse: &Parse) {
        for node in parse.syntax().descendants() {
            if let Some(function) = Function::cast(node) {
                let names = if function.is_entry() { &mut self.kernels } else { &mut self.others };
                names.extend(function.name().map(|name| name.text().to_owned()));
            } else if let Some(declarator) = Declarator::cast(node) {
                let names = if declarator.range().is_some() { &mut self.ranges } else { &mut self.others };
                let name = declarator.name().filter(|name| name.kind() == SyntaxKind::IDENT);
                names.extend(name.map(|name| name.text().to_owned()));
            } else if let Some(label) = Label::cast(node) {
                self.others.extend(label.name().map(|name| name.text().to_owned()));
            }
        }
        self.others.retain(|name| !DRIVER_FUNCTIONS.contains(&name.as_str()));
    }

    /// The new name of a name; nothing for one that stays.
    fn renamed(&self, name: &str, renaming: Renaming) -> Option<String> {
        if self.kernels.contains(name) {
            return Some(format!("{name}_renamed_v2"));
        }
        let after_kernel = name.find("_param_").filter(|&at| self.kernels.contains(&name[..at]));
        if let Some(at) = after_kernel.filter(|_| self.others.contains(name)) {
            return Some(format!("{}_renamed_v2{}", &name[..at], &name[at..]));
        }
        let stem = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let declared = self.others.contains(name)
            // The name in front of a range, and one of the range: the number may begin anywhere among the digits.
            || (stem.len()..=name.len()).any(|end| self.ranges.contains(&name[..end]));
        if renaming == Renaming::Kernels || !declared {
            return None;
        }
        let sigil = usize::from(name.starts_with(['%', '$']));
        Some(format!("{}Renamed{}", &name[..sigil], &name[sigil..]))
    }
}

/// The module with other names.
pub fn renamed(text: &str, renaming: Renaming) -> String {
    let units = split_file(text);
    let parses: Vec<Parse> = units.iter().map(|unit| parse_unit(unit.kind, unit.text(text))).collect();
    let mut declared = Declared::default();
    parses.iter().for_each(|parse| declared.add(parse));
    let mut known = BTreeMap::new();
    let mut out = String::with_capacity(2 * text.len());
    for parse in &parses {
        // A variable may have the name of an instruction.
        let opcodes = parse.syntax().descendants().filter_map(Opcode::cast);
        let opcodes: BTreeSet<u32> =
            opcodes.filter_map(Opcode::mnemonic).map(|word| word.span().start).collect();
        for token in parse.syntax().descendant_tokens() {
            let name = token.text();
            if token.kind() != SyntaxKind::IDENT || opcodes.contains(&token.span().start) {
                out += name;
                continue;
            }
            let new = known.entry(name).or_insert_with(|| declared.renamed(name, renaming));
            out += new.as_deref().unwrap_or(name);
        }
    }
    out
}

#[test]
fn names_are_replaced_and_nothing_else() {
    let text = ".version 8.0
.target sm_90
.global .u32 table[4];
.visible .entry add(.param .u32 add_param_0, .param .u32 n) {
\t.reg .b32 %r<3>;
\tld.param.u32 %r1, [add_param_0];
\tmov.u32 %r2, %tid.x; // add_param_0
again:
\tbra again;
bra: bra bra;
}
";
    expect_test::expect![[r#"
        .version 8.0
        .target sm_90
        .global .u32 table[4];
        .visible .entry add_renamed_v2(.param .u32 add_renamed_v2_param_0, .param .u32 n) {
        	.reg .b32 %r<3>;
        	ld.param.u32 %r1, [add_renamed_v2_param_0];
        	mov.u32 %r2, %tid.x; // add_param_0
        again:
        	bra again;
        bra: bra bra;
        }
    "#]]
    .assert_eq(&renamed(text, Renaming::Kernels));
    expect_test::expect![[r#"
        .version 8.0
        .target sm_90
        .global .u32 Renamedtable[4];
        .visible .entry add_renamed_v2(.param .u32 add_renamed_v2_param_0, .param .u32 Renamedn) {
        	.reg .b32 %Renamedr<3>;
        	ld.param.u32 %Renamedr1, [add_renamed_v2_param_0];
        	mov.u32 %Renamedr2, %tid.x; // add_param_0
        Renamedagain:
        	bra Renamedagain;
        Renamedbra: bra Renamedbra;
        }
    "#]]
    .assert_eq(&renamed(text, Renaming::Everything));
}
