//! The worker's rules, played as little scripts: when, what happens, and what the worker does about it.
//!
//! `-> nothing` says that it does nothing; a line without an arrow does not care. Heartbeats and progress are answered
//! well by themselves unless the network is `cut`, and are left out of what is compared unless a line names them. Tasks
//! are written `t1#2@7`: attempt 2 at t1, with chunk 7.

mod life;
mod script;
mod told;
mod work;

use super::super::example;
use super::*;
use script::check;
