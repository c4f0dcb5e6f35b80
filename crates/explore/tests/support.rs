//! Helpers that open texts.

use oriole_chip::Chip;
use oriole_explore::{Code, FileView, Question, gather};
use oriole_ide::{AnalysisHost, Language, SettingsId};

/// The view of a text.
pub fn view(text: &str, only: &[String]) -> Result<FileView, oriole_explore::ViewError> {
    let mut host = AnalysisHost::new();
    let file = host.open(Language::Ptx, text, SettingsId(0));
    let question = Question { file: "k.ptx", chip: Chip::SM_90, options: "-O3", only, demangle: true };
    gather(&host.analysis(), file, &question).expect("nothing cancels")
}

/// The code of a text.
pub fn code(text: &str) -> Code {
    let mut host = AnalysisHost::new();
    let file = host.open(Language::Ptx, text, SettingsId(0));
    let cubin = host.analysis().cubin(file, Chip::SM_90).expect("nothing cancels").expect("it compiles");
    Code::read(&cubin).expect("code of a chip that is known")
}
