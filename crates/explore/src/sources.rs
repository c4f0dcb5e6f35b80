//! The files of the source that PTX names with `.file`, and places in them.
//!
//! It is here because a page shows the source next to the PTX. No file is read: the caller reads those that it may.

use std::collections::BTreeMap;

/// A file of the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Source {
    /// Its name, as the code has it.
    pub name: String,
    /// Its lines; none if it cannot be read.
    pub lines: Vec<String>,
}

/// A line of a source: the file by its number, and the line from 1.
pub type Place = (u32, u32);

/// The names of the files by the numbers that `.file` gives them.
pub fn source_names(text: &str) -> BTreeMap<u32, String> {
    let name = |line: &str| {
        let rest = line.trim_start().strip_prefix(".file")?.trim_start();
        let (number, rest) = rest.split_once(char::is_whitespace)?;
        let name = rest.trim_start().strip_prefix('"')?.split('"').next()?;
        Some((number.parse().ok()?, name.to_owned()))
    };
    text.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_source() {
        let names =
            source_names(".file 1 \"a b.cu\", 17, 4\n  .file\t2 \"/x/y.h\"\n.file 3\n// .file 4 \"no\"");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), [(1, "a b.cu".into()), (2, "/x/y.h".into())]);
    }
}
