//! The order in which the linker puts the functions of a profiled program: part by part of its training, within a part
//! those first that run in most of its profiles, and among these those that run most. A compile loads whole runs of
//! pages; with this order they contain functions that most compiles run, and rare functions are together at the end.

use std::collections::{HashMap, HashSet};

/// The functions of a profile that ran, each with the largest of its counters.
pub type Ran = Vec<(String, u64)>;

/// The symbols of the functions that ran, in the order of these parts, each of one or several profiles; each symbol once.
pub fn of_parts(parts: &[Vec<Ran>]) -> Vec<String> {
    let mut placed = HashSet::new();
    let mut order = Vec::new();
    for profiles in parts {
        // The number of profiles in which a function ran, and its maximum count.
        let mut sums: HashMap<&str, (usize, u64)> = HashMap::new();
        for (name, count) in profiles.iter().flatten() {
            let (runs, most) = sums.entry(name).or_default();
            *runs += 1;
            *most = (*most).max(*count);
        }
        let mut ran: Vec<(&str, (usize, u64))> = sums.into_iter().collect();
        ran.sort_by(|(one, sum), (other, other_sum)| other_sum.cmp(sum).then_with(|| one.cmp(other)));
        order.extend(
            ran.into_iter().map(|(name, _)| name).filter(|name| placed.insert(*name)).map(str::to_owned),
        );
    }
    order
}

/// The functions of a profile in text form that ran, with the largest of their counters. A function is a block of lines
/// up to an empty one: its name, after the file it is local to and `;`, its hash, the number of its counters, and
/// these.
pub fn ran(profile: &str) -> Ran {
    let mut functions = Vec::new();
    for block in profile.split("\n\n") {
        let mut lines = block.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', ':']));
        let (Some(name), Some(_hash), Some(counters)) = (lines.next(), lines.next(), lines.next()) else {
            continue;
        };
        let counters = counters.parse().unwrap_or(0);
        let most = lines.take(counters).filter_map(|count| count.parse().ok()).max().unwrap_or(0);
        if most > 0 {
            let symbol = name.rsplit_once(';').map_or(name, |(_, name)| name);
            functions.push((symbol.to_owned(), most));
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::{of_parts, ran};

    #[test]
    fn functions_of_a_profile_in_text() {
        let profile = "# IR level\n:ir\nmain\n# Func Hash:\n7\n# Num Counters:\n2\n# Counter Values:\n1\n5\n\n\
                       never\n# Func Hash:\n8\n# Num Counters:\n1\n# Counter Values:\n0\n\n\
                       a.c;local\n# Func Hash:\n9\n# Num Counters:\n1\n# Counter Values:\n2\n# Num Value Kinds:\n1\n";
        assert_eq!(ran(profile), [("main".to_owned(), 5), ("local".to_owned(), 2)]);
    }

    #[test]
    fn functions_of_most_profiles_come_first() {
        let profile =
            |names: &[(&str, u64)]| names.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let compile = vec![
            profile(&[("rare", 900), ("schedule", 7)]),
            profile(&[("schedule", 8), ("main", 1), ("lower", 4)]),
            profile(&[("main", 1)]),
        ];
        let tools = vec![profile(&[("lint", 5), ("main", 1)])];
        assert_eq!(of_parts(&[compile, tools]), ["schedule", "main", "rare", "lower", "lint"]);
    }
}
