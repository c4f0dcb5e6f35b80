//! The judgement of one launch: what PTX defines of its result, and whether the code has that.
//!
//! The PTX is run several times, each time with other choices where the language leaves one. A result that depends on
//! the order of threads, or on memory that nothing has written, is not compared byte by byte.

use crate::compare::{self, Image, Place, changed, differences};
use crate::coverage::{CodeWatch, Coverage};
use crate::data::{self, Kind};
use crate::places::simulated;
use crate::report::What;
use crate::subject::Subject;
use crate::usage::Usage;
use oriole_interp::{Choices, Launch};
use oriole_simulate::{Fault, run_observed};

/// Orders of threads that are tried.
const ORDERS: std::ops::RangeInclusive<u8> = 1..=3;
/// Bytes of memory and registers that nothing has written, where they are not zero.
const FILL: u8 = 0xa5;
/// Seeds of roundings that are tried.
const ROUNDINGS: std::ops::RangeInclusive<u64> = 2..=9;
/// By how much the range of these results is widened.
const WIDENING: f64 = 2.0;
/// Units of the last place by which floats may differ where some results of the launch are open.
const CLOSE: f64 = 16.0;
/// The same for those of which nothing is said then.
const NEARLY: f64 = 4096.0;
/// Most elements that are looked at where results may differ.
pub const MOST_ELEMENTS: usize = 1 << 20;

/// A run of the code.
pub struct CodeRun {
    /// Memory afterwards.
    pub image: Image,
    /// Executed code.
    pub coverage: Coverage,
    /// Why the run says nothing.
    pub undecided: Option<String>,
    /// A fault other than in memory.
    pub wrong: Option<What>,
}

/// The result of one launch.
pub enum Judgement {
    /// Equal, or as near as PTX asks for (`true`).
    Same(bool),
    /// Different.
    Different(What),
    /// Nothing can be said.
    Undecided(String),
}

/// The memory after the PTX has run with some choices.
///
/// # Errors
/// How it ends otherwise.
pub fn interpreted(
    subject: Subject,
    launch: &Launch,
    usage: &Usage,
    choices: Choices,
) -> Result<Image, String> {
    let launch = Launch { choices, ..launch.clone() };
    let outcome = oriole_interp::run(subject.program, &launch);
    if let Some(fault) = outcome.error {
        return Err(fault.to_string());
    }
    let after = outcome.buffers.into_iter().flatten().collect();
    Ok(compare::image(subject.program, &launch, usage, after, outcome.extra, outcome.variables))
}

/// Runs the code.
pub fn code(subject: Subject, launch: &Launch, usage: &Usage, step_limit: u64) -> CodeRun {
    let mut watch = CodeWatch::default();
    let input = simulated(subject.program, launch, step_limit);
    let outcome = run_observed(subject.cubin, &input, &mut watch);
    let mut run = CodeRun { image: Vec::new(), coverage: watch.coverage, undecided: None, wrong: None };
    if let Some(error) = outcome.error {
        match error.fault {
            Fault::Chip(_)
            | Fault::NoKernel(_)
            | Fault::Launch(_)
            | Fault::Decode(_)
            | Fault::NotSimulated(_)
            | Fault::Tensor(_)
            | Fault::StepLimit => run.undecided = Some(format!("the code: {error}")),
            _ => run.wrong = Some(What::Fault(error.to_string())),
        }
    } else if let Some(hazard) = outcome.hazards.first() {
        run.wrong = Some(What::Hazard(hazard.to_string()));
    }
    run.image =
        compare::image(subject.program, launch, usage, outcome.buffers, outcome.extra, outcome.variables);
    run
}

/// The results that PTX allows by other choices.
struct Others {
    /// Of other orders of threads, and why one of them is none.
    orders: Vec<Image>,
    fails: Option<String>,
    /// With other contents of bytes that nothing has written.
    filled: Option<Image>,
    /// With other roundings.
    rounded: Vec<Image>,
}

impl Others {
    fn of(subject: Subject, launch: &Launch, usage: &Usage) -> Others {
        let run = |choices| interpreted(subject, launch, usage, choices);
        let mut others = Others { orders: Vec::new(), fails: None, filled: None, rounded: Vec::new() };
        for order in ORDERS {
            match run(Choices { order, ..Choices::default() }) {
                Ok(image) => others.orders.push(image),
                Err(reason) => others.fails = Some(reason),
            }
        }
        match run(Choices { fill: FILL, ..Choices::default() }) {
            Ok(image) => others.filled = Some(image),
            Err(reason) => others.fails = Some(reason),
        }
        let rounded = ROUNDINGS.map(|rounding| run(Choices { rounding, ..Choices::default() }));
        others.rounded = rounded.filter_map(Result::ok).collect();
        others
    }
}

