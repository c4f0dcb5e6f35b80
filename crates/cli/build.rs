//! Links the program at a fixed address where the C library is glibc: what the linker would leave to be relocated at each start, 1.5 MB
//! of addresses in tables, is then right in the file, and pages are read when they are used. The static program is linked so by flags
//! of its own (`.cargo/config.toml`).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |variable: &str, wanted: &str| std::env::var(variable).is_ok_and(|found| found == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
