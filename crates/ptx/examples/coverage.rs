//! Says which supported rows of the instruction table no given text uses.
//!
//! It is here so that every row that can be compiled has a vector or a program that proves it. It reads PTX files, and
//! JSON lines with a `ptx_text` member as plain text: instructions are found by their shape, nothing is resolved.

use oriole_ptx::Opcode;
use oriole_ptx::table::{match_form, rows};

fn main() {
    let mut used = Vec::new();
    for path in std::env::args().skip(1) {
        let text =
            std::fs::read_to_string(&path).unwrap_or_default().replace("\\n", "\n").replace("\\t", " ");
        for line in text.lines() {
            let line = line.split("//").next().unwrap_or("");
            line.split([';', '{', '}']).for_each(|piece| note(piece, &mut used));
            line.split(';').for_each(|piece| note(piece, &mut used));
        }
    }
    let (mut count, mut missing) = (0, 0);
    for opcode in Opcode::all() {
        for row in rows(opcode).filter(|row| row.supported) {
            count += 1;
            if !used.iter().any(|&other| std::ptr::eq(other, row)) {
                missing += 1;
                println!("{}", row.spelling());
            }
        }
    }
    println!("{missing} of {count} supported rows are used by no text");
}

/// Notes the row of an instruction, if the piece of text is one.
fn note(piece: &str, used: &mut Vec<*const oriole_ptx::table::Row>) {
    let mut rest = piece.trim().trim_start_matches('"');
    if let Some((label, after)) = rest.split_once(": ")
        && !label.contains([' ', '.'])
    {
        rest = after.trim();
    }
    if let Some(after) = rest.strip_prefix('@') {
        rest = after.split_once(' ').map_or("", |pair| pair.1).trim();
    }
    let (head, operands) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    let mut words = head.split('.');
    let Some(opcode) = words.next().and_then(Opcode::from_name) else { return };
    let words: Vec<&str> = words.collect();
    let mut depth = 0;
    let mut commas = 0;
    for c in operands.chars() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => commas += 1,
            _ => {}
        }
    }
    let count = if operands.trim().is_empty() { 0 } else { commas + 1 };
    if let Ok(form) = match_form(opcode, &words, count) {
        used.push(std::ptr::from_ref(form.row));
    }
}