/// Judges a launch; `run` is the code's result.
pub fn judge(subject: Subject, launch: &Launch, usage: &Usage, run: &CodeRun) -> (Judgement, u64) {
    let base = match interpreted(subject, launch, usage, Choices::default()) {
        Ok(base) => base,
        Err(reason) => return (Judgement::Undecided(reason), 0),
    };
    let bytes = changed(&base);
    if let Some(reason) = &run.undecided {
        return (Judgement::Undecided(reason.clone()), 0);
    }
    if run.wrong.is_none() && differences(&base, &run.image, 1).is_empty() {
        return (Judgement::Same(false), bytes);
    }
    let others = Others::of(subject, launch, usage);
    (judged_by(&base, &others, run, usage), bytes)
}

fn judged_by(base: &Image, others: &Others, run: &CodeRun, usage: &Usage) -> Judgement {
    let varies = |image: &Image| !differences(base, image, 1).is_empty();
    let ordered = others.fails.is_some() || others.orders.iter().any(varies);
    let unwritten = others.filled.as_ref().is_some_and(varies);
    let why = |what: &str| Judgement::Undecided(format!("the result depends on {what}"));
    if let Some(wrong) = &run.wrong {
        return match wrong {
            What::Fault(text) if text.contains("is not aligned") && usage.matrices => {
                Judgement::Undecided("the address of a matrix is not aligned".to_owned())
            }
            What::Fault(_) if unwritten => why("values that PTX leaves undefined"),
            What::Fault(_) if ordered => why("the order of threads"),
            What::Fault(_) if others.rounded.iter().any(varies) => why("bits that PTX leaves open"),
            wrong => Judgement::Different(wrong.clone()),
        };
    }
    let all = others.orders.iter().chain(&others.filled);
    if all.clone().any(|image| differences(image, &run.image, 1).is_empty()) {
        return Judgement::Same(true);
    }
    let places = differences(base, &run.image, MOST_ELEMENTS);
    let allowed: Vec<&Image> = std::iter::once(base).chain(all).chain(&others.rounded).collect();
    let loose = others.rounded.iter().any(varies);
    let first = places.iter().find(|place| {
        let close = loose && is_close(base, &run.image, **place, CLOSE);
        !close && !is_near(&allowed, &run.image, **place)
    });
    let Some(&first) = first else { return Judgement::Same(true) };
    if unwritten {
        return why("values that PTX leaves undefined");
    }
    if ordered {
        return why("the order of threads");
    }
    let rounded = others.rounded.iter().any(|image| {
        let places = differences(base, image, MOST_ELEMENTS);
        places.contains(&first) || base[first.piece].kind == Kind::Integer && !places.is_empty()
    });
    if rounded || loose && is_close(base, &run.image, first, NEARLY) {
        return why("bits that PTX leaves open");
    }
    if usage.sparse {
        return why("the selectors of a sparse matrix, which must be valid");
    }
    Judgement::Different(What::Memory(compare::element(base, &run.image, first)))
}

/// Whether an element differs by no more than that many units of the last place of its format. Products that are subtracted from
/// each other may hide the freedom of both from the runs that look for it.
fn is_close(base: &Image, found: &Image, place: Place, units: f64) -> bool {
    let piece = &base[place.piece];
    let unit = match (piece.kind, place.width) {
        (Kind::F32, 4) => f64::from(f32::EPSILON),
        (Kind::F64, 8) => f64::EPSILON,
        (Kind::F16, 2) => 2f64.powi(-10),
        (Kind::BF16, 2) => 2f64.powi(-7),
        _ => return false,
    };
    let element = compare::element(base, found, place);
    let [a, b] =
        [&element.expected, &element.found].map(|bytes| data::decode(piece.kind, compare::word(bytes)));
    (a - b).abs() <= units * unit * a.abs().max(b.abs())
}

/// Whether an element of the code is in the range of the values that PTX allows, widened a little.
fn is_near(allowed: &[&Image], found: &Image, place: Place) -> bool {
    let piece = &allowed[0][place.piece];
    let range = place.offset..place.offset + place.width;
    let Some(other) = found.iter().find(|other| other.name == piece.name) else { return false };
    let kind = match (piece.kind, place.width) {
        (Kind::Integer, 4) => Kind::F32,
        (Kind::Integer, 8) => Kind::F64,
        (kind, _) => kind,
    };
    if kind.bytes() != Some(place.width) {
        return false;
    }
    let value = |bytes: &[u8]| bytes.get(range.clone()).map(|bytes| data::decode(kind, compare::word(bytes)));
    let Some(found) = value(&other.bytes) else { return false };
    let values: Vec<f64> = allowed.iter().filter_map(|image| value(&image[place.piece].bytes)).collect();
    if values.iter().all(|value| value.to_bits() == values[0].to_bits()) {
        return false;
    }
    if values.iter().any(|value| !value.is_finite()) {
        return true;
    }
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let slack = (high - low) * WIDENING;
    (low - slack..=high + slack).contains(&found)
}
