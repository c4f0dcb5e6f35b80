//! The PTX interpreter: runs a kernel on given buffers and returns their final contents.
//!
//! It defines the meaning of a program, as one of three independent ways to a result. It reads the resolved bodies of
//! `oriole-hir` and nothing of later stages of the compiler: no arithmetic may be shared with the simulator or with
//! constant folding, and no machine code may enter.

mod access;
mod barrier;
mod builtin;
mod bulk;
mod calculate;
mod calls;
mod collective;
mod context;
mod decode;
mod events;
mod execute;
mod fault;
mod grid;
mod lane;
pub mod launch;
mod loose;
mod machine;
mod matrix;
mod mbarrier;
mod memory;
mod object;
mod observer;
mod printf;
pub mod program;
mod schedule;
mod shares;
mod step;
mod tensor;
mod tensor_memory;
mod texture;
pub mod value;
mod warp;
mod warp_group;
mod warp_matrix;
mod watch;

pub use decode::unsupported;
pub use fault::{Fault, FaultKind};
pub use grid::{run, run_observed};
pub use launch::{Arg, Choices, Launch, Outcome, buffer_address};
pub use observer::{
    Event, MemorySpace, MemoryUse, Observer, Region, Setting, StepFacts, Store, ThreadNumber, Use, Waiting,
    WarpAtBarrier,
};
pub use step::Semantics;

pub use program::{Function, InitialAddress, ModuleVariable, Program};
