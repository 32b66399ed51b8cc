//! The words for what holds things back (Q16): a code, a rule, a sentence, the objects it refers to, and advice.
//!
//! The engine and the court find out *what* holds something back; this crate says how that reads. One table has a row per
//! code. Its sentence is a template over the data of an answer, so a translation needs nothing but the code and the data.
//! The dashboard's English texts are generated from the same table.

mod data;
mod table;
mod template;
mod why;

pub use table::{Row, rows};
pub use why::{Finding, Why, advice, show};
