//! Loads, stores, moves and addresses.
//!
//! Rows only; copies between memories are in the family of transfers.

use super::pieces::*;
use super::{Kind, Need, OperandRow, OperandType, Row, Slot};
use crate::Opcode::{self, *};
use crate::Space;
use crate::Type::*;
use Slot::{May, MaySpace, Must, Space as SpaceSlot, Type};

const LOADED: OperandRow = any("d", Kind::VectorDestination, OperandType::Widening(0));
const STORED: OperandRow = any("b", Kind::VectorSource, OperandType::Widening(0));
const M: Slot = Type(MEMORY_TYPES);
const GLOBAL: Slot = MaySpace(&[Space::Global]);
const L1: Slot =
    May(&["L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"]);
const L2: Slot = May(&["L2::evict_normal", "L2::evict_first", "L2::evict_last"]);
const FETCH: Slot = May(&["L2::64B", "L2::128B", "L2::256B"]);
const LOAD_CACHE: Slot = May(&["ca", "cg", "cs", "lu", "cv"]);
const STORE_CACHE: Slot = May(&["wb", "cg", "cs", "wt"]);
const LOAD: &[OperandRow] = &[LOADED, ADDRESS, POLICY];
const STORE: &[OperandRow] = &[ADDRESS, STORED, POLICY];
const NEEDS: &[Need] = &[
    Need { token: "L1::evict_normal", ptx: (7, 4), chip: 70 },
    Need { token: "L1::evict_unchanged", ptx: (7, 4), chip: 70 },
    Need { token: "L1::evict_first", ptx: (7, 4), chip: 70 },
    Need { token: "L1::evict_last", ptx: (7, 4), chip: 70 },
    Need { token: "L1::no_allocate", ptx: (7, 4), chip: 70 },
    Need { token: "L2::evict_normal", ptx: (8, 8), chip: 100 },
    Need { token: "L2::evict_first", ptx: (8, 8), chip: 100 },
    Need { token: "L2::evict_last", ptx: (8, 8), chip: 100 },
    Need { token: "L2::cache_hint", ptx: (7, 4), chip: 80 },
    Need { token: "L2::64B", ptx: (7, 4), chip: 75 },
    Need { token: "L2::128B", ptx: (7, 4), chip: 75 },
    Need { token: "L2::256B", ptx: (7, 4), chip: 80 },
    Need { token: "weak", ptx: (6, 0), chip: 70 },
    Need { token: "cluster", ptx: (7, 8), chip: 90 },
];
const PARAM_NEEDS: &[Need] = &[Need { token: "param", ptx: (7, 7), chip: 70 }];
const POINTER: Slot = Type(&[U32, U64]);
const WINDOWS: Slot = SpaceSlot(&[
    Space::Global,
    Space::Local,
    Space::Shared,
    Space::SharedCluster,
    Space::Constant,
    Space::KernelParameter,
]);

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Ld,
        &[
            row(
                Ld,
                &[May(&["weak"]), LOAD_SPACES, LOAD_CACHE, VECTOR, M],
                &[LOADED, ADDRESS],
                "Loads from memory.",
            )
            .needs(NEEDS),
            row(
                Ld,
                &[May(&["weak"]), GLOBAL, LOAD_CACHE, HINT, FETCH, VECTOR, M],
                LOAD,
                "Loads from memory, with a cache policy.",
            )
            .needs(NEEDS),
            row(
                Ld,
                &[May(&["weak"]), GLOBAL, L1, L2, HINT, FETCH, VECTOR, M],
                LOAD,
                "Loads from memory, with eviction priorities.",
            )
            .needs(NEEDS),
            row(
                Ld,
                &[
                    SpaceSlot(&[Space::Global]),
                    May(&["ca", "cg", "cs"]),
                    Must(&["nc"]),
                    HINT,
                    FETCH,
                    VECTOR,
                    M,
                ],
                LOAD,
                "Loads from memory that nobody writes while the kernel runs.",
            )
            .since(32, 3, 1)
            .needs(NEEDS),
            row(
                Ld,
                &[SpaceSlot(&[Space::Global]), Must(&["nc"]), L1, L2, HINT, FETCH, VECTOR, M],
                LOAD,
                "Loads from memory that nobody writes, with eviction priorities.",
            )
            .since(32, 3, 1)
            .needs(NEEDS),
            row(
                Ld,
                &[Must(&["volatile"]), MEMORY_SPACES, VECTOR, M],
                &[LOADED, ADDRESS],
                "Loads; the access is neither removed nor merged.",
            )
            .needs(NEEDS),
            row(
                Ld,
                &[Must(&["relaxed", "acquire"]), SCOPE, MEMORY_SPACES, VECTOR, M],
                &[LOADED, ADDRESS],
                "Loads with a memory order and a scope.",
            )
            .since(70, 6, 0)
            .needs(NEEDS),
            row(
                Ld,
                &[Must(&["relaxed", "acquire"]), SCOPE, GLOBAL, L1, L2, HINT, FETCH, VECTOR, M],
                LOAD,
                "Loads with a memory order, a scope and eviction priorities.",
            )
            .since(70, 6, 0)
            .needs(NEEDS),
            row(
                Ld,
                &[Must(&["mmio"]), Must(&["relaxed"]), Must(&["sys"]), MaySpace(&[Space::Global]), M],
                &[LOADED, ADDRESS],
                "Loads from a device.",
            )
            .since(70, 8, 2)
            .later(),
        ],
    ),
    (
        Ldu,
        &[row(
            Ldu,
            &[MaySpace(&[Space::Global]), VECTOR, M],
            &[LOADED, ADDRESS],
            "Loads from an address that is the same in the whole warp.",
        )
        .since(20, 2, 0)
        .later()],
    ),
    (
        St,
        &[
            row(
                St,
                &[May(&["weak"]), STORE_SPACES, STORE_CACHE, VECTOR, M],
                &[ADDRESS, STORED],
                "Stores to memory.",
            )
            .needs(NEEDS),
            row(
                St,
                &[May(&["weak"]), GLOBAL, STORE_CACHE, HINT, VECTOR, M],
                STORE,
                "Stores to memory, with a cache policy.",
            )
            .needs(NEEDS),
            row(
                St,
                &[May(&["weak"]), GLOBAL, L1, L2, HINT, VECTOR, M],
                STORE,
                "Stores to memory, with eviction priorities.",
            )
            .needs(NEEDS),
            row(
                St,
                &[Must(&["volatile"]), MEMORY_SPACES, VECTOR, M],
                &[ADDRESS, STORED],
                "Stores; the access is neither removed nor merged.",
            ),
            row(
                St,
                &[Must(&["relaxed", "release"]), SCOPE, MEMORY_SPACES, VECTOR, M],
                &[ADDRESS, STORED],
                "Stores with a memory order and a scope.",
            )
            .since(70, 6, 0)
            .needs(NEEDS),
            row(
                St,
                &[Must(&["relaxed", "release"]), SCOPE, GLOBAL, L1, L2, HINT, VECTOR, M],
                STORE,
                "Stores with a memory order, a scope and eviction priorities.",
            )
            .since(70, 6, 0)
            .needs(NEEDS),
            row(
                St,
                &[Must(&["mmio"]), Must(&["relaxed"]), Must(&["sys"]), MaySpace(&[Space::Global]), M],
                &[ADDRESS, STORED],
                "Stores to a device.",
            )
            .since(70, 8, 2)
            .later(),
            row(
                St,
                &[
                    Must(&["async"]),
                    May(&["weak"]),
                    May(&["mbarrier::complete_tx::bytes"]),
                    MaySpace(&[Space::SharedCluster]),
                    VECTOR,
                    Type(&[B32, B64, U32, U64, S32, S64, F32, F64]),
                ],
                &[ADDRESS, STORED, any("mbar", Kind::Address, OperandType::AnyInteger)],
                "Stores to the shared memory of another block and signals a barrier object.",
            )
            .since(90, 8, 1)
            .later(),
            row(
                St,
                &[Must(&["bulk"]), May(&["weak"]), SpaceSlot(&[Space::Shared]), Type(&[B64])],
                &[ADDRESS, src("size", OperandType::AnyInteger), src("initval", T)],
                "Fills a region of shared memory.",
            )
            .since(100, 8, 6)
            .later(),
        ],
    ),
    (
        Mov,
        &[
            row(
                Mov,
                &[Type(&[Pred, B16, B32, B64, B128, U16, U32, U64, S16, S32, S64, F32, F64])],
                &[any("d", Kind::MoveDestination, T), any("a", Kind::MoveSource, T)],
                "Copies, packs, unpacks, or takes an address.",
            ),
            row(
                Mov,
                &[
                    Slot::Vector(&[2, 4]),
                    Type(&[B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, F32, F64]),
                ],
                &[any("d", Kind::Anything, T), any("a", Kind::Anything, T)],
                "Copies a vector element by element.",
            )
            .later(),
        ],
    ),
    (
        Cvta,
        &[
            row(
                Cvta,
                &[Slot::Head(&["to"]), WINDOWS, POINTER],
                &[any("p", Kind::Destination, T), any("a", Kind::RegisterSource, T)],
                "From a generic address to one of a state space.",
            )
            .since(20, 2, 0)
            .needs(PARAM_NEEDS),
            row(
                Cvta,
                &[WINDOWS, POINTER],
                &[any("p", Kind::Destination, T), any("a", Kind::AddressSource, T)],
                "From an address of a state space to a generic one.",
            )
            .since(20, 2, 0)
            .needs(PARAM_NEEDS),
        ],
    ),
    (
        Isspacep,
        &[row(
            Isspacep,
            &[WINDOWS],
            &[any("p", Kind::Destination, P), any("a", Kind::RegisterSource, OperandType::AnyInteger)],
            "Tests whether a generic address lies in a state space.",
        )
        .since(20, 2, 0)
        .needs(PARAM_NEEDS)],
    ),
    (
        Istypep,
        &[row(Istypep, &[Slot::Anything], &[REST], "Tests the kind of an opaque variable.")
            .since(30, 4, 0)
            .later()],
    ),
    (
        Prefetch,
        &[
            row(
                Prefetch,
                &[MaySpace(&[Space::Global, Space::Local]), Must(&["L1", "L2"])],
                &[ADDRESS],
                "Brings a line into a cache.",
            )
            .since(20, 2, 0),
            row(
                Prefetch,
                &[SpaceSlot(&[Space::Global]), Must(&["L2::evict_last", "L2::evict_normal"])],
                &[ADDRESS],
                "Brings a line into the second cache with a priority.",
            )
            .since(80, 7, 4)
            .later(),
            row(
                Prefetch,
                &[MaySpace(&[Space::Constant, Space::KernelParameter]), Must(&["tensormap"])],
                &[ADDRESS],
                "Brings a tensor map into its cache.",
            )
            .since(90, 8, 0)
            .later(),
        ],
    ),
    (
        Prefetchu,
        &[row(Prefetchu, &[Must(&["L1"])], &[ADDRESS], "Brings a line into the uniform cache.")
            .since(20, 2, 0)
            .later()],
    ),
    (
        Applypriority,
        &[row(
            Applypriority,
            &[MaySpace(&[Space::Global]), Must(&["L2::evict_normal"])],
            &[ADDRESS, any("size", Kind::ConstantOf(&[128]), W)],
            "Changes the eviction priority of a line.",
        )
        .since(80, 7, 4)
        .later()],
    ),
    (
        Discard,
        &[row(
            Discard,
            &[MaySpace(&[Space::Global]), Must(&["L2"])],
            &[ADDRESS, any("size", Kind::ConstantOf(&[128]), W)],
            "Drops a line without writing it back.",
        )
        .since(80, 7, 4)
        .later()],
    ),
    (
        Createpolicy,
        &[row(Createpolicy, &[Slot::Anything, Type(&[B64])], &[REST], "Makes a cache policy.")
            .since(80, 7, 4)
            .later()],
    ),
    (
        Mapa,
        &[row(
            Mapa,
            &[MaySpace(&[Space::SharedCluster]), POINTER],
            &[any("d", Kind::Destination, T), any("a", Kind::AddressSource, T), src("b", W)],
            "The address of a shared variable in another block of the cluster.",
        )
        .since(90, 7, 8)
        .later()],
    ),
    (
        Getctarank,
        &[row(
            Getctarank,
            &[MaySpace(&[Space::SharedCluster]), POINTER],
            &[DW, any("a", Kind::AddressSource, T)],
            "The rank of the block that an address of shared memory belongs to.",
        )
        .since(90, 7, 8)
        .later()],
    ),
    (
        Alloca,
        &[row(
            Alloca,
            &[POINTER],
            &[D, src("size", T), any("alignment", Kind::Constant(1, 1 << 23), T).optional()],
            "Takes memory from the stack.",
        )
        .since(52, 7, 3)
        .later()],
    ),
    (Stacksave, &[row(Stacksave, &[POINTER], &[D], "Reads the stack pointer.").since(52, 7, 3).later()]),
    (
        Stackrestore,
        &[row(Stackrestore, &[POINTER], &[any("a", Kind::RegisterSource, T)], "Sets the stack pointer.")
            .since(52, 7, 3)
            .later()],
    ),
];
