//! The opcodes of PTX.

/// Declares the opcodes and the list of their spellings.
macro_rules! opcodes {
    ($( $variant:ident = $name:literal, )*) => {
        /// The word before the first dot of an instruction.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[allow(missing_docs, reason = "the rows of the tables say what each opcode does")]
        pub enum Opcode {
            $( $variant, )*
        }

        /// Every opcode with its spelling.
        const OPCODES: &[(&str, Opcode)] = &[ $( ($name, Opcode::$variant), )* ];
    };
}

// In alphabetical order: names are found by binary search.
opcodes! {
    Abs = "abs",
    Activemask = "activemask",
    Add = "add",
    Addc = "addc",
    Alloca = "alloca",
    And = "and",
    Applypriority = "applypriority",
    Atom = "atom",
    Bar = "bar",
    Barrier = "barrier",
    Bfe = "bfe",
    Bfi = "bfi",
    Bfind = "bfind",
    Bmsk = "bmsk",
    Bra = "bra",
    Brev = "brev",
    Brkpt = "brkpt",
    Brx = "brx",
    Call = "call",
    Clmad = "clmad",
    Clusterlaunchcontrol = "clusterlaunchcontrol",
    Clz = "clz",
    Cnot = "cnot",
    Copysign = "copysign",
    Cos = "cos",
    Cp = "cp",
    Createpolicy = "createpolicy",
    Cvt = "cvt",
    Cvta = "cvta",
    Discard = "discard",
    Div = "div",
    Dp2a = "dp2a",
    Dp4a = "dp4a",
    Elect = "elect",
    Ex2 = "ex2",
    Exit = "exit",
    Fabric = "fabric",
    Fence = "fence",
    Fma = "fma",
    Fns = "fns",
    Getctarank = "getctarank",
    Griddepcontrol = "griddepcontrol",
    Isspacep = "isspacep",
    Istypep = "istypep",
    Ld = "ld",
    Ldmatrix = "ldmatrix",
    Ldu = "ldu",
    Lg2 = "lg2",
    Lop3 = "lop3",
    Mad = "mad",
    Mad24 = "mad24",
    Madc = "madc",
    Mapa = "mapa",
    Match = "match",
    Max = "max",
    Mbarrier = "mbarrier",
    Membar = "membar",
    Min = "min",
    Mma = "mma",
    Mov = "mov",
    Movmatrix = "movmatrix",
    Mul = "mul",
    Mul24 = "mul24",
    Multimem = "multimem",
    Nanosleep = "nanosleep",
    Neg = "neg",
    Not = "not",
    Or = "or",
    Pmevent = "pmevent",
    Popc = "popc",
    Prefetch = "prefetch",
    Prefetchu = "prefetchu",
    Prmt = "prmt",
    Rcp = "rcp",
    Red = "red",
    Redux = "redux",
    Rem = "rem",
    Ret = "ret",
    Rsqrt = "rsqrt",
    Sad = "sad",
    Selp = "selp",
    Set = "set",
    Setmaxnreg = "setmaxnreg",
    Setp = "setp",
    Shf = "shf",
    Shfl = "shfl",
    Shl = "shl",
    Shr = "shr",
    Sin = "sin",
    Slct = "slct",
    Sqrt = "sqrt",
    St = "st",
    Stackrestore = "stackrestore",
    Stacksave = "stacksave",
    Stmatrix = "stmatrix",
    Sub = "sub",
    Subc = "subc",
    Suld = "suld",
    Suq = "suq",
    Sured = "sured",
    Sust = "sust",
    Szext = "szext",
    Tanh = "tanh",
    Tcgen05 = "tcgen05",
    Tensormap = "tensormap",
    Testp = "testp",
    Tex = "tex",
    Tld4 = "tld4",
    Trap = "trap",
    Txq = "txq",
    Vabsdiff = "vabsdiff",
    Vabsdiff2 = "vabsdiff2",
    Vabsdiff4 = "vabsdiff4",
    Vadd = "vadd",
    Vadd2 = "vadd2",
    Vadd4 = "vadd4",
    Vavrg2 = "vavrg2",
    Vavrg4 = "vavrg4",
    Vmad = "vmad",
    Vmax = "vmax",
    Vmax2 = "vmax2",
    Vmax4 = "vmax4",
    Vmin = "vmin",
    Vmin2 = "vmin2",
    Vmin4 = "vmin4",
    Vote = "vote",
    Vset = "vset",
    Vset2 = "vset2",
    Vset4 = "vset4",
    Vshl = "vshl",
    Vshr = "vshr",
    Vsub = "vsub",
    Vsub2 = "vsub2",
    Vsub4 = "vsub4",
    Wgmma = "wgmma",
    Wmma = "wmma",
    Xor = "xor",
}

impl Opcode {
    /// The opcode spelled so.
    pub fn from_name(name: &str) -> Option<Opcode> {
        OPCODES.binary_search_by_key(&name, |row| row.0).ok().map(|index| OPCODES[index].1)
    }

    /// Its spelling.
    pub fn name(self) -> &'static str {
        OPCODES[self as usize].0
    }

    /// Number of opcode words.
    pub const COUNT: usize = OPCODES.len();

    /// Every opcode, in alphabetical order.
    pub fn all() -> impl Iterator<Item = Opcode> {
        OPCODES.iter().map(|row| row.1)
    }
}
