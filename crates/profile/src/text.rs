//! A profile as text for a terminal: a header, the faults in order, the lines with the longest waits. The document has
//! all that is here.

use crate::code::{Code, Place};
use crate::kinds::counted;
use crate::profile::{Finding, Profile};
use oriole_chip::Limiter;
use oriole_latency::Unit;
use oriole_timing::{Bound, REASONS, Reason};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Parts that are named as busy from this share of the time on.
const SHOWN_SHARE: f64 = 0.05;
/// Columns of the text of a line.
const WIDTH: usize = 44;

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The name of the launch.
    pub name: &'a str,
    /// Lines with the longest waits.
    pub lines: usize,
}

/// The text.
pub fn text(profile: &Profile, code: &Code, shown: Shown) -> String {
    let mut text = String::new();
    header(&mut text, profile, shown.name);
    if profile.findings.is_empty() {
        let _ = writeln!(text, "  no fault was found: {}", hint(profile.estimate.bound));
    }
    for (number, finding) in profile.findings.iter().enumerate() {
        let _ = writeln!(
            text,
            "  {}. {:>2.0} % of the time, {:.0} cycles: {}",
            number + 1,
            100.0 * finding.share,
            finding.cycles,
            in_words(finding)
        );
        let _ = writeln!(text, "     try: {}", finding.advice());
    }
    hottest(&mut text, profile, code, shown.lines);
    text
}

/// A fault with its place.
pub fn in_words(finding: &Finding) -> String {
    let Some(place) = &finding.place else { return finding.words.clone() };
    let further = match finding.further.len() {
        0 => String::new(),
        1 => format!(" and {}", finding.further[0]),
        count => format!(" and {count} more places"),
    };
    format!("{place}{further}: {}", finding.words)
}

/// The name of a resource that limits the occupancy.
pub(crate) fn limiter(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Warps => "warps",
        Limiter::Blocks => "blocks",
        Limiter::Registers => "registers",
        Limiter::SharedMemory => "shared memory",
    }
}

/// The meaning of a bound for a search for more speed.
pub(crate) fn hint(bound: Bound) -> &'static str {
    match bound {
        Bound::Memory => "bound by device memory: only fewer bytes make it faster",
        Bound::L2 => {
            "bound by L2: only fewer sectors from it, or more of them from L1 and shared memory, make it faster"
        }
        Bound::Issue => "bound by issue slots: only fewer instructions make it faster",
        Bound::LoadStore => "bound by loads and stores of an SM: only fewer or wider accesses make it faster",
        Bound::Unit(Unit::Tensor) => {
            "bound by the tensor unit: only fewer or narrower products make it faster"
        }
        Bound::Unit(Unit::Special) => "bound by special functions: only fewer of them make it faster",
        Bound::Unit(_) => "bound by an arithmetic unit: only fewer instructions for it make it faster",
        Bound::Atomics => "bound by atomic operations: only fewer of them make it faster",
        Bound::Latency => "bound by latency: waits are spread over many instructions",
    }
}

fn header(text: &mut String, profile: &Profile, name: &str) {
    let of = &profile.estimate;
    let _ = writeln!(
        text,
        "{name}: {:.0} cycles, {:.2} us on {}, bound by {}",
        of.cycles,
        of.microseconds,
        of.product,
        of.bound.name()
    );
    let step = profile.next_step.map_or(String::new(), |step| {
        let unit = if profile.limiter == Limiter::Registers { "registers" } else { "bytes" };
        format!(
            "; {} {unit} fewer: {} instead of {}",
            step.fewer,
            counted(u64::from(step.blocks), "block"),
            of.resident
        )
    });
    let _ = writeln!(
        text,
        "  occupancy {}/{} warps: {} of {} threads at a time on an SM, limited by {}{step}",
        profile.warps.0,
        profile.warps.1,
        counted(u64::from(of.resident), "block"),
        profile.usage.threads,
        limiter(profile.limiter)
    );
    if profile.warps.0 == 0 {
        let _ = writeln!(
            text,
            "  a block does not fit on an SM: the launch would fail; the figures are for one block at a time"
        );
    }
    let part = |&(bound, share): &(Bound, f64)| format!("{} {:.0} %", bound.name(), 100.0 * share);
    let busy = of.busy.iter().filter(|part| part.1 >= SHOWN_SHARE).map(part).collect::<Vec<_>>();
    let _ = writeln!(
        text,
        "  {} on {}, {} registers, {} bytes of shared memory; busy: {}",
        counted(of.blocks, "block"),
        counted(of.sms, "SM"),
        profile.usage.registers,
        profile.usage.shared,
        if busy.is_empty() { "nothing".to_owned() } else { busy.join(", ") }
    );
    let total: u64 = of.waited.iter().sum();
    let share = |cycles: u64| 100.0 * cycles as f64 / total.max(1) as f64;
    let mut waits: Vec<(u64, &str)> =
        Reason::ALL.into_iter().map(|reason| (of.waited[reason as usize], reason.name())).collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.0));
    let waits = waits.iter().filter(|wait| share(wait.0) >= 1.0);
    let waits = waits.map(|wait| format!("{} {:.0} %", wait.1, share(wait.0))).collect::<Vec<_>>();
    let _ =
        writeln!(text, "  waits: {}", if waits.is_empty() { "none".to_owned() } else { waits.join(", ") });
}

