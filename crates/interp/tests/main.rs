//! Tests of the interpreter: kernels with their results, faults, printing, and that every form is interpreted. One
//! program, so that it is linked once.

mod builtins;
mod faults;
mod forms;
mod kernels;
mod record;
mod tensor_memory;
