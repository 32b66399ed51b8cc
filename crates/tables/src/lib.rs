//! How records become rows and rows records: what the SQL stores share.
//!
//! The tables, their columns and the statements over them are the same in every SQL store; here they are written down
//! once. A store brings a [`Sql`] to read by and a [`Sink`] to write by, its own connections, its own schema and its own
//! way of committing. Statements are written with `?1`, `?2`, … and in what SQLite and PostgreSQL both understand.

mod fault;
mod shape;
mod sql;
mod value;

pub use fault::Fault;
pub use shape::{Column, Kind, Put, TableShape, Update};
pub use sql::{Cells, Connections, Row, Sink, Sql, Take};
pub use value::Value;
