//! Memory accesses of `wmma.load` and `wmma.store`: a lane reads or writes its part of a matrix, element by element.

use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::memory::word;
use crate::step::SharePlace;

/// Lines of a matrix begin at multiples of 8 bytes at least; for most types the language asks for 16.
const LINE_BITS: u64 = 64;

/// A stride in elements of that many bits must keep lines aligned.
fn check_stride(bits: u32, stride: Option<u64>) -> Result<(), Fault> {
    let stride = stride.unwrap_or(0) & u64::from(u32::MAX);
    if (stride * u64::from(bits)).is_multiple_of(LINE_BITS) {
        return Ok(());
    }
    let text = format!("a stride of {stride} elements is no multiple of 8 bytes");
    Err(Fault::new(FaultKind::Illegal, text))
}

impl LaneContext<'_, '_> {
    /// The registers of the lane's part.
    pub fn load_share(&mut self, from: &SharePlace, stride: Option<u64>) -> Result<Vec<u64>, Fault> {
        let share = from.share;
        check_stride(share.bits, stride)?;
        let mut registers = vec![0; share.registers() as usize];
        for (register, value) in registers.iter_mut().enumerate() {
            for part in 0..share.packed() {
                let (address, shift) = self.element(from, stride, register as u32, part);
                let bytes = self.used(from.start.place, address, share.bits.div_ceil(8) as usize, false)?;
                let element = word(bytes) >> shift & u64::MAX >> (64 - share.bits);
                *value |= element << (part * share.bits);
            }
        }
        Ok(registers)
    }

    /// Writes the lane's part. No accumulator has elements of less than a byte.
    pub fn store_share(&mut self, to: &SharePlace, stride: Option<u64>, values: &[u64]) -> Result<(), Fault> {
        let share = to.share;
        check_stride(share.bits, stride)?;
        let length = share.bits.div_ceil(8) as usize;
        for (register, value) in values.iter().enumerate() {
            for part in 0..share.packed() {
                let (address, _) = self.element(to, stride, register as u32, part);
                let bytes = self.used(to.start.place, address, length, true)?;
                bytes.copy_from_slice(&(value >> (part * share.bits)).to_le_bytes()[..length]);
            }
        }
        Ok(())
    }

    /// Address of an element, and its lowest bit in the byte there.
    fn element(&self, at: &SharePlace, stride: Option<u64>, register: u32, part: u32) -> (u64, u32) {
        let [row, column] = at.share.place(self.number, register, part).map(u64::from);
        let [rows, columns] = at.share.extent().map(u64::from);
        let (line, within, length) = if at.by_columns { (column, row, rows) } else { (row, column, columns) };
        // Without a stride lines follow one another.
        let stride = stride.map_or(length, |stride| stride & u64::from(u32::MAX));
        let bit = (line * stride + within) * u64::from(at.share.bits);
        (self.address(&at.start).wrapping_add(bit / 8), (bit % 8) as u32)
    }
}
