//! A sparse FP8 MMA as two f16 MMAs, on chips that have no FP8 MMA.
//!
//! The lower two elements of every word of the sparse factor are in one MMA, the upper two in the other. So the even
//! groups of four columns are in the first one and the odd groups in the second. Both the metadata and the other
//! factor have to be sorted accordingly, which takes exchanges between the lanes of a group of four.

use crate::context::Lower;
use crate::matrix::{Fragment, Metadata};
use oriole_ori::{File, Source, Value};
use oriole_sass::{Mod, Op};

/// Selectors of `PRMT`: both lower halves, both upper halves.
pub(crate) const LOWER_HALVES: u32 = 0x5410;
pub(crate) const UPPER_HALVES: u32 = 0x7632;

impl Lower<'_> {
    /// `d <- a` of another lane.
    pub fn of_lane(&mut self, mode: Mod, a: Source, lane: Source) -> Value {
        let d = self.b.r();
        let draft = self.b.op(Op::SHFL).m(mode).drop_result(File::P).to(d);
        draft.from(a).from(lane).from(Source::literal(0x1f)).emit();
        d
    }

    /// The metadata of both MMAs. For FP8 a lane has a row of 32 columns; for f16, sixteen columns of two rows.
    pub fn metadata_of_halves(&mut self, metadata: Metadata) -> [Metadata; 2] {
        // Even groups in the lower half of the word, odd ones in the upper half.
        let mut parts = [metadata.word.clone(), metadata.word];
        let [odd, lane] = [self.b.r(), self.lane_number()];
        self.b.shr(odd, parts[1].clone(), 4u32);
        parts[1] = odd.into();
        let [even, odd] = parts.map(|word| {
            let [groups, shifted, both] = [self.b.r(), self.b.r(), self.b.r()];
            self.b.and(groups, word, 0x0f0f_0f0fu32);
            self.b.shr(shifted, groups, 4u32);
            self.b.or(both, groups, shifted);
            both
        });
        let sorted = self.b.r();
        self.b.prmt(sorted, even, 0x6420u32, odd);
        // Lanes 0 and 1 need the first 32 columns and the last ones of the even groups, 2 and 3 those of the odd ones.
        let [group, member, first, second] = [self.b.r(), self.b.r(), self.b.r(), self.b.r()];
        self.b.and(group, lane, 0x1cu32);
        self.b.and(member, lane, 1u32);
        self.b.imad(first, member, 2u32, group);
        self.b.iadd3(second, first, 1u32, Source::rz());
        let upper_row = self.of_lane(Mod::IDX, sorted.into(), first.into());
        let lower_row = self.of_lane(Mod::IDX, sorted.into(), second.into());
        let [word, which] = [self.b.r(), self.b.r()];
        let is_odd = self.b.p();
        self.b.and(which, lane, 2u32);
        self.b.isetp(is_odd, Mod::NE, true, which, Source::rz());
        let selector = self.constant_by(is_odd, UPPER_HALVES, LOWER_HALVES);
        self.b.prmt(word, upper_row, selector, lower_row);
        [0, 1].map(|selector| Metadata { word: word.into(), selector })
    }

    /// Selects one of two constants.
    pub fn constant_by(&mut self, p: Value, yes: u32, no: u32) -> Value {
        let [first, d] = [self.b.r(), self.b.r()];
        self.b.mov(first, yes);
        self.b.sel(d, first, no, p);
        d
    }

    /// The dense factor of the MMA of even or odd groups: a lane needs the lower half of each word. Even lanes have
    /// the even groups; each lane takes its half of a group.
    pub fn shared_groups(&mut self, words: &Fragment, odd: bool) -> Fragment {
        let lane = self.lane_number();
        let [from, half, amount] = [self.b.r(), self.b.r(), self.b.r()];
        self.b.and(half, lane, 1u32);
        self.b.shl(amount, half, 4u32);
        if odd {
            self.b.or(from, lane, 1u32);
        } else {
            self.b.and(from, lane, 0x1eu32);
        }
        words
            .iter()
            .map(|word| {
                let word = self.in_register(word.clone());
                let group = self.of_lane(Mod::IDX, word, from.into());
                let d = self.b.r();
                self.b.shr(d, group, amount);
                d.into()
            })
            .collect()
    }
}
