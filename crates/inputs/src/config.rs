//! Configurations: a chip, fixed at creation, and the options of each group of phases.
//!
//! A configuration is an input and not a value: changing a knob changes it in place and reruns the readers of that
//! knob's group, while another chip is another configuration whose results stay. All fields are of high durability, so
//! that an edit of a file never verifies them.

#![allow(missing_docs, reason = "the accessors that salsa generates cannot carry documentation")]

use oriole_chip::Chip;
use oriole_options::{
    AllocateOptions, DebugOptions, FinishOptions, LowerOptions, Options, OrderOptions, PassOptions,
    SearchOptions, SelectOptions,
};
use salsa::{Durability, Setter};

/// The target and options of a compile. Stages read the options through the projections of the query graph only.
#[salsa::input(debug)]
pub struct Config {
    /// The chip with its feature set; set once.
    #[returns(copy)]
    pub chip: Chip,
    /// Options of lowering.
    #[returns(copy)]
    pub lower: LowerOptions,
    /// Options of the passes over Ori.
    #[returns(copy)]
    pub passes: PassOptions,
    /// Options of scheduling before allocation.
    #[returns(copy)]
    pub order: OrderOptions,
    /// Options of register allocation.
    #[returns(copy)]
    pub allocate: AllocateOptions,
    /// Options of selection.
    #[returns(copy)]
    pub select: SelectOptions,
    /// Options of scheduling after allocation, and of control words.
    #[returns(copy)]
    pub finish: FinishOptions,
    /// Options of the search of level 4.
    #[returns(ref)]
    pub search: SearchOptions,
    /// Options of debug info.
    #[returns(copy)]
    pub debug: DebugOptions,
}

/// A chip as a key: facts of a chip are kept as long as something uses them, whatever configurations exist.
#[salsa::interned(debug)]
pub struct ChipKey<'db> {
    /// The chip with its feature set.
    #[returns(copy)]
    pub chip: Chip,
}

impl Config {
    /// A configuration for a chip.
    pub fn create(db: &dyn salsa::Database, chip: Chip, options: &Options) -> Config {
        Config::builder(
            chip,
            options.lower(),
            options.passes(),
            options.order(),
            options.allocate(),
            options.select(),
            options.finish(),
            options.search(),
            options.debug,
        )
        .durability(Durability::HIGH)
        .new(db)
    }

    /// Changes the options. Groups whose options stay equal are not written.
    pub fn update(self, db: &mut dyn salsa::Database, options: &Options) {
        macro_rules! update {
            ($($group:ident, $set:ident;)*) => { $(
                if self.$group(db) != options.$group() {
                    self.$set(db).with_durability(Durability::HIGH).to(options.$group());
                }
            )* };
        }
        update! {
            lower, set_lower;
            passes, set_passes;
            order, set_order;
            allocate, set_allocate;
            select, set_select;
            finish, set_finish;
        }
        let search = options.search();
        if *self.search(db) != search {
            self.set_search(db).with_durability(Durability::HIGH).to(search);
        }
        if self.debug(db) != options.debug {
            self.set_debug(db).with_durability(Durability::HIGH).to(options.debug);
        }
    }

    /// The configuration as text: its chip.
    pub fn label(self, db: &dyn salsa::Database) -> String {
        self.chip(db).to_string()
    }
}
