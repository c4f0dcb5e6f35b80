//! Diagnostics as JSON, one object a line: the form of `oriole-diagnostics` with the place in the file, and the fixes.

use super::message::{Message, Place};
use serde_json::{Value, json};

/// A diagnostic as one line.
pub fn line(message: &Message) -> String {
    value(message).to_string()
}

fn value(message: &Message) -> Value {
    let mut fields = message.fields.clone();
    let mut put = |name: &str, value: Value| {
        fields.entry(name).or_insert(value);
    };
    put("file", message.file.as_str().into());
    put("code", message.code.as_str().into());
    put("severity", message.severity.as_str().into());
    put("message", message.text.as_str().into());
    put("help", message.help.clone().into());
    match &message.place {
        Place::Text(region) => put("line", region.line.into()),
        Place::Code { function, offset } => {
            put("kernel", function.as_str().into());
            put("pc", (*offset).into());
        }
        Place::File => {}
    }
    let related = message.related.iter().map(|related| {
        let mut value = json!({ "file": related.file, "message": related.text });
        match &related.place {
            Place::Text(region) => value["line"] = region.line.into(),
            Place::Code { function, offset } => {
                value["kernel"] = function.as_str().into();
                value["pc"] = (*offset).into();
            }
            Place::File => {}
        }
        value
    });
    put("related", related.collect());
    if !message.fixes.is_empty() {
        let fixes = message.fixes.iter().map(|fix| {
            let edits = fix.edits.iter().map(
                |edit| json!({ "span": { "start": edit.span.start, "len": edit.span.len }, "text": edit.text }),
            );
            json!({ "title": fix.title, "safe": fix.safe, "edits": edits.collect::<Vec<_>>() })
        });
        put("fixes", fixes.collect());
    }
    Value::Object(fields)
}
