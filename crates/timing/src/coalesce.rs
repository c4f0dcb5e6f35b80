//! The shape of an access of a warp: sectors and lines of global memory, wavefronts of shared memory, and lanes that meet
//! at one address. Plain functions of addresses; no time may enter.

use oriole_simulate::{Access, Memory};

/// Bytes of a sector, the piece in which caches and memory exchange data.
pub(crate) const SECTOR: u64 = 32;
/// Bytes of a line of L1.
pub(crate) const LINE: u64 = 128;
/// Banks of shared memory, of four bytes each.
const BANKS: usize = 32;
/// Where local memory is put, beyond all global addresses.
const LOCAL_BASE: u64 = 1 << 52;
/// Bytes of local memory of a warp, all its lanes together.
const LOCAL_BITS: u32 = 26;

/// The lanes of an access.
fn lanes(access: &Access) -> impl Iterator<Item = (usize, u64)> + '_ {
    (0..32).filter(|lane| access.lanes >> lane & 1 == 1).map(|lane| (lane, access.addresses[lane]))
}

/// The sectors of an access to global or local memory, each once, ascending. Words of local memory of the lanes of a warp
/// are side by side; `warp` is the number of the warp in the whole grid.
pub(crate) fn sectors(access: &Access, warp: u64) -> Vec<u64> {
    let mut found = Vec::with_capacity(8);
    for (lane, address) in lanes(access) {
        if access.memory == Memory::Local {
            for word in address / 4..(address + u64::from(access.bytes)).div_ceil(4) {
                let place = LOCAL_BASE + (warp << LOCAL_BITS) + word * 128 + 4 * lane as u64;
                found.push(place / SECTOR);
            }
        } else {
            let last = address.saturating_add(u64::from(access.bytes.max(1)) - 1);
            found.extend(address / SECTOR..=last / SECTOR);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The lines of ascending sectors.
pub(crate) fn lines(sectors: &[u64]) -> u32 {
    let per_line = LINE / SECTOR;
    let changes = sectors.windows(2).filter(|pair| pair[0] / per_line != pair[1] / per_line).count();
    if sectors.is_empty() { 0 } else { changes as u32 + 1 }
}

/// The wavefronts of an access to shared memory: each bank gives one word in a wavefront, to all lanes that want it.
pub fn wavefronts(access: &Access) -> u32 {
    let words = u64::from(access.bytes.div_ceil(4).clamp(1, 8));
    let mut wanted: Vec<u64> =
        lanes(access).flat_map(|(_, address)| (0..words).map(move |word| address / 4 + word)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut by_bank = [0u32; BANKS];
    wanted.iter().for_each(|word| by_bank[*word as usize % BANKS] += 1);
    by_bank.into_iter().max().unwrap_or(0).max(1)
}

/// The addresses of an access and the number of lanes at each, ascending.
pub(crate) fn crowds(access: &Access) -> Vec<(u64, u32)> {
    let mut found: Vec<u64> = lanes(access).map(|(_, address)| address).collect();
    found.sort_unstable();
    let mut crowds: Vec<(u64, u32)> = Vec::new();
    for address in found {
        match crowds.last_mut() {
            Some(last) if last.0 == address => last.1 += 1,
            _ => crowds.push((address, 1)),
        }
    }
    crowds
}

/// Passes of an atomic operation through the banks of shared memory if each pass serves one lane of each bank.
pub(crate) fn passes(access: &Access) -> u32 {
    let mut by_bank = [0u32; BANKS];
    lanes(access).for_each(|(_, address)| by_bank[(address / 4) as usize % BANKS] += 1);
    by_bank.into_iter().max().unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_simulate::AccessKind;

    fn access(memory: Memory, bytes: u32, address: impl Fn(u64) -> u64) -> Access {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        Access { memory, kind: AccessKind::Load, bytes, lanes: u32::MAX, addresses }
    }

    #[test]
    fn neighbours_share_sectors() {
        let of = |bytes, stride| sectors(&access(Memory::Global, bytes, |lane| 256 + lane * stride), 0);
        assert_eq!(of(4, 4), [8, 9, 10, 11]);
        assert_eq!((of(4, 32).len(), lines(&of(4, 32))), (32, 8));
        assert_eq!((of(16, 16).len(), lines(&of(16, 16))), (16, 4));
        assert_eq!(of(4, 0).len(), 1);
        // Words of local memory of the lanes are side by side.
        assert_eq!(sectors(&access(Memory::Local, 4, |_| 8), 3).len(), 4);
    }

    #[test]
    fn banks_serve_one_word_at_a_time() {
        let of = |bytes, stride: u64| wavefronts(&access(Memory::Shared, bytes, |lane| lane * stride));
        assert_eq!([of(4, 4), of(4, 8), of(4, 128), of(4, 132), of(4, 0)], [1, 2, 32, 1, 1]);
        assert_eq!([of(8, 8), of(16, 16)], [2, 4]);
    }

    #[test]
    fn lanes_that_meet_are_counted() {
        let of = access(Memory::Shared, 4, |lane| lane % 2 * 4);
        assert_eq!(crowds(&of), [(0, 16), (4, 16)]);
        assert_eq!(passes(&of), 16);
    }
}
