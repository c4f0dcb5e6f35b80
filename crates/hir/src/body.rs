//! The resolved body: the input of all later stages.

use la_arena::{Arena, ArenaMap, Idx};
use oriole_ptx::{Space, Type};

/// Register: index into [`Body::registers`].
pub type RegisterId = Idx<Register>;
/// Label: index into [`Body::labels`].
pub type LabelId = Idx<Label>;
/// Variable visible in the function: index into [`Body::variables`].
pub type VariableId = Idx<Variable>;
/// Function that the body names: index into [`Body::functions`].
pub type FunctionId = Idx<FunctionRef>;
/// Table of labels or functions (`.branchtargets`, `.calltargets`): index into [`Body::tables`].
pub type TableId = Idx<Table>;
/// Call prototype: index into [`Body::prototypes`].
pub type PrototypeId = Idx<Signature>;

/// A function or kernel, resolved.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Body {
    /// True for `.entry`.
    pub is_entry: bool,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// Return parameters in order.
    pub results: Vec<Parameter>,
    /// Every register that is declared (a range `%r<10>` gives ten) and used, in order of first use.
    pub registers: Arena<Register>,
    /// Variables that the body names or declares: parameters come first, in order (results, then parameters).
    pub variables: Arena<Variable>,
    /// Labels; the place of one is the statement [`Statement::Label`].
    pub labels: Arena<Label>,
    /// Functions that the body names.
    pub functions: Arena<FunctionRef>,
    /// Branch and call target tables.
    pub tables: Arena<Table>,
    /// Call prototypes.
    pub prototypes: Arena<Signature>,
    /// Statements in order, scopes flattened.
    pub statements: Vec<Statement>,
    /// Performance directives.
    pub directives: Directives,
    /// For each parameter or result that is declared `.reg`: its variable and the register that holds it; of a vector
    /// one row for each component, in order.
    pub parameter_registers: Vec<(VariableId, RegisterId)>,
    /// True if the body names textures, and samplers are bound separately.
    pub independent_samplers: bool,
    /// True for a kernel whose `setmaxnreg` have an effect.
    pub changes_registers: bool,
    /// The origins of inlined instructions; `None` if no call is inlined.
    pub merged: Option<Box<Merged>>,
}

/// How the instructions of a body with inlined calls relate to those of its text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Merged {
    /// For each instruction the ordinal of the one in the text: itself, or the call that it was inlined for.
    pub origins: Vec<u32>,
    /// How many registers the text names; those of inlined functions follow.
    pub registers: u32,
}

/// A register.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Register {
    /// Declared type.
    pub ty: Type,
}

/// A label: only its place is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Label;

/// A parameter of a function or kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Parameter {
    /// Element type (`.b8` for byte arrays).
    pub ty: Type,
    /// Elements, those of a vector register too; `None` for a scalar, 0 for an array without a size.
    pub length: Option<u64>,
    /// Alignment in bytes.
    pub align: u32,
    /// Offset in bytes from the start of the parameter block (declaration order, natural or given alignment).
    pub offset: u32,
    /// `.ptr` attribute: space and alignment of the pointee.
    pub pointer: Option<(Option<Space>, u32)>,
    /// Declared `.reg` (functions only).
    pub in_register: bool,
}

impl Parameter {
    /// Size in bytes: 0 of an opaque type, which is in no memory.
    pub fn size(&self) -> u64 {
        if self.ty.is_opaque() {
            return 0;
        }
        u64::from(self.ty.bytes()) * self.length.unwrap_or(1)
    }

    /// Number of registers that hold it if it is declared `.reg`: one, or one for each component of a vector.
    pub fn components(&self) -> u8 {
        match self.length {
            Some(2) => 2,
            Some(4) => 4,
            _ => 1,
        }
    }

    /// Whether it is an array without a size (the last parameter of a function), for which anything may be passed or
    /// nothing.
    pub fn is_open(&self) -> bool {
        self.length == Some(0)
    }
}

/// A table with an entry for each element of an arena, all alike.
pub fn table_of<T, V: Clone>(arena: &Arena<T>, value: V) -> ArenaMap<Idx<T>, V> {
    arena.iter().map(|(id, _)| (id, value.clone())).collect()
}

/// The index of an element in its arena, as in printed text, traces and origins of Ori.
pub fn raw_index<T>(id: Idx<T>) -> u32 {
    id.into_raw().into_u32()
}

/// The element of an arena with this index, the inverse of [`raw_index`].
pub fn from_raw_index<T>(number: u32) -> Idx<T> {
    Idx::from_raw(number.into())
}

impl Body {
    /// The variable of a parameter or a result.
    pub fn variable_of(&self, kind: VariableKind) -> Option<VariableId> {
        self.variables.iter().find(|(_, variable)| variable.kind == kind).map(|(id, _)| id)
    }

    /// The shared variables that the body declares or names.
    pub fn shared_variables(&self) -> Vec<Variable> {
        self.variables.values().filter(|variable| variable.space == Space::Shared).cloned().collect()
    }

