//! Questions to the resident compiler and its answers, as bytes. Texts are borrowed: they are copied into a message once.

use super::call::Call;
use crate::compile::question::{Answer, Question};
use crate::ptxas::compile::Assembled;
use oriole_ptxas::{Entry, Input, Severity};
use serde::{Deserialize, Serialize};

/// A question.
#[derive(Serialize, Deserialize)]
pub enum Message<'a> {
    /// Of `oriole compile`.
    #[serde(borrow)]
    Compile(Question<'a>),
    /// Of `oriole ptxas`.
    #[serde(borrow)]
    Assemble(Assemble<'a>),
}

/// A call of ptxas.
#[derive(Serialize, Deserialize)]
pub struct Assemble<'a> {
    /// The start of messages.
    pub program: &'a str,
    /// The words of the command line.
    #[serde(borrow)]
    pub words: Vec<&'a str>,
    /// Files with options, by name; none if it could not be read.
    #[serde(borrow)]
    pub files: Vec<(&'a str, Option<&'a str>)>,
    /// The inputs, by name.
    #[serde(borrow)]
    pub inputs: Vec<(&'a str, &'a str)>,
}

/// How a call of ptxas ended. The container follows it.
#[derive(Serialize, Deserialize)]
enum Ended {
    Done,
    Checked,
    Unsupported,
    Failed,
}

/// The severities of messages, by number.
const SEVERITIES: [Severity; 4] = [Severity::Info, Severity::Warning, Severity::Error, Severity::Fatal];

/// The bytes of a question of `oriole compile`.
pub fn compile(question: &Question<'_>) -> Option<Vec<u8>> {
    // The variant by its number and the question, without a copy of the question.
    let mut bytes = Vec::with_capacity(question.text.len() + 1024);
    bytes.push(0);
    postcard::to_extend(question, bytes).ok()
}

/// The bytes of a call of ptxas.
pub fn assemble(call: &Call<'_>, inputs: &[Input]) -> Option<Vec<u8>> {
    let message = Message::Assemble(Assemble {
        program: call.program,
        words: call.words.iter().map(String::as_str).collect(),
        files: call.files.iter().map(|(name, text)| (name.as_str(), text.as_deref())).collect(),
        inputs: inputs.iter().map(|input| (input.name.as_str(), input.text.as_str())).collect(),
    });
    postcard::to_stdvec(&message).ok()
}

/// An answer to `oriole compile`, as bytes.
pub fn answer(answer: &Answer) -> Option<Vec<u8>> {
    let bytes = postcard::to_stdvec(&(answer, answer.cubin.is_some())).ok()?;
    Some([&bytes[..], answer.cubin.as_deref().unwrap_or_default()].concat())
}

/// An answer to `oriole compile`, from its bytes.
pub fn compiled(bytes: &[u8]) -> Option<Answer> {
    let ((mut answer, has_cubin), rest) = postcard::take_from_bytes::<(Answer, bool)>(bytes).ok()?;
    answer.cubin = has_cubin.then(|| rest.to_vec());
    Some(answer)
}

/// An answer to a call of ptxas, as bytes.
pub fn ended(assembled: Option<&Assembled>, entries: &[Entry]) -> Option<Vec<u8>> {
    let number = |severity| SEVERITIES.iter().position(|&other| other == severity).unwrap_or(0) as u8;
    let said: Vec<(u8, &str)> =
        entries.iter().map(|entry| (number(entry.severity), entry.text.as_str())).collect();
    let (ended, cubin) = match assembled {
        Some(Assembled::Done(cubin)) => (Ended::Done, cubin.as_slice()),
        Some(Assembled::Checked) => (Ended::Checked, &[][..]),
        Some(Assembled::Unsupported) => (Ended::Unsupported, &[][..]),
        None | Some(Assembled::Failed) => (Ended::Failed, &[][..]),
    };
    let bytes = postcard::to_stdvec(&(ended, said)).ok()?;
    Some([&bytes[..], cubin].concat())
}

/// An answer to a call of ptxas, from its bytes, and all messages of the call.
pub fn assembled(bytes: &[u8]) -> Option<(Assembled, Vec<Entry>)> {
    let ((ended, said), rest) = postcard::take_from_bytes::<(Ended, Vec<(u8, String)>)>(bytes).ok()?;
    let entry =
        |(number, text): (u8, String)| Some(Entry { severity: *SEVERITIES.get(usize::from(number))?, text });
    let entries = said.into_iter().map(entry).collect::<Option<Vec<Entry>>>()?;
    let assembled = match ended {
        Ended::Done => Assembled::Done(triomphe::Arc::new(rest.to_vec())),
        Ended::Checked => Assembled::Checked,
        Ended::Unsupported => Assembled::Unsupported,
        Ended::Failed => Assembled::Failed,
    };
    Some((assembled, entries))
}
