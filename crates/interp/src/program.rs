//! The program that a launch runs: functions with resolved bodies, and the variables of the module.

use oriole_chip::{Chip, MatrixUnit};
use oriole_diagnostics::Diagnostic;
use oriole_hir::Body;
use oriole_hir::module::Module;
use oriole_ptx::Space;

/// A program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Kernels and functions that have a body.
    pub functions: Vec<Function>,
    /// Variables of the module.
    pub variables: Vec<ModuleVariable>,
    /// The accumulation of an MMA on the chip: the only behaviour that the language leaves to it.
    pub matrix_unit: MatrixUnit,
}

impl Default for Program {
    /// An empty program on the default chip.
    fn default() -> Program {
        Program { functions: Vec::new(), variables: Vec::new(), matrix_unit: Chip::DEFAULT.matrix_unit() }
    }
}

/// A kernel or function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Body.
    pub body: Body,
}

/// A variable of the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleVariable {
    /// Name.
    pub name: String,
    /// Space: global, constant or shared.
    pub space: Space,
    /// Bytes; 0 for an `extern` array without a length.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// First bytes; those that are missing are zero.
    pub bytes: Vec<u8>,
    /// Addresses to be put into the bytes.
    pub addresses: Vec<InitialAddress>,
}

/// The address of a symbol in an initializer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InitialAddress {
    /// Offset in the variable.
    pub offset: u64,
    /// Bytes of the address.
    pub size: u32,
    /// Variable or function.
    pub symbol: String,
    /// Added to the address.
    pub addend: i64,
    /// `generic(symbol)`: the generic address instead of the one in its own space.
    pub generic: bool,
    /// The index of the one byte taken from the address, 0 for the lowest; `None` for the whole address.
    pub byte: Option<u8>,
}

impl Program {
    /// The program of a text.
    ///
    /// # Errors
    /// The first error of the text.
    pub fn of_text(text: &str) -> Result<Program, Diagnostic> {
        let mut module = oriole_hir::resolve_module(text);
        match module.diagnostics.iter().position(Diagnostic::is_error) {
            Some(first) => Err(module.diagnostics.swap_remove(first)),
            None => Ok(Program::from_module(&module)),
        }
    }

    /// The program of a resolved module. The caller checks whether the module has errors: the bodies of functions with
    /// errors lack instructions. The chip is the one that `.target` names, or the default chip.
    pub fn from_module(module: &Module) -> Program {
        let mut functions: Vec<Function> = module
            .functions
            .iter()
            .map(|(name, _, resolved)| Function { name: name.clone(), body: resolved.body.clone() })
            .collect();
        for (alias, of) in &module.aliases {
            if let Some(resolved) = module.function(of) {
                functions.push(Function { name: alias.clone(), body: resolved.body.clone() });
            }
        }
        let variables = module
            .all_variables()
            .map(|variable| {
                let initial = variable.initial.clone().unwrap_or_default();
                ModuleVariable {
                    name: variable.name.clone(),
                    space: variable.info.space,
                    size: variable.info.size,
                    align: variable.info.align,
                    bytes: initial.bytes,
                    addresses: initial
                        .relocations
                        .into_iter()
                        .map(|relocation| InitialAddress {
                            offset: relocation.offset,
                            size: u32::from(relocation.width),
                            symbol: relocation.symbol,
                            addend: relocation.addend,
                            generic: relocation.generic,
                            byte: relocation.byte,
                        })
                        .collect(),
                }
            })
            .collect();
        Program {
            functions,
            variables,
            matrix_unit: module.header.chip().unwrap_or(Chip::DEFAULT).matrix_unit(),
        }
    }

    /// This program on another chip.
    pub fn on(self, chip: Chip) -> Program {
        Program { matrix_unit: chip.matrix_unit(), ..self }
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }
}
