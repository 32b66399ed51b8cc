//! The pool worker as it runs, against a stand-in of the server.

mod access;
mod exec;
mod failover;
mod keys;
mod leave;
mod process;
mod scene;
mod server;
mod submit;
