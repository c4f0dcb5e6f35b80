//! Module-level items.

use super::*;
use crate::SyntaxKind::*;
use crate::{NumberValue, parse_number};

node!(
    /// The root of a unit.
    Unit, UNIT
);

impl<'t> Unit<'t> {
    pub(crate) fn from_root(root: NodeRef<'t>) -> Self {
        Unit(root)
    }

    /// The items in order; a well-formed unit of the splitter has one, a header
    /// or `.file` unit may have several.
    pub fn items(self) -> AstChildren<'t, Item<'t>> {
        children(self.0)
    }

    /// The first function or kernel.
    pub fn function(self) -> Option<Function<'t>> {
        child(self.0)
    }

    /// The first variable declaration.
    pub fn variable(self) -> Option<Variable<'t>> {
        child(self.0)
    }
}

node_enum!(
    /// A module-level item.
    Item {
        /// `.version`
        VersionDirective(VERSION_DIRECTIVE),
        /// `.target`
        TargetDirective(TARGET_DIRECTIVE),
        /// `.address_size`
        AddressSizeDirective(ADDRESS_SIZE_DIRECTIVE),
        /// `.file`
        FileDirective(FILE_DIRECTIVE),
        /// `.loc` at module level
        LocDirective(LOC_DIRECTIVE),
        /// `.section`
        Section(SECTION),
        /// `.pragma`
        Pragma(PRAGMA),
        /// `.alias`
        Alias(ALIAS),
        /// `.entry` or `.func`
        Function(FUNCTION),
        /// A variable
        Variable(VARIABLE),
    }
);

node!(
    /// `.version 8.0`
    VersionDirective, VERSION_DIRECTIVE
);

impl<'t> VersionDirective<'t> {
    /// The number as written, for example `8.0`.
    pub fn number(self) -> Option<TokenRef<'t>> {
        token(self.0, FLOAT_NUMBER)
    }

    /// Major and minor number.
    pub fn version(self) -> Option<(u32, u32)> {
        let token = self.number()?;
        let (major, minor) = token.text().split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }
}

node!(
    /// `.target sm_90, debug`
    TargetDirective, TARGET_DIRECTIVE
);

impl<'t> TargetDirective<'t> {
    /// Chip names and options, in order.
    pub fn names(self) -> impl Iterator<Item = TokenRef<'t>> + use<'t> {
        tokens(self.0).filter(|token| token.kind() == IDENT)
    }
}

node!(
    /// `.address_size 64`
    AddressSizeDirective, ADDRESS_SIZE_DIRECTIVE
);

impl<'t> AddressSizeDirective<'t> {
    /// The number as written.
    pub fn number(self) -> Option<TokenRef<'t>> {
        token(self.0, INT_NUMBER)
    }
}

node!(
    /// `.file 1 "a.cu", 12, 34`
    FileDirective, FILE_DIRECTIVE
);

impl<'t> FileDirective<'t> {
    /// The file's number.
    pub fn index(self) -> Option<u32> {
        token(self.0, INT_NUMBER)?.text().parse().ok()
    }

    /// The file's name without quotes.
    pub fn name(self) -> Option<String> {
        token(self.0, STRING).map(|token| unquoted(token))
    }

    /// Time stamp and size, where given.
    pub fn stamp_and_size(self) -> (Option<u64>, Option<u64>) {
        let mut numbers = tokens(self.0).filter(|token| token.kind() == INT_NUMBER).skip(1);
        let mut number = || numbers.next()?.text().parse().ok();
        (number(), number())
    }
}

node!(
    /// `.loc file line column`, with or without an inlining remark
    LocDirective, LOC_DIRECTIVE
);

impl<'t> LocDirective<'t> {
    /// Whether it is `.loc_intermediate`: a place in an intermediate text.
    pub fn is_intermediate(self) -> bool {
        tokens(self.0).next().is_some_and(|word| word.text() == ".loc_intermediate")
    }

