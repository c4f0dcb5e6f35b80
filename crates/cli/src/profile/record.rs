//! The message about a launch record that is missing: why there must be one, and one to begin with.

use oriole_explore::ProfiledImage;
use std::fmt::Write as _;

/// Elements of a buffer in the record to begin with.
const ELEMENTS: u32 = 1 << 16;

/// The message, with a record for the first kernel.
pub fn missing(image: &Result<ProfiledImage, String>) -> String {
    let mut text = "no launch record: a profile runs the kernel, so it needs a grid, a block and arguments. Give a JSON file after \
                    the code; docs/launch-records.md has its form"
        .to_owned();
    let Ok(image) = image else { return text };
    let Some(kernel) = image.cubin.kernels.first() else { return text };
    let arguments = kernel.parameters.iter().map(|parameter| match parameter.size {
        8 => format!("{{\"buffer\": {{\"type\": \"f32\", \"iota\": {{\"count\": {ELEMENTS}}}}}}}"),
        1 => "{\"scalar\": {\"type\": \"u8\", \"value\": 1}}".to_owned(),
        2 => "{\"scalar\": {\"type\": \"u16\", \"value\": 1}}".to_owned(),
        4 => format!("{{\"scalar\": {{\"type\": \"u32\", \"value\": {ELEMENTS}}}}}"),
        size => format!("{{\"buffer\": {{\"len\": {size}}}}}"),
    });
    let arguments: Vec<String> = arguments.collect();
    let name = serde_json::Value::from(kernel.name.as_str());
    let _ = write!(
        text,
        ". A record to begin with, whose pointers and numbers are guesses:\n{{\"entry\": {name}, \"grid\": [{}, 1, 1], \
         \"block\": [256, 1, 1],\n \"args\": [{}]}}",
        ELEMENTS / 256,
        arguments.join(",\n          ")
    );
    text
}
