//! The order in which the linker puts the functions of a profiled program: part by part of its training, within a part those
//! that run most first. A page of the program that a compile brings in then holds little that this compile does not run.

use std::collections::HashSet;

/// The symbols of the functions that ran, in the order of these profiles (in text, one of each part), each once.
pub fn of_profiles(profiles: &[String]) -> Vec<String> {
    let mut placed = HashSet::new();
    let mut order = Vec::new();
    for profile in profiles {
        let mut ran = counted(profile);
        ran.sort_by(|(one, one_count), (other, other_count)| {
            other_count.cmp(one_count).then_with(|| one.cmp(other))
        });
        order.extend(
            ran.into_iter().map(|(name, _)| name.to_owned()).filter(|name| placed.insert(name.clone())),
        );
    }
    order
}

/// The functions of a profile in text that ran, with the largest of their counters. A function is a block of lines up to an
/// empty one: its name, behind the file it is local to and `;`, its hash, the number of its counters, and these.
fn counted(profile: &str) -> Vec<(&str, u64)> {
    let mut functions = Vec::new();
    for block in profile.split("\n\n") {
        let mut lines = block.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', ':']));
        let (Some(name), Some(_hash), Some(counters)) = (lines.next(), lines.next(), lines.next()) else {
            continue;
        };
        let counters = counters.parse().unwrap_or(0);
        let most = lines.take(counters).filter_map(|count| count.parse().ok()).max().unwrap_or(0);
        if most > 0 {
            functions.push((name.rsplit_once(';').map_or(name, |(_, name)| name), most));
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn functions_of_a_profile_in_text() {
        let profile = "# IR level\n:ir\nmain\n# Func Hash:\n7\n# Num Counters:\n2\n# Counter Values:\n1\n5\n\n\
                       never\n# Func Hash:\n8\n# Num Counters:\n1\n# Counter Values:\n0\n\n\
                       a.c;local\n# Func Hash:\n9\n# Num Counters:\n1\n# Counter Values:\n2\n# Num Value Kinds:\n1\n";
        assert_eq!(counted(profile), [("main", 5), ("local", 2)]);
    }
}
