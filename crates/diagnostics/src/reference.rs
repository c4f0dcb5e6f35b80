//! The page of all diagnostic codes, `docs/codes.md`, made from the registry: a section for each code, and its address.
//!
//! An editor links a diagnostic to its section. The registry is the source: no text of a code is here.

use crate::Code;

/// The folder of the pages, for readers outside of the repository.
const DOCS: &str = "https://github.com/oriole-compiler/oriole/blob/main/docs";

/// The name of a section within the page, as hosts of Markdown make it from the heading.
fn anchor(code: Code) -> String {
    code.as_str().replace(':', "")
}

/// The address of a code's section.
pub(crate) fn href(code: Code) -> String {
    format!("{DOCS}/codes.md#{}", anchor(code))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use super::*;

    /// The page.
    fn page() -> String {
        let mut out = String::from(
            "# Diagnostic codes\n\nGenerated from `crates/diagnostics/src/code.rs`; do not edit. Every diagnostic has one of these codes. `oriole explain CODE`\n\
         prints the same text, and editors link to it.\n",
        );
        for &code in Code::ALL {
            let _ =
                write!(out, "\n## `{code}`\n\nSeverity: {}.\n\n{}\n", code.severity().as_str(), code.page());
        }
        out
    }

    #[test]
    fn the_published_page_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/codes.md");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(path, page()).expect("the page can be written");
        }
        let found = std::fs::read_to_string(path).expect("the page is there");
        assert!(found == page(), "docs/codes.md is out of date: run the test with UPDATE_EXPECT=1");
    }

    #[test]
    fn every_code_has_a_section_of_its_own() {
        let sections: BTreeSet<String> = Code::ALL.iter().map(|&code| anchor(code)).collect();
        assert_eq!(sections.len(), Code::ALL.len());
        for &code in Code::ALL {
            assert!(page().contains(&format!("\n## `{code}`\n")), "{code}");
            assert!(code.href().ends_with(&format!("codes.md#{}", anchor(code))), "{code}");
        }
    }
}