/// The figures of a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    /// Its first instruction.
    pub index: usize,
    pub issued: u64,
    /// Lanes, and of how many issues.
    pub lanes: (u64, u64),
    pub waited: [u64; REASONS],
    /// The instruction whose result its longest wait is for, and the cycles of that wait.
    pub awaited: Option<(usize, u64)>,
    pub sectors: (u64, u64),
    pub wavefronts: (u64, u64),
    pub requests: u64,
}

impl Sum {
    pub(crate) fn waits(&self) -> u64 {
        self.waited.iter().sum()
    }
}

/// The instructions added up by place.
pub(crate) fn by_place(profile: &Profile) -> BTreeMap<&Place, Sum> {
    let mut places: BTreeMap<&Place, Sum> = BTreeMap::new();
    for row in &profile.rows {
        let line = &profile.estimate.lines[row.index];
        let sum = places.entry(&row.place).or_insert_with(|| Sum { index: row.index, ..Sum::default() });
        sum.issued += line.issued;
        let (lanes, counted) =
            if line.acted > 0 { (line.active, line.acted) } else { (line.lanes, line.issued) };
        sum.lanes = (sum.lanes.0 + lanes, sum.lanes.1 + counted);
        let own = line.waited.iter().sum::<u64>();
        if let Some(setter) = line.awaited
            && sum.awaited.is_none_or(|other| own > other.1)
        {
            sum.awaited = Some((setter as usize, own));
        }
        sum.waited.iter_mut().zip(line.waited).for_each(|(sum, own)| *sum += own);
        let shape = &row.shape;
        sum.sectors = (sum.sectors.0 + shape.sectors, sum.sectors.1 + shape.least_sectors);
        sum.wavefronts = (sum.wavefronts.0 + shape.wavefronts, sum.wavefronts.1 + shape.least_wavefronts);
        sum.requests += shape.requests;
    }
    places
}

fn hottest(text: &mut String, profile: &Profile, code: &Code, count: usize) {
    let mut places: Vec<(&Place, Sum)> = by_place(profile).into_iter().collect();
    places.sort_by_key(|(place, sum)| (std::cmp::Reverse(sum.waits()), (*place).clone()));
    places.retain(|place| place.1.waits() > 0);
    places.truncate(count);
    let total: u64 = profile.estimate.waited.iter().sum();
    if !places.is_empty() {
        let _ = writeln!(text, "  the longest waits:");
    }
    for (place, sum) in places {
        let reason = Reason::ALL.into_iter().max_by_key(|&reason| sum.waited[reason as usize]);
        let words: Vec<&str> = code.text(place, sum.index).unwrap_or("").split_whitespace().collect();
        let shown: String = words.join(" ").chars().take(WIDTH).collect();
        let _ = writeln!(
            text,
            "    {:>5.1} % {:<12} {shown:<WIDTH$} issued {:>7}, {:>4.1} lanes; most for {}{}{}",
            100.0 * sum.waits() as f64 / total.max(1) as f64,
            place.to_string(),
            sum.issued,
            sum.lanes.0 as f64 / sum.lanes.1.max(1) as f64,
            reason.map_or("", Reason::name),
            awaited(profile, code, place, reason, &sum),
            shape(&sum)
        );
    }
}

/// The place whose result is waited for, if it is another one.
fn awaited(profile: &Profile, code: &Code, place: &Place, reason: Option<Reason>, sum: &Sum) -> String {
    let results = [Reason::Memory, Reason::Atomic, Reason::Shared, Reason::Scoreboard];
    let setter = sum.awaited.filter(|_| reason.is_some_and(|reason| results.contains(&reason)));
    let Some((index, line)) = setter.and_then(|(index, _)| Some((index, profile.estimate.lines.get(index)?)))
    else {
        return String::new();
    };
    let of = code.place(index, line.address, profile.by);
    if of == *place { String::new() } else { format!(" of {of}") }
}

fn shape(sum: &Sum) -> String {
    let mean = |value: u64| value as f64 / sum.requests.max(1) as f64;
    if sum.sectors.0 > 0 {
        format!(", {:.1} sectors of {:.1}", mean(sum.sectors.0), mean(sum.sectors.1))
    } else if sum.wavefronts.0 > 0 {
        format!(", {:.1} wavefronts of {:.1}", mean(sum.wavefronts.0), mean(sum.wavefronts.1))
    } else {
        String::new()
    }
}
