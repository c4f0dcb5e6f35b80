//! Shared helpers of the feature tests: a file with a cursor, and answers as text.

use oriole_ide::{Analysis, AnalysisHost, FileId, Language, Range, SettingsId};

/// The head of a module.
pub const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// A file, its snapshot and the cursor.
pub struct Fixture {
    pub host: AnalysisHost,
    pub file: FileId,
    pub text: String,
    pub at: u32,
}

/// A file of a language; `$0` is the cursor.
pub fn fixture_in(language: Language, text: &str) -> Fixture {
    let at = text.find("$0").unwrap_or(0);
    let text = text.replacen("$0", "", 1);
    let mut host = AnalysisHost::counting();
    let file = host.open(language, &text, SettingsId(0));
    Fixture { host, file, text, at: at as u32 }
}

/// A PTX file; `$0` is the cursor.
pub fn fixture(text: &str) -> Fixture {
    fixture_in(Language::Ptx, text)
}

/// A kernel with these statements, after a head and common registers; `$0` is the cursor.
pub fn kernel(body: &str) -> Fixture {
    fixture(&kernel_text(body))
}

/// The text of [`kernel`].
pub fn kernel_text(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n    .reg .pred %p<3>;\n    .reg .b32 %r<9>;\n    \
         .reg .b64 %d<5>;\n    .reg .f32 %f<4>;\n{body}\n}}\n"
    )
}

impl Fixture {
    pub fn analysis(&self) -> Analysis {
        self.host.analysis()
    }

    /// A range as text: line, from 1, and text.
    pub fn show(&self, range: Range) -> String {
        show(&self.text, range)
    }
}

/// A range as text: line, from 1, and text, cut where it is long.
pub fn show(text: &str, range: Range) -> String {
    let line = text[..range.start as usize].matches('\n').count() + 1;
    let part: String = range.slice(text).chars().take(40).collect();
    format!("{line}: {part:?}")
}

/// Statements with a loop.
pub const LOOP: &str = "    ld.param.u64 %d1, [p];\n    ld.param.u32 %r1, [n];\n    mov.u32 %r2, %tid.x;\n    mov.u32 %r3, 0;\n\
again:\n    add.u32 %r3, %r3, %r2;\n    sub.u32 %r1, %r1, 1;\n    setp.ne.u32 %p1, %r1, 0;\n    @%p1 bra again;\n\
    cvta.to.global.u64 %d2, %d1;\n    st.global.u32 [%d2], %r3;\n    ret;";

/// Without the figures that depend on code quality: a better scheduler must not fail a test of the editor.
pub fn scrub(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let digits = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        out.push_str(&if number { word.replace(digits, "#") } else { word.to_owned() });
    }
    out
}
