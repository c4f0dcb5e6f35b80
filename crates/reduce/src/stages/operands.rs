//! Parts of instructions: guards, operands and modifiers.

use crate::module::{At, Module};
use crate::text::{Change, replacement};
use oriole_syntax::NodeRef;
use oriole_syntax::SyntaxKind::{
    ADDRESS, BINARY, DECLARATOR, DOTTED, FLOAT_NUMBER, GUARD, IDENT, INSTRUCTION, INT_NUMBER, LITERAL, NAME,
    OPCODE, OPERAND_LIST, REGISTER_RANGE, VARIABLE, VECTOR,
};
use rustc_hash::FxHashMap;

/// Guards.
pub(super) fn guards(module: &Module<'_>) -> Vec<Change> {
    module.of_kind(GUARD).map(|guard| module.without(guard)).collect()
}

/// The operands of each instruction, all levels.
fn operands<'a>(module: &'a Module<'_>) -> impl Iterator<Item = At<NodeRef<'a>>> {
    let lists = module.of_kind(INSTRUCTION).filter_map(|instruction| instruction.child(OPERAND_LIST));
    lists.flat_map(|list| list.descendants())
}

/// Vectors: the scalar form of an instruction.
pub(super) fn vectors(module: &Module<'_>) -> Vec<Change> {
    module.of_kind(INSTRUCTION).filter_map(|instruction| shortened(module, instruction, |_| 1)).collect()
}

/// Vectors of more than two elements: the half of them.
pub(super) fn long_vectors(module: &Module<'_>) -> Vec<Change> {
    module
        .of_kind(INSTRUCTION)
        .filter_map(|instruction| shortened(module, instruction, |now| now / 2))
        .collect()
}

/// An instruction on vectors with shorter ones; nothing, if it has no length or that is as short already.
fn shortened(
    module: &Module<'_>,
    instruction: At<NodeRef<'_>>,
    to: impl Fn(usize) -> usize,
) -> Option<Change> {
    let words = instruction.child(OPCODE)?.tokens();
    let mut lengths =
        words.filter_map(|word| Some((word, word.text().strip_prefix(".v")?.parse::<usize>().ok()?)));
    let (word, now) = lengths.next()?;
    let to = to(now);
    if to >= now || to == 0 {
        return None;
    }
    let mut change = vec![if to == 1 {
        module.removed(word.range())
    } else {
        replacement(word.range(), format!(".v{to}"))
    }];
    let operands = instruction.child(OPERAND_LIST)?.descendants();
    for vector in operands.filter(|operand| operand.kind() == VECTOR) {
        let parts: Vec<_> = vector.children().take(to).map(|part| &module.text[part.range()]).collect();
        let text = if to == 1 { parts.concat() } else { format!("{{{}}}", parts.join(",")) };
        change.push(replacement(vector.range(), text));
    }
    Some(change)
}

/// Names that are read become 0: those after the first operand, and those within addresses.
pub(super) fn constants(module: &Module<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for instruction in module.of_kind(INSTRUCTION) {
        let Some(list) = instruction.child(OPERAND_LIST) else { continue };
        for (at, operand) in list.children().enumerate() {
            let names = operand.descendants().filter(|node| node.kind() == NAME);
            for name in names.filter(|_| at > 0 || operand.kind() == ADDRESS) {
                changes.push(vec![replacement(name.range(), "0")]);
            }
        }
    }
    changes
}

/// Numbers become 0.
pub(super) fn numbers(module: &Module<'_>) -> Vec<Change> {
    let literals = operands(module).filter(|operand| operand.kind() == LITERAL);
    let numbers = literals.filter_map(|literal| {
        let number = literal.tokens().find(|token| matches!(token.kind(), INT_NUMBER | FLOAT_NUMBER))?;
        let zero = match number.kind() {
            INT_NUMBER => "0",
            _ if number.text().starts_with("0d") => "0d0000000000000000",
            _ => "0f00000000",
        };
        (number.text() != zero).then(|| vec![replacement(number.range(), zero)])
    });
    numbers.collect()
}

/// One side of a sum, in place of the sum.
pub(super) fn offsets(module: &Module<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for sum in operands(module).filter(|operand| operand.kind() == BINARY) {
        changes.extend(
            sum.children().map(|side| vec![replacement(sum.range(), module.text[side.range()].to_owned())]),
        );
    }
    changes
}

/// Registers become the first one of their declaration that the function names.
pub(super) fn registers(module: &Module<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (_, root) in module.roots() {
        let prefixes: Vec<&str> = root
            .descendants()
            .filter(|node| node.kind() == VARIABLE)
            .flat_map(|variable| variable.children())
            .filter(|name| name.kind() == DECLARATOR && name.child(REGISTER_RANGE).is_some())
            .filter_map(|name| name.token(IDENT).map(|token| token.text()))
            .collect();
        let mut first: FxHashMap<&str, &str> = FxHashMap::default();
        let instructions = root.descendants().filter(|node| node.kind() == INSTRUCTION);
        for name in instructions.flat_map(|node| node.descendants()).filter(|node| node.kind() == NAME) {
            let Some(token) = name.token(IDENT) else { continue };
            let stem = token.text().trim_end_matches(|digit: char| digit.is_ascii_digit());
            if stem.len() == token.text().len() || !prefixes.contains(&stem) {
                continue;
            }
            let &mut first = first.entry(stem).or_insert(token.text());
            if first != token.text() {
                changes.push(vec![replacement(token.range(), first)]);
            }
        }
    }
    changes
}

/// Modifiers.
pub(super) fn modifiers(module: &Module<'_>) -> Vec<Change> {
    let words = module.of_kind(OPCODE).flat_map(|opcode| opcode.tokens());
    words.filter(|word| word.kind() == DOTTED).map(|word| vec![module.removed(word.range())]).collect()
}
