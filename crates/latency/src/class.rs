//! Scheduling classes: opcodes that behave alike in time. One row of the `match` is one fact about an opcode.

use oriole_sass::{Mod, Mods, Op};

/// A scheduling class. Instructions of one class share their pipe and their distances.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Integer, logic, compare, select, move.
    Alu,
    /// 32-bit multiply-add, floating or integer.
    Fma,
    /// `VIADD`: dispatched to the multiply-add side.
    Dual,
    /// `IMAD.WIDE`, whose two result halves arrive apart, and `IMAD.HI`.
    Wide,
    /// Packed half arithmetic.
    Half,
    /// `HADD2.F32`, a half widened to 32 bits: in the unit of packed halves, but without their short way to each other.
    HalfToSingle,
    /// Packed half compare, minimum, set.
    HalfAlu,
    /// `HFMA2.MMA`: packed half arithmetic on the matrix side.
    HalfMma,
    /// `P2R` and `R2P`: the predicate file as a mask.
    Mask,
    /// 64-bit floating.
    Double,
    /// `CS2R` of 64 bits.
    Dispatch64,
    /// Matrix multiply of 8x8x16 integers.
    Matrix88,
    /// Matrix multiply of floating numbers in one step.
    MatrixOne,
    /// Matrix multiply of integers or bits in one step; its sources take the result of another one later.
    MatrixOneInteger,
    /// Matrix multiply in two steps.
    MatrixTwo,
    /// Matrix multiply of doubles; reports by scoreboard.
    MatrixDouble,
    /// Matrix multiply of a warp group; reports by `WARPGROUP.DEPBAR`.
    Group,
    /// Special functions and conversions; reports by scoreboard.
    Special,
    /// Loads, stores, atomics, shuffles; reports by scoreboard.
    Memory,
    /// Textures and surfaces; reports by scoreboard.
    Texture,
    /// Bulk copies and other asynchronous engines; reports by scoreboard.
    Bulk,
    /// Transactions on barriers in shared memory; reports by scoreboard.
    Sync,
    /// Fences and barriers of the block.
    Fence,
    /// Reads of special registers through the slow path; reports by scoreboard.
    SpecialRegister,
    /// General to uniform register.
    ToUniform,
    /// Uniform arithmetic.
    Uniform,
    /// `ULDC`.
    UniformLoad,
    /// `UMOV`.
    UniformMove,
    /// `VOTEU` and `ELECT`.
    UniformVote,
    /// Branches and convergence barriers.
    Control,
    /// Fixed latency, but no measured distance: always the longest.
    Other,
}

