//! Every length up to some lines, compared with the slice operations of Rust. In Miri, which knows the bounds of each
//! allocation, lengths around those at which another path is taken.
#![cfg(target_arch = "x86_64")]

use oriole_memory_functions::{compare, copy, copy_overlapping, fill};

/// Tested lengths in bytes.
fn lengths() -> Vec<usize> {
    let near = |at: usize| at.saturating_sub(1)..=at + 1;
    match cfg!(miri) {
        true => [0, 2, 4, 8, 16, 32, 64, 128, 192, 256, 320, 500].into_iter().flat_map(near).collect(),
        false => (0..=700).chain(near(4096)).chain([100_000]).collect(),
    }
}

/// Distinct bytes, exactly `count` of them.
fn bytes(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let next = |_| {
        state = state.wrapping_mul(0x9e37_79b1).rotate_left(7) ^ seed;
        (state >> 16) as u8
    };
    (0..count).map(next).collect()
}

#[test]
fn copies_all_bytes_and_no_others() {
    for length in lengths() {
        let from = bytes(length, 1);
        for before in [0, 1, 7] {
            let mut to = vec![0xa5; before + length + 3];
            // SAFETY: both have `length` bytes.
            unsafe { copy(to[before..].as_mut_ptr(), from.as_ptr(), length) };
            assert_eq!(to[before..before + length], from, "{length} bytes");
            assert_eq!((&to[..before], &to[before + length..]), (&[0xa5; 7][..before], &[0xa5; 3][..]));
            let mut to = vec![0xa5; before + length + 3];
            // SAFETY: both have `length` bytes.
            unsafe { copy_overlapping(to[before..].as_mut_ptr(), from.as_ptr(), length) };
            assert_eq!(to[before..before + length], from, "{length} bytes");
            assert_eq!((&to[..before], &to[before + length..]), (&[0xa5; 7][..before], &[0xa5; 3][..]));
        }
    }
}

#[test]
fn copies_within_one_piece_of_memory_in_both_directions() {
    for length in lengths() {
        for distance in [0, 1, 3, 8, 15, 16, 17, 63, 64, 65, 130, 255, 256, 300] {
            for (to, from) in [(0, distance), (distance, 0)] {
                let mut ours = bytes(length + distance, 2);
                let mut expected = ours.clone();
                expected.copy_within(from..from + length, to);
                let start = ours.as_mut_ptr();
                // SAFETY: both are within the memory, which has the distance more bytes.
                unsafe { copy_overlapping(start.add(to), start.add(from), length) };
                assert_eq!(ours, expected, "{length} bytes from {from} to {to}");
            }
        }
    }
}

#[test]
fn fills_all_bytes_and_no_others() {
    for length in lengths() {
        for (before, value) in [(0, 0), (1, 0xff), (7, 0x5a)] {
            let mut ours = bytes(before + length + 3, 3);
            let mut expected = ours.clone();
            expected[before..before + length].fill(value);
            // SAFETY: there are `length` bytes.
            unsafe { fill(ours[before..].as_mut_ptr(), value, length) };
            assert_eq!(ours, expected, "{length} bytes");
        }
    }
}

#[test]
fn compares_by_the_first_byte_that_differs() {
    for length in lengths().into_iter().filter(|&length| length <= 300) {
        let left = bytes(length, 4);
        // SAFETY: both have `length` bytes.
        let order = |right: &[u8]| unsafe { compare(left.as_ptr(), right.as_ptr(), length) }.cmp(&0);
        assert_eq!(order(&left.clone()), left.cmp(&left));
        for at in (0..length).step_by(if cfg!(miri) { 13 } else { 1 }) {
            for change in [1, 0x80, 0xff] {
                let mut right = left.clone();
                right[at] ^= change;
                // Bytes after it do not matter.
                right[at + 1..].reverse();
                assert_eq!(order(&right), left.cmp(&right), "{length} bytes, of which {at} differs");
            }
        }
    }
}
