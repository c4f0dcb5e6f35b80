//! Templates: straight-line Ori functions that stand for an operation the chip lacks, and the splicing of one into the
//! code in place of the operation.
//!
//! It is here so that an algorithm is written once, as a text that can be read and proved, and not as calls of a
//! builder. A template is one block: `Parameters` first, `Return` last.

use oriole_ori::{
    Destination, File, Function, Instruction, Opcode, Origin, ParseError, Pseudo, Source, SourceKind, Value,
};

/// A template ready to be spliced.
pub struct Template {
    function: Function,
    /// Values that receive the operand words, in order.
    parameters: Vec<Value>,
    /// What the result words are, in order.
    results: Vec<Source>,
}

/// Why a text is no template, or does not fit where it should go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TemplateError {
    /// The text is not Ori.
    Parse(ParseError),
    /// The function has another shape than one block from `Parameters` to `Return`.
    Shape(&'static str),
    /// The operation has another number of words than the template.
    Words {
        /// Words of the template: operands and results.
        template: (usize, usize),
        /// Words of the operation.
        operation: (usize, usize),
    },
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TemplateError::Parse(error) => write!(f, "{error}"),
            TemplateError::Shape(what) => f.write_str(what),
            TemplateError::Words { template, operation } => {
                write!(f, "the template has {template:?} words, the operation {operation:?}")
            }
        }
    }
}

impl std::error::Error for TemplateError {}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// The text is no Ori function of the required shape.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        let mut function = oriole_ori::parse(text).map_err(TemplateError::Parse)?;
        if function.blocks.len() != 1 {
            return Err(TemplateError::Shape("a template has one block"));
        }
        let body = &mut function.blocks[0].instructions;
        let first = (!body.is_empty()).then(|| body.remove(0));
        let parameters = match first {
            Some(first) if first.opcode == Opcode::Pseudo(Pseudo::Parameters) => {
                first.destinations.iter().flat_map(|destination| destination.values.iter().copied()).collect()
            }
            _ => return Err(TemplateError::Shape("a template begins with `Parameters`")),
        };
        let results = match body.pop() {
            Some(last) if last.opcode == Opcode::Pseudo(Pseudo::Return) => {
                last.sources.iter().flat_map(words).collect()
            }
            _ => return Err(TemplateError::Shape("a template ends with `Return`")),
        };
        Ok(Template { function, parameters, results })
    }

    /// The instructions that do what `operation` says, with values of their own in `into`. A guard of the operation
    /// guards only the final copies to its destinations: everything before has no other effect.
    ///
    /// # Errors
    /// The operation has other words than the template.
    pub fn splice(
        &self,
        operation: &Instruction,
        into: &mut Function,
    ) -> Result<Vec<Instruction>, TemplateError> {
        let operands: Vec<Source> = operation.sources.iter().flat_map(words).collect();
        let targets: Vec<Value> =
            operation.destinations.iter().flat_map(|d| d.values.iter().copied()).collect();
        let shape = (operands.len(), targets.len());
        let own = (self.parameters.len(), self.results.len());
        if shape != own {
            return Err(TemplateError::Words { template: own, operation: shape });
        }
        let base = into.values.len() as u32;
        into.values.extend_from_slice(&self.function.values);
        for data in &mut into.values[base as usize..] {
            data.source = None;
        }
        let renamed = |value: Value| Value(value.0 + base);
        let mut code = Vec::with_capacity(self.function.blocks[0].instructions.len() + own.0 + own.1);
        for (&parameter, operand) in self.parameters.iter().zip(operands) {
            code.push(copy(renamed(parameter), operand, operation.origin));
        }
        for instruction in &self.function.blocks[0].instructions {
            let mut instruction = instruction.clone();
            instruction.origin = operation.origin;
            if let Some(guard) = &mut instruction.guard {
                guard.value = renamed(guard.value);
            }
            for destination in &mut instruction.destinations {
                destination.values.iter_mut().for_each(|value| *value = renamed(*value));
            }
            for source in &mut instruction.sources {
                source.for_each_value_mut(|value| *value = renamed(*value));
            }
            code.push(instruction);
        }
        for (&target, result) in targets.iter().zip(&self.results) {
            let mut result = result.clone();
            // What fixed it was the convention of the template's own return.
            result.fixed = None;
            result.for_each_value_mut(|value| *value = renamed(*value));
            let mut last = copy(target, result, operation.origin);
            last.guard = operation.guard;
            code.push(last);
        }
        Ok(code)
    }
}

fn copy(to: Value, from: Source, origin: Origin) -> Instruction {
    let mut copy = Instruction::new(Pseudo::Copy, origin);
    copy.destinations.push(Destination::new(File::R, [to]));
    copy.sources.push(from);
    copy
}

/// A source taken apart into words.
fn words(source: &Source) -> Vec<Source> {
    match &source.kind {
        SourceKind::Values(values) if values.len() > 1 => {
            values.iter().map(|&value| Source::value(value)).collect()
        }
        _ => vec![source.clone()],
    }
}
