//! The rules of the worker, as little scripts: what happens, and what the worker does then.
//!
//! Assignments are numbers; the worker is called W, has the number 7 and the key K.

mod admission;
mod assignments;
mod chaos;
mod results;
mod script;

use super::*;
use script::check;
