//! Declarations: what variables, registers and parameters have in common.

use super::*;
use crate::SyntaxKind::*;
use crate::lexer::is_blank;
use crate::{NodeOrToken, NumberError, NumberValue, parse_number};

/// Whether a dotted word names a state space in a declaration.
pub fn is_state_space(word: &str) -> bool {
    crate::parser::is_space(word)
}

/// Whether a dotted word is a vector width.
pub fn is_vector(word: &str) -> bool {
    matches!(word, ".v2" | ".v4" | ".v8")
}

fn is_linkage(word: &str) -> bool {
    matches!(word, ".extern" | ".visible" | ".weak" | ".common")
}

/// The head that variables and parameters share: state space, alignment, vector
/// width, type.
pub trait DeclarationHead<'t>: AstNode<'t> {
    /// The state space word, for example `.global`.
    fn space(self) -> Option<TokenRef<'t>> {
        dotted(self.syntax()).find(|token| is_state_space(token.text()))
    }

    /// The vector width word.
    fn vector(self) -> Option<TokenRef<'t>> {
        dotted(self.syntax()).find(|token| is_vector(token.text()))
    }

    /// The type word: the last dotted word that is none of the others.
    fn type_word(self) -> Option<TokenRef<'t>> {
        dotted(self.syntax()).filter(is_type).last()
    }

    /// Words of the head beyond one type and one state space; all of them are errors.
    fn surplus_words(self) -> Vec<TokenRef<'t>> {
        let mut words: Vec<_> = dotted(self.syntax()).filter(is_type).collect();
        words.pop();
        words.extend(dotted(self.syntax()).filter(|token| is_state_space(token.text())).skip(1));
        words
    }

    /// The first word that follows one which it must precede: linkage comes first, then state space and alignment,
    /// then the vector width, then the type. After the type of a kernel's parameter comes `.ptr`, or an alignment.
    fn misplaced_word(self, kernel_parameter: bool) -> Option<TokenRef<'t>> {
        const SPACE: u8 = 0;
        const VECTOR: u8 = 1;
        const TYPE: u8 = 2;
        const BEHIND_TYPE: u8 = 3;
        let mut last = SPACE;
        let mut begun = false;
        for part in self.syntax().children_with_tokens() {
            let (word, rank) = match part {
                NodeOrToken::Node(node) => {
                    let rank = match node.kind() {
                        ALIGN_CLAUSE if kernel_parameter && last == TYPE => BEHIND_TYPE,
                        ALIGN_CLAUSE => SPACE,
                        PTR_CLAUSE if kernel_parameter => BEHIND_TYPE,
                        DECLARATOR => break,
                        _ => continue,
                    };
                    (node.first_solid_token()?, rank)
                }
                NodeOrToken::Token(token) if token.kind() != DOTTED => continue,
                NodeOrToken::Token(token) if is_linkage(token.text()) => {
                    if begun {
                        return Some(token);
                    } else {
                        continue;
                    }
                }
                NodeOrToken::Token(token) if is_state_space(token.text()) => (token, SPACE),
                NodeOrToken::Token(token) if is_vector(token.text()) => (token, VECTOR),
                NodeOrToken::Token(token) => (token, TYPE),
            };
            if rank < last || (rank == BEHIND_TYPE && last != TYPE) {
                return Some(word);
            }
            last = rank;
            begun = true;
        }
        None
    }

    /// `.align n`
    fn align(self) -> Option<AlignClause<'t>> {
        child(self.syntax())
    }

    /// `.ptr …`
    fn ptr(self) -> Option<PtrClause<'t>> {
        child(self.syntax())
    }

    /// `.attribute( … )` clauses.
    fn attributes(self) -> AstChildren<'t, Attribute<'t>> {
        children(self.syntax())
    }
}

fn is_type(token: &TokenRef<'_>) -> bool {
    let word = token.text();
    !is_state_space(word) && !is_vector(word) && !is_linkage(word)
}

impl<'t> DeclarationHead<'t> for Variable<'t> {}
impl<'t> DeclarationHead<'t> for Parameter<'t> {}

node!(
    /// The results of a function
    ReturnList, RETURN_LIST
);

