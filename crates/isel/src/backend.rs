//! Row groups of each chip, and their decision tree, built once for each backend.

use crate::rows::{PLAIN, choices, copies, long, shifts, sums};
use crate::template::Template;
use oriole_chip::Chip;
use oriole_ori::pattern::{Patterns, Tie, Tree};
use oriole_sass::form::{self, SlotKind};
use oriole_sass::{Mods, Op, Operand, OperandKind, has_long_integers, legal};
use std::sync::LazyLock;

/// The rows of Blackwell: as Hopper's, but no arithmetic reads a constant bank.
static BLACKWELL: Patterns<Template> =
    Patterns(&[PLAIN, copies::ROWS, sums::ROWS, sums::VECTOR, shifts::ROWS, choices::ROWS]);
/// The rows of Thor: as Blackwell's, but the packed integer unit adds no whole words.
static THOR: Patterns<Template> = Patterns(&[PLAIN, copies::ROWS, sums::ROWS, shifts::ROWS, choices::ROWS]);
/// As Thor's, with rows for register pairs as one operand.
static LONG: Patterns<Template> =
    Patterns(&[PLAIN, copies::ROWS, long::ROWS, sums::ROWS, shifts::ROWS, choices::ROWS]);
/// The rows of the chips that have the packed integer unit.
static HOPPER: Patterns<Template> = Patterns(&[
    PLAIN,
    copies::ROWS,
    copies::CONSTANTS,
    sums::ROWS,
    sums::VECTOR,
    shifts::ROWS,
    choices::ROWS,
]);
/// The rows of those before.
static AMPERE: Patterns<Template> =
    Patterns(&[PLAIN, copies::ROWS, copies::CONSTANTS, sums::ROWS, shifts::ROWS, choices::ROWS]);

static BLACKWELL_TREE: LazyLock<Result<Tree<Template>, Tie>> = LazyLock::new(|| Tree::new(&BLACKWELL));
static THOR_TREE: LazyLock<Result<Tree<Template>, Tie>> = LazyLock::new(|| Tree::new(&THOR));
static LONG_TREE: LazyLock<Result<Tree<Template>, Tie>> = LazyLock::new(|| Tree::new(&LONG));
static HOPPER_TREE: LazyLock<Result<Tree<Template>, Tie>> = LazyLock::new(|| Tree::new(&HOPPER));
static AMPERE_TREE: LazyLock<Result<Tree<Template>, Tie>> = LazyLock::new(|| Tree::new(&AMPERE));

/// The backends.
enum Backend {
    Ampere,
    Hopper,
    Blackwell,
    Thor,
    Long,
}

/// Row groups of a chip, chosen by its form table.
fn backend(chip: Chip) -> Backend {
    let forms = |op: Op| form::table(chip).map_or(&[][..], |table| table.forms_of(op));
    let constant = |kind| matches!(kind, SlotKind::Const | SlotKind::ConstIndexed);
    let reads_banks = |form: &form::Form| form.slots.iter().any(|slot| constant(slot.kind));
    // Some chips have a packed add, but no add of whole words there.
    let word = [0, 1, 2].map(|n| Operand::plain(OperandKind::Reg(n)));
    let adds = form::table(chip).is_some_and(|table| legal(table, Op::VIADD, &Mods::none(), &word).is_some());
    match (!adds, forms(Op::MOV).iter().any(reads_banks)) {
        (true, true) => Backend::Ampere,
        (true, false) if has_long_integers(chip) => Backend::Long,
        (true, false) => Backend::Thor,
        (false, true) => Backend::Hopper,
        (false, false) => Backend::Blackwell,
    }
}

/// The pattern table of a chip.
pub fn patterns(chip: Chip) -> &'static Patterns<Template> {
    match backend(chip) {
        Backend::Ampere => &AMPERE,
        Backend::Hopper => &HOPPER,
        Backend::Blackwell => &BLACKWELL,
        Backend::Thor => &THOR,
        Backend::Long => &LONG,
    }
}

/// The decision tree of a chip.
///
/// # Errors
/// The table is undecided.
pub fn tree(chip: Chip) -> Result<&'static Tree<Template>, Tie> {
    let tree = match backend(chip) {
        Backend::Ampere => &AMPERE_TREE,
        Backend::Hopper => &HOPPER_TREE,
        Backend::Blackwell => &BLACKWELL_TREE,
        Backend::Thor => &THOR_TREE,
        Backend::Long => &LONG_TREE,
    };
    tree.as_ref().map_err(Clone::clone)
}
