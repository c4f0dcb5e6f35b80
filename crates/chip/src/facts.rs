//! Properties of a chip, looked up in its row.

use crate::chips::{Row, find};
use crate::layout::ConstantBank;
use crate::limits::Limits;
use crate::matrix::MatrixUnit;
use crate::name::{Chip, Variant};
use crate::registers::RegisterFiles;
use crate::words::WordShape;

impl Chip {
    pub(crate) const fn row(self) -> &'static Row {
        match find(self.number()) {
            Some(row) => row,
            // A chip is made only from the number of a row.
            None => panic!("a chip without a row"),
        }
    }

    /// The layout of constant bank 0, or `None` if unknown.
    pub fn constant_bank(self) -> Option<&'static ConstantBank> {
        self.row().bank
    }

    /// Offset in shared memory of the record of allocated tensor memory; `None` if the chip has none.
    pub fn tensor_partition(self) -> Option<u32> {
        self.row().tensor_partition
    }

    /// The limits of this chip, or `None` if not known for certain.
    pub fn limits(self) -> Option<Limits> {
        let limits = self.row().limits?;
        Some(if self.variant() == Variant::Accelerated { limits.accelerated() } else { limits })
    }

    /// True if the chip runs modules with `.address_size 32`.
    pub fn has_32_bit_addresses(self) -> bool {
        self.row().short_addresses
    }

    /// The register files of the chip.
    pub const fn register_files(self) -> &'static RegisterFiles {
        self.row().registers
    }

    /// How its tensor cores accumulate.
    pub const fn matrix_unit(self) -> MatrixUnit {
        self.row().matrix
    }

    /// True if driver functions preserve all general registers from R32 on; otherwise only the upper four of each
    /// eight. ptxas relies on that.
    pub const fn driver_keeps_from_32(self) -> bool {
        self.row().driver_keeps_from_32
    }

    /// Dummy loads from shared memory that ptxas emits before the first asynchronous copy of a block.
    pub const fn loads_before_copies(self) -> u8 {
        self.row().loads_before_copies
    }

    /// Dummy loads before each signal that the copies of a thread are complete.
    pub const fn loads_before_signals(self) -> u8 {
        self.row().loads_before_signals
    }

    /// True if kernels and functions begin with a shuffle that no lane executes, which the cubin records for the
    /// driver.
    pub const fn marks_entries(self) -> bool {
        self.row().marks_entries
    }

    /// True if a load from global memory may overwrite the address of an earlier one without waiting for it, as in ptxas
    /// code.
    pub const fn loads_read_in_order(self) -> bool {
        self.row().loads_read_in_order
    }

    /// True if ptxas emits a dummy instruction before each barrier of the block.
    pub const fn pauses_before_barriers(self) -> bool {
        self.row().pauses_before_barriers
    }

    /// True if the chip has a datapath that computes once for a whole warp, with registers of its own.
    pub const fn has_uniform_datapath(self) -> bool {
        self.row().registers.uniform.count != 0
    }

    /// True if wide multiply-adds read an addend pair from a constant bank; later chips load it first.
    pub const fn adds_long_constants(self) -> bool {
        self.row().adds_long_constants
    }

    /// True if loads from constant banks extend bytes by their sign, as in ptxas code.
    pub const fn loads_signed_constants(self) -> bool {
        self.row().loads_signed_constants
    }

    /// True if f64 operations read pairs of words from a constant bank.
    pub const fn reads_long_constants(self) -> bool {
        self.row().reads_long_constants
    }

    /// True if the chip has an instruction that increments words of shared memory, without returning old values.
    pub const fn counts_in_shared_memory(self) -> bool {
        self.row().counts_in_shared_memory
    }

    /// True if handles of textures and surfaces are in uniform registers; otherwise each lane has its own.
    pub const fn uniform_handles(self) -> bool {
        self.row().uniform_handles
    }

    /// The shape of its instruction words.
    pub const fn words(self) -> WordShape {
        self.row().words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supported_chips_have_complete_rows() {
        for chip in Chip::all() {
            assert_eq!(chip.row().number, chip.number());
            if chip.is_supported() {
                let limits = chip.limits().unwrap();
                assert!(limits.shared_per_block + limits.shared_reserved_per_block <= limits.shared_per_sm);
                assert!(chip.constant_bank().is_some());
            }
        }
    }

    #[test]
    fn register_files_fit_their_fields() {
        for chip in Chip::all() {
            let files = chip.register_files();
            let all = [files.general, files.uniform, files.predicate, files.uniform_predicate, files.barrier];
            for file in all {
                assert!(u32::from(file.count) + u32::from(file.neutral) <= 1 << file.field_bits, "{chip}");
                assert!(file.first_usable < file.end_usable || file.count == 0, "{chip}");
                assert!(file.end_usable <= file.count, "{chip}");
            }
            assert_eq!(files.uniform.count == 0, files.uniform_predicate.count == 0, "{chip}");
        }
    }
}
