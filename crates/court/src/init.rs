//! Makes a court that runs as it is (C0).

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The reason why no court was made.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// Something is there; it may be dear to somebody.
    #[error("{} is there already; nothing was changed. Choose another --home, or move it away", .0.display())]
    Exists(PathBuf),
    /// The system refused.
    #[error("cannot make {}: {error}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// Writes a court's configuration with an example that runs; says which files it made. Nothing is overwritten.
pub fn init(home: &Path) -> Result<Vec<PathBuf>, InitError> {
    let paths = FILES.map(|file| home.join(file.path));
    if let Some(taken) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(InitError::Exists(taken.clone()));
    }
    for (file, path) in FILES.iter().zip(&paths) {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => InitError::Exists(path.clone()),
            _ => InitError::Io { path: path.clone(), error },
        };
        make(file, path).map_err(failed)?;
    }
    Ok(paths.into())
}

/// A file of the example.
struct Example {
    path: &'static str,
    text: &'static str,
    mode: u32,
}

fn make(file: &Example, path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut made = OpenOptions::new().write(true).create_new(true).mode(file.mode).open(path)?;
    made.write_all(file.text.as_bytes())
}

const FILES: [Example; 4] = [
    Example { path: "court.toml", text: include_str!("../example/court.toml"), mode: 0o644 },
    Example {
        path: "generals/greet.toml",
        text: include_str!("../example/generals/greet.toml"),
        mode: 0o644,
    },
    Example {
        path: "generals/fleet.toml.example",
        text: include_str!("../example/generals/fleet.toml.example"),
        mode: 0o644,
    },
    Example { path: "soldiers/greet.sh", text: include_str!("../example/soldiers/greet.sh"), mode: 0o755 },
];

#[cfg(test)]
mod tests;
