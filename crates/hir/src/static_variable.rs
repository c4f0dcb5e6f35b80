//! Static variables: those that a function declares in `.global` or `.const`.
//!
//! Such a variable has the scope of its declaration and lives as long as the module. It is declared like the other
//! variables of a function, and placed and initialized like a variable of the module. Its name there holds a dot, which
//! no name of the language does.

use oriole_diagnostics::Span;
use oriole_ptx::Space;
use oriole_syntax::ast::{AstNode, InitializerValue, Name};
use rustc_hash::FxHashMap;

use crate::declaration::Shape;
use crate::initializer::{self, InitialValue};
use crate::module_context::HeaderQuestion;
use crate::names::Meaning;
use crate::resolver::Resolver;
use crate::variable::Attributes;
use crate::{GlobalInfo, Header, ModuleContext, ModuleVariable, SignatureInfo};

impl<'a> Resolver<'a> {
    /// Adds a static variable to the module, and gives its name there.
    pub fn static_variable(
        &mut self,
        name: &'a str,
        shape: &Shape,
        attributes: &Attributes,
        initial: Option<InitializerValue<'a>>,
    ) -> String {
        let symbol = self.statics.symbol(name);
        let initial = initial.map(|value| self.static_value(&value, shape));
        self.statics.variables.push(ModuleVariable {
            name: symbol.clone(),
            // Positions end here: the module knows the variable by its name.
            name_span: Span::default(),
            info: GlobalInfo {
                space: shape.space,
                ty: shape.ty,
                vector: shape.vector,
                size: shape.size,
                align: shape.align,
                linkage: None,
            },
            managed: attributes.managed,
            unified: attributes.unified,
            initial,
        });
        symbol
    }

    fn static_value(&mut self, value: &InitializerValue<'a>, shape: &Shape) -> InitialValue {
        let mut inside = Inside { outside: self.context, names: FxHashMap::default() };
        let mut symbols: FxHashMap<&str, String> = FxHashMap::default();
        for token in value.syntax().descendants().filter_map(Name::cast).filter_map(Name::token) {
            let (name, span) = (token.text(), token.span());
            match self.look_up(name) {
                Some(Meaning::Variable(id)) => {
                    let variable = &self.body.variables[id];
                    let bytes = self.element_bytes[id] / u64::from(variable.ty.bytes().max(1));
                    let info = GlobalInfo {
                        space: variable.space,
                        ty: variable.ty,
                        vector: bytes as u8,
                        size: variable.size,
                        align: variable.align,
                        linkage: None,
                    };
                    inside.names.insert(name, Some(info));
                    symbols.extend(variable.symbol.clone().map(|symbol| (name, symbol)));
                }
                Some(_) => {
                    inside.names.insert(name, None);
                }
                None => {
                    // A use of the module, whose order is checked.
                    if self.global(name, span).is_none() {
                        self.function(name, span, false);
                    }
                }
            }
        }
        let mut initial = initializer::read(value, shape, &inside, &mut self.diagnostics);
        for relocation in &mut initial.relocations {
            if let Some(symbol) = symbols.get(relocation.symbol.as_str()) {
                relocation.symbol.clone_from(symbol);
            }
        }
        initial
    }

    /// Whether a variable that a function declares in a state space is static.
    pub fn is_static(space: Space) -> bool {
        matches!(space, Space::Global | Space::Constant)
    }
}

/// The module as seen by an initial value inside of a function.
struct Inside<'r> {
    outside: &'r dyn ModuleContext,
    /// The variables that the function declares; `None` for names of other things.
    names: FxHashMap<&'r str, Option<GlobalInfo>>,
}

impl ModuleContext for Inside<'_> {
    fn header(&self) -> Header {
        self.outside.header()
    }

    fn answer(&self, question: HeaderQuestion) -> bool {
        self.outside.answer(question)
    }

    fn address_bits(&self) -> u8 {
        self.outside.address_bits()
    }

    fn global(&self, name: &str) -> Option<GlobalInfo> {
        match self.names.get(name) {
            Some(declared) => declared.clone(),
            None => self.outside.global(name),
        }
    }

    fn signature(&self, name: &str) -> Option<SignatureInfo> {
        if self.names.contains_key(name) { None } else { self.outside.signature(name) }
    }
}
