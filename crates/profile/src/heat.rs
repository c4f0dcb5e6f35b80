//! The places of a kernel at which its warps wait longest, as figures to show next to the text: an editor's margin, a
//! library. Sentences about faults are not made here.

use crate::code::Place;
use crate::profile::Profile;
use crate::text::by_place;
use oriole_timing::Reason;

/// A place with its waits and accesses.
#[derive(Clone, PartialEq, Debug)]
pub struct Hot {
    /// The place.
    pub place: Place,
    /// Its share of all waits.
    pub share: f64,
    /// How often its instructions were issued.
    pub issued: u64,
    /// Cycles that warps waited there.
    pub waited: u64,
    /// Accesses of warps to memory.
    pub requests: u64,
    /// Sectors of global memory that they moved, and the fewest that hold their bytes.
    pub sectors: (u64, u64),
    /// Passes through shared memory, and the fewest.
    pub wavefronts: (u64, u64),
    /// The reasons with their shares of its waits, the longest first.
    pub reasons: Vec<(Reason, f64)>,
}

/// All places of which an instruction ran, the hottest first.
pub fn hottest(profile: &Profile) -> Vec<Hot> {
    let total: u64 = profile.estimate.waited.iter().sum();
    let of = |(place, sum): (&Place, crate::text::Sum)| {
        let waited = sum.waits();
        let share = |cycles: u64| cycles as f64 / waited.max(1) as f64;
        let mut reasons: Vec<(Reason, f64)> =
            Reason::ALL.into_iter().zip(sum.waited).map(|(reason, cycles)| (reason, share(cycles))).collect();
        reasons.retain(|reason| reason.1 > 0.0);
        reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
        let share = waited as f64 / total.max(1) as f64;
        Hot {
            place: place.clone(),
            share,
            issued: sum.issued,
            waited,
            requests: sum.requests,
            sectors: sum.sectors,
            wavefronts: sum.wavefronts,
            reasons,
        }
    };
    let mut places: Vec<Hot> = by_place(profile).into_iter().map(of).collect();
    places.sort_by(|a, b| b.waited.cmp(&a.waited).then_with(|| a.place.cmp(&b.place)));
    places
}
