//! Lowers a body: its directives, its parameters, and its statements in order.

use crate::context::{Lower, Lowered};
use crate::error::Errors;
use crate::{LowerError, dispatch, limits};
use oriole_hir::{Instruction, Statement};
use oriole_ori::Origin;
use oriole_ptx::Space;

impl Lower<'_> {
    /// Lowers every statement.
    ///
    /// # Errors
    /// All constructs that cannot be lowered; lowering continues after each refused statement.
    pub fn run(mut self) -> Result<(), Vec<LowerError>> {
        let mut errors = Errors::default();
        self.directives();
        self.receive_parameters().unwrap_or_else(|error| errors.add(error));
        self.end_prelude();
        let mut statements = self.body.statements.iter();
        self.make_room(statements.as_slice());
        while let Some(statement) = statements.next() {
            match statement {
                Statement::Label(label) => {
                    self.place_label(*label);
                    self.make_room(statements.as_slice());
                }
                Statement::Pragma(_) => {}
                Statement::Instruction(instruction) => {
                    if let Err(error) = self.statement(instruction) {
                        errors.add(error);
                        self.pending.clear();
                    }
                    self.ordinal += 1;
                }
            }
        }
        // Control that runs off the end of the text leaves the function.
        self.guard = None;
        if !self.terminated {
            self.b.set_origin(Origin(self.ordinal.saturating_sub(1)));
            self.leave_function().unwrap_or_else(|error| errors.add(error));
        }
        self.complete_accesses();
        limits::frame(self.b.function()).unwrap_or_else(|error| errors.add(error));
        errors.finish()
    }

    /// Reserves space in the current block up to the next label: most statements become one instruction.
    fn make_room(&mut self, rest: &[Statement]) {
        let is_label = |statement: &Statement| matches!(statement, Statement::Label(_));
        self.b.reserve(rest.iter().position(is_label).unwrap_or(rest.len()));
    }

    fn directives(&mut self) {
        let bytes = self.body.parameters.iter().map(|p| u64::from(p.offset) + p.size()).max().unwrap_or(0);
        let limit = limits::register_limit(self.body, self.chip);
        let threads = self.body.directives.block_threads();
        // It matters where the occupancy is known.
        let counted =
            self.body.variables.values().filter(|it| threads.is_some() && it.space == Space::Shared);
        let shared: u64 = counted.map(|variable| variable.size).fold(0, u64::saturating_add);
        let function = self.b.function_mut();
        function.register_limit = limit;
        function.block_threads = threads;
        function.shared_bytes = u32::try_from(shared).unwrap_or(u32::MAX);
        function.parameter_bytes = bytes as u32;
    }

    fn statement(&mut self, instruction: &Instruction) -> Lowered {
        if self.terminated {
            // Code after an unconditional transfer, without a label, is unreachable.
            let block = self.b.new_block();
            self.open(block);
        }
        self.begin_statement(instruction.guard);
        dispatch::instruction(self, instruction)?;
        self.settle();
        Ok(())
    }
}
