//! Links a release to a fixed address. Every process of a position-independent program corrects half a million bytes of
//! pointers before it begins; that is a fifth of the CPU of a short command (ADR 36).

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script by the environment")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_gnu && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
