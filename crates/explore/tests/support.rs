//! How tests open texts.

use oriole_chip::Chip;
use oriole_explore::{FileView, Question, gather};
use oriole_ide::{AnalysisHost, Language, SettingsId};

/// What a page would tell of a text.
pub fn view(text: &str, only: &[String]) -> Result<FileView, String> {
    let mut host = AnalysisHost::new();
    let file = host.open(Language::Ptx, text, SettingsId(0));
    let question = Question { file: "k.ptx", chip: Chip::SM_90, options: "-O3", only, demangle: true };
    gather(&host.analysis(), file, &question).expect("nothing cancels")
}
