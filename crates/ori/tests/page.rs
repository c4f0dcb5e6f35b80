//! The page about the text form shows real text: its example parses and prints as it is written there.

use oriole_ori::{Form, parse, verify};

#[test]
fn the_example_of_the_page_is_real() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ori-text.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let (_, rest) = page.split_once("```text\n").expect("the page has an example");
    let (example, _) = rest.split_once("```").expect("the example ends");
    let function = parse(example).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(function.to_string(), example);
    if let Err(violations) = verify(&function, Form::Plain) {
        panic!("{}", violations[0]);
    }
}