    /// The registers of a parameter or result that is declared `.reg`; none for another variable.
    pub fn registers_of(&self, variable: VariableId) -> impl Iterator<Item = RegisterId> + '_ {
        let rows = self.parameter_registers.iter();
        rows.filter(move |row| row.0 == variable).map(|row| row.1)
    }
}

impl Signature {
    /// Whether the last parameter is an array without a size.
    pub fn is_open(&self) -> bool {
        self.parameters.last().is_some_and(Parameter::is_open)
    }
}

/// A signature: of a callee or of a prototype.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Signature {
    /// Return parameters.
    pub results: Vec<Parameter>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// `.noreturn`.
    pub noreturn: bool,
}

/// A function that the body calls or takes the address of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FunctionRef {
    /// Name.
    pub name: String,
    /// Signature as declared.
    pub signature: Signature,
    /// True if the module only declares it (`.extern`).
    pub external: bool,
    /// True for a kernel, which code may launch and not call.
    pub is_entry: bool,
}

/// A variable: of the module, of the body, or a parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Variable {
    /// Name (of a local one: as written; two scopes may use one name).
    pub name: String,
    /// Space.
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// Size in bytes; 0 for `extern` arrays of no given length.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// Of the module, of the body, or a parameter.
    pub kind: VariableKind,
    /// Its name in the module if it is a static variable of this body: one in `.global` or `.const`, of which there is
    /// one instance for all calls.
    pub symbol: Option<String>,
}

impl Variable {
    /// The name under which the module knows it.
    pub fn module_name(&self) -> &str {
        self.symbol.as_deref().unwrap_or(&self.name)
    }

    /// Whether it lives as long as the module.
    pub fn is_of_module(&self) -> bool {
        self.kind == VariableKind::Module || self.symbol.is_some()
    }
}

/// The owner of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VariableKind {
    /// In the module.
    Module,
    /// In this body.
    Body,
    /// Parameter with this index in [`Body::parameters`].
    Parameter(u32),
    /// Return parameter with this index in [`Body::results`].
    Result(u32),
}

/// A table of targets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Table {
    /// `.branchtargets`
    Labels(Vec<LabelId>),
    /// `.calltargets`
    Functions(Vec<FunctionId>),
}

/// Performance directives of a kernel or function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Directives {
    /// `.maxntid`, missing components 1.
    pub maxntid: Option<[u32; 3]>,
    /// `.reqntid`
    pub reqntid: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub minnctapersm: Option<u32>,
    /// `.maxnreg`
    pub maxnreg: Option<u32>,
    /// `.reqnctapercluster`
    pub reqnctapercluster: Option<[u32; 3]>,
    /// `.maxclusterrank`
    pub maxclusterrank: Option<u32>,
    /// `.explicitcluster`
    pub explicitcluster: bool,
    /// `.blocksareclusters`
    pub blocksareclusters: bool,
    /// `.noreturn`
    pub noreturn: bool,
    /// `.pragma` strings.
    pub pragmas: Vec<String>,
}

impl Directives {
    /// True if they ask for a register count themselves, and do not only bound the threads of a block. Without such a
    /// bound a count of blocks means nothing.
    pub fn state_registers(&self) -> bool {
        self.maxnreg.is_some() || self.minnctapersm.is_some() && self.block_threads().is_some()
    }

    /// True if each warp has consecutive threads of one row of the block, whose length is stated.
    pub fn warps_in_rows(&self) -> bool {
        let one_row = |[_, y, z]: [u32; 3]| y.max(1) == 1 && z.max(1) == 1;
        self.reqntid.is_some_and(|block| block[0].is_multiple_of(32) || one_row(block))
    }

    /// The most threads that they grant a block, if they do.
    pub fn block_threads(&self) -> Option<u32> {
        let bound = self.reqntid.or(self.maxntid)?;
        Some(bound.iter().fold(1, |product: u32, &length| product.saturating_mul(length.max(1))))
    }
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Statement {
    /// The place of a label.
    Label(LabelId),
    /// An instruction. Its ordinal among the instructions of the body is its provenance.
    Instruction(Instruction),
    /// `.pragma` inside the body.
    Pragma(String),
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    /// Guard: register and whether it is negated.
    pub guard: Option<(RegisterId, bool)>,
    /// Opcode (the word before the first dot).
    pub opcode: oriole_ptx::Opcode,
    /// Modifiers in the order written, types and spaces left out.
    pub modifiers: oriole_ptx::Modifiers,
    /// Types in the order written (`cvt.f32.s32` has two).
    pub types: smallvec::SmallVec<[Type; 2]>,
    /// State space, where one is written (`ld.global`, `cvta.to.global`, `isspacep.shared`); `Generic` where the
    /// instruction takes one and none is written; for `ld.param`/`st.param` which kind of parameter.
    pub space: Option<Space>,
    /// The second space of an instruction that names two (`cp.async.shared.global`).
    pub second_space: Option<Space>,
    /// `.v2` = 2, `.v4` = 4, `.v8` = 8; 1 otherwise.
    pub vector: u8,
    /// Whether the instruction table says that the back end compiles the form. Other forms are refused, even if a later
    /// stage could compile the words.
    pub compiled: bool,
    /// Number of operands, from the first on, that are written.
    pub destinations: u8,
    /// Operands in the order written.
    pub operands: Vec<Operand>,
}

impl Instruction {
    /// Calls a function with each register that the instruction writes.
    pub fn for_each_written(&self, mut visit: impl FnMut(RegisterId)) {
        for operand in &self.operands[..usize::from(self.destinations).min(self.operands.len())] {
            operand.for_each_register(&mut visit);
        }
    }

