//! Checks the numbers of instruction forms in pages that are written by hand against the page that `cargo xtask codegen`
//! writes: "All 1,067 instruction forms of PTX 9.0 compile, and 88 of the 109 that 9.1 to 9.5 added".

use std::path::Path;

/// The page with the numbers, and the row that holds the sums.
const GENERATED: &str = "docs/ptx/README.md";
const PAGES: &[&str] = &["README.md", "docs/chips.md"];

/// All forms, and those that are compiled.
#[derive(Clone, Copy)]
struct Forms {
    all: usize,
    compiled: usize,
}

/// Reports each number that is not that of the tables.
pub fn check(root: &Path, found: &mut Vec<String>) {
    let read = |page: &str| std::fs::read_to_string(root.join(page)).unwrap_or_default();
    let Some(forms) = sums(&read(GENERATED)) else {
        found.push(format!("{GENERATED}: there is no row `all`"));
        return;
    };
    for page in PAGES {
        found.extend(in_page(page, &read(page), forms));
    }
}

fn sums(page: &str) -> Option<Forms> {
    let row = page.lines().find_map(|line| line.strip_prefix("| all | "))?;
    let mut cells = row.split(" | ").map_while(number);
    Some(Forms { all: cells.next()?, compiled: cells.next()? })
}

fn number(word: &str) -> Option<usize> {
    word.replace(',', "").parse().ok()
}

fn in_page(shown: &str, text: &str, forms: Forms) -> Vec<String> {
    let mut found = Vec::new();
    // Forms of the first versions, all of which are compiled: the first sentence of a page that gives their number.
    let words: Vec<&str> = text.split_whitespace().collect();
    let old = words.windows(3).find(|words| words[1] == "instruction" && words[2] == "forms");
    let Some(old) = old.and_then(|words| number(words[0])) else { return found };
    for (at, line) in text.lines().enumerate() {
        let Some((before, _)) = line.split_once(" that 9.1 to ") else { continue };
        let mut last = before.rsplit(' ');
        let [new, _, _, compiled] = [(); 4].map(|()| last.next().and_then(number));
        let (Some(new), Some(compiled)) = (new, compiled) else { continue };
        if (old + new, old + compiled) != (forms.all, forms.compiled) {
            found.push(format!(
                "{shown}:{}: {old} forms and {compiled} of {new}, but the tables have {} and compile {}",
                at + 1,
                forms.all,
                forms.compiled
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_those_of_the_tables_are_found() {
        let forms = sums("| page | forms |\n| all | 1110 | 1105 | 900 | 900 | |\n").expect("a row");
        let page = |compiled| {
            format!(
                "All 1,100 instruction forms of PTX 9.0 compile, and {compiled} of the 10 that 9.1 to 9.5 added."
            )
        };
        assert_eq!(in_page("page", &page(5), forms), Vec::<String>::new());
        assert_eq!(
            in_page("page", &page(6), forms),
            ["page:1: 1100 forms and 6 of 10, but the tables have 1110 and compile 1105"]
        );
    }
}
