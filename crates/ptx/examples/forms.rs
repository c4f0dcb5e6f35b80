//! Prints the instruction table: one line a form, with operand kinds, for comparing it with other compilers.

use oriole_ptx::Opcode;
use oriole_ptx::table::rows;

fn main() {
    for opcode in Opcode::all() {
        for row in rows(opcode) {
            let spelling = row.spelling();
            let words = spelling.split(' ').next().unwrap_or_default();
            let operands: Vec<String> = row
                .operands
                .iter()
                .map(|operand| {
                    format!("{} {:?} {:?} {:?}", operand.name, operand.kind, operand.ty, operand.presence)
                })
                .collect();
            println!(
                "{words}\t{}\t{:?}\t{:?}\t{}\t{}",
                operands.join("; "),
                row.chips,
                row.ptx,
                row.supported,
                row.doc
            );
        }
    }
}