/// The class of an opcode with its modifiers. Chips differ in the distances, not in the classes.
pub fn class(op: Op, mods: &Mods) -> Class {
    use Op::*;
    match op {
        IADD3 | LOP3 | ISETP | SHF | LEA | SEL | MOV | PRMT | IABS | IMNMX | VIMNMX | VIMNMX3 | VIADDMNMX
        | FSETP | FSEL | FSET | FMNMX | F2FP | F2IP | SGXT | BMSK | PLOP3 | I2FP | VOTE | VABSDIFF
        | VABSDIFF4 | VHMNMX | I2I | I2IP => Class::Alu,
        P2R | R2P => Class::Mask,
        CS2R if mods.has(Mod::_32) => Class::Alu,
        CS2R => Class::Dispatch64,
        IMAD if mods.has(Mod::WIDE) || mods.has(Mod::HI) => Class::Wide,
        FFMA | FMUL | FADD | IMAD | IDP => Class::Fma,
        VIADD => Class::Dual,
        HFMA2 if mods.has(Mod::MMA) => Class::HalfMma,
        HADD2 if mods.has(Mod::F32) => Class::HalfToSingle,
        HADD2 | HMUL2 | HFMA2 => Class::Half,
        HSET2 | HSETP2 | HMNMX2 => Class::HalfAlu,
        DADD | DMUL | DFMA | DSETP => Class::Double,
        DMMA => Class::MatrixDouble,
        HMMA | IMMA | BMMA => matrix_class(op, mods),
        HGMMA | IGMMA | BGMMA | QGMMA => Class::Group,
        MUFU | F2I | I2F | F2F | FRND | POPC | FLO | BREV | FCHK => Class::Special,
        LD | LDC | LDG | LDGMC | LDL | LDS | LDSM | LDGSTS | LDGDEPBAR | LDTRAM | ST | STG | STL | STS
        | STSM | STAS | ATOM | ATOMG | ATOMS | REDG | REDAS | SHFL | MATCH | MOVM | QSPC | CCTL | CCTLL
        | CCTLT | ALD | AST | AL2P | IPA | ISBERD | ISBEWR | OUT | ARRIVES => Class::Memory,
        TEX | TLD | TLD4 | TXD | TXQ | TMML | FOOTPRINT | SULD | SUST | SUATOM | SURED | SUQUERY => {
            Class::Texture
        }
        UBLKCP | UBLKPF | UBLKRED | UTMACCTL | UTMACMDFLUSH | UTMALDG | UTMAPF | UTMAREDG | UTMASTG => {
            Class::Bulk
        }
        SYNCS => Class::Sync,
        BAR | MEMBAR | FENCE | ERRBAR | CGAERRBAR | DEPBAR | UCGABAR_ARV | UCGABAR_WAIT | ACQBULK
        | PREEXIT | WARPGROUP | WARPGROUPSET | NOP => Class::Fence,
        S2R | S2UR | B2R | REDUX | BMOV | GETLMEMBASE | SETLMEMBASE | RPCMOV | PIXLD | SETCTAID => {
            Class::SpecialRegister
        }
        R2UR => Class::ToUniform,
        ULDC => Class::UniformLoad,
        UMOV => Class::UniformMove,
        VOTEU | ELECT => Class::UniformVote,
        UBMSK | UBREV | UCLEA | UF2FP | UFLO | UIADD3 | UIMAD | UISETP | ULEA | ULEPC | ULOP3 | UP2UR
        | UPLOP3 | UPOPC | UPRMT | UR2UP | USEL | USGXT | USHF => Class::Uniform,
        BRA | BRX | BRXU | BSSY | BSYNC | BREAK | CALL | RET | EXIT | JMP | JMX | JMXU | KILL | BPT
        | WARPSYNC | YIELD | NANOSLEEP | ENDCOLLECTIVE => Class::Control,
        LEPC | FSWZADD | CSMTEST | PMTRIG | USETMAXREG | USETSHMSZ => Class::Other,
    }
}

/// Shapes of a matrix multiply in one step or less: the opcode, modifiers that it has, modifiers that it has not. All
/// other shapes take two steps; their latencies hang on the shape alone, not on the types.
const SHORT_SHAPES: &[(Op, &[Mod], &[Mod], Class)] = &[
    (Op::IMMA, &[Mod::_8816], &[], Class::Matrix88),
    (Op::IMMA, &[Mod::_8832], &[], Class::Matrix88),
    (Op::BMMA, &[Mod::_88128], &[], Class::Matrix88),
    (Op::IMMA, &[Mod::_16816], &[Mod::SP], Class::MatrixOneInteger),
    (Op::BMMA, &[Mod::_168128], &[], Class::MatrixOneInteger),
    (Op::HMMA, &[Mod::_1684], &[], Class::MatrixOne),
    (Op::HMMA, &[Mod::_1688], &[Mod::TF32, Mod::SP], Class::MatrixOne),
    (Op::HMMA, &[Mod::SP, Mod::_16816, Mod::F16], &[Mod::F32, Mod::TF32], Class::MatrixOne),
];

fn matrix_class(op: Op, mods: &Mods) -> Class {
    let row = SHORT_SHAPES.iter().find(|(of, with, without, _)| {
        *of == op && with.iter().all(|&m| mods.has(m)) && !without.iter().any(|&m| mods.has(m))
    });
    row.map_or(Class::MatrixTwo, |row| row.3)
}
