//! The kinds of tokens and nodes.
//!
//! One list, in one place; the typed layer in `ast` gives the nodes their accessors. A kind is a role in the grammar,
//! never a meaning.

macro_rules! kinds {
    ($( $(#[$doc:meta])* $name:ident, )*) => {
        /// The kind of a token or node.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u16)]
        #[allow(non_camel_case_types, reason = "kinds of nodes are written in capitals, as grammars write them")]
        pub enum SyntaxKind { $( $(#[$doc])* $name, )* }

        impl SyntaxKind {
            /// Every kind, in declaration order.
            pub const ALL: &'static [SyntaxKind] = &[ $( SyntaxKind::$name, )* ];
        }
    };
}

kinds! {
    // ---- trivia
    /// Blanks, tabs, form feeds, line ends.
    WHITESPACE,
    /// `// …` up to the line end, or `/* … */`.
    COMMENT,
    /// A line of the form `# 5 "file.cu"`, as a C preprocessor leaves them.
    LINE_MARKER,
    // ---- words and literals
    /// A name: a letter, or `_ $ %` and more, then letters, digits, `_`, `$`.
    IDENT,
    /// A dotted word: `.reg`, `.u32`, `.shared::cta`, `.2d`, and `.x` in `%tid.x`.
    DOTTED,
    /// An integer literal, with its `U` if it has one.
    INT_NUMBER,
    /// A floating-point literal, decimal or `0f…` / `0d…`.
    FLOAT_NUMBER,
    /// Two or more numbers of an initial value, with the commas and blanks between them; only in a tree.
    NUMBERS,
    /// A string in double quotes.
    STRING,
    /// The lone `_`.
    UNDERSCORE,
    /// Bytes that begin no token.
    ERROR_TOKEN,
    // ---- punctuation
    /// `{`
    L_BRACE,
    /// `}`
    R_BRACE,
    /// `(`
    L_PAREN,
    /// `)`
    R_PAREN,
    /// `[`
    L_BRACKET,
    /// `]`
    R_BRACKET,
    /// `,`
    COMMA,
    /// `;`
    SEMICOLON,
    /// `:`
    COLON,
    /// `@`
    AT,
    /// `!`
    BANG,
    /// `+`
    PLUS,
    /// `-`
    MINUS,
    /// `*`
    STAR,
    /// `/`
    SLASH,
    /// `%` that begins no name
    PERCENT,
    /// `<`
    LT,
    /// `>`
    GT,
    /// `<<`
    LT_LT,
    /// `>>`
    GT_GT,
    /// `<=`
    LT_EQ,
    /// `>=`
    GT_EQ,
    /// `=`
    EQ,
    /// `==`
    EQ_EQ,
    /// `!=`
    BANG_EQ,
    /// `&`
    AMP,
    /// `&&`
    AMP_AMP,
    /// `|`
    PIPE,
    /// `||`
    PIPE_PIPE,
    /// `^`
    CARET,
    /// `~`
    TILDE,
    /// `?`
    QUESTION,
    /// The end of the text; never in a tree.
    END,
    // ---- nodes: the unit and its items
    /// The root of a unit's tree.
    UNIT,
    /// `.version 8.0`
    VERSION_DIRECTIVE,
    /// `.target sm_90, debug`
    TARGET_DIRECTIVE,
    /// `.address_size 64`
    ADDRESS_SIZE_DIRECTIVE,
    /// `.file 1 "a.cu", 12, 34`
    FILE_DIRECTIVE,
    /// `.loc 1 2 3, function_name label+0, inlined_at 1 2 3`
    LOC_DIRECTIVE,
    /// `function_name label+0, inlined_at 1 2 3` of a `.loc`
    INLINED_AT,
    /// `.section .debug_str { … }`
    SECTION,
    /// One data line of a section, or a label line
    SECTION_DATA,
    /// `.pragma "…";`
    PRAGMA,
    /// `.alias a, b;`
    ALIAS,
    /// An `.entry` or `.func`, with or without a body
    FUNCTION,
    /// The `( … )` before a function's name
    RETURN_LIST,
    /// The `( … )` after a function's name
    PARAMETER_LIST,
    /// One parameter
    PARAMETER,
    /// `.maxntid 128, 1, 1` and its like
    PERFORMANCE_DIRECTIVE,
    /// `.attribute( … )`
    ATTRIBUTE,
    /// A variable or register declaration
    VARIABLE,
    /// `.align 8`
    ALIGN_CLAUSE,
    /// `.ptr .global .align 8`
    PTR_CLAUSE,
    /// `[3]` after `.const`
    BANK_CLAUSE,
    /// One declared name with range, dimensions and initial value
    DECLARATOR,
    /// `<10>`
    REGISTER_RANGE,
    /// `[10]` or `[]`
    DIMENSION,
    /// `= value`
    INITIALIZER,
    /// `{ a, { b, c } }`
    INITIALIZER_LIST,
    /// `field = value` in the initializer of a sampler
    FIELD_INITIALIZER,
    // ---- nodes: statements
    /// `{ … }` with statements
    BLOCK,
    /// `name:`
    LABEL,
    /// An instruction up to its semicolon
    INSTRUCTION,
    /// `@p` or `@!p`
    GUARD,
    /// Mnemonic and modifiers
    OPCODE,
    /// The operands of an instruction
    OPERAND_LIST,
    /// `label: .branchtargets a, b;`
    BRANCH_TARGETS,
    /// `label: .calltargets f, g;`
    CALL_TARGETS,
    /// `label: .callprototype (…) _ (…);`
    CALL_PROTOTYPE,
    // ---- nodes: operands and expressions
    /// A name: register, variable, label, function, special register, constant
    NAME,
    /// `v.x`, `%tid.x`, `d.b0`
    MEMBER,
    /// `a[1]`
    INDEX,
    /// A number or string
    LITERAL,
    /// `-a`, `!p`, `~a`, `+a`
    PREFIX,
    /// `a + b` and its like
    BINARY,
    /// `a ? b : c`
    TERNARY,
    /// `(.s64) a`
    CAST,
    /// `( a )`
    PAREN,
    /// `generic(a)`, `mask(a)`, `0xff(a)`
    CALL_EXPRESSION,
    /// `[ … ]`
    ADDRESS,
    /// `{ a, b }`
    VECTOR,
    /// `p|q`
    PAIR,
    /// `_`
    SINK,
    /// The parenthesized arguments or results of a call
    ARGUMENT_LIST,
    /// Tokens that fit nowhere
    ERROR,
}

impl SyntaxKind {
    /// White space and comments.
    pub const fn is_trivia(self) -> bool {
        matches!(self, SyntaxKind::WHITESPACE | SyntaxKind::COMMENT | SyntaxKind::LINE_MARKER)
    }

    /// Tokens that are always spelled alike.
    pub const fn is_punctuation(self) -> bool {
        SyntaxKind::L_BRACE as u16 <= self as u16 && self as u16 <= SyntaxKind::QUESTION as u16
    }
}

/// PTX as a language of `rowan` trees.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum PtxLanguage {}

impl rowan::Language for PtxLanguage {
    type Kind = SyntaxKind;

    fn kind_from_raw(raw: rowan::SyntaxKind) -> SyntaxKind {
        SyntaxKind::ALL[usize::from(raw.0)]
    }

    fn kind_to_raw(kind: SyntaxKind) -> rowan::SyntaxKind {
        rowan::SyntaxKind(kind as u16)
    }
}
