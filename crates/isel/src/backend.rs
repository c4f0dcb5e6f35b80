//! Which rows a chip has, and their decision tree, made once for each backend.

use crate::rows::{PLAIN, choices, copies, shifts, sums};
use crate::template::Template;
use oriole_chip::Chip;
use oriole_ori::pattern::{Patterns, Tie, Tree};
use oriole_sass::{Op, form};
use std::sync::LazyLock;

/// The rows of the chips that have the packed integer unit.
static HOPPER: Patterns<Template> =
    Patterns(&[PLAIN, copies::ROWS, sums::ROWS, sums::VECTOR, shifts::ROWS, choices::ROWS]);
/// The rows of those before.
static AMPERE: Patterns<Template> = Patterns(&[PLAIN, copies::ROWS, sums::ROWS, shifts::ROWS, choices::ROWS]);

static HOPPER_TREE: LazyLock<Result<Tree<Template>, Tie>> = LazyLock::new(|| Tree::new(&HOPPER));
static AMPERE_TREE: LazyLock<Result<Tree<Template>, Tie>> = LazyLock::new(|| Tree::new(&AMPERE));

/// True if the chip's rows are those of Hopper.
fn has_packed_integers(chip: Chip) -> bool {
    form::table(chip).is_some_and(|table| !table.forms_of(Op::VIADD).is_empty())
}

/// The pattern table of a chip.
pub fn patterns(chip: Chip) -> &'static Patterns<Template> {
    if has_packed_integers(chip) { &HOPPER } else { &AMPERE }
}

/// The decision tree of a chip.
///
/// # Errors
/// The table is undecided.
pub fn tree(chip: Chip) -> Result<&'static Tree<Template>, Tie> {
    let tree = if has_packed_integers(chip) { &HOPPER_TREE } else { &AMPERE_TREE };
    tree.as_ref().map_err(Clone::clone)
}
