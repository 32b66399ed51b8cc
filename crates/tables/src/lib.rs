//! Records as rows: the part that the SQL stores share.
//!
//! The tables, their columns and the statements over them are the same in every SQL store; here they are written down
//! once. A store brings a [`Sql`] to read by and a [`Sink`] to write by, its own connections, its own schema and its own
//! way of committing. Statements are written with `?1`, `?2`, … and in what SQLite and PostgreSQL both understand.

mod batch;
mod column;
mod id_text;
mod load;
mod lookup;
mod older;
mod prune;
mod reader;
mod record;
mod rows;
mod shape;
mod sql;

pub use batch::write_batch;
pub use load::load;
pub use lookup::{LookupKind, LookupPlan, facts, plan};
pub use older::{VERSION_6_TABLES, append_logs, is_log};
pub use prune::{Walk, prune};
pub use reader::TableReader;
pub use rows::{
    TABLES,
    feed::{FeedEnd, last_of_feed},
    json::specs_text,
};
pub use shape::{Column, Kind, Put, TABLES_VERSION, TableShape, Update};
pub use sql::{Cells, Connections, Fault, Row, Sink, Sql, Take, Value, Whole};

#[cfg(feature = "conformance")]
pub mod conformance;
