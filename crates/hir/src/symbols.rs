//! The names of a module: the declarations of each unit, and their union.
//!
//! A function may use every name of its module, and the declarations of one name must agree. No body is read, so that a
//! change inside a function changes no name.

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_syntax::ast::{Item, Unit};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::module_context::HeaderView;
use crate::signature::{FunctionHead, function_head};
use crate::variable::declared_variables;
use crate::{GlobalInfo, Header, Linkage, ModuleContext, SignatureInfo};

/// A declaration of a unit; no position of another unit and no body enters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Declared {
    /// A variable.
    Variable {
        /// Name.
        name: String,
        /// Place of the name in the unit.
        span: Span,
        /// Type, size, linkage.
        info: GlobalInfo,
    },
    /// A function or kernel.
    Function {
        /// Name.
        name: String,
        /// Place of the name in the unit.
        span: Span,
        /// Kind and signature.
        info: SignatureInfo,
        /// Linkage word.
        linkage: Option<Linkage>,
    },
    /// An alias.
    Alias {
        /// The new name.
        name: String,
        /// Place of the new name in the unit.
        span: Span,
        /// The function's name.
        function: String,
    },
}

impl Declared {
    /// The name.
    pub fn name(&self) -> &str {
        match self {
            Declared::Variable { name, .. }
            | Declared::Function { name, .. }
            | Declared::Alias { name, .. } => name,
        }
    }

    /// Place of the name in the unit.
    pub fn span(&self) -> Span {
        match self {
            Declared::Variable { span, .. }
            | Declared::Function { span, .. }
            | Declared::Alias { span, .. } => *span,
        }
    }
}

