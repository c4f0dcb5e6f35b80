//! The report of a schedule as text: hidden latency, and utilization of the units in each block.

use crate::statistics::{Hiding, Usage, statistics, usage, weight_at};
use oriole_diagnostics::counted;
use oriole_latency::{Model, Unit};
use oriole_ori::MachineFunction;
use std::fmt::Write as _;

/// Most blocks that are listed: those that take longest, loops counted tenfold.
const BLOCKS: usize = 8;

/// The report, indented lines. The control words must be in place.
pub fn report(function: &MachineFunction, model: &Model) -> String {
    let figures = statistics(function);
    let blocks = usage(function, model);
    let mut text = format!(
        "  schedule: {} instructions, {} cycles to issue, {} with loops counted tenfold\n",
        figures.instructions, figures.issue_cycles, figures.weighted_cycles
    );
    hiding(&mut text, "LDS", figures.shared);
    hiding(&mut text, "LDG", figures.global);
    hiding(&mut text, "Xu", figures.special);
    hiding(&mut text, "Xu64", figures.wide);
    hiding(&mut text, "Antidep", figures.antidependences);
    if figures.multiply_adds > 0 {
        let _ = writeln!(
            text,
            "  multiply-adds: {}, {} of their sources kept in the operand cache, {}% of the issue cycles",
            figures.multiply_adds,
            figures.multiply_add_reuses,
            u64::from(figures.multiply_adds) * 100 / figures.issue_cycles.max(1)
        );
    }
    let weight = |usage: &Usage| u64::from(usage.bound()).saturating_mul(weight_at(usage.loop_depth));
    let mut order: Vec<&Usage> = blocks.iter().collect();
    order.sort_by_key(|usage| (std::cmp::Reverse(weight(usage)), usage.first));
    for usage in order.iter().take(BLOCKS) {
        units(&mut text, usage);
    }
    if let Some(more @ 1..) = order.len().checked_sub(BLOCKS) {
        let _ = writeln!(text, "  and {more} blocks that take less");
    }
    text
}

fn hiding(text: &mut String, name: &str, figures: Hiding) {
    if let Some(mean) = (figures.sum * 10).checked_div(u64::from(figures.count)) {
        let _ = writeln!(
            text,
            "  {name} latency hiding: Num {}, Min {}, Max {}, Avg {}.{}",
            figures.count,
            figures.least,
            figures.most,
            mean / 10,
            mean % 10
        );
    }
}

fn units(text: &mut String, usage: &Usage) {
    let _ = write!(text, "  block {:#06x}", usage.first * 16);
    if usage.loop_depth > 0 {
        let _ = write!(text, " in {}", counted(usage.loop_depth.into(), "loop"));
    }
    let instructions = counted(usage.instructions as usize, "instruction");
    let _ = write!(text, ": {instructions}, {} cycles; busy", usage.issue_cycles);
    for (unit, cycles) in Unit::ALL.into_iter().zip(usage.busy).filter(|&(_, cycles)| cycles > 0) {
        let _ = write!(text, " {} {cycles}", unit.name());
    }
    let bound = usage.busiest().filter(|&(_, cycles)| cycles > usage.issue_cycles);
    let _ = match bound {
        Some((unit, _)) => writeln!(text, ", bound by {}", unit.name()),
        None => writeln!(text),
    };
}

#[cfg(test)]
mod tests;
