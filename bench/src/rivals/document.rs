//! The table of `docs/performance.md`.

use std::{fs, path::Path};

/// Writes the table between its two marks.
pub(super) fn write(table: &str) -> Result<(), String> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/performance.md"));
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let (head, rest) = text.split_once(BEGIN).ok_or("the mark before the table is gone")?;
    let (_, tail) = rest.split_once(END).ok_or("the mark after the table is gone")?;
    fs::write(path, format!("{head}{BEGIN}\n{table}{END}{tail}")).map_err(|error| error.to_string())
}

const BEGIN: &str = "<!-- written by `muster-bench rivals` -->";
const END: &str = "<!-- end of what `muster-bench rivals` writes -->";
