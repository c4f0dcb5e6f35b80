//! Modules and properties, and the smallest text that has them.

use expect_test::{Expect, expect};
use oriole_reduce::{STAGES, Step, reduce};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two kernels, a function and a variable; with everything that stages remove.
const MODULE: &str = r#"// A module.
.version 8.0
.target sm_90
.address_size 64
.file 1 "k.cu"
.global .align 4 .u32 counter[4] = {1, 2, 3, 4};
.func (.param .b32 result) twice(.param .b32 of, .param .b32 other)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [of];
    add.s32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
}
.visible .entry first(.param .u64 pointer)
{
    .reg .b32 %r<3>;
    mov.u32 %r1, %tid.x;
    ret;
}
.visible .entry second_kernel_with_a_long_name(.param .u64 .ptr .global pointer, .param .u32 count)
.maxntid 128, 1, 1
{
    .reg .pred %p<2>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<9>;
    .loc 1 7 3
    ld.param.u64 %rd1, [pointer];
    ld.param.u32 %r5, [count];
    mov.u32 %r6, %tid.x; // the lane
    setp.ge.u32 %p1, %r6, %r5;
    @%p1 bra $L__done_with_all;
    mul.wide.u32 %rd2, %r6, 16;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.nc.v4.u32 {%r10, %r11, %r12, %r13}, [%rd3+32];
    {
        .param .b32 a;
        .param .b32 b;
        .param .b32 r;
        st.param.b32 [a], %r10;
        st.param.b32 [b], %r11;
        call.uni (r), twice, (a, b);
        ld.param.b32 %r14, [r];
    }
    st.global.u32 [%rd3], %r14;
$L__done_with_all:
    ret;
}
"#;

fn check(keeps: impl Fn(&str) -> bool + Sync, expected: Expect) {
    let mut better = 0;
    let mut hear = |step: Step<'_>| {
        better += usize::from(matches!(step, Step::Better(..)));
        true
    };
    let alone = reduce(MODULE, 1, &keeps, &mut hear);
    assert!(keeps(&alone) && better > 0);
    expected.assert_eq(&alone);
    // The number of candidates at a time changes nothing, and nothing is left to remove.
    assert_eq!(reduce(MODULE, 5, &keeps, &mut |_| true), alone);
    assert_eq!(reduce(&alone, 1, &keeps, &mut |_| true), alone);
}

#[test]
fn a_word_alone_is_left() {
    check(
        |text| text.contains("ld.global.nc"),
        expect![[r#"
            .version 8.0
            .target sm_90
            .address_size 64
            .entry f0()
            {
            ld.global.nc %r10, [0];
            }
        "#]],
    );
}

/// A property that needs a statement in a kernel of its shape, and the declarations of its registers.
#[test]
fn a_load_with_its_declarations() {
    let declared = |text: &str, prefix: &str| !text.contains(prefix) || text.contains(&format!("{prefix}<"));
    let keeps = |text: &str| {
        let whole = text.contains(".entry") && text.matches('{').count() == text.matches('}').count();
        whole && text.contains("ld.global") && ["%r", "%rd"].iter().all(|prefix| declared(text, prefix))
    };
    check(
        keeps,
        expect![[r#"
            .version 8.0
            .target sm_90
            .address_size 64
            .entry f0()
            {
            .reg .b32 %r<1>;
            ld.global %r0, [0];
            }
        "#]],
    );
}

/// Names and arguments that belong together go together.
#[test]
fn calls_lose_arguments_with_parameters() {
    let keeps = |text: &str| {
        let count = |before: &str| {
            let list = text.split(before).nth(1).and_then(|behind| behind.split(')').next());
            list.map(|list| list.split(',').filter(|item| !item.trim().is_empty()).count())
        };
        let name = text.split("call").nth(1).and_then(|call| call.split(',').nth(1)).map(str::trim);
        let Some(name) = name else { return false };
        let own = count(&format!("{name}("));
        own.is_some() && own == count(&format!("{name}, ("))
    };
    check(
        keeps,
        expect![[r#"
            .version 8.0
            .target sm_90
            .address_size 64
            .func (.param .b32 v0) f0()
            {
            }
            .entry f1()
            {
            call (r), 0, ();
            }
        "#]],
    );
}

/// The search ends when the caller wants it to, with the best text so far.
#[test]
fn a_search_can_be_ended() {
    let tried = AtomicUsize::new(0);
    let keeps = |text: &str| {
        tried.fetch_add(1, Ordering::Relaxed);
        text.contains("twice")
    };
    let mut last = String::new();
    let mut hear = |step: Step<'_>| match step {
        Step::Better(text, _) => {
            last = text.to_owned();
            last.len() > MODULE.len() / 2
        }
        _ => true,
    };
    let result = reduce(MODULE, 1, &keeps, &mut hear);
    let ended = tried.into_inner();
    assert!(result.len() < MODULE.len() && result == last && ended < 100, "{ended} {}", result.len());
}

#[test]
fn stages_have_names_of_their_own() {
    for (at, stage) in STAGES.iter().enumerate() {
        assert!(!STAGES[..at].contains(stage), "{stage:?}");
    }
}
