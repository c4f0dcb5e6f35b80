//! The search of level 4 for the choices of code generation with the least cost.
//!
//! It is here, without any code of a function, so that each judge of a cost can use it: the static one of a compile, and a model
//! of the launch that a kernel is tuned for. It counts trials and knows no clock: what it finds is the same on every machine. The
//! meaning of a cost must not enter.

use oriole_options::{CHOICES, Choices, Scope};

/// A gain below one in this many is not worth a choice: no model is that exact.
const LEAST_GAIN: f64 = 500.0;

/// Choices, and what they were worth.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Found {
    /// The choices; none if level 3 is best.
    pub choices: Choices,
    /// The cost without any.
    pub before: f64,
    /// The cost with them.
    pub after: f64,
    /// Codes that were judged, the first included.
    pub judged: u32,
}

/// Costs are never NaN.
impl Eq for Found {}

impl Found {
    /// Choices that were given.
    pub fn given(choices: Choices) -> Found {
        Found { choices, ..Found::default() }
    }

    /// The cost with the choices, as a share of that without.
    pub fn ratio(&self) -> f64 {
        if self.before > 0.0 { self.after / self.before } else { 1.0 }
    }
}

/// The choices in a line, for a reader.
pub fn describe(found: &Found) -> String {
    let codes = match found.judged {
        0 => {
            return format!(
                "choices: {}",
                if found.choices.is_empty() { "none".to_owned() } else { found.choices.to_string() }
            );
        }
        judged => oriole_diagnostics::counted(judged as usize, "code"),
    };
    if found.choices.is_empty() {
        return format!("choices: none, of {codes} that of level 3 is best");
    }
    format!(
        "choices: {}: {:.3} of the time at level 3, as estimated for {codes}",
        found.choices,
        found.ratio()
    )
}

/// Searches among `rows` of [`CHOICES`], with at most `trials` codes besides the first, which costs `before`. First each row is tried
/// alone; then, the best first, each that gained something is added to those that have proved themselves. `cost` may refuse choices.
pub fn search(
    rows: &[usize],
    trials: u32,
    before: f64,
    mut cost: impl FnMut(Choices) -> Option<f64>,
) -> Found {
    let mut found = Found { choices: Choices::NONE, before, after: before, judged: 1 };
    let mut left = trials;
    let mut try_one = |found: &mut Found, choices: Choices| -> Option<f64> {
        left = left.checked_sub(1)?;
        let cost = cost(choices)?;
        found.judged += 1;
        Some(cost)
    };
    let gains = |cost: f64, than: f64| cost < than - than / LEAST_GAIN;
    // One third of the trials is for sets.
    let alone = trials - trials / 3;
    let mut gained: Vec<(f64, usize)> = Vec::new();
    for &row in rows.iter().take(alone as usize) {
        if let Some(cost) = try_one(&mut found, Choices::NONE.with(row)).filter(|&cost| gains(cost, before)) {
            gained.push((cost, row));
        }
    }
    // Equal costs stay in the order of rows.
    gained.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut gained = gained.into_iter();
    let Some((cost, row)) = gained.next() else { return found };
    (found.choices, found.after) = (Choices::NONE.with(row), cost);
    for (_, row) in gained {
        let set = found.choices.with(row);
        let least = found.after;
        if let Some(cost) = try_one(&mut found, set).filter(|&cost| gains(cost, least)) {
            (found.choices, found.after) = (set, cost);
        }
    }
    found
}

/// The rows that a judge of this scope can judge, and that can change code with this many registers.
pub fn rows(registers: u16, scope: Scope) -> Vec<usize> {
    let useful = |limit: u16| limit < registers && limit >= registers / 2;
    let is_row =
        |&row: &usize| CHOICES[row].scope() <= scope && CHOICES[row].register_limit().is_none_or(useful);
    (0..CHOICES.len()).filter(is_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs by row: what a choice takes away from 100, or nothing for one that is refused.
    fn found(trials: u32, costs: &[(usize, Option<f64>)]) -> Found {
        let rows: Vec<usize> = costs.iter().map(|cost| cost.0).collect();
        search(&rows, trials, 100.0, |choices| {
            let chosen = costs.iter().filter(|(row, _)| choices.has(*row));
            chosen.map(|(_, gain)| *gain).sum::<Option<f64>>().map(|gain| 100.0 - gain)
        })
    }

    #[test]
    fn what_gains_is_added_up() {
        let both = found(9, &[(1, Some(2.0)), (2, Some(-5.0)), (3, Some(4.0)), (4, None)]);
        assert_eq!((both.choices, both.after), (Choices::NONE.with(1).with(3), 94.0));
        assert_eq!(both.judged, 5, "the first, three alone, two together; one is refused");
        assert!((both.ratio() - 0.94).abs() < 1e-9);
    }

    #[test]
    fn little_is_nothing() {
        assert_eq!(found(9, &[(1, Some(0.1))]).choices, Choices::NONE);
        assert_eq!(found(9, &[]).after, 100.0);
    }

    #[test]
    fn trials_are_counted() {
        let costs: Vec<(usize, Option<f64>)> = (1..9).map(|row| (row, Some(row as f64))).collect();
        let mut judged: Vec<u32> = (0..7).map(|trials| found(trials, &costs).judged).collect();
        judged.dedup();
        assert_eq!(judged, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(found(0, &costs).choices, Choices::NONE);
    }
}
