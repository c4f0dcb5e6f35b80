//! The ten units of the hardware and the issue cycles that an instruction occupies each of them.

use crate::Model;
use oriole_sass::{Mods, Op};

/// Count of units.
pub const UNITS: usize = 10;

/// Issue cycles for which an instruction occupies each unit, indexed by [`Unit`].
pub type Resources = [u8; UNITS];

impl Model {
    /// The units that an instruction occupies and for how many issue cycles: the observed spacing of two instructions
    /// of the same opcode, back to back.
    pub fn resources(&self, op: Op, mods: &Mods) -> Resources {
        let class = self.class(op, mods);
        let mut exceptions = self.timing.chain().flat_map(|timing| timing.intervals_of);
        let own = exceptions.find(|row| row.0 == op && row.1 == class);
        let cycles = own.map_or(self.intervals[class as usize], |row| row.2);
        let mut busy = [0; UNITS];
        op.info().units.iter().for_each(|&unit| busy[unit as usize] = cycles);
        busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
    use oriole_chip::Chip;

    #[test]
    fn units_are_listed_in_order() {
        for (index, unit) in Unit::ALL.into_iter().enumerate() {
            assert_eq!(unit as usize, index, "{}", unit.name());
        }
    }

    #[test]
    fn every_instruction_keeps_a_unit_busy() {
        let model = Model::of(Chip::SM_90).expect("latencies");
        for &op in Op::all() {
            let busy = model.resources(op, &Mods::none());
            assert!(busy.iter().any(|&cycles| cycles > 0), "{}", op.name());
        }
        let unit = |op, unit: Unit| model.resources(op, &Mods::none())[unit as usize];
        assert_eq!((unit(Op::FFMA, Unit::Fma), unit(Op::FFMA, Unit::Alu)), (1, 0));
        assert_eq!((unit(Op::DFMA, Unit::Double), unit(Op::MUFU, Unit::Special)), (2, 8));
        // A shared load competes both for the load path and for the memory itself.
        assert_eq!((unit(Op::LDS, Unit::LoadStore), unit(Op::LDS, Unit::Shared)), (1, 1));
    }
}
