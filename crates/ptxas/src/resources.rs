//! The report of `-v`: the resources of each kernel and function, in the words that scripts and autotuners look for.

use crate::{Log, Severity};
use std::fmt::Write as _;

/// The resources of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resources {
    /// The name of the chip.
    pub chip: String,
    /// Bytes of global variables.
    pub global_bytes: u64,
    /// Bytes of constant banks of the module as a whole, by bank; empty for chips without a report of them.
    pub constant_bytes: Vec<(u8, u64)>,
    /// The kernels.
    pub kernels: Vec<KernelNeeds>,
    /// The other functions.
    pub functions: Vec<FunctionNeeds>,
    /// Compile time in microseconds.
    pub microseconds: u64,
}

/// The resources of a kernel or function by itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionNeeds {
    /// Its name.
    pub name: String,
    /// Bytes of its stack frame.
    pub frame_bytes: u64,
    /// Bytes of spill stores.
    pub spill_store_bytes: u64,
    /// Bytes of spill loads.
    pub spill_load_bytes: u64,
}

/// The launch resources of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelNeeds {
    /// As a function.
    pub function: FunctionNeeds,
    /// Registers of a thread.
    pub registers: u32,
    /// Named barriers.
    pub barriers: u32,
    /// Bytes of the stack of a thread, callees included.
    pub stack_bytes: u64,
    /// Bytes of static shared memory, without the reserved part.
    pub shared_bytes: u64,
    /// Bytes of constant banks, by bank; empty for chips without a report of them.
    pub constant_bytes: Vec<(u8, u64)>,
    /// Textures that it names.
    pub textures: usize,
    /// Samplers that it names.
    pub samplers: usize,
    /// Surfaces that it names.
    pub surfaces: usize,
}

impl Resources {
    /// Reports everything.
    pub fn say(&self, log: &mut Log) {
        let mut module = format!("{} bytes gmem", self.global_bytes);
        banks(&mut module, &self.constant_bytes);
        log.say(Severity::Info, &module);
        let milliseconds = self.microseconds as f64 / 1e3;
        for kernel in &self.kernels {
            let name = &kernel.function.name;
            log.say(Severity::Info, &format!("Compiling entry function '{name}' for '{}'", self.chip));
            kernel.function.say(log);
            log.say(Severity::Info, &kernel.used());
            log.say(Severity::Info, &format!("Compile time = {milliseconds:.3} ms"));
        }
        for function in &self.functions {
            function.say(log);
        }
    }

    /// Warns of spills and of local memory, if requested.
    pub fn warn(&self, spills: bool, local: bool, log: &mut Log) {
        let kernels = self.kernels.iter().map(|kernel| &kernel.function);
        for function in kernels.chain(&self.functions) {
            let FunctionNeeds { name, frame_bytes, spill_store_bytes: stores, spill_load_bytes: loads } =
                function;
            if local && *frame_bytes > 0 {
                let text = format!(
                    "Local memory used for function '{name}', size of stack frame: {frame_bytes} bytes"
                );
                log.say(Severity::Warning, &text);
            }
            if spills && stores + loads > 0 {
                let text = format!(
                    "Registers are spilled to local memory in function '{name}', {stores} bytes spill stores, {loads} bytes spill loads"
                );
                log.say(Severity::Warning, &text);
            }
        }
    }
}

impl FunctionNeeds {
    fn say(&self, log: &mut Log) {
        log.say(Severity::Info, &format!("Function properties for {}", self.name));
        log.continue_info(&format!(
            "{} bytes stack frame, {} bytes spill stores, {} bytes spill loads",
            self.frame_bytes, self.spill_store_bytes, self.spill_load_bytes
        ));
    }
}

impl KernelNeeds {
    fn used(&self) -> String {
        let mut line = format!("Used {} registers, used {} barriers", self.registers, self.barriers);
        if self.stack_bytes > 0 {
            let _ = write!(line, ", {} bytes cumulative stack size", self.stack_bytes);
        }
        if self.shared_bytes > 0 {
            let _ = write!(line, ", {} bytes smem", self.shared_bytes);
        }
        banks(&mut line, &self.constant_bytes);
        // Chips without a report of constant banks have no further report.
        if !self.constant_bytes.is_empty() {
            for (count, what) in
                [(self.textures, "textures"), (self.surfaces, "surfaces"), (self.samplers, "samplers")]
            {
                if count > 0 {
                    let _ = write!(line, ", {count} {what}");
                }
            }
        }
        line
    }
}

fn banks(line: &mut String, banks: &[(u8, u64)]) {
    for (number, bytes) in banks.iter().filter(|(_, bytes)| *bytes > 0) {
        let _ = write!(line, ", {bytes} bytes cmem[{number}]");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;
    use expect_test::expect;

    fn needs(name: &str, frame: u64, spilled: u64) -> FunctionNeeds {
        let name = name.to_owned();
        FunctionNeeds {
            name,
            frame_bytes: frame,
            spill_store_bytes: spilled,
            spill_load_bytes: spilled + 4 * spilled.min(1),
        }
    }

    fn resources() -> Resources {
        let plain = KernelNeeds { function: needs("k", 0, 0), registers: 8, ..KernelNeeds::default() };
        let full = KernelNeeds {
            function: needs("sp", 224, 156),
            registers: 32,
            barriers: 1,
            stack_bytes: 224,
            shared_bytes: 2048,
            constant_bytes: vec![(0, 364), (2, 0)],
            textures: 1,
            ..KernelNeeds::default()
        };
        Resources {
            chip: "sm_80".to_owned(),
            global_bytes: 48,
            constant_bytes: vec![(3, 16), (4, 8)],
            kernels: vec![plain, full],
            functions: vec![needs("f", 16, 0)],
            microseconds: 1500,
        }
    }

    fn said(log: &Log) -> String {
        log.entries().iter().map(|entry| entry.text.as_str()).collect()
    }

    #[test]
    fn the_report_has_the_words_of_ptxas() {
        let mut log = Log::new("ptxas", Form::Program);
        resources().say(&mut log);
        expect![[r#"
            ptxas info    : 48 bytes gmem, 16 bytes cmem[3], 8 bytes cmem[4]
            ptxas info    : Compiling entry function 'k' for 'sm_80'
            ptxas info    : Function properties for k
                0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
            ptxas info    : Used 8 registers, used 0 barriers
            ptxas info    : Compile time = 1.500 ms
            ptxas info    : Compiling entry function 'sp' for 'sm_80'
            ptxas info    : Function properties for sp
                224 bytes stack frame, 156 bytes spill stores, 160 bytes spill loads
            ptxas info    : Used 32 registers, used 1 barriers, 224 bytes cumulative stack size, 2048 bytes smem, 364 bytes cmem[0], 1 textures
            ptxas info    : Compile time = 1.500 ms
            ptxas info    : Function properties for f
                16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
        "#]]
        .assert_eq(&said(&log));
    }

    #[test]
    fn warnings_of_memory() {
        let mut log = Log::new("ptxas", Form::Program);
        resources().warn(false, false, &mut log);
        assert_eq!(said(&log), "");
        resources().warn(true, true, &mut log);
        assert!(!log.has_failed());
        expect![[r#"
            ptxas warning : Local memory used for function 'sp', size of stack frame: 224 bytes
            ptxas warning : Registers are spilled to local memory in function 'sp', 156 bytes spill stores, 160 bytes spill loads
            ptxas warning : Local memory used for function 'f', size of stack frame: 16 bytes
        "#]]
        .assert_eq(&said(&log));
    }
}
