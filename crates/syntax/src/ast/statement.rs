//! Statements of a function body.

use super::*;
use crate::SyntaxKind::*;

node_enum!(
    /// A statement.
    Statement {
        /// `{ … }`
        Block(BLOCK),
        /// `name:`
        Label(LABEL),
        /// An instruction
        Instruction(INSTRUCTION),
        /// A variable or register declaration
        Variable(VARIABLE),
        /// `.loc`
        LocDirective(LOC_DIRECTIVE),
        /// `.pragma`
        Pragma(PRAGMA),
        /// `label: .branchtargets …`
        BranchTargets(BRANCH_TARGETS),
        /// `label: .calltargets …`
        CallTargets(CALL_TARGETS),
        /// `label: .callprototype …`
        CallPrototype(CALL_PROTOTYPE),
    }
);

node!(
    /// A body or an inner scope
    Block, BLOCK
);

impl Block {
    /// The statements in order; broken ones are left out.
    pub fn statements(&self) -> AstChildren<Statement> {
        children(&self.0)
    }
}

node!(
    /// `name:`
    Label, LABEL
);

impl Label {
    /// The name.
    pub fn name(&self) -> Option<SyntaxToken> {
        token(&self.0, IDENT)
    }
}

node!(
    /// An instruction up to its semicolon
    Instruction, INSTRUCTION
);

impl Instruction {
    /// `@p`
    pub fn guard(&self) -> Option<Guard> {
        child(&self.0)
    }

    /// Mnemonic and modifiers.
    pub fn opcode(&self) -> Option<Opcode> {
        child(&self.0)
    }

    /// The operand list.
    pub fn operand_list(&self) -> Option<OperandList> {
        child(&self.0)
    }

    /// The operands; empty without a list.
    pub fn operands(&self) -> impl Iterator<Item = Operand> + use<> {
        self.operand_list().into_iter().flat_map(|list| list.operands())
    }
}

node!(
    /// `@p` or `@!p`
    Guard, GUARD
);

impl Guard {
    /// Whether the guard is negated.
    pub fn negated(&self) -> bool {
        token(&self.0, BANG).is_some()
    }

    /// The predicate register.
    pub fn register(&self) -> Option<SyntaxToken> {
        token(&self.0, IDENT)
    }
}

node!(
    /// Mnemonic and modifiers
    Opcode, OPCODE
);

impl Opcode {
    /// The mnemonic, for example `add`.
    pub fn mnemonic(&self) -> Option<SyntaxToken> {
        token(&self.0, IDENT)
    }

    /// The modifiers with their dots, in order, for example `.rn`, `.f32`.
    pub fn modifiers(&self) -> impl Iterator<Item = SyntaxToken> + use<> {
        dotted(&self.0)
    }

    /// The opcode as one word without trivia, for example `add.rn.f32`.
    pub fn spelling(&self) -> String {
        tokens(&self.0).map(|token| token.text().to_owned()).collect()
    }
}

node!(
    /// The operands of an instruction
    OperandList, OPERAND_LIST
);

impl OperandList {
    /// The operands in order.
    pub fn operands(&self) -> AstChildren<Operand> {
        children(&self.0)
    }
}

node!(
    /// `label: .branchtargets a, b;`
    BranchTargets, BRANCH_TARGETS
);

impl BranchTargets {
    /// The label that names the list.
    pub fn label(&self) -> Option<Label> {
        child(&self.0)
    }

    /// The branch targets.
    pub fn targets(&self) -> AstChildren<Name> {
        children(&self.0)
    }
}

node!(
    /// `label: .calltargets f, g;`
    CallTargets, CALL_TARGETS
);

impl CallTargets {
    /// The label that names the list.
    pub fn label(&self) -> Option<Label> {
        child(&self.0)
    }

    /// The functions that may be called.
    pub fn targets(&self) -> AstChildren<Name> {
        children(&self.0)
    }
}

node!(
    /// `label: .callprototype (…) _ (…);`
    CallPrototype, CALL_PROTOTYPE
);

impl CallPrototype {
    /// The label that names the prototype.
    pub fn label(&self) -> Option<Label> {
        child(&self.0)
    }

    /// The results.
    pub fn results(&self) -> impl Iterator<Item = Parameter> + use<> {
        child::<ReturnList>(&self.0).into_iter().flat_map(|list| list.parameters())
    }

    /// The parameters.
    pub fn parameters(&self) -> impl Iterator<Item = Parameter> + use<> {
        child::<ParameterList>(&self.0).into_iter().flat_map(|list| list.parameters())
    }

    /// `.noreturn`, `.abi_preserve` and their like.
    pub fn directives(&self) -> AstChildren<PerformanceDirective> {
        children(&self.0)
    }
}
