//! The embedded store: one SQLite file.
//!
//! The tables carry the names and values of contract Q and can be read with any SQL client while the
//! server runs (`migrations/` is the schema). One connection writes, in WAL mode and with every commit
//! synced; readers have their own. A lock file keeps a second server away. What does not belong here is
//! any decision: the store writes what it is told. Nor do the statements over the tables: they are shared
//! with the other SQL stores (`muster-tables`).

mod connection;
mod copy;
mod migrate;
mod sink;
mod sql;
mod store;
mod writer;

pub use connection::is_in_use;
pub use copy::read_tables;
pub use migrate::SCHEMA_VERSION;
pub use store::SqliteStore;