    /// The first number that is too large for a file, line or column.
    pub fn too_large(self) -> Option<TokenRef<'t>> {
        let inlined = self.inlined_at().map(|inlined| inlined.0);
        let places = inlined
            .into_iter()
            .flat_map(|node| tokens(node).skip_while(|token| token.text() != "inlined_at"));
        let mut numbers = tokens(self.0).chain(places).filter(|token| token.kind() == INT_NUMBER);
        numbers.find(|token| location_number(token.text()).is_none())
    }

    /// File number, line and column, if all three are there and fit.
    pub fn position(self) -> Option<(u32, u32, u32)> {
        position(tokens(self.0))
    }

    /// The `function_name …, inlined_at …` part.
    pub fn inlined_at(self) -> Option<InlinedAt<'t>> {
        child(self.0)
    }
}

fn position<'t>(tokens: impl Iterator<Item = TokenRef<'t>>) -> Option<(u32, u32, u32)> {
    let mut numbers =
        tokens.filter(|token| token.kind() == INT_NUMBER).map(|token| location_number(token.text()));
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// A number of a location: 32 bits, or 32 bits sign-extended to 64, as ptxas accepts them.
fn location_number(text: &str) -> Option<u32> {
    match parse_number(text).ok()? {
        NumberValue::Integer { overflow: true, .. } => Some(u32::MAX),
        NumberValue::Integer { bits, .. } => {
            let extended = i64::from(bits as i32) == bits as i64;
            (extended || bits <= u64::from(u32::MAX)).then_some(bits as u32)
        }
        _ => None,
    }
}

node!(
    /// `function_name label+offset, inlined_at file line column`
    InlinedAt, INLINED_AT
);

impl<'t> InlinedAt<'t> {
    /// The label of the function's name in the string section, and the offset
    /// added to it.
    pub fn function_name(self) -> Option<(TokenRef<'t>, u32)> {
        let mut words = tokens(self.0).skip_while(|token| token.text() != "function_name").skip(1);
        let label = words.next().filter(|token| matches!(token.kind(), IDENT | DOTTED))?;
        let offset = match words.next() {
            Some(plus) if plus.kind() == PLUS => words.next()?.text().parse().ok()?,
            _ => 0,
        };
        Some((label, offset))
    }

    /// File, line and column of the place it was inlined at.
    pub fn position(self) -> Option<(u32, u32, u32)> {
        position(tokens(self.0).skip_while(|token| token.text() != "inlined_at"))
    }
}

node!(
    /// `.section .debug_str { … }`
    Section, SECTION
);

impl<'t> Section<'t> {
    /// The section's name, dots included.
    pub fn name(self) -> String {
        tokens(self.0)
            .skip(1)
            .take_while(|token| matches!(token.kind(), DOTTED | IDENT))
            .map(|token| token.text().to_owned())
            .collect()
    }

    /// The data lines.
    pub fn data(self) -> AstChildren<'t, SectionData<'t>> {
        children(self.0)
    }
}

node!(
    /// One data line, or a label, of a section
    SectionData, SECTION_DATA
);

impl<'t> SectionData<'t> {
    /// The label, if this is a label line.
    pub fn label(self) -> Option<TokenRef<'t>> {
        token(self.0, COLON)?;
        token(self.0, IDENT)
    }

    /// The element type, for example `.b8`.
    pub fn element(self) -> Option<TokenRef<'t>> {
        tokens(self.0).next().filter(|token| token.kind() == DOTTED)
    }

    /// The values: each the tokens between two commas.
    pub fn values(self) -> Vec<Vec<TokenRef<'t>>> {
        let mut values = vec![Vec::new()];
        for token in tokens(self.0).skip(1) {
            if token.kind() == COMMA {
                values.push(Vec::new());
            } else if let Some(value) = values.last_mut() {
                value.push(token);
            }
        }
        values.retain(|value| !value.is_empty());
        values
    }
}

node!(
    /// `.pragma "…";`
    Pragma, PRAGMA
);

impl<'t> Pragma<'t> {
    /// The strings, without quotes.
    pub fn strings(self) -> Vec<String> {
        tokens(self.0).filter(|token| token.kind() == STRING).map(|token| unquoted(token)).collect()
    }
}

node!(
    /// `.alias alias, function;`
    Alias, ALIAS
);

