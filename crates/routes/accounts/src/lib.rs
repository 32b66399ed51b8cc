//! Speaks of accounts: logins, users, API keys, and what privileged people did (P1, P2, P13, I7).
//!
//! `wire` has the words, `shape` reads bodies the way FastAPI does, `passwords` has them hashed off the async threads and
//! a few at a time, `attempts` counts logins that failed, and `routes` carries it all over HTTP, one file per noun. Who a
//! token belongs to is the HTTP layer's business; what may become true of accounts is the engine's.

mod attempts;
mod passwords;
mod routes;
pub mod wire;

pub use routes::{AccountSettings, routes};
