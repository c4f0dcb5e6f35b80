//! The call graph: recursive functions, and the kernels that reach each function.
//!
//! It knows names only. The caller supplies the calls, direct and through pointers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The functions of a module and their calls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallGraph {
    /// For each function with code, by name: the functions that it calls or, through a pointer, may call.
    pub callees: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// Strongly connected components, callees before callers; names within one are sorted.
    pub components: Vec<Vec<Arc<str>>>,
    /// For each function with code the kernels that reach it, sorted; functions that the same ones reach share a list.
    pub kernels: BTreeMap<Arc<str>, Arc<[Arc<str>]>>,
}

impl CallGraph {
    /// `callees` has all functions with code and what each may call, `entries` the kernels among them.
    pub fn new(callees: BTreeMap<Arc<str>, Vec<Arc<str>>>, entries: &BTreeSet<Arc<str>>) -> CallGraph {
        let components = components(&callees);
        let kernels = kernels(&callees, &components, entries);
        CallGraph { callees, components, kernels }
    }

    /// Whether the function can call itself, directly or through others.
    pub fn is_recursive(&self, name: &str) -> bool {
        self.components.iter().any(|component| {
            component.iter().any(|member| **member == *name)
                && (component.len() > 1
                    || self
                        .callees
                        .get(name)
                        .is_some_and(|callees| callees.iter().any(|callee| **callee == *name)))
        })
    }
}

/// For each function the kernels that reach it: callers are done before what they call.
fn kernels(
    callees: &BTreeMap<Arc<str>, Vec<Arc<str>>>,
    components: &[Vec<Arc<str>>],
    entries: &BTreeSet<Arc<str>>,
) -> BTreeMap<Arc<str>, Arc<[Arc<str>]>> {
    let members = components.iter().enumerate();
    let component: BTreeMap<&str, usize> =
        members.flat_map(|(at, names)| names.iter().map(move |name| (&**name, at))).collect();
    // The lists that come to each component from its callers, and what reaches it.
    let mut coming: Vec<Vec<Arc<[Arc<str>]>>> = vec![Vec::new(); components.len()];
    let mut reaching = BTreeMap::new();
    let none: Arc<[Arc<str>]> = Arc::default();
    for (at, names) in components.iter().enumerate().rev() {
        let mut lists = std::mem::take(&mut coming[at]);
        lists.sort_unstable();
        lists.dedup();
        let calls_itself = names.len() > 1 || callees[&names[0]].contains(&names[0]);
        let own = names.iter().filter(|name| entries.contains(*name));
        let own: Vec<Arc<str>> = own.cloned().collect();
        let joined = |own: &[Arc<str>]| -> Arc<[Arc<str>]> {
            match (own, lists.as_slice()) {
                ([], []) => none.clone(),
                ([], [only]) => only.clone(),
                _ => {
                    let all: BTreeSet<&Arc<str>> =
                        own.iter().chain(lists.iter().flat_map(|it| it.iter())).collect();
                    all.into_iter().cloned().collect()
                }
            }
        };
        let with_own = joined(&own);
        let reach = if calls_itself { with_own.clone() } else { joined(&[]) };
        for name in names {
            reaching.insert(name.clone(), reach.clone());
            for callee in &callees[name] {
                if let Some(&callee) = component.get(&**callee).filter(|&&callee| callee != at)
                    && coming[callee].last() != Some(&with_own)
                {
                    coming[callee].push(with_own.clone());
                }
            }
        }
    }
    reaching
}

/// Tarjan's algorithm with an explicit stack, so that a long chain of calls cannot exhaust ours.
fn components(callees: &BTreeMap<Arc<str>, Vec<Arc<str>>>) -> Vec<Vec<Arc<str>>> {
    let names: Vec<&Arc<str>> = callees.keys().collect();
    let number: BTreeMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (&***name, at)).collect();
    let edges: Vec<Vec<usize>> = names
        .iter()
        .map(|name| callees[*name].iter().filter_map(|callee| number.get(&**callee).copied()).collect())
        .collect();
    const UNSEEN: usize = usize::MAX;
    let (mut order, mut low) = (vec![UNSEEN; names.len()], vec![0; names.len()]);
    let (mut open, mut is_open, mut found) = (Vec::new(), vec![false; names.len()], Vec::new());
    let mut next = 0;
    for root in 0..names.len() {
        let mut path = vec![(root, 0)];
        while let Some((at, edge)) = path.pop() {
            if edge == 0 {
                if order[at] != UNSEEN {
                    continue;
                }
                order[at] = next;
                low[at] = next;
                next += 1;
                open.push(at);
                is_open[at] = true;
            } else {
                // Back from a callee.
                let callee = edges[at][edge - 1];
                if is_open[callee] {
                    low[at] = low[at].min(low[callee]);
                }
            }
            if let Some(&callee) = edges[at].get(edge) {
                path.push((at, edge + 1));
                if order[callee] == UNSEEN {
                    path.push((callee, 0));
                }
            } else if low[at] == order[at] {
                let start = open.iter().rposition(|&member| member == at).unwrap_or(0);
                let mut members: Vec<Arc<str>> = open
                    .split_off(start)
                    .into_iter()
                    .map(|member| {
                        is_open[member] = false;
                        names[member].clone()
                    })
                    .collect();
                members.sort();
                found.push(members);
            }
        }
    }
    found
}
