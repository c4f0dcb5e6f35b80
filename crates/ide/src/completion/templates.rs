//! Common statements with places to fill in, as data. How an editor writes such places is not a concern of this crate.

use Part::{End, Hole, Text};

/// A part of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Text; a tab is one indentation.
    Text(&'static str),
    /// A place to fill in, by its number, with the text that is there at first. Equal numbers are one place.
    Hole(u8, &'static str),
    /// The place of the cursor at the end.
    End,
}

/// A statement with places to fill in.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Template {
    /// The text that finds it.
    pub label: &'static str,
    /// Its use, in a sentence.
    pub meaning: &'static str,
    /// Its parts.
    pub parts: &'static [Part],
}

impl Template {
    /// The statement with the texts that are in its places at first.
    pub fn plain(&self) -> String {
        let text = |part: &Part| match part {
            Text(text) | Hole(_, text) => *text,
            End => "",
        };
        self.parts.iter().map(text).collect()
    }
}

/// All templates.
pub(super) fn all() -> impl Iterator<Item = &'static Template> {
    MODULE.iter().chain(BODY)
}

/// Items of a module.
pub(super) const MODULE: &[Template] = &[
    Template {
        label: ".version .target .address_size",
        meaning: "The header of a module.",
        parts: &[
            Text(".version "),
            Hole(1, "8.0"),
            Text("\n"),
            Hole(2, ".target sm_90"),
            Text("\n.address_size 64\n\n"),
            End,
        ],
    },
    Template {
        label: ".visible .entry",
        meaning: "A kernel.",
        parts: &[
            Text(".visible .entry "),
            Hole(1, "kernel"),
            Text("(.param .u64 "),
            Hole(2, "out"),
            Text(")\n{\n\t"),
            End,
            Text("\n\tret;\n}"),
        ],
    },
    Template {
        label: ".visible .func",
        meaning: "A function that other files may call.",
        parts: &[
            Text(".visible .func (.reg .b32 "),
            Hole(1, "result"),
            Text(") "),
            Hole(2, "function"),
            Text("(.reg .b32 "),
            Hole(3, "x"),
            Text(")\n{\n\t"),
            End,
            Text("\n\tret;\n}"),
        ],
    },
    Template {
        label: ".extern .func",
        meaning: "A function of another file.",
        parts: &[
            Text(".extern .func (.param .b32 "),
            Hole(1, "result"),
            Text(") "),
            Hole(2, "function"),
            Text("(.param .b32 "),
            Hole(3, "x"),
            Text(");"),
        ],
    },
    Template {
        label: ".visible .global",
        meaning: "An array in global memory.",
        parts: &[
            Text(".visible .global .align "),
            Hole(1, "4"),
            Text(" .b32 "),
            Hole(2, "table"),
            Text("["),
            Hole(3, "16"),
            Text("];"),
        ],
    },
    Template {
        label: ".extern .shared",
        meaning: "The shared memory whose size the launch states.",
        parts: &[
            Text(".extern .shared .align "),
            Hole(1, "16"),
            Text(" .b8 "),
            Hole(2, "dynamic"),
            Text("[];"),
        ],
    },
];

