//! Control flow, dominance, loops, liveness, divergence, verifier and canonical form on small functions.

use expect_test::{Expect, expect};
use oriole_ori::{
    BlockId, Cfg, Divergence, Dominators, Form, Function, Liveness, Statistics, Value, canonical, parse,
    verify,
};
use typed_index_collections::{TiVec, ti_vec};

/// A function whose blocks hold only branches: `0>1,2` names the successors of each block.
fn graph(edges: &[&[u32]]) -> Function {
    let mut function = Function::default();
    for successors in edges {
        let successors = successors.iter().map(|&s| BlockId(s)).collect();
        function.blocks.push(oriole_ori::Block { successors, ..Default::default() });
    }
    function
}

fn list(blocks: impl IntoIterator<Item = BlockId>) -> String {
    blocks.into_iter().map(|b| b.0.to_string()).collect::<Vec<_>>().join(" ")
}

fn check_flow(edges: &[&[u32]], expected: Expect) {
    let function = graph(edges);
    let graph = function.graph();
    let (cfg, dominators) = (graph.cfg(), graph.dominators());
    let post = Dominators::post(&function, cfg);
    let loops = graph.loops();
    let frontiers = dominators.frontiers(cfg);
    let mut text = format!("order {}\n", list(cfg.order().iter().copied()));
    for block in function.block_ids() {
        let name = |b: Option<BlockId>| b.map_or("-".to_string(), |b| b.0.to_string());
        text += &format!(
            "{}: idom {} ipdom {} frontier [{}] depth {}\n",
            block.0,
            name(dominators.immediate(block)),
            name(post.immediate(block)),
            list(frontiers[block].iter().copied()),
            loops.depth(block)
        );
    }
    for (index, lap) in loops.loops.iter().enumerate() {
        text += &format!("loop {} blocks [{}]\n", lap.header.0, list(loops.blocks(cfg, index)));
    }
    if loops.is_irreducible() {
        text += &format!("irreducible [{}]\n", list(loops.irreducible.iter().copied()));
    }
    expected.assert_eq(&text);
}

