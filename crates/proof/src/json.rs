//! JSON from strangers, and its one canonical form.
//!
//! No crate agrees with Python's `json` on integers beyond 64 bits, on the spelling of floats and on the order of keys
//! all at once, so this reads and writes on its own. [`parse()`] keeps integers as their digits, says for every value where
//! it stands in the source, and refuses exactly what [`Reason`] lists; [`Value::write_canonical`] writes what Python's
//! `json.dumps(obj, sort_keys=True, separators=(",",":"), ensure_ascii=False)` writes.

mod parse;
mod text;
mod value;
mod write;

pub use parse::parse;
pub(crate) use value::beginning;
pub use value::{Entry, Kind, Object, Reason, Refused, Value};
pub(crate) use write::write_text;

/// Reads a document and gives its canonical form (P10).
pub fn canonical(document: &[u8]) -> Result<Vec<u8>, Refused> {
    let value = parse(document)?;
    let mut bytes = Vec::with_capacity(document.len());
    value.write_canonical(&mut bytes);
    Ok(bytes)
}

/// Largest depth of nested arrays and objects.
pub const DEPTH_MAX: usize = 128;

/// Maximum number of digits of an integer; Python reads no more by default, because its time grows with their square.
pub const INTEGER_DIGITS_MAX: usize = 4300;
