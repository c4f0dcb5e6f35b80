//! A launch of the interpreter as one of the simulator, with the same addresses of all buffers.

use oriole_interp::{Arg, Launch, Program, buffer_address};
use oriole_simulate::{Argument, Options};

/// The launch for the simulator.
pub fn simulated(program: &Program, launch: &Launch, step_limit: u64) -> oriole_simulate::Launch {
    let arguments = launch.args.iter().map(|argument| match argument {
        Arg::Buffer(bytes) => Argument::Buffer(bytes.clone()),
        Arg::Scalar(bytes) => Argument::Value(bytes.clone()),
        Arg::Alias(of) => Argument::Alias(*of),
        Arg::Map(of, bytes) => Argument::Map(*of, bytes.clone()),
        Arg::Object(object) => Argument::Object(object.clone()),
    });
    let count = buffers(launch) + launch.extra.len();
    oriole_simulate::Launch {
        kernel: launch.entry.clone(),
        grid: launch.grid,
        block: launch.block,
        cluster: launch.cluster,
        dynamic_shared: launch.shared_bytes,
        arguments: arguments.collect(),
        bindings: launch.bindings.clone(),
        options: Options {
            step_limit,
            places: (0..count).map(|number| buffer_address(program, number)).collect(),
            extra: launch.extra.clone(),
            ..Options::default()
        },
    }
}

/// How many arguments are buffers.
pub fn buffers(launch: &Launch) -> usize {
    launch.args.iter().filter(|argument| matches!(argument, Arg::Buffer(_))).count()
}

/// The bytes of a buffer by its number: those of arguments, then extra ones.
pub fn buffer_mut(launch: &mut Launch, number: usize) -> Option<&mut Vec<u8>> {
    let own = launch.args.iter_mut().filter_map(|argument| match argument {
        Arg::Buffer(bytes) => Some(bytes),
        _ => None,
    });
    own.chain(launch.extra.iter_mut()).nth(number)
}
