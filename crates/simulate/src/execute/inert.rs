//! Modifiers that have no effect in the simulator. Any other modifier that the execution does not query is unknown, and
//! the instruction is refused.

use oriole_sass::{Mod, Op};

/// Opcodes without effect here, whatever their modifiers: memory is in order, and there is no cache.
const WITHOUT_EFFECT: &[Op] = {
    use Op::*;
    &[
        NOP,
        MEMBAR,
        ERRBAR,
        CGAERRBAR,
        FENCE,
        CCTL,
        CCTLL,
        CCTLT,
        DEPBAR,
        LDGDEPBAR,
        PMTRIG,
        ACQBULK,
        PREEXIT,
        UVIRTCOUNT,
        UBLKPF,
        UTMAPF,
        UTMACCTL,
        UTMACMDFLUSH,
    ]
};

/// Opcodes and their modifiers without effect.
type Row = (&'static [Op], &'static [Mod]);

/// Memory ordering and caching of accesses: memory is in order, and there is no cache. The registers give the width of
/// an address. The words of a parity group are distributed by the first access, and accesses to it are alike.
const ACCESSES: Row = {
    use Op::*;
    (
        &[
            LD, LDG, LDS, LDL, ST, STG, STS, STL, ATOM, ATOMG, ATOMS, RED, REDG, REDAS, LDGSTS, LDGMC, QSPC,
            SULD, SUST, SURED,
        ],
        &[
            Mod::E,
            Mod::EF,
            Mod::EFL2,
            Mod::EL,
            Mod::ELL2,
            Mod::ENL2,
            Mod::EU,
            Mod::LU,
            Mod::NA,
            Mod::LTC64B,
            Mod::LTC128B,
            Mod::LTC256B,
            Mod::BYPASS,
            Mod::CONSTANT,
            Mod::PRIVATE,
            Mod::STRONG,
            Mod::CTA,
            Mod::SM,
            Mod::GPU,
            Mod::SYS,
            Mod::VC,
            Mod::MMIO,
        ],
    )
};

/// The default modifier of a set whose other members are all queried; and the fixed modifiers of an opcode.
const ROWS: &[Row] = {
    use Op::*;
    &[
        ACCESSES,
        (&[ISETP, UISETP, FSET, FSETP, UFSET, UFSETP, DSETP, HSET2, HSETP2], &[Mod::AND]),
        (&[LOP3, ULOP3, PLOP3, UPLOP3], &[Mod::LUT]),
        (&[SHF, USHF], &[Mod::L, Mod::U32]),
        (&[SHFL], &[Mod::IDX]),
        (&[VOTE, VOTEU, MATCH], &[Mod::ANY]),
        (&[CREDUX, LDTM], &[Mod::MAX]),
        (&[R2UR], &[Mod::BROADCAST]),
        (&[BMOV, RPCMOV], &[Mod::_32]),
        (&[LDSM, STSM, MOVM], &[Mod::_16]),
        (&[LDS], &[Mod::U]),
        // Arithmetic.
        (&[VIADD, VIMNMX], &[Mod::S32]),
        (&[VIADD], &[Mod::_32]),
        (&[CLMAD], &[Mod::LO]),
        (&[IDP], &[Mod::_2A, Mod::LO, Mod::U16, Mod::U8, Mod::U8_2]),
        (&[I2I, I2IP], &[Mod::S32, Mod::SAT]),
        (&[I2FP, UI2FP, F2IP], &[Mod::F32]),
        (&[F2IP], &[Mod::U8]),
        (&[F2F], &[Mod::F32, Mod::F32_2]),
        // Unpacking of narrow formats does not round.
        (&[F2FP], &[Mod::F32, Mod::F16, Mod::F16_2, Mod::E5M2_2, Mod::PACK_AB, Mod::BF16, Mod::RZ]),
        (&[HFMA2], &[Mod::MMA]),
        // MMAs.
        (&[HMMA, QMMA, OMMA], &[Mod::F32]),
        (&[HMMA], &[Mod::F16, Mod::F16_2]),
        (&[HGMMA, QGMMA], &[Mod::F16]),
        (&[QMMA, QGMMA], &[Mod::E4M3, Mod::E4M3_2]),
        (&[OMMA], &[Mod::UE4M3]),
        (&[IMMA, IGMMA], &[Mod::U8, Mod::U8_2, Mod::U4, Mod::U4_2]),
        (&[BMMA, BGMMA], &[Mod::AND, Mod::POPC]),
        (&[WARPGROUP], &[Mod::ARRIVE, Mod::LE]),
        (&[UTCATOMSWS], &[Mod::ALIGN, Mod::_2CTA]),
        (&[UTCBAR], &[Mod::_2CTA]),
        (&[UTCCP], &[Mod::S, Mod::T]),
        (&[UTCSHIFT], &[Mod::DOWN]),
        // Memory. Data with several copies have one copy here, which is its own sum.
        (&[ATOM, ATOMG, ATOMS, REDG, RED, REDAS], &[Mod::_32, Mod::INC, Mod::RN, Mod::SPIN]),
        (
            &[LDGMC],
            &[
                Mod::_32,
                Mod::ADD,
                Mod::F32ADD,
                Mod::HPADD,
                Mod::MAX,
                Mod::MIN,
                Mod::AND,
                Mod::OR,
                Mod::XOR,
                Mod::RN,
            ],
        ),
        (&[UBLKCP, UBLKRED], &[Mod::S, Mod::S_2, Mod::RN]),
        // In order as all accesses are.
        (&[UBLKCP, UBLKRED], &[Mod::STRONG, Mod::CTA, Mod::SM, Mod::GPU, Mod::SYS]),
        (&[TEX, TLD], &[Mod::LZ]),
        // Other modifiers give the behaviour of a surface access beyond the edge.
        (&[SULD, SUST, SURED], &[Mod::D, Mod::IGN, Mod::TRAP]),
        (&[SURED], &[Mod::MAX, Mod::SD32, Mod::SD64]),
        // Barriers.
        (&[BAR], &[Mod::DEFER_BLOCKING, Mod::POPC, Mod::SYNC]),
        (&[SYNCS, ARRIVES], &[Mod::_64, Mod::TRANS64, Mod::TRYWAIT]),
        (&[UGETNEXTWORKID], &[Mod::SELFCAST]),
        // Branches. The operand itself shows that it is a uniform predicate.
        (&[BRA], &[Mod::U]),
        (&[BSSY, BSYNC, BREAK], &[Mod::RECONVERGENT, Mod::RELIABLE]),
        (&[CALL], &[Mod::NOINC, Mod::REL]),
        (&[RET], &[Mod::NODEC, Mod::REL]),
        (&[NANOSLEEP], &[Mod::SYNCS]),
        (&[USETMAXREG], &[Mod::CTAPOOL, Mod::TRY_ALLOC]),
    ]
};

/// True for a modifier that the simulator may ignore.
pub(super) fn changes_nothing(op: Op, modifier: Mod) -> bool {
    WITHOUT_EFFECT.contains(&op)
        || ROWS.iter().any(|(ops, modifiers)| ops.contains(&op) && modifiers.contains(&modifier))
}