impl<'t> ReturnList<'t> {
    /// The results in order.
    pub fn parameters(self) -> AstChildren<'t, Parameter<'t>> {
        children(self.0)
    }
}

node!(
    /// The parameters of a function
    ParameterList, PARAMETER_LIST
);

impl<'t> ParameterList<'t> {
    /// The parameters in order.
    pub fn parameters(self) -> AstChildren<'t, Parameter<'t>> {
        children(self.0)
    }
}

node!(
    /// One parameter or result
    Parameter, PARAMETER
);

impl<'t> Parameter<'t> {
    /// Name and dimensions.
    pub fn declarator(self) -> Option<Declarator<'t>> {
        child(self.0)
    }
}

node!(
    /// `.align 8`
    AlignClause, ALIGN_CLAUSE
);

impl<'t> AlignClause<'t> {
    /// The alignment's expression.
    pub fn value(self) -> Option<Operand<'t>> {
        child(self.0)
    }
}

node!(
    /// `.ptr .global .align 8`
    PtrClause, PTR_CLAUSE
);

impl<'t> PtrClause<'t> {
    /// The state space that the pointer points into.
    pub fn space(self) -> Option<TokenRef<'t>> {
        dotted(self.0).nth(1)
    }

    /// The alignment of the pointee.
    pub fn align(self) -> Option<AlignClause<'t>> {
        child(self.0)
    }
}

node!(
    /// `.attribute(.managed)` and its like
    Attribute, ATTRIBUTE
);

impl<'t> Attribute<'t> {
    /// The dotted words between the parentheses.
    pub fn words(self) -> impl Iterator<Item = TokenRef<'t>> + use<'t> {
        dotted(self.0).skip(1)
    }

    /// The numbers between the parentheses.
    pub fn numbers(self) -> impl Iterator<Item = TokenRef<'t>> + use<'t> {
        tokens(self.0).filter(|token| token.kind() == INT_NUMBER)
    }
}

node!(
    /// `[3]` after `.const`
    BankClause, BANK_CLAUSE
);

impl<'t> BankClause<'t> {
    /// The bank number.
    pub fn number(self) -> Option<TokenRef<'t>> {
        token(self.0, INT_NUMBER)
    }
}

node!(
    /// One declared name with range, dimensions and initial value
    Declarator, DECLARATOR
);

impl<'t> Declarator<'t> {
    /// The name, or `_` in a prototype.
    pub fn name(self) -> Option<TokenRef<'t>> {
        tokens(self.0).next().filter(|token| matches!(token.kind(), IDENT | UNDERSCORE))
    }

    /// `<n>`: declares the name with 0 to n-1 appended.
    pub fn range(self) -> Option<RegisterRange<'t>> {
        child(self.0)
    }

    /// `[n]`, outermost first.
    pub fn dimensions(self) -> AstChildren<'t, Dimension<'t>> {
        children(self.0)
    }

    /// `= value`
    pub fn initializer(self) -> Option<Initializer<'t>> {
        child(self.0)
    }
}

node!(
    /// `<10>`
    RegisterRange, REGISTER_RANGE
);

impl<'t> RegisterRange<'t> {
    /// The number as written.
    pub fn number(self) -> Option<TokenRef<'t>> {
        token(self.0, INT_NUMBER)
    }

    /// The number of registers.
    pub fn count(self) -> Option<u64> {
        match parse_number(self.number()?.text()).ok()? {
            NumberValue::Integer { bits, overflow: false, .. } => Some(bits),
            _ => None,
        }
    }
}

node!(
    /// `[10]` or `[]`
    Dimension, DIMENSION
);

impl<'t> Dimension<'t> {
    /// The number of elements; `None` for `[]`.
    pub fn size(self) -> Option<Operand<'t>> {
        child(self.0)
    }
}

node!(
    /// `= value`
    Initializer, INITIALIZER
);

impl<'t> Initializer<'t> {
    /// The value.
    pub fn value(self) -> Option<InitializerValue<'t>> {
        child(self.0)
    }
}

