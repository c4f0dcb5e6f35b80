//! The text of the PTX as debuggers show it.

/// Directives whose lines are left empty: their content is in the tables, or unreadable.
const LEFT_OUT: [&str; 6] = [".loc", ".file", ".b8", ".b16", ".b32", ".b64"];

/// The section of the text. In a linked module each one has a name of its own, by the Adler-32 of its text, since
/// linkers keep one section of each name.
pub fn ptx_text_section(text: &str, linked: bool) -> String {
    const NAME: &str = ".nv_debug_ptx_txt";
    if linked { format!("{NAME}.{}", adler2::adler32_slice(text.as_bytes())) } else { NAME.to_owned() }
}

/// The text line by line, each ended by a zero, without leading blanks. Lines that only hold a comment, a source
/// location or debug section bytes are empty, so that line numbers stay those of the file; trailing empty lines are
/// dropped.
pub fn ptx_text(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let line = line.trim_start();
        let word = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).next().unwrap_or_default();
        if line.is_empty() || line.starts_with("//") || LEFT_OUT.contains(&word) {
            empty += 1;
            continue;
        }
        out.extend(std::iter::repeat_n(0, std::mem::take(&mut empty)));
        // A zero byte in the text would end the line too early.
        out.extend(line.bytes().filter(|&byte| byte != 0));
        out.push(0);
    }
    out
}
