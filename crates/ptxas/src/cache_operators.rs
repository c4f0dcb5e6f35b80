//! `-dlcm`, `-dscm`, `-flcm` and `-fscm`: cache operators of loads and stores of global and generic memory. They are
//! written into the text as PTX operators, which is their meaning in ptxas.

use crate::edit::Edit;
use oriole_syntax::ast::{AstNode, Instruction, Opcode};
use oriole_syntax::{Unit, UnitKind, parse_unit, split_file};

/// The cache operators of the options.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CacheOperators {
    /// For loads without one.
    pub default_load: Option<String>,
    /// For stores without one.
    pub default_store: Option<String>,
    /// For all loads.
    pub force_load: Option<String>,
    /// For all stores.
    pub force_store: Option<String>,
}

/// The valid operators.
pub(crate) const OF_LOADS: [&str; 5] = ["ca", "cg", "cs", "lu", "cv"];
pub(crate) const OF_STORES: [&str; 4] = ["wb", "cg", "cs", "wt"];

/// Words that may come between the name of the instruction and its operator.
const BEFORE: [&str; 2] = [".weak", ".global"];

/// Prefixes of words of loads and stores without an operator: other spaces, memory orders, and other kinds of hints.
const WITHOUT: [&str; 11] = [
    ".const",
    ".local",
    ".param",
    ".shared",
    ".volatile",
    ".relaxed",
    ".acquire",
    ".release",
    ".mmio",
    ".nc",
    ".L1::",
];

impl CacheOperators {
    /// The edits that write them into a text.
    pub(crate) fn edits(&self, text: &str) -> Vec<Edit> {
        if *self == CacheOperators::default() {
            return Vec::new();
        }
        let mut edits = Vec::new();
        for unit in split_file(text) {
            if matches!(unit.kind, UnitKind::Entry | UnitKind::Function) {
                let parse = parse_unit(unit.kind, unit.text(text));
                let opcodes = parse.syntax().descendants().filter_map(Instruction::cast);
                edits.extend(opcodes.filter_map(|one| self.edit(&unit, one.opcode()?)));
            }
        }
        edits
    }

    fn edit(&self, unit: &Unit, opcode: Opcode<'_>) -> Option<Edit> {
        let mnemonic = opcode.mnemonic()?;
        let (operators, default, force) = match mnemonic.text() {
            "ld" => (&OF_LOADS[..], &self.default_load, &self.force_load),
            "st" => (&OF_STORES[..], &self.default_store, &self.force_store),
            _ => return None,
        };
        let has_none = |word: &str| WITHOUT.iter().any(|beginning| word.starts_with(beginning));
        if opcode.modifiers().any(|word| has_none(word.text())) {
            return None;
        }
        let at = |byte: u32| (unit.start + byte) as usize;
        let is_operator =
            |word: &str| operators.iter().any(|operator| word.strip_prefix('.') == Some(operator));
        if let Some(stated) = opcode.modifiers().find(|word| is_operator(word.text())) {
            let span = stated.span();
            return Some((at(span.start)..at(span.end()), format!(".{}", force.as_ref()?)));
        }
        let operator = force.as_ref().or(default.as_ref())?;
        let before = opcode.modifiers().take_while(|word| BEFORE.contains(&word.text())).last();
        let end = at(before.unwrap_or(mnemonic).span().end());
        Some((end..end, format!(".{operator}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::edited;
    use expect_test::expect;

    const TEXT: &str = "\
.entry k() {
  ld.global.u32 %r1, [a];
  ld.u32 %r1, [a];
  ld.weak.global.L2::128B.v2.u32 {%r1, %r2}, [a];
  ld.global.cs.u32 %r1, [a];
  ld.volatile.global.u32 %r1, [a];
  ld.global.nc.u32 %r1, [a];
  ld.global.L1::evict_last.u32 %r1, [a];
  ld.shared::cta.u32 %r1, [s];
  @%p st.global.u32 [a], %r1;
  st.wt.u32 [a], %r1;
  st.release.gpu.global.u32 [a], %r1;
}
";

    fn changed(operators: &CacheOperators) -> String {
        let new = edited(TEXT, operators.edits(TEXT));
        let changed = new.lines().zip(TEXT.lines()).filter(|(new, old)| new != old);
        changed.map(|(new, _)| format!("{}\n", new.trim())).collect()
    }

    #[test]
    fn operators_go_where_the_language_has_them() {
        let some = |operator: &str| Some(operator.to_owned());
        let default = CacheOperators {
            default_load: some("cg"),
            default_store: some("cs"),
            ..CacheOperators::default()
        };
        let force = CacheOperators { force_load: some("cv"), force_store: some("wb"), ..default.clone() };
        assert_eq!(changed(&CacheOperators::default()), "");
        expect![[r#"
              ld.global.cg.u32 %r1, [a];
              ld.cg.u32 %r1, [a];
              ld.weak.global.cg.L2::128B.v2.u32 {%r1, %r2}, [a];
              @%p st.global.cs.u32 [a], %r1;
        "#]]
        .assert_eq(&changed(&default));
        expect![[r#"
              ld.global.cv.u32 %r1, [a];
              ld.cv.u32 %r1, [a];
              ld.weak.global.cv.L2::128B.v2.u32 {%r1, %r2}, [a];
              ld.global.cv.u32 %r1, [a];
              @%p st.global.wb.u32 [a], %r1;
              st.wb.u32 [a], %r1;
        "#]]
        .assert_eq(&changed(&force));
    }
}
