//! Values that move between registers: unchanged (`mov`) or in another format (`cvt`). Memory is in `memory`, exchange
//! between lanes in `threads`.

mod convert;
mod convert_integer;
mod convert_packed;
mod convert_random;
mod mov;

pub(crate) use convert::convert;
pub(crate) use mov::mov;
