//! A launch's part of the verdict: a difference is shrunk, and explained by its first store.

use crate::compare::{self, Place, differences};
use crate::coverage::CodeWatch;
use crate::judge::{Judgement, MOST_ELEMENTS, code, judge};
use crate::observe::PtxWatch;
use crate::places::simulated;
use crate::report::{Difference, Report, Verdict, What};
use crate::shrink;
use crate::subject::{Options, Subject, chip_of};
use crate::usage::Usage;
use oriole_interp::Launch;
use oriole_simulate::run_observed;

/// Judges a launch and adds that to a report.
pub fn add(subject: Subject, launch: &Launch, usage: &Usage, options: &Options, report: &mut Report) {
    let run = code(subject, launch, usage, options.step_limit);
    let (judgement, bytes) = judge(subject, launch, usage, &run);
    match judgement {
        Judgement::Same(loose) => {
            report.launches += 1;
            report.bytes += bytes;
            report.loose += u32::from(loose);
            report.coverage.add(run.coverage);
        }
        Judgement::Undecided(reason) => report.reasons.push(reason),
        Judgement::Different(what) => {
            let (launch, what) = shrink::shrink(subject, launch.clone(), what, usage, options);
            report.coverage.add(run.coverage);
            report.verdict = Verdict::Different(Box::new(explained(subject, launch, what, usage, options)));
        }
    }
}

/// A difference with its places in the PTX and in the code.
fn explained(subject: Subject, launch: Launch, what: What, usage: &Usage, options: &Options) -> Difference {
    let mut difference = Difference { what, ptx: None, code: None, launch };
    let launch = &difference.launch;
    let mut ptx = PtxWatch::default();
    let outcome = oriole_interp::run_observed(subject.program, launch, &mut ptx);
    let mut watch = CodeWatch { keeps: true, ..CodeWatch::default() };
    let ran =
        run_observed(subject.cubin, &simulated(subject.program, launch, options.step_limit), &mut watch);
    let chip = chip_of(subject.cubin);
    if !matches!(difference.what, What::Memory(_)) {
        let error = ran.error.as_ref();
        let pc = error.and_then(|error| error.pc).or(ran.hazards.first().map(|hazard| hazard.pc));
        let index =
            watch.steps.iter().position(|step| step.as_ref().is_some_and(|step| Some(step.address) == pc));
        difference.code = index.and_then(|index| watch.text(chip, index as u32));
        return difference;
    }
    let after = outcome.buffers.into_iter().flatten().collect();
    let base = compare::image(subject.program, launch, usage, after, outcome.extra, outcome.variables);
    let found = compare::image(subject.program, launch, usage, ran.buffers, ran.extra, ran.variables);
    let places = differences(&base, &found, MOST_ELEMENTS);
    // The element whose last store is the first in the order of the program.
    let address = |place: &Place| base[place.piece].address.map(|start| start + place.offset as u64);
    let mut last: std::collections::BTreeMap<u64, (usize, usize)> = Default::default();
    for place in &places {
        if let Some(address) = address(place) {
            last.insert(address, (usize::MAX, place.width));
        }
    }
    for (number, (_, address, bytes)) in ptx.stores.iter().enumerate() {
        let end = address + *bytes as u64;
        for (_, of) in last.range_mut(address.saturating_sub(7)..end) {
            of.0 = number;
        }
    }
    let first = last.iter().min_by_key(|(address, (number, _))| (*number, **address));
    let Some((&at, &(number, width))) = first else { return difference };
    let place = places.iter().find(|place| address(place) == Some(at)).copied();
    if let Some(place) = place {
        difference.what = What::Memory(compare::element(&base, &found, place));
    }
    difference.ptx = ptx.stores.get(number).map(|(site, ..)| site.clone());
    let covers = |store: &&crate::coverage::CodeStore| {
        store.address < at + width as u64 && at < store.address + u64::from(store.bytes)
    };
    let store = watch.stores.iter().rfind(covers);
    difference.code = store.and_then(|store| watch.text(chip, store.index));
    difference
}
