//! Shapes of whole modules: functions, kernels, parameters and initial values.

use super::{HEADER, kernel, line};

/// A function that adds to its argument and, if there is a next one, passes the sum on to it.
pub(super) fn function(number: usize, next: Option<usize>) -> String {
    let mut text = format!(".func (.param .b32 r) f{number}(.param .b32 a)\n{{\n  .reg .b32 %r<4>;\n");
    line(&mut text, format_args!("ld.param.b32 %r1, [a];\n  mad.lo.u32 %r1, %r1, 3, {number};"));
    if let Some(next) = next {
        call(&mut text, next, 1);
    }
    line(&mut text, format_args!("st.param.b32 [r], %r1;\n  ret;\n}}"));
    text
}

pub(super) fn call(text: &mut String, callee: usize, register: usize) {
    line(
        text,
        format_args!(
            "{{\n  .param .b32 x;\n  .param .b32 y;\n  st.param.b32 [x], %r{register};\n  call (y), f{callee}, (x);\n  ld.param.b32 %r{register}, [y];\n  }}"
        ),
    );
}

pub(super) fn call_chain(size: usize) -> String {
    let count = size / 6;
    let functions: String = (0..count).map(|i| function(i, i.checked_sub(1))).collect();
    kernel(1, &functions, |b| call(b, count - 1, 1), 1)
}

pub(super) fn functions(size: usize) -> String {
    let count = size / 8;
    let functions: String = (0..count).map(|i| function(i, None)).collect();
    kernel(1, &functions, |b| (0..count).for_each(|i| call(b, i, 1)), 1)
}

pub(super) fn empty_functions(count: usize) -> String {
    (0..count).map(|i| format!(".func f{i}()\n{{\n  ret;\n}}\n")).collect()
}

pub(super) fn kernels(size: usize) -> String {
    let mut text = HEADER.to_owned();
    for i in 0..size / 10 {
        let one = kernel(
            16,
            "",
            |b| (0..4).for_each(|j| line(b, format_args!("mad.lo.u32 %r1, %r1, {i}, {j};"))),
            1,
        );
        text.push_str(&one[HEADER.len()..].replace(" k(", &format!(" k{i}(")));
    }
    text
}

pub(super) fn initializer(size: usize) -> String {
    let values: Vec<String> = (0..size * 10).map(|i| (i * 37 % 256).to_string()).collect();
    let before = format!(".global .align 4 .b8 g[{}] = {{{}}};\n", values.len(), values.join(", "));
    kernel(16, &before, |b| line(b, format_args!("ld.global.u8 %r1, [g+7];")), 1)
}

/// A kernel with many parameters, each read once.
pub(super) fn parameters(count: usize) -> String {
    let declared: String = (0..count).map(|i| format!(", .param .u32 p{i}")).collect();
    let module = kernel(
        count,
        "",
        |b| {
            (0..count).for_each(|i| {
                line(b, format_args!("ld.param.u32 %r{}, [p{i}];\n  xor.b32 %r1, %r1, %r{};", i + 2, i + 2))
            })
        },
        1,
    );
    module.replacen(".param .u32 n)", &format!(".param .u32 n{declared})"), 1)
}

/// A call of a function that takes this number of words by value, of which one was written.
pub(super) fn value_parameter(words: usize) -> String {
    let size = 4 * words;
    let function = format!(
        ".func (.param .b32 r) f(.param .align 4 .b8 a[{size}])\n{{\n  .reg .b32 %r<4>;\n  ld.param.b32 %r1, [a];\n  st.param.b32 [r], %r1;\n  ret;\n}}\n"
    );
    let body = |b: &mut String| {
        line(
            b,
            format_args!(
                "{{\n  .param .align 4 .b8 x[{size}];\n  .param .b32 y;\n  st.param.b32 [x], %r1;\n  call (y), f, (x);\n  ld.param.b32 %r1, [y];\n  }}"
            ),
        )
    };
    kernel(1, &function, body, 1)
}

/// A call with many arguments.
pub(super) fn arguments(count: usize) -> String {
    let declared: Vec<String> = (0..count).map(|i| format!(".param .b32 a{i}")).collect();
    let mut function = format!(
        ".func (.param .b32 r) f({})\n{{\n  .reg .b32 %r<4>;\n  mov.u32 %r1, 0;\n",
        declared.join(", ")
    );
    for i in 0..count {
        line(&mut function, format_args!("ld.param.b32 %r2, [a{i}];\n  xor.b32 %r1, %r1, %r2;"));
    }
    line(&mut function, format_args!("st.param.b32 [r], %r1;\n  ret;\n}}"));
    let body = |b: &mut String| {
        line(b, format_args!("{{\n  .param .b32 y;"));
        (0..count).for_each(|i| line(b, format_args!(".param .b32 x{i};\n  st.param.b32 [x{i}], %r1;")));
        let names: Vec<String> = (0..count).map(|i| format!("x{i}")).collect();
        line(b, format_args!("call (y), f, ({});\n  ld.param.b32 %r1, [y];\n  }}", names.join(", ")));
    };
    kernel(1, &function, body, 1)
}