/// Statements of a body.
pub(super) const BODY: &[Template] = &[
    Template {
        label: ".reg",
        meaning: "A range of registers with numbered names.",
        parts: &[
            Text(".reg ."),
            Hole(1, "b32"),
            Text(" "),
            Hole(2, "%r"),
            Text("<"),
            Hole(3, "8"),
            Text(">;"),
        ],
    },
    Template {
        label: ".shared",
        meaning: "An array that the threads of a block share.",
        parts: &[
            Text(".shared .align "),
            Hole(1, "16"),
            Text(" .b8 "),
            Hole(2, "tile"),
            Text("["),
            Hole(3, "1024"),
            Text("];"),
        ],
    },
    Template {
        label: "ld.param",
        meaning: "Loads a parameter of the kernel.",
        parts: &[
            Text("ld.param."),
            Hole(1, "u64"),
            Text(" "),
            Hole(2, "%rd1"),
            Text(", ["),
            Hole(3, "out"),
            Text("];"),
        ],
    },
    Template {
        label: "ld.global",
        meaning: "Loads from global memory.",
        parts: &[
            Text("ld.global."),
            Hole(1, "u32"),
            Text(" "),
            Hole(2, "%r1"),
            Text(", ["),
            Hole(3, "%rd1"),
            Text("];"),
        ],
    },
    Template {
        label: "st.global",
        meaning: "Stores to global memory.",
        parts: &[
            Text("st.global."),
            Hole(1, "u32"),
            Text(" ["),
            Hole(2, "%rd1"),
            Text("], "),
            Hole(3, "%r1"),
            Text(";"),
        ],
    },
    Template {
        label: "cvta.to.global",
        meaning: "Converts a generic address, such as a parameter, to one of global memory.",
        parts: &[Text("cvta.to.global.u64 "), Hole(1, "%rd2"), Text(", "), Hole(2, "%rd1"), Text(";")],
    },
    Template {
        label: "mad.lo %ctaid.x %ntid.x %tid.x",
        meaning: "The index of the thread in the grid.",
        parts: &[
            Text("mov.u32 "),
            Hole(1, "%r1"),
            Text(", %ctaid.x;\nmov.u32 "),
            Hole(2, "%r2"),
            Text(", %ntid.x;\nmov.u32 "),
            Hole(3, "%r3"),
            Text(", %tid.x;\nmad.lo.u32 "),
            Hole(4, "%r4"),
            Text(", "),
            Hole(1, "%r1"),
            Text(", "),
            Hole(2, "%r2"),
            Text(", "),
            Hole(3, "%r3"),
            Text(";"),
        ],
    },
    Template {
        label: "setp",
        meaning: "Compares two values.",
        parts: &[
            Text("setp."),
            Hole(1, "ge"),
            Text("."),
            Hole(2, "u32"),
            Text(" "),
            Hole(3, "%p1"),
            Text(", "),
            Hole(4, "%r1"),
            Text(", "),
            Hole(5, "%r2"),
            Text(";"),
        ],
    },
    Template {
        label: "@%p bra",
        meaning: "Jumps if a predicate is true.",
        parts: &[Text("@"), Hole(1, "%p1"), Text(" bra "), Hole(2, "done"), Text(";")],
    },
    Template {
        label: "loop: @%p bra loop",
        meaning: "A loop that ends when a predicate is false.",
        parts: &[
            Hole(1, "again"),
            Text(":\n\t"),
            End,
            Text("\n\t@"),
            Hole(2, "%p1"),
            Text(" bra "),
            Hole(1, "again"),
            Text(";"),
        ],
    },
    Template {
        label: "bar.sync",
        meaning: "Waits for all threads of the block.",
        parts: &[Text("bar.sync "), Hole(1, "0"), Text(";")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Every statement is PTX as it is inserted.
    #[test]
    fn templates_are_ptx() {
        let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
        let body = |text: &str| {
            format!(
                "{head}.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<3>;\n\
                 {text}\ndone: ret;\n}}\n"
            )
        };
        // A statement that declares what the text around it declares needs a scope of its own.
        let scoped = |text: &str| body(&format!("{{ {text} }}"));
        let header = |template: &Template| template.plain().starts_with(".version");
        let module =
            MODULE.iter().map(|it| if header(it) { it.plain() } else { format!("{head}{}\n", it.plain()) });
        for text in module.chain(BODY.iter().map(|it| scoped(&it.plain()))) {
            let db = oriole_inputs::Database::default();
            let file = oriole_inputs::SourceFile::open(&db, &text);
            for &unit in oriole_queries::files::split_file(&db, file) {
                let found = &oriole_queries::files::resolved(&db, unit).diagnostics;
                let errors: Vec<_> = found.iter().filter(|found| found.is_error()).collect();
                assert!(errors.is_empty(), "{text}: {errors:?}");
            }
        }
    }

    #[test]
    fn labels_are_unique_and_places_are_numbered_from_one() {
        let mut labels: Vec<&str> = all().map(|template| template.label).collect();
        let count = labels.len();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), count);
        for template in all() {
            let mut most = 0;
            for part in template.parts {
                if let Hole(number, _) = *part {
                    assert!(number <= most + 1 && number > 0, "{}", template.label);
                    most = most.max(number);
                }
            }
        }
    }
}
