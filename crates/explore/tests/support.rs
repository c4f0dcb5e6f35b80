//! Helpers that open texts.

use oriole_chip::Chip;
use oriole_explore::{Code, FileView, Question, ViewError};
use oriole_ide::{Analysis, AnalysisHost, Language, SettingsId};

/// The view of a text, and the snapshot that it is of.
pub fn view(text: &str, only: &[String]) -> Result<(FileView, Analysis), ViewError> {
    let question = Question { only: only.to_vec(), ..question() };
    view_of(text, question)
}

/// The parameters that every view has.
pub fn question() -> Question {
    Question { file: "k.ptx".to_owned(), options: "-O3".to_owned(), demangle: true, ..Question::default() }
}

/// The view of a text as it is asked for.
pub fn view_of(text: &str, question: Question) -> Result<(FileView, Analysis), ViewError> {
    let mut host = AnalysisHost::new();
    let file = host.open(Language::Ptx, text, SettingsId(0));
    let analysis = host.analysis();
    let view = FileView::of_text(&analysis, file, Chip::SM_90, question).expect("nothing cancels")?;
    Ok((view, analysis))
}

/// The code of a text.
pub fn code(text: &str) -> Code {
    Code::read(&cubin(text)).expect("code of a chip that is known")
}

/// The cubin of a text.
pub fn cubin(text: &str) -> Vec<u8> {
    let mut host = AnalysisHost::new();
    let file = host.open(Language::Ptx, text, SettingsId(0));
    let cubin = host.analysis().cubin(file, Chip::SM_90).expect("nothing cancels").expect("it compiles");
    cubin.to_vec()
}