#[test]
fn diamond() {
    check_flow(
        &[&[1, 2], &[3], &[3], &[]],
        expect![[r#"
            order 0 2 1 3
            0: idom - ipdom 3 frontier [] depth 0
            1: idom 0 ipdom 3 frontier [3] depth 0
            2: idom 0 ipdom 3 frontier [3] depth 0
            3: idom 0 ipdom - frontier [] depth 0
        "#]],
    );
}

#[test]
fn nested_loops() {
    check_flow(
        &[&[1], &[2, 6], &[3], &[3, 4], &[5, 6], &[1], &[]],
        expect![[r#"
        order 0 1 2 3 4 6 5
        0: idom - ipdom 1 frontier [] depth 0
        1: idom 0 ipdom 6 frontier [1] depth 1
        2: idom 1 ipdom 3 frontier [1 6] depth 1
        3: idom 2 ipdom 4 frontier [1 3 6] depth 2
        4: idom 3 ipdom 6 frontier [1 6] depth 1
        5: idom 4 ipdom 1 frontier [1] depth 1
        6: idom 1 ipdom - frontier [] depth 0
        loop 1 blocks [1 2 3 4 5]
        loop 3 blocks [3]
    "#]],
    );
}

#[test]
fn endless_loop_and_unreachable_block() {
    check_flow(
        &[&[1], &[2], &[1], &[2]],
        expect![[r#"
            order 0 1 2
            0: idom - ipdom - frontier [] depth 0
            1: idom 0 ipdom - frontier [1] depth 1
            2: idom 1 ipdom - frontier [1] depth 1
            3: idom - ipdom - frontier [] depth 0
            loop 1 blocks [1 2]
        "#]],
    );
}

#[test]
fn two_entries_into_a_cycle() {
    check_flow(
        &[&[1, 2], &[2, 3], &[1], &[]],
        expect![[r#"
        order 0 1 3 2
        0: idom - ipdom 1 frontier [] depth 0
        1: idom 0 ipdom 3 frontier [2] depth 0
        2: idom 0 ipdom 1 frontier [1] depth 0
        3: idom 1 ipdom - frontier [] depth 0
        irreducible [1 2]
    "#]],
    );
}

const LOOP: &str = "
kernel params=8 barriers=0
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x210] ; 1
  r2 = MOV 0x0 ; 2
b1: -> b3 b2
  p3, PT = ISETP.AND.GE r2, r0, PT ; 3
  @p3 BRA b3 ; 4
b2: -> b1
  r2 = IADD3 r2, 0x1, RZ ; 5
  @p3 r4 = IADD3 r1, 0x1, RZ ; 6
  BRA b1 ; 7
b3:
  STG.E [{r5 r6}], r2 mem(global w) ; 8
  STG.E [{r5 r6}], r4 mem(global w) ; 8
  EXIT ; 9
";

#[test]
fn liveness_of_a_loop() {
    let function = parse(LOOP).unwrap();
    let graph = function.graph();
    let cfg = graph.cfg();
    let liveness = Liveness::new(&function, cfg);
    let show = |values: &[Value]| values.iter().map(|v| v.0.to_string()).collect::<Vec<_>>().join(" ");
    let mut text = String::new();
    for block in function.block_ids() {
        text += &format!(
            "{}: in [{}] out [{}]\n",
            block,
            show(liveness.live_in(block)),
            show(liveness.live_out(block))
        );
    }
    expect![[r#"
        b0: in [4 5 6] out [0 1 2 4 5 6]
        b1: in [0 1 2 4 5 6] out [0 1 2 3 4 5 6]
        b2: in [0 1 2 3 4 5 6] out [0 1 2 4 5 6]
        b3: in [2 4 5 6] out []
    "#]]
    .assert_eq(&text);
    let counted = Statistics {
        instructions: 11,
        general_registers: 6,
        predicates: 1,
        blocks: 4,
        stores: 2,
        ..Statistics::default()
    };
    assert_eq!(Statistics::new(&function), counted);
}

/// Liveness by definition: a value is live where some path reads it before a write.
fn live_by_paths(function: &Function, cfg: &Cfg, from: BlockId, value: Value) -> bool {
    let mut seen: TiVec<BlockId, bool> = ti_vec![false; function.blocks.len()];
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        let mut written = false;
        for instruction in &function.block(block).instructions {
            let mut reads = false;
            instruction.for_each_use(|v| reads |= v == value);
            if instruction.guard.is_some() {
                instruction.for_each_definition(|v| reads |= v == value);
            }
            if reads {
                return true;
            }
            instruction.for_each_definition(|v| written |= v == value);
            if written {
                break;
            }
        }
        if !written {
            work.extend(function.block(block).successors.iter().filter(|&&s| cfg.is_reachable(s)));
        }
    }
    false
}

#[test]
fn liveness_agrees_with_its_definition() {
    let function = parse(LOOP).unwrap();
    let graph = function.graph();
    let cfg = graph.cfg();
    let liveness = Liveness::new(&function, cfg);
    for block in function.block_ids() {
        for value in function.values.keys() {
            assert_eq!(
                liveness.is_live_in(block, value),
                live_by_paths(&function, cfg, block, value),
                "{block} {value:?}"
            );
        }
    }
}

fn check_divergence(text: &str, expected: Expect) {
    let function = parse(text).unwrap();
    let graph = function.graph();
    let divergence = Divergence::new(&function, &graph);
    let values: Vec<String> =
        function.values.keys().filter(|&v| divergence.is_divergent(v)).map(|v| v.0.to_string()).collect();
    let blocks = function.block_ids().filter(|&b| !divergence.is_uniform_block(b));
    expected.assert_eq(&format!("values [{}] blocks [{}]", values.join(" "), list(blocks)));
}

#[test]
fn divergent_loop_exit() {
    check_divergence(LOOP, expect!["values [0 2 3 4] blocks [1 2]"]);
}

#[test]
fn a_merge_after_a_divergent_branch() {
    check_divergence(
        "
kernel
b0: -> b1 b2
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 0
  r8 = IADD3 r1, 0x1, RZ ; 0
  p2, PT = ISETP.AND.GE r0, 0x5, PT ; 0
  @p2 BRA b1 ; 0
b1: -> b3
  BRA b3 ; 0
b2: -> b3
  r5 = IADD3 r1, 0x2, RZ ; 0
b3: -> b4
  r3 = phi b1: r1, b2: r8
  r4 = IADD3 r3, 0x1, RZ ; 0
  r6 = IADD3 r8, 0x1, RZ ; 0
b4:
  EXIT ; 0
",
        expect!["values [0 2 3 4] blocks [1 2]"],
    );
}

#[test]
fn before_a_cycle_with_two_entries_the_warp_is_together() {
    check_divergence(
        "
kernel params=8 barriers=0
b0: -> b1
  r0 = LDC c[0][0x210] ; 0
  r1 = S2R %(SR_TID.X) ; 1
b1: -> b3 b2
  r2 = IADD3 r0, 0x1, RZ ; 2
  p3, PT = ISETP.AND.GE r2, r0, PT ; 3
  @p3 BRA b3 ; 4
b2: -> b3
  r4 = IADD3 r0, 0x1, RZ ; 5
b3: -> b4 b2
  p5, PT = ISETP.AND.GE r4, r0, PT ; 6
  @p5 BRA b4 ; 7
  BRA b2 ; 8
b4:
  EXIT ; 9
",
        expect!["values [1 4 5] blocks [2 3]"],
    );
}

#[test]
fn an_early_exit_leaves_the_rest_together() {
    check_divergence(
        "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = MOV 0x1 ; 0
  p2, PT = ISETP.AND.GE r0, 0x5, PT ; 0
  @p2 BRA b2 ; 0
b1: -> b1 b2
  r1 = IADD3 r1, 0x1, RZ ; 0
  p3, PT = ISETP.AND.LT r1, 0x5, PT ; 0
  @p3 BRA b1 ; 0
b2:
  EXIT ; 0
",
        expect!["values [0 2] blocks []"],
    );
}

fn check_verifier(text: &str, form: Form, expected: Expect) {
    let function = parse(text).unwrap();
    let message = match verify(&function, form) {
        Ok(()) => "fine".to_string(),
        Err(violations) => violations.iter().map(|v| v.to_string()).collect::<Vec<_>>().join("\n"),
    };
    expected.assert_eq(&message);
}

/// All lanes would read the texture of one of them.
#[test]
fn textures_of_lanes_are_in_no_uniform_register() {
    let text = |texture: &str| {
        format!(
            "kernel\nb0:\n  r0 = {texture} ; 0\n  r1 = MOV 0x1 ; 0\n  u2 = Copy r0 ; 0\n  u3 = Copy r1 ; 0\n  \
             PT, RZ, r4 = TEX.LL {{r1 r1}}, r1, {{u2 u3}}, #0, %(2D), #1 ; 0\n  EXIT ; 0"
        )
    };
    check_verifier(&text("S2R %(SR_CTAID.X)"), Form::Plain, expect!["fine"]);
    check_verifier(
        &text("S2R %(SR_TID.X)"),
        Form::Plain,
        expect!["b0: a texture or sampler in a uniform register is that of one lane, and lanes may differ"],
    );
}

#[test]
fn verifier_accepts_and_refuses() {
    check_verifier(LOOP, Form::Plain, expect!["fine"]);
    check_verifier(
        LOOP,
        Form::Ssa,
        expect![[r#"
        b2: r2 is defined twice
        b1[0]: r2 is read where its definition does not reach
        b2[0]: r2 is read where its definition does not reach
        b2[1]: old values do not match the components that a partial definition writes
        b3[0]: r5 is read where its definition does not reach
        b3[0]: r6 is read where its definition does not reach
        b3[0]: r2 is read where its definition does not reach
        b3[1]: r5 is read where its definition does not reach
        b3[1]: r6 is read where its definition does not reach
        b3[1]: r4 is read where its definition does not reach"#]],
    );
    check_verifier(
        "kernel\nb0: -> b0\n  EXIT ; 0\n  r1 = MOV 0x1 ; 0",
        Form::Plain,
        expect!["b0[1]: an instruction follows a transfer of control"],
    );
    check_verifier(
        "kernel\nb0: -> b1 b1\n  BRA b1 ; 0\nb1:\n  EXIT ; 0",
        Form::Plain,
        expect!["b0: successors [b1 b1] do not agree with how the block ends"],
    );
    check_verifier(
        "kernel\nb0: -> b1 b2\n  r0 = S2R %(SR_TID.X) ; 0\n  p1, PT = ISETP.LT.AND r0, 0x3, PT ; 0\n  @p1 BRA b1 ; 0\nb1: -> b2\n  u2 = UMOV 0x1 ; 0\nb2:\n  r3 = Copy u2 ; 0\n  EXIT ; 0",
        Form::Plain,
        expect!["b1[0]: u2 is written where only a part of the warp is, and read elsewhere"],
    );
    check_verifier(
        "kernel\nb0: -> b1 b2\n  r0 = S2R %(SR_TID.X) ; 0\n  p1, PT = ISETP.LT.AND r0, 0x3, PT ; 0\n  @p1 BRA b1 ; 0\nb1: -> b2\n  u2 = Copy r0 ; 0\n  r3 = Copy u2 ; 0\nb2:\n  NOP ; 0\n  EXIT ; 0",
        Form::Plain,
        expect!["fine"],
    );
    check_verifier(
        "kernel\nb0: -> b1\n  r0 = MOV 0x1 ; 0\n  @p9 r1 = MOV r0 ; 0\nb1:\n  r3 = phi b1: p9\n  EXIT ; 0",
        Form::Ssa,
        expect![[r#"
            b0[1]: p9 is read where its definition does not reach
            b0[1]: old values do not match the components that a partial definition writes
            b1: phi r3 does not name exactly the predecessors
            b1: phi r3 merges another file
            b1: p9 does not reach phi r3 from b1"#]],
    );
    // A load by the upper lanes keeps the values of the lower lanes; a load by the lower lanes then leaves nothing to
    // keep.
    let halves = |old: &str| {
        format!(
            "kernel\nb0:\n  u0 = UMOV 0x0 ; 0\n  r1 = LDTM.16dp32bit_t0_t15 [^u0] mem(generic rw ordered) ; 0\n  r2 = LDTM.16dp32bit_t16_t31 [^u0] {old}mem(generic rw ordered) ; 0\n  EXIT ; 0"
        )
    };
    check_verifier(&halves("tied(r1) "), Form::Ssa, expect!["fine"]);
    check_verifier(
        &halves(""),
        Form::Ssa,
        expect!["b0[2]: old values do not match the components that a partial definition writes"],
    );
}

/// After SSA a read without a reaching write on some path is an error: before the copy that writes it, or with a
/// write on one arm only.
#[test]
fn verifier_wants_every_value_written_before_it_is_read() {
    let text = "kernel\nb0: -> b1\n  r0 = MOV 0x1 ; 0\n  r2 = IADD3 r1, 0x7, RZ ; 1\n  r1 = ParallelCopy r0 ; 2\nb1:\n  STG [0x0], r2 mem(global w) ; 3\n  EXIT ; 3";
    check_verifier(text, Form::Plain, expect!["fine"]);
    check_verifier(text, Form::Assigned, expect!["b0[1]: r1 is read where its definition does not reach"]);
    let arm = "kernel\nb0: -> b2 b1\n  p0, PT = ISETP.AND.LT RZ, 0x3, PT ; 0\n  @p0 BRA b2 ; 0\nb1: -> b2\n  r1 = MOV 0x1 ; 1\nb2:\n  STG [0x0], r1 mem(global w) ; 2\n  EXIT ; 3";
    check_verifier(arm, Form::Assigned, expect!["b2[0]: r1 is read where its definition does not reach"]);
    // A guarded write keeps the old value, which matters if it is read.
    let guarded = "kernel\nb0:\n  p0, PT = ISETP.AND.LT RZ, 0x3, PT ; 0\n  @p0 r1 = MOV 0x1 ; 1\n  STG [0x0], r1 mem(global w) ; 2\n  EXIT ; 3";
    check_verifier(guarded, Form::Assigned, expect!["b0[2]: r1 is read where its definition does not reach"]);
    check_verifier(
        &guarded.replace("  @p0 r1", "  r1 = MOV 0x0 ; 1\n  @p0 r1"),
        Form::Assigned,
        expect!["fine"],
    );
    let unread = guarded.replace("  STG [0x0], r1 mem(global w) ; 2\n", "");
    check_verifier(&unread, Form::Assigned, expect!["fine"]);
}

#[test]
fn verifier_refuses_copies_between_words_and_predicates() {
    check_verifier(
        "kernel\nb0:\n  p0 = Copy RZ ; 0\n  r1 = Copy PT ; 0\n  p2 = Copy p0 ; 0\n  r3 = Copy RZ ; 0\n  EXIT ; 0",
        Form::Plain,
        expect![[r#"
            b0[0]: a copy goes from a register file to another kind of register file
            b0[1]: a copy goes from a register file to another kind of register file"#]],
    );
}

#[test]
fn canonical_form_forgets_numbering() {
    let shuffled = "
kernel
  symbol s0 shared \"unused\"
  symbol s1 shared \"tile\"
b0: -> b3 b2
  r7 = MOV 0x1 ; 0
  p9, PT = ISETP.AND.LT r7, 0x1, PT ; 0
  @p9 BRA b3 ; 0
b1: -> b2
  r1 = MOV 0x1 ; 0
b2:
  r4 = MOV low(s1) ; 0
  EXIT ; 0
b3: -> b2
  BRA b2 ; 0
";
    let mut function = parse(shuffled).unwrap();
    canonical::canonicalize(&mut function);
    let once = function.clone();
    expect![[r#"
        kernel params=0 barriers=0
          symbol s0 shared "tile"
        b0: -> b1 b2
          r0 = MOV 0x1 ; 0
          p1, PT = ISETP.AND.LT r0, 0x1, PT ; 0
          @p1 BRA b1 ; 0
        b1: -> b2
          BRA b2 ; 0
        b2:
          r2 = MOV low(s0) ; 0
          EXIT ; 0
    "#]]
    .assert_eq(&function.to_string());
    canonical::canonicalize(&mut function);
    assert!(function == once);
    assert_eq!(verify(&function, Form::Plain), Ok(()));
}

/// A shuffle from a fixed lane gives its word to all that execute it together.
#[test]
fn a_word_of_one_lane_is_the_same_in_all() {
    let text = |lane: &str, lanes: &str| {
        format!(
            "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  PT, r1 = SHFL.IDX r0, {lane}, {lanes} ; 0
  p2, PT = ISETP.AND.GE r1, 0x5, PT ; 0
  @p2 BRA b2 ; 0
b1: -> b2
  r3 = IADD3 r1, 0x1, RZ ; 0
  p4, PT = ISETP.AND.GE r0, 0x5, PT ; 0
b2: -> b4 b3
  p5, PT = ISETP.AND.GE r0, 0x6, PT ; 0
  @p5 BRA b4 ; 0
b3: -> b4
  PT, r6 = SHFL.IDX r0, #0, #31 ; 0
b4:
  STS [r0], r1 mem(shared w) ; 0
  EXIT ; 0
"
        )
    };
    check_divergence(&text("#3", "#31"), expect!["values [0 4 5 6] blocks [3]"]);
    check_divergence(&text("RZ", "#31"), expect!["values [0 4 5 6] blocks [3]"]);
    // One word for each subset of the warp, and a word for each lane.
    check_divergence(&text("#3", "#6175"), expect!["values [0 1 2 3 4 5 6] blocks [1 3]"]);
    check_divergence(&text("r0", "#31"), expect!["values [0 1 2 3 4 5 6] blocks [1 3]"]);
}

/// Edges go to the end of a chain of empty blocks at once; a ring of them stays. Each block is walked over once, so
/// that hundreds of thousands take no time.
#[test]
fn chains_of_empty_blocks_are_skipped() {
    let skip = oriole_ori::branches::skip_empty_blocks;
    let end =
        |function: &Function, block: u32| function.block(BlockId(block)).successors.first().map(|end| end.0);
    let mut function = graph(&[&[1], &[2], &[3], &[], &[5], &[6], &[5]]);
    assert!(skip(&mut function));
    let ends: Vec<_> = (0..7).map(|block| end(&function, block)).collect();
    assert_eq!(ends, [Some(3), Some(3), Some(3), None, Some(5), Some(6), Some(5)]);
    assert!(!skip(&mut function), "a ring has no end to go to");
    let count = 300_000;
    let next: Vec<[u32; 1]> = (1..count).map(|next| [next]).collect();
    let edges: Vec<&[u32]> = next.iter().map(|next| &next[..]).chain([&[][..]]).collect();
    let mut function = graph(&edges);
    let start = std::time::Instant::now();
    assert!(skip(&mut function));
    assert_eq!(end(&function, 0), Some(count - 1));
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Numbers of warps, from the numbers of threads in rows: by a shift, a mask, and a comparison with a multiple of 32.
const ROWS: &str = "
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = SHF.HI.R.U32 RZ, #5, r0 ; 1
  r2 = SHF.HI.R.U32 RZ, #4, r0 ; 2
  r3 = LOP3.LUT r0, 0x7f, RZ, #192, !PT ; 3
  r4 = LOP3.LUT r3, 0x60, RZ, #192, !PT ; 4
  p5, PT = ISETP.AND.LT.U32 r3, 0x40, PT ; 5
  p6, PT = ISETP.AND.LT.U32 r3, 0x41, PT ; 6
  p7, PT = ISETP.AND.GT.U32 r3, 0x3f, PT ; 7
  p8, PT = ISETP.AND.EQ.U32 r3, RZ, PT ; 8
  r9 = IADD3 r0, 0x20, RZ ; 9
  r10 = LOP3.LUT r0, 0x1f, RZ, #252, !PT ; 10
  r11 = SHF.L.U32 r0, #5, RZ ; 11
b1:
  EXIT ; 12
";

#[test]
fn lanes_of_a_row_agree_on_the_number_of_their_warp() {
    // 10: all low bits are set.
    check_divergence(
        &format!("\nkernel params=0 barriers=0 threads=128 rows{ROWS}"),
        expect!["values [0 2 3 6 8 9 11] blocks []"],
    );
}

#[test]
fn lanes_of_unknown_blocks_do_not_agree_on_it() {
    check_divergence(
        &format!("\nkernel params=0 barriers=0 threads=128{ROWS}"),
        expect!["values [0 1 2 3 4 5 6 7 8 9 10 11] blocks []"],
    );
    check_divergence(
        &format!("\nkernel params=0 barriers=0 threads=128 rows apart{ROWS}"),
        expect!["values [0 1 2 3 4 5 6 7 8 9 10 11] blocks []"],
    );
}

/// Loads of all lanes from one address, and votes, while the warp is together; not of local memory, not with an order, and not
/// where a subset of the warp does it.
const COMMON: &str = "
b0: -> b2 b1
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = S2R %(SR_TID.X) ; 0
  r3 = LDG.E [{r0 r1}].64 mem(global r) ; 1
  r4 = LDS [r3] mem(shared r) ; 2
  r5 = LDS [r2] mem(shared r) ; 3
  r6 = LDL [r3] mem(local r) ; 4
  r7 = LD.E [{r0 r1}].64 mem(generic r) ; 5
  r12 = LDG.E.STRONG.GPU [{r0 r1}].64 mem(global r ordered) ; 5
  p8, PT = ISETP.AND.LT.U32 r2, 0x5, PT ; 6
  RZ, p9 = VOTE.ANY p8 ; 7
  @p8 BRA b2 ; 8
b1: -> b2
  r10 = LDS [r3] mem(shared r) ; 9
  RZ, p11 = VOTE.ANY p9 ; 10
b2:
  STS [r2], r3 mem(shared w) ; 11
  EXIT ; 11
";

#[test]
fn lanes_agree_on_what_they_load_together() {
    check_divergence(
        &format!("\nkernel params=0 barriers=0{COMMON}"),
        expect!["values [2 5 6 7 8 10 11 12] blocks [1]"],
    );
    check_divergence(
        &format!("\nkernel params=0 barriers=0 apart{COMMON}"),
        expect!["values [2 3 4 5 6 7 8 10 11 12] blocks [1]"],
    );
}

/// If-conversion keeps what lanes agree on.
#[test]
fn lanes_of_a_row_agree_under_a_guard() {
    check_divergence(
        "
kernel params=0 barriers=0 threads=128 rows
b0: -> b1
  r0 = LDC c[0][0x210] ; 0
  p1, PT = ISETP.AND.NE.U32 r0, RZ, PT ; 0
  r2 = Copy r0 ; 1
  @p1 r3 = S2R %(SR_TID.X) tied(r2) ; 2
  @p1 r4 = SHF.HI.R.U32 RZ, #5, r3 tied(r2) ; 3
  r5 = SEL r3, r0, p1 ; 4
  r6 = SHF.HI.R.U32 RZ, #6, r5 ; 5
  @p1 r7 = MOV 0x5 tied(r3) ; 6
  r8 = LOP3.LUT r7, 0xffffffe0, RZ, #192, !PT ; 7
  @p1 r9 = IADD3 r3, 0x20, RZ tied(r3) ; 8
  r10 = LOP3.LUT r9, 0xffffffe0, RZ, #192, !PT ; 9
  r11 = Undefined ; 10
  @p1 r12 = LDS [r0] tied(r11) mem(shared r) ; 10
  r13 = IADD3 r11, 0x1, RZ ; 11
b1:
  EXIT ; 10
",
        expect!["values [3 5 7 9 10 11 13] blocks []"],
    );
}

/// Outside SSA a value that only a guarded load gives content.
#[test]
fn lanes_agree_on_a_load_under_a_guard_of_all() {
    check_divergence(
        "
kernel params=0 barriers=0
b0: -> b1
  r0 = LDC c[0][0x210] ; 0
  p1, PT = ISETP.AND.NE.U32 r0, RZ, PT ; 0
  r2 = Undefined ; 1
  @p1 r2 = LDS [r0] mem(shared r) ; 1
  r3 = Undefined ; 2
b1:
  EXIT ; 3
",
        expect!["values [3] blocks []"],
    );
}
