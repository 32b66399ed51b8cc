//! Writes down which files a release build embeds.
//!
//! A debug build reads them from disk instead and embeds none, so that whoever edits a page has nothing to build.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    println!("cargo::rustc-check-cfg=cfg(embedded)");
    println!("cargo::rerun-if-changed=build.rs");
    if !is_release() {
        return Ok(());
    }
    println!("cargo::rustc-cfg=embedded");
    println!("cargo::rerun-if-changed=assets");
    let assets = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("assets");
    let mut files = Vec::new();
    gather(&assets, "", &mut files)?;
    files.sort();
    let rows: String = files.iter().map(|name| row(&assets, name)).collect();
    let list = format!(
        "/// Name and content of every file, by name.\nstatic FILES: &[(&str, &[u8])] = &[\n{rows}];\n"
    );
    fs::write(PathBuf::from(variable("OUT_DIR")).join("files.rs"), list)
}

/// Cargo says "release" of every profile that inherits from it.
fn is_release() -> bool {
    variable("PROFILE") == "release"
}

fn variable(name: &str) -> String {
    env::var(name).expect("cargo sets it for build scripts")
}

/// Lists the files of a directory and those below it, by their names relative to the top one.
fn gather(directory: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            gather(&entry.path(), &format!("{name}/"), files)?;
        } else if kind.is_file() {
            files.push(name);
        }
    }
    Ok(())
}

fn row(assets: &Path, name: &str) -> String {
    format!("    ({name:?}, include_bytes!({:?})),\n", assets.join(name).display().to_string())
}
