//! The shared store: a PostgreSQL database that several servers use, one of which leads.

mod column;
mod connect;
mod fault;
mod migrate;
mod pipeline;
mod session;
mod sink;
mod statement;
mod target;
mod text;
mod tls;
mod transaction;
mod value;
