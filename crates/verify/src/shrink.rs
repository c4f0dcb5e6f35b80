//! Makes a launch that shows a difference smaller, as long as it shows one.

use crate::data::{self, Wildness};
use crate::judge::{Judgement, code, judge};
use crate::places::buffer_mut;
use crate::report::What;
use crate::subject::{Options, Subject};
use crate::usage::Usage;
use oriole_interp::{Arg, Launch};

/// Most launches that are tried.
const TRIALS: u32 = 60;

/// The smallest launch that was found, and the difference that it shows.
pub fn shrink(
    subject: Subject,
    mut launch: Launch,
    mut what: What,
    usage: &Usage,
    options: &Options,
) -> (Launch, What) {
    let mut trials = 0;
    let mut attempt = |launch: &mut Launch, what: &mut What, change: &dyn Fn(&mut Launch) -> bool| {
        let mut smaller = launch.clone();
        if trials >= TRIALS || !change(&mut smaller) || smaller == *launch {
            return false;
        }
        trials += 1;
        let run = code(subject, &smaller, usage, options.step_limit);
        let Judgement::Different(found) = judge(subject, &smaller, usage, &run).0 else { return false };
        if std::mem::discriminant(&found) != std::mem::discriminant(what) {
            return false;
        }
        (*launch, *what) = (smaller, found);
        true
    };
    let kernel = subject.program.function(&launch.entry).map(|function| &function.body.directives);
    let cluster = kernel.and_then(|kernel| kernel.reqnctapercluster).unwrap_or([1; 3]);
    let fixed = kernel.is_some_and(|kernel| kernel.reqntid.is_some());
    for (axis, blocks) in cluster.into_iter().enumerate() {
        attempt(&mut launch, &mut what, &|launch| {
            launch.grid[axis] = blocks.max(1);
            true
        });
    }
    for axis in 0..3 {
        while !fixed
            && attempt(&mut launch, &mut what, &|launch| {
                launch.block[axis] = launch.block[axis].div_ceil(2);
                launch.block.iter().product::<u32>().is_multiple_of(usage.together.max(1))
            })
        {}
    }
    for number in 0..launch.args.len() {
        for value in [0u64, 1, 2, 4] {
            let changed = attempt(&mut launch, &mut what, &|launch| match &mut launch.args[number] {
                Arg::Scalar(bytes) if bytes.len() <= 8 && data_word(bytes) > value => {
                    let size = bytes.len();
                    bytes.copy_from_slice(&value.to_le_bytes()[..size]);
                    true
                }
                _ => false,
            });
            if changed {
                break;
            }
        }
    }
    let count = crate::places::buffers(&launch) + launch.extra.len();
    for number in 0..count {
        attempt(&mut launch, &mut what, &|launch| {
            let Some(bytes) = buffer_mut(launch, number) else { return false };
            *bytes = data::bytes(data::Kind::Integer, 4, Wildness::Zero, 0, bytes.len());
            true
        });
    }
    (cut(subject, launch, usage, options), what)
}

fn data_word(bytes: &[u8]) -> u64 {
    crate::compare::word(bytes)
}

/// The launch with buffers that end where the PTX uses them last.
fn cut(subject: Subject, launch: Launch, usage: &Usage, options: &Options) -> Launch {
    let outcome = oriole_interp::run(subject.program, &launch);
    let mut smaller = launch.clone();
    for (number, &touched) in outcome.touched.iter().enumerate() {
        if let Some(bytes) = buffer_mut(&mut smaller, number) {
            bytes.truncate(touched as usize);
        }
    }
    let run = code(subject, &smaller, usage, options.step_limit);
    match judge(subject, &smaller, usage, &run).0 {
        Judgement::Different(_) => smaller,
        _ => launch,
    }
}
