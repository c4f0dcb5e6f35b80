//! Charts of a kernel: live registers along the code, issues by unit, occupancy over the number of registers.
//!
//! Each chart is bounded whatever the size of the kernel: no more points than columns of pixels.

use std::fmt::Write as _;

use maud::{Markup, html};
use oriole_latency::Unit;

use crate::view::KernelView;

/// Width of a chart.
const WIDTH: f64 = 640.0;
/// Columns for curves.
const COLUMNS: usize = 580;
/// Left and right end of the curve.
const LEFT: f64 = 50.0;
const RIGHT: f64 = 630.0;

fn x(part: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * part
}

/// The live registers at each instruction, with the allocated number.
pub fn pressure(kernel: &KernelView) -> Markup {
    const TOP: f64 = 14.0;
    const BASE: f64 = 150.0;
    let rows = &kernel.code.rows;
    let (peak, at) = kernel.code.peak();
    let most = f64::from(kernel.code.registers.max(u32::from(peak)).max(8));
    let y = |registers: f64| BASE - (BASE - TOP) * registers / most;
    let columns = rows.len().clamp(1, COLUMNS);
    let curve = |of: &dyn Fn(usize) -> u16| {
        let mut path = format!("M{LEFT} {BASE}");
        for column in 0..columns {
            let (first, end) = (column * rows.len() / columns, (column + 1) * rows.len() / columns);
            let value = (first..end).map(of).max().unwrap_or(0);
            let (from, to) = (x(column as f64 / columns as f64), x((column + 1) as f64 / columns as f64));
            let _ = write!(path, "L{from:.1} {0:.1}H{to:.1}", y(value.into()));
        }
        let _ = write!(path, "V{BASE}Z");
        path
    };
    let marks: Vec<u32> = ticks(most as u32, 4);
    let allocated = kernel.code.registers;
    let peak_x = x((at as f64 + 0.5) / rows.len().max(1) as f64);
    html! {
        svg.chart.pressure viewBox={ "0 0 " (WIDTH) " 180" } role="img" data-rows=(rows.len())
            aria-label={ "Live registers along the code: at most " (peak) " of " (allocated) } {
            @for mark in &marks {
                line.grid x1=(LEFT) x2=(RIGHT) y1=(p(y(f64::from(*mark)))) y2=(p(y(f64::from(*mark)))) {}
                text.end x=(LEFT - 6.0) y=(p(y(f64::from(*mark)) + 4.0)) { (mark) }
            }
            path.general d=(curve(&|row| rows[row].pressure.general)) {}
            path.uniform d=(curve(&|row| rows[row].pressure.uniform)) {}
            line.limit x1=(LEFT) x2=(RIGHT) y1=(p(y(f64::from(allocated)))) y2=(p(y(f64::from(allocated)))) {}
            circle.peak cx=(p(peak_x)) cy=(p(y(f64::from(peak)))) r="4" {}
            text x=(LEFT) y="172" { "start of the code" }
            text.end x=(RIGHT) y="172" { "end" }
            line.cursor x1="0" x2="0" y1=(TOP) y2=(BASE) {}
        }
    }
}

/// Issues by unit, and waits of the warp for scoreboards.
pub fn timeline(kernel: &KernelView) -> Markup {
    const LANE: f64 = 20.0;
    let rows = &kernel.code.rows;
    let span = kernel.code.span().unwrap_or(0).max(1);
    let used: Vec<Unit> =
        Unit::ALL.into_iter().filter(|&unit| rows.iter().any(|row| row.unit == Some(unit))).collect();
    let column = |cycle: u64| (cycle as f64 / span as f64 * COLUMNS as f64) as usize;
    // Used columns, as stretches.
    let stretches = |of: &dyn Fn(usize) -> Option<(u64, u64)>| {
        let mut filled = vec![false; COLUMNS + 1];
        for (from, to) in (0..rows.len()).filter_map(of) {
            filled[column(from)..=column(to.saturating_sub(1).max(from)).min(COLUMNS)].fill(true);
        }
        let mut path = String::new();
        let mut at = 0;
        while at < COLUMNS {
            let end = (at..COLUMNS).find(|&column| !filled[column]).unwrap_or(COLUMNS);
            if end > at {
                let from = x(at as f64 / COLUMNS as f64);
                let _ = write!(
                    path,
                    "M{from:.1} 0h{:.1}v12h-{0:.1}z",
                    (end - at) as f64 * (RIGHT - LEFT) / COLUMNS as f64
                );
            }
            at = end + 1;
        }
        path
    };
    let issues = |unit: Unit| {
        stretches(&|row| {
            let row = &rows[row];
            let start = row.issue?.cycle;
            (row.unit == Some(unit)).then_some((start, start + 1))
        })
    };
    let waits = stretches(&|row| {
        let issue = rows[row].issue?;
        (issue.waited > 0).then_some((issue.cycle - u64::from(issue.waited), issue.cycle))
    });
    let waited: u64 = rows.iter().filter_map(|row| row.issue).map(|issue| u64::from(issue.waited)).sum();
    let height = LANE * (used.len() + 1) as f64;
    let lane = |at: usize| format!("translate(0 {})", LANE * at as f64 + 4.0);
    html! {
        svg.chart.timeline viewBox={ "0 0 " (WIDTH) " " (height + 24.0) } role="img" data-span=(span)
            aria-label={ "What issues when: " (span) " cycles, " (waited) " of them waiting for scoreboards" } {
            @for (at, unit) in used.iter().enumerate() {
                g transform=(lane(at)) {
                    rect.lane x=(LEFT) y="0" width=(RIGHT - LEFT) height="12" {}
                    path.issue d=(issues(*unit)) {}
                    text.end x=(LEFT - 6.0) y="10" { (unit.name()) }
                }
            }
            g transform=(lane(used.len())) {
                rect.lane x=(LEFT) y="0" width=(RIGHT - LEFT) height="12" {}
                path.wait d=(waits) {}
                text.end x=(LEFT - 6.0) y="10" { "waits" }
            }
            text x=(LEFT) y=(p(height + 18.0)) { "cycle 0" }
            text.end x=(RIGHT) y=(p(height + 18.0)) { (span) }
            line.cursor x1="0" x2="0" y1="2" y2=(p(height)) {}
        }
    }
}