impl<'t> Alias<'t> {
    /// The new name.
    pub fn alias(self) -> Option<TokenRef<'t>> {
        tokens(self.0).find(|token| token.kind() == IDENT)
    }

    /// The function that it names.
    pub fn function(self) -> Option<TokenRef<'t>> {
        tokens(self.0).filter(|token| token.kind() == IDENT).nth(1)
    }
}

/// Linkage of a function or variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Linkage {
    /// `.extern`
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

fn linkage<'t>(node: NodeRef<'t>) -> Vec<(Linkage, TokenRef<'t>)> {
    dotted(node)
        .map_while(|token| {
            let linkage = match token.text() {
                ".extern" => Linkage::Extern,
                ".visible" => Linkage::Visible,
                ".weak" => Linkage::Weak,
                ".common" => Linkage::Common,
                _ => return None,
            };
            Some((linkage, token))
        })
        .collect()
}

node!(
    /// An `.entry` or `.func`, with or without a body
    Function, FUNCTION
);

impl<'t> Function<'t> {
    /// Linkage words with their tokens; more than one is an error that the
    /// resolver reports.
    pub fn linkage(self) -> Vec<(Linkage, TokenRef<'t>)> {
        linkage(self.0)
    }

    /// The `.entry` or `.func` word.
    pub fn keyword(self) -> Option<TokenRef<'t>> {
        dotted(self.0).find(|token| matches!(token.text(), ".entry" | ".func"))
    }

    /// Whether it is a kernel.
    pub fn is_entry(self) -> bool {
        self.keyword().is_some_and(|token| token.text() == ".entry")
    }

    /// The name.
    pub fn name(self) -> Option<TokenRef<'t>> {
        token(self.0, IDENT)
    }

    /// The list of results before the name.
    pub fn return_list(self) -> Option<ReturnList<'t>> {
        child(self.0)
    }

    /// The list of parameters after the name.
    pub fn parameter_list(self) -> Option<ParameterList<'t>> {
        child(self.0)
    }

    /// The results; empty without a list.
    pub fn results(self) -> impl Iterator<Item = Parameter<'t>> + use<'t> {
        self.return_list().into_iter().flat_map(|list| list.parameters())
    }

    /// The parameters; empty without a list.
    pub fn parameters(self) -> impl Iterator<Item = Parameter<'t>> + use<'t> {
        self.parameter_list().into_iter().flat_map(|list| list.parameters())
    }

    /// `.maxntid` and its like.
    pub fn performance_directives(self) -> AstChildren<'t, PerformanceDirective<'t>> {
        children(self.0)
    }

    /// `.pragma`s between parameters and body.
    pub fn pragmas(self) -> AstChildren<'t, Pragma<'t>> {
        children(self.0)
    }

    /// `.attribute( … )` clauses.
    pub fn attributes(self) -> AstChildren<'t, Attribute<'t>> {
        children(self.0)
    }

    /// The body; `None` for a declaration.
    pub fn body(self) -> Option<Block<'t>> {
        child(self.0)
    }
}

node!(
    /// `.maxntid 128, 1, 1`, `.noreturn` and their like
    PerformanceDirective, PERFORMANCE_DIRECTIVE
);

impl<'t> PerformanceDirective<'t> {
    /// The dotted word.
    pub fn word(self) -> Option<TokenRef<'t>> {
        token(self.0, DOTTED)
    }

    /// The values after it.
    pub fn values(self) -> AstChildren<'t, Operand<'t>> {
        children(self.0)
    }
}

node!(
    /// A declaration of one or more variables or registers
    Variable, VARIABLE
);

impl<'t> Variable<'t> {
    /// Linkage words with their tokens.
    pub fn linkage(self) -> Vec<(Linkage, TokenRef<'t>)> {
        linkage(self.0)
    }

    /// The declared names.
    pub fn declarators(self) -> AstChildren<'t, Declarator<'t>> {
        children(self.0)
    }

    /// `[3]` after `.const`.
    pub fn bank(self) -> Option<BankClause<'t>> {
        child(self.0)
    }
}
