//! A sparse FP8 MMA as two f16 MMAs, on chips that have no FP8 MMA.
//!
//! The lower two elements of every word of the sparse factor are in one MMA, the upper two in the other. So the even
//! groups of four columns are in the first one and the odd groups in the second. Both the metadata and the other
//! factor have to be sorted accordingly, which takes exchanges between the lanes of a group of four.

use super::fragment::{Fragment, Metadata};
use super::lanes;
use crate::arithmetic;
use crate::context::Lower;
use crate::source::{LOWER_HALVES, UPPER_HALVES};
use oriole_ori::Source;
use oriole_sass::Mod;

/// The metadata of both MMAs. For FP8 a lane has a row of 32 columns; for f16, sixteen columns of two rows.
pub(super) fn metadata_of_halves(cx: &mut Lower<'_>, metadata: Metadata) -> [Metadata; 2] {
    // Even groups in the lower half of the word, odd ones in the upper half.
    let mut parts = [metadata.word.clone(), metadata.word];
    let [odd, lane] = [cx.b.r(), lanes::lane_number(cx)];
    cx.b.shr(odd, parts[1].clone(), 4u32);
    parts[1] = odd.into();
    let [even, odd] = parts.map(|word| {
        let [groups, shifted, both] = [cx.b.r(), cx.b.r(), cx.b.r()];
        cx.b.and(groups, word, 0x0f0f_0f0fu32);
        cx.b.shr(shifted, groups, 4u32);
        cx.b.or(both, groups, shifted);
        both
    });
    let sorted = cx.b.r();
    cx.b.prmt(sorted, even, 0x6420u32, odd);
    // Lanes 0 and 1 need the first 32 columns and the last ones of the even groups, 2 and 3 those of the odd ones.
    let [group, member, first, second] = [cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r()];
    cx.b.and(group, lane, 0x1cu32);
    cx.b.and(member, lane, 1u32);
    cx.b.imad(first, member, 2u32, group);
    cx.b.iadd3(second, first, 1u32, Source::rz());
    let upper_row = lanes::of_lane(cx, Mod::IDX, sorted.into(), first.into());
    let lower_row = lanes::of_lane(cx, Mod::IDX, sorted.into(), second.into());
    let [word, which] = [cx.b.r(), cx.b.r()];
    let is_odd = cx.b.p();
    cx.b.and(which, lane, 2u32);
    cx.b.isetp(is_odd, Mod::NE, true, which, Source::rz());
    let selector = arithmetic::constant_by(cx, is_odd, UPPER_HALVES, LOWER_HALVES);
    cx.b.prmt(word, upper_row, selector, lower_row);
    [0, 1].map(|selector| Metadata { word: word.into(), selector })
}

/// The dense factor of the MMA of even or odd groups: a lane needs the lower half of each word. Even lanes have
/// the even groups; each lane takes its half of a group.
pub(super) fn shared_groups(cx: &mut Lower<'_>, words: &Fragment, odd: bool) -> Fragment {
    let lane = lanes::lane_number(cx);
    let [from, half, amount] = [cx.b.r(), cx.b.r(), cx.b.r()];
    cx.b.and(half, lane, 1u32);
    cx.b.shl(amount, half, 4u32);
    if odd {
        cx.b.or(from, lane, 1u32);
    } else {
        cx.b.and(from, lane, 0x1eu32);
    }
    words
        .iter()
        .map(|word| {
            let word = cx.in_register(word.clone());
            let group = lanes::of_lane(cx, Mod::IDX, word, from.into());
            let d = cx.b.r();
            cx.b.shr(d, group, amount);
            d.into()
        })
        .collect()
}
