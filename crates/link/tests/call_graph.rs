//! Call graphs as text: one line `name: callees` a function, a star before kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use expect_test::{Expect, expect};
use oriole_link::CallGraph;

/// The components in order, and of each function whether it is recursive and which kernels reach it.
fn graph(text: &str) -> String {
    let (mut callees, mut entries) = (BTreeMap::new(), BTreeSet::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, called) = line.split_once(':').expect("a name and callees");
        let plain: Arc<str> = Arc::from(name.trim_start_matches('*'));
        if name.starts_with('*') {
            entries.insert(plain.clone());
        }
        callees.insert(plain, called.split_whitespace().map(Arc::from).collect());
    }
    let graph = CallGraph::new(callees, &entries);
    let mut out = String::new();
    for component in &graph.components {
        for name in component {
            let recursive = if graph.is_recursive(name) { " recursive" } else { "" };
            let kernels = graph.kernels[name].join(" ");
            let kernels = if kernels.is_empty() { "no kernel" } else { &kernels };
            out += &format!("{name}{recursive}, reached from {kernels}\n");
        }
        out += "-\n";
    }
    out
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&graph(text));
}

#[test]
fn callees_come_before_callers() {
    check(
        "*k: a\n a: b c\n b: c\n c:",
        expect![[r#"
            c, reached from k
            -
            b, reached from k
            -
            a, reached from k
            -
            k, reached from no kernel
            -
        "#]],
    );
}

#[test]
fn functions_that_call_each_other_are_one_component() {
    check(
        "*k: a\n *l: b self\n a: b\n b: a\n self: self\n alone:",
        expect![[r#"
            a recursive, reached from k l
            b recursive, reached from k l
            -
            alone, reached from no kernel
            -
            k, reached from no kernel
            -
            self recursive, reached from l
            -
            l, reached from no kernel
            -
        "#]],
    );
}

#[test]
fn functions_of_other_files_are_not_in_the_graph() {
    check(
        "*k: vprintf a\n a: elsewhere",
        expect![[r#"
            a, reached from k
            -
            k, reached from no kernel
            -
        "#]],
    );
}