/// Warps of an SM over registers of a thread, with the place of this kernel.
pub fn occupancy(kernel: &KernelView) -> Markup {
    const TOP: f64 = 14.0;
    const BASE: f64 = 170.0;
    let (warps, most) = kernel.needs.warps;
    let own = kernel.needs.registers;
    let count = kernel.curve.len().max(1) as f64;
    let y = |warps: u32| BASE - (BASE - TOP) * f64::from(warps) / f64::from(most.max(1));
    let mut path = String::new();
    for (at, &warps) in kernel.curve.iter().enumerate() {
        let from = x(at as f64 / count);
        let _ = match at {
            0 => write!(path, "M{from:.1} {:.1}", y(warps)),
            _ if kernel.curve[at - 1] != warps => write!(path, "H{from:.1}V{:.1}", y(warps)),
            _ => Ok(()),
        };
    }
    let _ = write!(path, "H{RIGHT}");
    let point = x((f64::from(own) - 0.5) / count);
    let anchor = if point > (LEFT + RIGHT) / 2.0 { "end" } else { "start" };
    let label_x = if anchor == "start" { point + 10.0 } else { point - 10.0 };
    // Above the point, unless there is no room.
    let label_y = if y(warps) - 9.0 < TOP + 4.0 { y(warps) + 22.0 } else { y(warps) - 9.0 };
    html! {
        svg.chart.occupancy viewBox={ "0 0 " (WIDTH) " 200" } role="img"
            aria-label={ "Warps of an SM over registers of a thread: " (warps) " of " (most) " at " (own) } {
            @for mark in ticks(most, 4) {
                line.grid x1=(LEFT) x2=(RIGHT) y1=(p(y(mark))) y2=(p(y(mark))) {}
                text.end x=(LEFT - 6.0) y=(p(y(mark) + 4.0)) { (mark) }
            }
            @for mark in ticks(kernel.curve.len() as u32, 8) {
                text.middle x=(p(x(f64::from(mark) / count))) y="190" { (mark) }
            }
            path.curve d=(path) {}
            line.limit x1=(p(point)) x2=(p(point)) y1=(TOP) y2=(BASE) {}
            circle.peak cx=(p(point)) cy=(p(y(warps))) r="5" {}
            text.label.(anchor) x=(p(label_x)) y=(p(label_y)) {
                (own) " registers: " (warps) " of " (most) " warps"
            }
        }
    }
}

/// The next smaller number of registers with more warps, and that number of warps.
pub fn next_step(kernel: &KernelView) -> Option<(u32, u32)> {
    let own = kernel.needs.registers as usize;
    let now = *kernel.curve.get(own.checked_sub(1)?)?;
    let (at, &warps) = kernel.curve[..own].iter().enumerate().rfind(|&(_, &warps)| warps > now)?;
    Some((at as u32 + 1, warps))
}

/// A coordinate of a chart.
fn p(value: f64) -> String {
    format!("{value:.1}")
}

/// At most about `count` round marks up to `most`.
fn ticks(most: u32, count: u32) -> Vec<u32> {
    let step = (1..).map(|power| 1 << power).find(|step| most / step <= count).unwrap_or(1);
    (0..=most / step).map(|at| at * step).collect()
}
