//! How records become rows and rows records: what the SQL stores share.
//!
//! The tables, their columns and the statements over them are the same in every SQL store; here they are written down
//! once. A store brings a [`Sql`] to read by and a [`Sink`] to write by, its own connections, its own schema and its own
//! way of committing. Statements are written with `?1`, `?2`, … and in what SQLite and PostgreSQL both understand.

mod sql;

pub use sql::{Cells, Fault, Put, Row, Sink, Sql, Update, Value};
