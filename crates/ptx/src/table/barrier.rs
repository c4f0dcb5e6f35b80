//! Barriers, fences and barrier objects.
//!
//! Rows only.

use super::pieces::*;
use super::{Kind, Need, OperandRow, OperandType, Row, Slot};
use crate::Opcode::{self, *};
use crate::Space;
use crate::Type::*;
use Slot::{Head, May, MaySpace, Must, Type};

const CTA: Slot = May(&["cta"]);
const CTA_NEEDS: &[Need] = &[Need { token: "cta", ptx: (7, 8), chip: 10 }];
const MAY_ALIGNED: Slot = May(&["aligned"]);
const NUMBER: OperandRow = any("a", Kind::SourceInRange(0, 15), W);
const THREADS: OperandRow = any("b", Kind::SourceMultipleOf(32), W);
const POPC: Slot = Must(&["popc"]);
const LOGIC: Slot = Must(&["and", "or"]);
const RED: Slot = Must(&["red"]);
const OBJECT: Slot = MaySpace(&[Space::Shared, Space::SharedCluster]);
const PREDICATE_RESULT: OperandRow = any("p", Kind::Destination, P);
const STATE: OperandRow = any("state", Kind::DestinationOrSink, OperandType::Fixed(B64));
const REGION: super::Chips = super::Chips::From(90);
const CLUSTER_NEEDS: &[Need] = &[Need { token: "cluster", ptx: (7, 8), chip: 90 }];

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Bar,
        &[
            row(
                Bar,
                &[CTA, Must(&["sync"])],
                &[NUMBER, THREADS.optional()],
                "Waits for the threads of the block.",
            )
            .needs(CTA_NEEDS),
            row(Bar, &[CTA, Must(&["arrive"])], &[NUMBER, THREADS], "Signals a barrier without waiting.")
                .since(20, 2, 0)
                .needs(CTA_NEEDS),
            row(
                Bar,
                &[CTA, RED, POPC, Type(&[U32])],
                &[D, NUMBER, PREDICATE],
                "Waits and counts the threads in which a predicate holds.",
            )
            .since(20, 2, 0)
            .needs(CTA_NEEDS),
            row(
                Bar,
                &[CTA, RED, POPC, Type(&[U32])],
                &[D, NUMBER, THREADS, PREDICATE],
                "Waits and counts the threads in which a predicate holds.",
            )
            .since(20, 2, 0)
            .needs(CTA_NEEDS),
            row(
                Bar,
                &[CTA, RED, LOGIC, Type(&[Pred])],
                &[PREDICATE_RESULT, NUMBER, PREDICATE],
                "Waits and combines a predicate over the threads.",
            )
            .since(20, 2, 0)
            .needs(CTA_NEEDS),
            row(
                Bar,
                &[CTA, RED, LOGIC, Type(&[Pred])],
                &[PREDICATE_RESULT, NUMBER, THREADS, PREDICATE],
                "Waits and combines a predicate over the threads.",
            )
            .since(20, 2, 0)
            .needs(CTA_NEEDS),
            row(Bar, &[Head(&["warp"]), Must(&["sync"])], &[MEMBERS], "Waits for lanes of the warp.")
                .since(30, 6, 0)
                .needs(CTA_NEEDS),
        ],
    ),
    (
        Barrier,
        &[
            row(
                Barrier,
                &[CTA, Must(&["sync"]), MAY_ALIGNED],
                &[NUMBER, THREADS.optional()],
                "Waits for the threads of the block.",
            )
            .since(30, 6, 0)
            .needs(CTA_NEEDS),
            row(
                Barrier,
                &[CTA, Must(&["arrive"]), MAY_ALIGNED],
                &[NUMBER, THREADS],
                "Signals a barrier without waiting.",
            )
            .since(30, 6, 0)
            .needs(CTA_NEEDS),
            row(
                Barrier,
                &[CTA, RED, POPC, MAY_ALIGNED, Type(&[U32])],
                &[D, NUMBER, PREDICATE],
                "Waits and counts the threads in which a predicate holds.",
            )
            .since(30, 6, 0)
            .needs(CTA_NEEDS),
            row(
                Barrier,
                &[CTA, RED, POPC, MAY_ALIGNED, Type(&[U32])],
                &[D, NUMBER, THREADS, PREDICATE],
                "Waits and counts the threads in which a predicate holds.",
            )
            .since(30, 6, 0)
            .needs(CTA_NEEDS),
            row(
                Barrier,
                &[CTA, RED, LOGIC, MAY_ALIGNED, Type(&[Pred])],
                &[PREDICATE_RESULT, NUMBER, PREDICATE],
                "Waits and combines a predicate over the threads.",
            )
            .since(30, 6, 0)
            .needs(CTA_NEEDS),
            row(
                Barrier,
                &[CTA, RED, LOGIC, MAY_ALIGNED, Type(&[Pred])],
                &[PREDICATE_RESULT, NUMBER, THREADS, PREDICATE],
                "Waits and combines a predicate over the threads.",
            )
            .since(30, 6, 0)
            .needs(CTA_NEEDS),
            row(
                Barrier,
                &[Head(&["cluster"]), Must(&["arrive"]), May(&["release", "relaxed"]), MAY_ALIGNED],
                &[],
                "Signals the barrier of the cluster.",
            )
            .only(REGION, 7, 8)
            .later(),
            row(
                Barrier,
                &[Head(&["cluster"]), Must(&["wait"]), May(&["acquire"]), MAY_ALIGNED],
                &[],
                "Waits for the barrier of the cluster.",
            )
            .only(REGION, 7, 8)
            .later(),
        ],
    ),
    (
        Membar,
        &[
            row(Membar, &[Must(&["cta", "gl", "sys"])], &[], "Orders memory accesses.").since(10, 1, 4),
            row(
                Membar,
                &[Head(&["proxy"]), Must(&["alias", "async"]), MaySpace(&[Space::Global, Space::Shared])],
                &[],
                "Orders accesses through two kinds of address.",
            )
            .since(70, 7, 5)
            .later(),
        ],
    ),
    (
        Fence,
        &[
            row(
                Fence,
                &[May(&["sc", "acq_rel", "acquire", "release"]), SCOPE],
                &[],
                "Orders memory accesses within a scope.",
            )
            .since(70, 6, 0)
            .needs(CLUSTER_NEEDS),
            row(
                Fence,
                &[
                    Must(&["acquire", "release"]),
                    Must(&["sync_restrict::shared::cluster", "sync_restrict::shared::cta"]),
                    Must(&["cluster"]),
                ],
                &[],
                "Orders accesses to shared memory only.",
            )
            .since(90, 8, 6)
            .later(),
            row(
                Fence,
                &[Head(&["mbarrier_init"]), Must(&["release"]), Must(&["cluster"])],
                &[],
                "Makes initialized barrier objects visible.",
            )
            .since(90, 8, 0)
            .later(),
            row(
                Fence,
                &[
                    Head(&["proxy"]),
                    Must(&["alias", "async"]),
                    MaySpace(&[Space::Global, Space::Shared, Space::SharedCluster]),
                ],
                &[],
                "Orders accesses through two kinds of address.",
            )
            .since(70, 7, 5)
            .needs(&[Need { token: "async", ptx: (8, 0), chip: 90 }])
            .later(),
            row(
                Fence,
                &[
                    Head(&["proxy"]),
                    Must(&["tensormap::generic", "async::generic"]),
                    Must(&["acquire", "release"]),
                    May(&["sync_restrict::shared::cluster", "sync_restrict::shared::cta"]),
                    SCOPE,
                ],
                &[REST],
                "Orders accesses through two kinds of address, in one direction.",
            )
            .since(90, 8, 3)
            .later(),
        ],
    ),
    (
        Mbarrier,
        &[
            row(
                Mbarrier,
                &[Must(&["init"]), OBJECT, Type(&[B64])],
                &[ADDRESS, src("count", W)],
                "Makes a barrier object.",
            )
            .since(80, 7, 0)
            .later(),
            row(Mbarrier, &[Must(&["inval"]), OBJECT, Type(&[B64])], &[ADDRESS], "Ends a barrier object.")
                .since(80, 7, 0)
                .later(),
            row(
                Mbarrier,
                &[Must(&["expect_tx", "complete_tx"]), May(&["relaxed"]), MAY_SCOPE, OBJECT, Type(&[B64])],
                &[ADDRESS, src("bytes", W)],
                "Changes the count of outstanding bytes.",
            )
            .since(90, 8, 0)
            .later(),
            row(
                Mbarrier,
                &[
                    Must(&["arrive", "arrive_drop"]),
                    May(&["expect_tx"]),
                    May(&["noComplete"]),
                    May(&["release", "relaxed"]),
                    MAY_SCOPE,
                    OBJECT,
                    Type(&[B64]),
                ],
                &[STATE, ADDRESS, src("count", W).optional()],
                "Signals a barrier object.",
            )
            .since(80, 7, 0)
            .later(),
            row(
                Mbarrier,
                &[
                    Must(&["test_wait", "try_wait"]),
                    May(&["parity"]),
                    May(&["acquire", "relaxed"]),
                    MAY_SCOPE,
                    OBJECT,
                    Type(&[B64]),
                ],
                &[
                    PREDICATE_RESULT,
                    ADDRESS,
                    any("state", Kind::Anything, OperandType::None),
                    src("hint", W).optional(),
                ],
                "Tests whether a phase of a barrier object is complete.",
            )
            .since(80, 7, 0)
            .later(),
            row(
                Mbarrier,
                &[Must(&["pending_count"]), Type(&[B64])],
                &[DW, src("state", OperandType::Fixed(B64))],
                "The count of outstanding arrivals.",
            )
            .since(80, 7, 0)
            .later(),
        ],
    ),
];
