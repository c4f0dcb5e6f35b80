//! Allocation of real functions: Ori texts before phase 97, which `cargo xtask guard-data` writes to the folder in
//! `ORIOLE_GUARD_DATA`. Every function must pass the checker at several budgets; registers and spills are printed.

use oriole_chip::Chip;
use oriole_options::AllocateOptions;
use oriole_regalloc::AllocateError;

/// The functions of a dump: each begins with `kernel` or `function`; a profile before it follows a `#`.
fn functions(text: &str) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("// ") {
            name = comment.to_owned();
        } else if line.starts_with("kernel ") || line.starts_with("function ") {
            list.push((name.clone(), format!("{line}\n")));
        } else if let Some((_, text)) = list.last_mut().filter(|_| !line.is_empty() && !line.starts_with('#'))
        {
            text.push_str(line);
            text.push('\n');
        }
    }
    list
}

#[test]
#[ignore = "needs ORIOLE_GUARD_DATA"]
fn real_functions_are_allocated_right() {
    let folder = std::env::var_os("ORIOLE_GUARD_DATA").expect("ORIOLE_GUARD_DATA names a folder");
    let folder = std::path::Path::new(&folder).join("ori");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "ori"));
    paths.sort();
    assert!(!paths.is_empty(), "the folder holds no functions");
    let mut failures = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a file");
        for (name, text) in functions(&text) {
            let function = match oriole_ori::parse::parse(&text) {
                Ok(function) => function,
                Err(error) => {
                    println!("{name}: {error:?}");
                    failures += 1;
                    continue;
                }
            };
            let mut line = format!("{}:{name}", path.file_stem().unwrap_or_default().display());
            for (limit, minimal) in [(None, false), (Some(32), false), (None, true)] {
                let options = AllocateOptions {
                    minimal,
                    limit,
                    check: true,
                    ..oriole_options::Options::default().allocate()
                };
                let start = std::time::Instant::now();
                match oriole_regalloc::allocate(function.clone(), Chip::SM_90, &options) {
                    Ok((_, assignment)) => {
                        line += &format!(
                            " | {} regs {} st {} ld {} ms",
                            assignment.general_registers,
                            assignment.spill_stores,
                            assignment.spill_loads,
                            start.elapsed().as_millis()
                        );
                    }
                    // An operand wider than the limit.
                    Err(error @ AllocateError::Exceeded { .. }) if limit.is_some() => {
                        line += &format!(" | {error}");
                    }
                    Err(error) => {
                        failures += 1;
                        line += &format!(" | {error}");
                    }
                }
            }
            println!("{line}");
        }
    }
    assert_eq!(failures, 0);
}
