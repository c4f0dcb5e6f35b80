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

fn graph_of(edges: &[(&str, &[&str])]) -> CallGraph {
    let callees: BTreeMap<Arc<str>, Vec<Arc<str>>> = edges
        .iter()
        .map(|(name, callees)| (Arc::from(*name), callees.iter().map(|callee| Arc::from(*callee)).collect()))
        .collect();
    CallGraph::new(callees, &BTreeSet::from([Arc::from("k"), Arc::from("l")]))
}

#[test]
fn components_come_callees_first() {
    let graph = graph_of(&[("k", &["a", "d"]), ("a", &["b"]), ("b", &["a", "c"]), ("c", &[]), ("d", &["d"])]);
    let components: Vec<String> = graph.components.iter().map(|members| members.join("+")).collect();
    assert_eq!(components, ["c", "a+b", "d", "k"]);
    let recursive: Vec<bool> = ["k", "a", "b", "c", "d"].map(|name| graph.is_recursive(name)).to_vec();
    assert_eq!(recursive, [false, true, true, false, true]);
}

#[test]
fn kernels_reach_what_their_callees_call() {
    let edges: &[(&str, &[&str])] = &[
        ("k", &["a", "d"]),
        ("a", &["b"]),
        ("b", &["a", "c"]),
        ("c", &[]),
        ("d", &["d"]),
        ("e", &["c"]),
        ("l", &["b", "l"]),
    ];
    let graph = graph_of(edges);
    for (name, reached_by) in
        [("k", ""), ("a", "k l"), ("b", "k l"), ("c", "k l"), ("d", "k"), ("e", ""), ("l", "l")]
    {
        let found: Vec<&str> = graph.kernels[name].iter().map(|kernel| &**kernel).collect();
        assert_eq!(found.join(" "), reached_by, "{name}");
    }
    assert!(Arc::ptr_eq(&graph.kernels["a"], &graph.kernels["b"]));
}

#[test]
fn a_long_chain_is_harmless() {
    let names: Vec<String> = (0..50_000).map(|at| format!("f{at:05}")).collect();
    let callees =
        names.iter().zip(names.iter().skip(1)).map(|(f, g)| (Arc::from(&**f), vec![Arc::from(&**g)]));
    let graph = CallGraph::new(callees.collect(), &BTreeSet::new());
    assert_eq!(graph.components.len(), names.len() - 1);
}