node_enum!(
    /// A value of an initializer: an operand, a list, or a named field.
    InitializerValue {
        /// `{ … }`
        InitializerList(INITIALIZER_LIST),
        /// `field = value`
        FieldInitializer(FIELD_INITIALIZER),
        /// A name
        Name(NAME),
        /// `a.x`
        Member(MEMBER),
        /// `a[1]`
        Index(INDEX),
        /// A number or string
        Literal(LITERAL),
        /// `-a`
        Prefix(PREFIX),
        /// `a + b`
        Binary(BINARY),
        /// `a ? b : c`
        Ternary(TERNARY),
        /// `(.s64) a`
        Cast(CAST),
        /// `( a )`
        Paren(PAREN),
        /// `generic(a)`
        CallExpression(CALL_EXPRESSION),
    }
);

impl<'t> InitializerValue<'t> {
    /// The value as an operand, unless it is a list or a field.
    pub fn operand(self) -> Option<Operand<'t>> {
        Operand::cast(self.syntax())
    }
}

node!(
    /// `{ a, { b, c } }`
    InitializerList, INITIALIZER_LIST
);

impl<'t> InitializerList<'t> {
    /// The values in order, those of runs of numbers one by one.
    pub fn values(self) -> impl Iterator<Item = ListValue<'t>> + use<'t> {
        let mut elements = self.0.children_with_tokens();
        let mut run = Numbers::default();
        std::iter::from_fn(move || {
            loop {
                if let Some(number) = run.next() {
                    return Some(ListValue::Number(number));
                }
                match elements.next()? {
                    NodeOrToken::Node(node) => {
                        if let Some(value) = InitializerValue::cast(node) {
                            return Some(ListValue::Value(value));
                        }
                    }
                    NodeOrToken::Token(token) => run = Numbers::of(token),
                }
            }
        })
    }
}

/// A value in a list.
#[derive(Clone, Copy, Debug)]
pub enum ListValue<'t> {
    /// A number of a run.
    Number(Number<'t>),
    /// Anything else.
    Value(InitializerValue<'t>),
}

impl ListValue<'_> {
    /// Its bytes, relative to the unit.
    pub fn span(self) -> Span {
        match self {
            ListValue::Number(number) => number.span(),
            ListValue::Value(value) => value.span(),
        }
    }
}

/// A number of a run.
#[derive(Clone, Copy, Debug)]
pub struct Number<'t> {
    text: &'t str,
    start: u32,
}

impl<'t> Number<'t> {
    /// The number as written.
    pub fn text(self) -> &'t str {
        self.text
    }

    /// Its bytes, relative to the unit.
    pub fn span(self) -> Span {
        Span::new(self.start, self.text.len() as u32)
    }

    /// The number.
    ///
    /// # Errors
    /// For a malformed number, which the lexer has reported.
    pub fn number(self) -> Result<NumberValue, NumberError> {
        parse_number(self.text)
    }
}

/// The numbers of a run, in order.
#[derive(Clone, Default, Debug)]
pub struct Numbers<'t> {
    /// The rest of the run.
    text: &'t str,
    start: u32,
}

impl<'t> Numbers<'t> {
    /// The numbers of a token; empty for a token that is not a run.
    pub fn of(token: TokenRef<'t>) -> Numbers<'t> {
        match token.kind() {
            NUMBERS => Numbers { text: token.text(), start: token.span().start },
            _ => Numbers::default(),
        }
    }
}

impl<'t> Iterator for Numbers<'t> {
    type Item = Number<'t>;

    fn next(&mut self) -> Option<Number<'t>> {
        let bytes = self.text.as_bytes();
        let is_part = |&byte: &u8| !matches!(byte, b',') && !is_blank(byte);
        let first = bytes.iter().position(is_part)?;
        let length = bytes[first..].iter().position(|byte| !is_part(byte)).unwrap_or(bytes.len() - first);
        let number = Number { text: &self.text[first..first + length], start: self.start + first as u32 };
        (self.text, self.start) = (&self.text[first + length..], number.start + length as u32);
        Some(number)
    }
}

node!(
    /// `field = value`
    FieldInitializer, FIELD_INITIALIZER
);

impl<'t> FieldInitializer<'t> {
    /// The field's name.
    pub fn field(self) -> Option<TokenRef<'t>> {
        token(self.0, IDENT)
    }

    /// The value.
    pub fn value(self) -> Option<InitializerValue<'t>> {
        child(self.0)
    }
}
