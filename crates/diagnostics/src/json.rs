//! The JSON form of diagnostics, for tools.
//!
//! The format is part of the interface: fields are added, never renamed. Spans are relative to the unit; the caller
//! adds the file's name and offset.

use serde_json::{Value, json};

use crate::{Diagnostic, Message, Part, Place, Span};

impl Diagnostic {
    /// The diagnostic as one JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "code": self.code.as_str(),
            "severity": self.severity.as_str(),
            "span": span(self.span),
            "message": self.message.to_string(),
            "parts": parts(&self.message),
            "help": self.help.iter().map(Message::to_string).collect::<Vec<_>>(),
            "related": self.related.iter().map(|related| {
                let mut object = json!({ "message": related.message.to_string() });
                match &related.place {
                    Place::Here(at) => object["span"] = span(*at),
                    Place::Symbol(name) => object["symbol"] = json!(name),
                }
                object
            }).collect::<Vec<_>>(),
        })
    }
}

fn span(span: Span) -> Value {
    json!({ "start": span.start, "len": span.len })
}

fn parts(message: &Message) -> Vec<Value> {
    message
        .parts()
        .iter()
        .map(|part| match part {
            Part::Text(text) => json!({ "text": text }),
            Part::Source(text) => json!({ "source": text }),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::{Code, Diagnostic, Span};

    #[test]
    fn shape() {
        let found = Diagnostic::new(Code::DuplicateName, Span::new(1, 2), "`a` is declared twice")
            .with_help("rename it")
            .with_label(Span::new(0, 1), "first here")
            .with_symbol("k", "in this entry");
        expect![[r#"
            {
              "code": "ptx::duplicate-name",
              "help": [
                "rename it"
              ],
              "message": "`a` is declared twice",
              "parts": [
                {
                  "source": "a"
                },
                {
                  "text": " is declared twice"
                }
              ],
              "related": [
                {
                  "message": "first here",
                  "span": {
                    "len": 1,
                    "start": 0
                  }
                },
                {
                  "message": "in this entry",
                  "symbol": "k"
                }
              ],
              "severity": "error",
              "span": {
                "len": 2,
                "start": 1
              }
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&found.to_json()).unwrap());
    }
}
