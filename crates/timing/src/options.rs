//! Questions about a launch: its grid, the state of L2, the effort. No time may enter.

/// The question.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Blocks of the grid whose time is wanted, if not those of the launch: blocks like those follow each other.
    pub blocks: Option<u64>,
    /// No data is in L2 when the kernel begins. Otherwise all of it is, if it fits.
    pub cold: bool,
    /// Run only the blocks that are replayed. The effects of blocks on each other are lost.
    pub sample: bool,
    /// Warp instructions of blocks that are replayed; no further block is taken when they are used up.
    pub room: u64,
    /// SMs that are replayed side by side, where the grid has as many blocks and no clusters.
    pub sms: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { blocks: None, cold: false, sample: false, room: 1_000_000, sms: 4 }
    }
}
