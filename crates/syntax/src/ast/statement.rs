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

impl<'t> Block<'t> {
    /// The statements in order; broken ones are left out.
    pub fn statements(self) -> AstChildren<'t, Statement<'t>> {
        children(self.0)
    }
}

node!(
    /// `name:`
    Label, LABEL
);

impl<'t> Label<'t> {
    /// The name.
    pub fn name(self) -> Option<TokenRef<'t>> {
        token(self.0, IDENT)
    }
}

node!(
    /// An instruction up to its semicolon
    Instruction, INSTRUCTION
);

impl<'t> Instruction<'t> {
    /// `@p`
    pub fn guard(self) -> Option<Guard<'t>> {
        child(self.0)
    }

    /// Mnemonic and modifiers.
    pub fn opcode(self) -> Option<Opcode<'t>> {
        child(self.0)
    }

    /// The operand list.
    pub fn operand_list(self) -> Option<OperandList<'t>> {
        child(self.0)
    }

    /// Guard, opcode and operand list, found in one walk.
    pub fn parts(self) -> (Option<Guard<'t>>, Option<Opcode<'t>>, Option<OperandList<'t>>) {
        let (mut guard, mut opcode, mut list) = (None, None, None);
        for node in self.0.children() {
            match node.kind() {
                GUARD if guard.is_none() => guard = Guard::cast(node),
                OPCODE if opcode.is_none() => opcode = Opcode::cast(node),
                OPERAND_LIST if list.is_none() => list = OperandList::cast(node),
                _ => {}
            }
        }
        (guard, opcode, list)
    }

    /// The operands; empty without a list.
    pub fn operands(self) -> impl Iterator<Item = Operand<'t>> + use<'t> {
        self.operand_list().into_iter().flat_map(|list| list.operands())
    }
}

node!(
    /// `@p` or `@!p`
    Guard, GUARD
);

impl<'t> Guard<'t> {
    /// Whether the guard is negated.
    pub fn negated(self) -> bool {
        token(self.0, BANG).is_some()
    }

    /// The predicate register.
    pub fn register(self) -> Option<TokenRef<'t>> {
        token(self.0, IDENT)
    }
}

node!(
    /// Mnemonic and modifiers
    Opcode, OPCODE
);

impl<'t> Opcode<'t> {
    /// The mnemonic, for example `add`.
    pub fn mnemonic(self) -> Option<TokenRef<'t>> {
        token(self.0, IDENT)
    }

    /// The modifiers with their dots, in order, for example `.rn`, `.f32`.
    pub fn modifiers(self) -> impl Iterator<Item = TokenRef<'t>> + use<'t> {
        dotted(self.0)
    }

    /// The opcode as one word without trivia, for example `add.rn.f32`.
    pub fn spelling(self) -> String {
        tokens(self.0).map(|token| token.text().to_owned()).collect()
    }
}

node!(
    /// The operands of an instruction
    OperandList, OPERAND_LIST
);

impl<'t> OperandList<'t> {
    /// The operands in order.
    pub fn operands(self) -> AstChildren<'t, Operand<'t>> {
        children(self.0)
    }
}

node!(
    /// `label: .branchtargets a, b;`
    BranchTargets, BRANCH_TARGETS
);

impl<'t> BranchTargets<'t> {
    /// The label that names the list.
    pub fn label(self) -> Option<Label<'t>> {
        child(self.0)
    }

    /// The branch targets.
    pub fn targets(self) -> AstChildren<'t, Name<'t>> {
        children(self.0)
    }
}

node!(
    /// `label: .calltargets f, g;`
    CallTargets, CALL_TARGETS
);

impl<'t> CallTargets<'t> {
    /// The label that names the list.
    pub fn label(self) -> Option<Label<'t>> {
        child(self.0)
    }

    /// The functions that may be called.
    pub fn targets(self) -> AstChildren<'t, Name<'t>> {
        children(self.0)
    }
}

node!(
    /// `label: .callprototype (…) _ (…);`
    CallPrototype, CALL_PROTOTYPE
);

impl<'t> CallPrototype<'t> {
    /// The label that names the prototype.
    pub fn label(self) -> Option<Label<'t>> {
        child(self.0)
    }

    /// The results.
    pub fn results(self) -> impl Iterator<Item = Parameter<'t>> + use<'t> {
        child::<ReturnList<'t>>(self.0).into_iter().flat_map(|list| list.parameters())
    }

    /// The parameters.
    pub fn parameters(self) -> impl Iterator<Item = Parameter<'t>> + use<'t> {
        child::<ParameterList<'t>>(self.0).into_iter().flat_map(|list| list.parameters())
    }

    /// `.noreturn`, `.abi_preserve` and their like.
    pub fn directives(self) -> AstChildren<'t, PerformanceDirective<'t>> {
        children(self.0)
    }
}
