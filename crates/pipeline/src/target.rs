//! A chip as one value: everything that the back end knows of it. The query layer makes it once for a chip, every stage
//! gets it, and hands a crate of a stage the parts that this one needs.
//!
//! It is here, above the stages, because it holds the pattern tree of one of them (`isel`); what a crate further left
//! needs of a chip it takes as a plain part: the row of `chip`, the forms of `sass`, the model of `latency`.

use oriole_chip::{Chip, ConstantBank, Limits, RegisterFiles, WordShape};
use oriole_cubin::Rules;
use oriole_isel::template::Template;
use oriole_latency::Model;
use oriole_ori::pattern::Tree;
use oriole_sass::form::Table;
use std::fmt;

/// The patterns of selection as a decision tree.
pub type SelectionTree = Tree<Template>;

/// Everything that the back end knows of a chip.
#[derive(Clone, Copy)]
pub struct Target {
    /// The chip with its feature set.
    pub chip: Chip,
    /// Its limits.
    pub limits: Limits,
    /// The layout of its constant bank 0.
    pub bank: &'static ConstantBank,
    /// Its register files.
    pub registers: &'static RegisterFiles,
    /// The shape of its instruction words.
    pub words: WordShape,
    /// How a file for it is built, with the padding after the code.
    pub container: Rules,
    /// The encoded forms.
    pub forms: &'static Table,
    /// The latencies.
    pub latency: &'static Model,
    /// The patterns of selection as a decision tree.
    pub selection: &'static SelectionTree,
}

/// Everything follows from the chip.
impl PartialEq for Target {
    fn eq(&self, other: &Target) -> bool {
        self.chip == other.chip
    }
}

impl Eq for Target {}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.chip)
    }
}

/// The gap that keeps a chip from being compiled for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TargetError {
    /// The chip.
    pub chip: Chip,
    /// The missing part.
    pub missing: String,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} for {}", self.missing, self.chip)
    }
}

impl std::error::Error for TargetError {}

impl Target {
    /// Everything of a chip.
    ///
    /// # Errors
    /// A table is missing.
    pub fn new(chip: Chip) -> Result<Target, TargetError> {
        Target::from_tables(chip, forms(chip)?, latency_model(chip)?, selection_tree(chip)?)
    }

    /// A chip with its three big tables; the rest is in its row.
    ///
    /// # Errors
    /// The row says nothing of limits, constant bank or container.
    pub fn from_tables(
        chip: Chip,
        forms: &'static Table,
        latency: &'static Model,
        selection: &'static SelectionTree,
    ) -> Result<Target, TargetError> {
        let missing = |what| TargetError { chip, missing: String::from(what) };
        Ok(Target {
            chip,
            limits: chip.limits().ok_or_else(|| missing("list of limits"))?,
            bank: chip.constant_bank().ok_or_else(|| missing("layout of the constant bank"))?,
            registers: chip.register_files(),
            words: chip.words(),
            container: oriole_cubin::rules(u16::from(chip.number()))
                .ok_or_else(|| missing("layout of the container"))?,
            forms,
            latency,
            selection,
        })
    }

    /// Tables of the scheduler.
    pub fn schedule(&self) -> oriole_schedule::Tables {
        oriole_schedule::Tables {
            limits: self.limits,
            forms: self.forms,
            latency: self.latency,
            registers: u16::from(self.registers.general.count),
            loads_before_copies: self.chip.loads_before_copies(),
            loads_before_signals: self.chip.loads_before_signals(),
            marks_entries: self.chip.marks_entries(),
            pauses_before_barriers: self.chip.pauses_before_barriers(),
            loads_read_in_order: self.chip.loads_read_in_order(),
        }
    }

    /// Tables of selection.
    pub fn isel(&self) -> oriole_isel::Tables {
        oriole_isel::Tables { forms: self.forms, tree: self.selection, latency: self.latency }
    }
}

/// The forms of a chip.
///
/// # Errors
/// There are none.
pub fn forms(chip: Chip) -> Result<&'static Table, TargetError> {
    let missing = || TargetError { chip, missing: "instruction table".to_owned() };
    oriole_sass::form::table(chip).ok_or_else(missing)
}

/// The latencies of a chip.
///
/// # Errors
/// There are none.
pub fn latency_model(chip: Chip) -> Result<&'static Model, TargetError> {
    let missing = || TargetError { chip, missing: "latency table".to_owned() };
    Model::of(chip).ok_or_else(missing)
}

/// The decision tree of a chip's patterns.
///
/// # Errors
/// Two patterns tie.
pub fn selection_tree(chip: Chip) -> Result<&'static SelectionTree, TargetError> {
    oriole_isel::tree(chip)
        .map_err(|tie| TargetError { chip, missing: format!("decided pattern table ({tie})") })
}
