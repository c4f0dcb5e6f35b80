//! Kernels as lines of SASS with their control words, and what the model says of them.

use oriole_chip::Chip;
use oriole_cubin::{Cubin, KernelImage, Module, Parameter};
use oriole_sass::{encode, parse};
use oriole_simulate::{Argument, Launch};
use oriole_timing::{Estimate, Options, Recording};

/// A launch of lines of code.
#[derive(Clone)]
pub struct Kernel {
    pub chip: &'static str,
    /// Blocks and threads of a block.
    pub grid: u32,
    pub block: u32,
    pub registers: u32,
    pub shared: u32,
    /// Bytes of the two buffers.
    pub buffer: usize,
    pub options: Options,
    pub text: String,
}

impl Kernel {
    /// One block of a warp, on a chip with known banks.
    pub fn new(text: impl Into<String>) -> Kernel {
        Kernel {
            chip: "sm_90",
            grid: 1,
            block: 32,
            registers: 64,
            shared: 4096 + 1024,
            buffer: 1 << 16,
            options: Options::default(),
            text: text.into(),
        }
    }

    fn cubin(&self) -> Cubin {
        let chip: Chip = self.chip.parse().unwrap();
        let lines = self.text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate();
        let code = lines.map(|(index, line)| {
            let instruction = parse(chip, line, Some(index as u64 * 16));
            let instruction = instruction.unwrap_or_else(|error| panic!("{line}: {error}"));
            encode(chip, &instruction).unwrap_or_else(|error| panic!("{line}: {error}"))
        });
        let parameter = |offset| Parameter { offset, size: 8, ..Parameter::default() };
        let kernel = KernelImage {
            name: "k".into(),
            code: code.collect(),
            registers: self.registers,
            stack_size: Some(0),
            shared_size: Some(self.shared),
            parameters: vec![parameter(0), parameter(8)],
            parameter_size: 16,
            ..KernelImage::default()
        };
        let module = Module {
            sm: chip.as_target().number(),
            virtual_sm: chip.as_target().number(),
            kernels: vec![kernel.into()],
            ..Module::default()
        };
        oriole_cubin::read(&oriole_cubin::write(&module).unwrap()).unwrap()
    }

    /// The answer of the model.
    pub fn estimate(&self) -> Estimate {
        let found = self.recording().estimate();
        assert_eq!(found.forced, 0);
        found
    }

    /// Its run.
    pub fn recording(&self) -> Recording {
        let launch = Launch {
            kernel: "k".into(),
            grid: [self.grid, 1, 1],
            block: [self.block, 1, 1],
            cluster: None,
            dynamic_shared: 0,
            arguments: vec![Argument::Buffer(vec![0; self.buffer]), Argument::Buffer(vec![0; self.buffer])],
            bindings: Vec::new(),
            options: oriole_simulate::Options { check_hazards: false, ..Default::default() },
        };
        Recording::new(&self.cubin(), &launch, &self.options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Its cycles.
    pub fn cycles(&self) -> f64 {
        self.estimate().cycles
    }
}

/// A line, repeated; `@` stands for the number of a register of its own.
pub fn repeated(count: usize, line: &str) -> String {
    (0..count).map(|at| line.replace('@', &(40 + at % 20).to_string()) + "\n").collect()
}

/// Code before the given lines: `R8` is the thread, `R10` and `R12` are the addresses of the buffers, `UR4` describes
/// global memory. `R14` is `R10` and the thread's offset at a stride in bytes.
pub fn framed(stride: u32, body: &str) -> String {
    format!(
        "S2R R8, SR_TID.X ; stall=2 write=0
         LDC.64 R10, c[0x0][0x210] ; stall=2 write=1
         LDC.64 R12, c[0x0][0x218] ; stall=2 write=1
         ULDC.64 UR4, c[0x0][0x208] ; stall=2
         IMAD.WIDE.U32 R14, R8, {stride:#x}, R10 ; stall=6 wait=0,1
         IMAD.SHL.U32 R9, R8, 0x4, RZ ; stall=6
         {body}
         EXIT ; stall=5"
    )
}
