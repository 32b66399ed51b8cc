//! The words for what holds things back (Q16): a code, a rule, a sentence, the objects it refers to, what to do.
//!
//! The engine and the court say *what* holds something back; here it is said how that reads. One table has a row per
//! code, and its sentence is a template over the data, so that whoever speaks another language needs nothing but the
//! code and the data of an answer.

mod data;
mod row;
mod span;
mod table;
mod template;
mod why;

pub use row::Row;
pub use table::rows;
pub use why::{Why, advice, show};
