//! The shared store: a PostgreSQL database that several servers use, one of which leads.
//!
//! The tables stand in the schema `muster`, under the names and with the columns that the embedded store has
//! (`migrations/` is the schema); what is read from them and written into them is `muster_tables`' to say. Here is what
//! PostgreSQL needs besides: finding the server that takes writes, encryption, a whole batch in one round trip, and a
//! fence that every commit passes in its own transaction, so that nothing of an older term is kept (S18).

mod connect;
mod copy;
mod election;
mod fault;
mod migrate;
mod reader;
mod session;
mod sink;
mod statement;
mod store;
mod target;
mod transaction;
mod value;
mod writer;

pub use copy::Stage;
pub use migrate::SCHEMA_VERSION;
pub use store::{PostgresOptions, PostgresStore};