    /// Calls a function with each register that the instruction reads, its guard included.
    pub fn for_each_read(&self, mut visit: impl FnMut(RegisterId)) {
        if let Some((guard, _)) = self.guard {
            visit(guard);
        }
        for operand in self.operands.iter().skip(usize::from(self.destinations)) {
            operand.for_each_register(&mut visit);
        }
    }
}

/// An operand.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A register.
    Register(RegisterId),
    /// `!p`
    NotRegister(RegisterId),
    /// An immediate: the bits in the operand's type, sign-extended to 128 bits for integers; floating immediates as
    /// the bits of the instruction's operand type (an `0f` literal in an `.f64` place is an error, `1.0` becomes the
    /// right width).
    Immediate(Immediate),
    /// `{a, b, _}`
    Vector(Vec<Operand>),
    /// `d|p`: two destinations.
    Pair(Box<Operand>, Box<Operand>),
    /// `_`
    Sink,
    /// `[base + offset]`
    Address(Address),
    /// The address of a variable as a value (`mov.u64 %rd, var + 4`).
    VariableAddress(VariableId, i64),
    /// The address of a function as a value.
    FunctionAddress(FunctionId),
    /// A label (branch target).
    Label(LabelId),
    /// A function (direct call).
    Function(FunctionId),
    /// A table (`brx.idx` targets, `call` targets).
    Table(TableId),
    /// A prototype (indirect call).
    Prototype(PrototypeId),
    /// Arguments or results of a call in parentheses: registers, immediates, or `.param` variables.
    List(Vec<Operand>),
    /// A `.param` variable named without brackets (call arguments).
    Variable(VariableId),
    /// A special register.
    Special(oriole_ptx::SpecialRegister),
    /// Parts of a register, or its negation, as video instructions take them.
    Selection {
        /// The register.
        register: RegisterId,
        /// The parts as written, without the dot (`b0`, `h1`, `b3210`); empty for the whole.
        selector: String,
        /// A minus sign is before it.
        negated: bool,
    },
}

impl Operand {
    /// The components of a vector, or the operand itself.
    pub fn components(&self) -> &[Operand] {
        match self {
            Operand::Vector(components) => components,
            single => std::slice::from_ref(single),
        }
    }

    /// Calls a function with each register of the operand, that of an address included.
    pub fn for_each_register(&self, visit: &mut impl FnMut(RegisterId)) {
        match self {
            Operand::Register(register)
            | Operand::NotRegister(register)
            | Operand::Selection { register, .. }
            | Operand::Address(Address { base: AddressBase::Register(register), .. }) => visit(*register),
            Operand::Vector(inner) | Operand::List(inner) => {
                inner.iter().for_each(|operand| operand.for_each_register(visit));
            }
            Operand::Pair(first, second) => {
                first.for_each_register(visit);
                second.for_each_register(visit);
            }
            _ => {}
        }
    }

    /// Calls a function with each variable whose address or value the operand uses.
    pub fn for_each_variable(&self, visit: &mut impl FnMut(VariableId)) {
        match self {
            Operand::VariableAddress(variable, _)
            | Operand::Variable(variable)
            | Operand::Address(Address { base: AddressBase::Variable(variable), .. }) => visit(*variable),
            Operand::Vector(inner) | Operand::List(inner) => {
                inner.iter().for_each(|operand| operand.for_each_variable(visit));
            }
            Operand::Pair(first, second) => {
                first.for_each_variable(visit);
                second.for_each_variable(visit);
            }
            _ => {}
        }
    }
}

/// An immediate value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Immediate {
    /// Integer constant, 64-bit two's complement as PTX evaluates it.
    Integer(i64),
    /// `0f........`
    F32(u32),
    /// `0d...` or a decimal literal: the bits of the f64.
    F64(u64),
}

/// A memory operand.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Address {
    /// Base.
    pub base: AddressBase,
    /// Offset in bytes.
    pub offset: i64,
}

/// The base of an address.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AddressBase {
    /// A register.
    Register(RegisterId),
    /// A variable or parameter.
    Variable(VariableId),
    /// Nothing: an absolute address.
    Absolute,
}
