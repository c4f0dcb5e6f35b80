//! A launch as the interpreter and the simulator take it.
//!
//! It is here so that every command that runs a record runs the same launch. Nothing is run here.

use super::{Launch, Value};

impl Launch {
    /// The launch for the interpreter, which ends after this many steps if a number is given.
    pub fn for_interpreter(&self, step_limit: Option<u64>) -> oriole_interp::Launch {
        let arguments = self.arguments.iter().map(|argument| match argument {
            Value::Buffer(bytes) => oriole_interp::Arg::Buffer(bytes.clone()),
            Value::Scalar(bytes) => oriole_interp::Arg::Scalar(bytes.clone()),
            Value::Alias(of) => oriole_interp::Arg::Alias(*of),
            Value::Map(of, bytes) => oriole_interp::Arg::Map(*of, bytes.clone()),
            Value::Object(object) => oriole_interp::Arg::Object(object.clone()),
        });
        let whole = oriole_interp::Launch::new(self.entry.clone());
        oriole_interp::Launch {
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            shared_bytes: self.shared_bytes,
            args: arguments.collect(),
            bindings: self.bindings.clone(),
            budget: step_limit.unwrap_or(whole.budget),
            ..whole
        }
    }

    /// The launch for the simulator.
    pub fn for_simulator(&self, options: oriole_simulate::Options) -> oriole_simulate::Launch {
        let arguments = self.arguments.iter().map(|argument| match argument {
            Value::Buffer(bytes) => oriole_simulate::Argument::Buffer(bytes.clone()),
            Value::Scalar(bytes) => oriole_simulate::Argument::Value(bytes.clone()),
            Value::Alias(of) => oriole_simulate::Argument::Alias(*of),
            Value::Map(of, bytes) => oriole_simulate::Argument::Map(*of, bytes.clone()),
            Value::Object(object) => oriole_simulate::Argument::Object(object.clone()),
        });
        oriole_simulate::Launch {
            kernel: self.entry.clone(),
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            dynamic_shared: self.shared_bytes,
            arguments: arguments.collect(),
            bindings: self.bindings.clone(),
            options,
        }
    }
}
