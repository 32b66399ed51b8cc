//! The base of every contract crate: strict JSON, JSON that is passed on as it came, fields read by name, and the problem that names what is wrong.
//!
//! A contract crate parses with [`read_json`] and [`Fields`] and refuses with a [`Problem`] (RFC 9457). Nothing here does IO.

mod fields;
mod json;
mod json_text;
mod kinds;
mod misfit;
mod mutant;
mod problem;
pub mod schema;

pub use fields::{Fields, Item, Json, NAME_PATTERN};
pub use json::{JsonTree, Member, Members, read_json, read_tree};
pub use json_text::JsonText;
pub use misfit::Misfit;
#[cfg(feature = "mutants")]
pub use mutant::plant;
pub use mutant::{WireMutant, planted};
pub use problem::{MEDIA_TYPE, Problem};
