//! Lists the files of the dashboard, so that they become part of the binary, as they are and gzipped. Without them the server
//! has an API only.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script is told by the environment what to do"
)]

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let own = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let dist = own.join("../../web/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    if dist.is_dir() {
        list(&dist, &mut files)?;
    }
    files.sort();
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let mut text = String::from("const FILES: &[(&str, &[u8], &[u8])] = &[\n");
    for (at, file) in files.iter().enumerate() {
        let name = file.strip_prefix(&dist).unwrap_or(file).display().to_string();
        let path = file.canonicalize()?.display().to_string();
        println!("cargo:rerun-if-changed={path}");
        let mut gzipped = GzEncoder::new(Vec::new(), Compression::best());
        gzipped.write_all(&fs::read(file)?)?;
        let beside = out.join(format!("{at}.gz"));
        fs::write(&beside, gzipped.finish()?)?;
        let beside = beside.display().to_string();
        let _ =
            writeln!(text, "    ({name:?}, include_bytes!({path:?}), include_bytes!({beside:?})),");
    }
    text.push_str("];\n");
    fs::write(out.join("files.rs"), text)
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
