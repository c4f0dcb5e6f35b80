//! The static checker on code of ptxas, which is taken to be correct: it finds nothing there.
//!
//! The cubins are those that `cargo xtask guard-data` makes; `ORIOLE_GUARD_DATA` names their folder.

use std::path::Path;

#[test]
#[ignore = "needs ORIOLE_GUARD_DATA"]
fn code_of_another_compiler_has_no_hazards() {
    let folder = std::env::var_os("ORIOLE_GUARD_DATA").expect("ORIOLE_GUARD_DATA names a folder");
    let entries = std::fs::read_dir(Path::new(&folder).join("cubins")).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cubin"));
    paths.sort();
    let (mut chips, mut found) = (std::collections::BTreeMap::new(), Vec::new());
    for path in &paths {
        let cubin = oriole_cubin::read(&std::fs::read(path).expect("a file")).expect("a cubin");
        *chips.entry(cubin.sm).or_insert(0) += 1;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.extend(oriole_simulate::lint(&cubin).iter().map(|hazard| format!("{name}: {hazard}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!([80, 86, 87, 89, 90].iter().all(|sm| chips.contains_key(sm)), "files by chip: {chips:?}");
    println!("files by chip: {chips:?}");
}
