//! Asks the linker of a release for relocations in their short form: every process reads all of them before it begins, and
//! this way they take a fiftieth of the room. Other builds do without, because not every linker writes that form right. A
//! linker that does not know the form says so and goes on.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script by the environment")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_gnu && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
