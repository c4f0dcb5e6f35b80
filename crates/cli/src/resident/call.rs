//! A call of `oriole ptxas` as it is asked of the resident compiler.

/// The call of a program named ptxas, as far as it is asked of the resident compiler.
pub struct Call<'a> {
    /// The option was given.
    pub is_asked: bool,
    /// The start of messages.
    pub program: &'a str,
    /// The words of the command line.
    pub words: &'a [String],
    /// The files with options that it names, by name.
    pub files: &'a [(String, Option<String>)],
}