/// The declarations of a unit.
pub fn declarations(unit: &Unit, context: &dyn ModuleContext) -> Vec<Declared> {
    let header = HeaderView::new(context);
    let mut found = Vec::new();
    for item in unit.items() {
        match item {
            Item::Variable(variable) => {
                // Diagnostics are those of `module_variables`, which reads the same declarations.
                for (_, variable, _) in declared_variables(&variable, &mut Vec::new()) {
                    found.push(Declared::Variable {
                        name: variable.name,
                        span: variable.name_span,
                        info: variable.info,
                    });
                }
            }
            Item::Function(function) => {
                if let Some(FunctionHead { name, name_span, info, linkage, .. }) =
                    function_head(&function, &header)
                {
                    found.push(Declared::Function { name, span: name_span, info, linkage });
                }
            }
            Item::Alias(alias) => {
                if let (Some(name), Some(function)) = (alias.alias(), alias.function()) {
                    found.push(Declared::Alias {
                        name: name.text().to_string(),
                        span: name.span(),
                        function: function.text().to_string(),
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// The names of a module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Symbols {
    header: Header,
    globals: FxHashMap<String, (GlobalInfo, usize)>,
    functions: FxHashMap<String, (SignatureInfo, usize)>,
    aliases: Vec<(String, String)>,
    /// The functions that are `.weak`.
    weak: FxHashSet<String>,
}

impl ModuleContext for Symbols {
    fn header(&self) -> Header {
        self.header.clone()
    }

    fn global(&self, name: &str) -> Option<GlobalInfo> {
        self.globals.get(name).map(|entry| entry.0.clone())
    }

    fn signature(&self, name: &str) -> Option<SignatureInfo> {
        self.functions.get(name).map(|entry| entry.0.clone())
    }
}

impl Symbols {
    /// The unit that defines a variable, or declares it where no unit defines it.
    pub fn defining_unit(&self, name: &str) -> Option<usize> {
        self.globals.get(name).map(|known| known.1)
    }

    /// `.alias` lines: alias, function.
    pub fn aliases(&self) -> &[(String, String)] {
        &self.aliases
    }

    /// Merges the declarations of all units, given in file order. Diagnostics come with the index of their unit.
    pub fn new(header: Header, units: &[&[Declared]]) -> (Symbols, Vec<(usize, Diagnostic)>) {
        let mut symbols = Symbols { header, ..Symbols::default() };
        let mut diagnostics = Vec::new();
        for (unit, declared) in units.iter().enumerate() {
            for declared in *declared {
                diagnostics.extend(symbols.add(unit, declared).map(|found| (unit, found)));
            }
        }
        (symbols, diagnostics)
    }

    fn add(&mut self, unit: usize, declared: &Declared) -> Option<Diagnostic> {
        match declared {
            Declared::Variable { name, span, info } => self.add_variable(unit, name, *span, info),
            Declared::Function { name, span, info, linkage } => {
                if *linkage == Some(Linkage::Weak) {
                    self.weak.insert(name.clone());
                }
                self.add_function(unit, name, *span, info)
            }
            Declared::Alias { name, span, function } => self.add_alias(unit, name, *span, function),
        }
    }

    fn add_variable(&mut self, unit: usize, name: &str, span: Span, info: &GlobalInfo) -> Option<Diagnostic> {
        if self.functions.contains_key(name) {
            return clash(Code::DuplicateName, span, format!("`{name}` is also a function"), name);
        }
        let Some((known, place)) = self.globals.get_mut(name) else {
            self.globals.insert(name.to_string(), (info.clone(), unit));
            return None;
        };
        let declaration = |info: &GlobalInfo| info.linkage == Some(Linkage::Extern);
        let open = known.size == 0 || info.size == 0;
        if known.space != info.space || known.ty != info.ty || (known.size != info.size && !open) {
            let message = format!("two declarations of `{name}` differ");
            return clash(Code::DeclarationMismatch, span, message, name);
        }
        if !declaration(known) && !declaration(info) {
            return clash(Code::DuplicateName, span, format!("`{name}` is defined twice"), name);
        }
        if declaration(known) && info.linkage.is_none() {
            let message = format!("`{name}` is declared `.extern` and defined without `.visible`");
            return clash(Code::DeclarationMismatch, span, message, name);
        }
        if declaration(known) {
            *known = info.clone();
            *place = unit;
        }
        None
    }

    fn add_function(
        &mut self,
        unit: usize,
        name: &str,
        span: Span,
        info: &SignatureInfo,
    ) -> Option<Diagnostic> {
        if self.globals.contains_key(name) {
            return clash(Code::DuplicateName, span, format!("`{name}` is also a variable"), name);
        }
        let Some((known, place)) = self.functions.get_mut(name) else {
            self.functions.insert(name.to_string(), (info.clone(), unit));
            return None;
        };
        if !known.external {
            return clash(Code::DuplicateName, span, format!("`{name}` is defined twice"), name);
        }
        let differ = known.is_entry != info.is_entry || !same_signature(known, info);
        // A definition replaces a declaration even where they differ: later declarations are checked against it.
        if !info.external {
            *known = info.clone();
            *place = unit;
        }
        let message = || format!("two declarations of `{name}` differ in their parameters");
        if differ { clash(Code::DeclarationMismatch, span, message(), name) } else { None }
    }

    /// One error is enough: a name with a wrong alias is not missing as well.
    fn count_as_defined(&mut self, name: &str) {
        if let Some((info, _)) = self.functions.get_mut(name) {
            info.external = false;
        }
    }

    fn add_alias(&mut self, unit: usize, name: &str, span: Span, function: &str) -> Option<Diagnostic> {
        let Some((mut info, _)) = self.functions.get(function).cloned() else {
            return clash(Code::UnknownName, span, format!("no function is called `{function}`"), function);
        };
        let is_entry = |name: &str| self.functions.get(name).is_some_and(|(info, _)| info.is_entry);
        if let Some(entry) = [name, function].into_iter().find(|name| is_entry(name)) {
            let entry = entry.to_owned();
            self.count_as_defined(name);
            let message = format!("`{entry}` is a kernel: it has no alias and is none");
            return clash(Code::InvalidDirective, span, message, &entry);
        }
        if self.weak.contains(function) {
            self.count_as_defined(name);
            let message = format!(
                "`{function}` is `.weak`: what it means is not known before it is linked, and it has no alias"
            );
            return clash(Code::InvalidDirective, span, message, function);
        }
        if name == function {
            return clash(Code::DuplicateName, span, format!("`{name}` cannot be an alias of itself"), name);
        }
        if !self.functions.contains_key(name) {
            let message = format!("`{name}` must be declared before it is an alias");
            return clash(Code::UnknownName, span, message, name);
        }
        info.external = false;
        self.functions.insert(name.to_string(), (info, unit));
        self.aliases.push((name.to_string(), function.to_string()));
        None
    }
}

/// The conflict of a declaration with another one, and the place of that one.
fn clash(code: Code, span: Span, message: String, other: &str) -> Option<Diagnostic> {
    Some(Diagnostic::new(code, span, message).with_symbol(other, "the other declaration is here"))
}

/// Whether two heads agree in number, sizes and kinds of parameters.
fn same_signature(left: &SignatureInfo, right: &SignatureInfo) -> bool {
    let same = |left: &[crate::Parameter], right: &[crate::Parameter]| {
        left.len() == right.len()
            && left.iter().zip(right).all(|(left, right)| {
                left.ty == right.ty && left.length == right.length && left.in_register == right.in_register
            })
    };
    same(&left.signature.results, &right.signature.results)
        && same(&left.signature.parameters, &right.signature.parameters)
}
