//! The model as its users see it: kernels of a few lines of SASS whose time has a known shape.

mod kernels;
mod memory;
mod pipes;
mod remedies;
