//! The JSON Schemas that ship, and their enforcement (C7, C9–C12).
//!
//! What is printed is what is enforced: the check reads the shipped texts, once, and refuses to start with a keyword that
//! it would not obey. It knows just the keywords that they use. A validator for all of JSON Schema would be many times the
//! code of this crate, and would lose the digits of large numbers on the way.

mod compile;
mod judge;
mod node;
mod wording;

use crate::Kind;
use muster_proof::Value;
use node::Node;
use std::sync::LazyLock;

/// What is wrong with a document, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub String);

/// Holds a document against the schema of its kind; records have none.
pub fn check(kind: Kind, value: &Value<'_>) -> Result<(), Violation> {
    match kind {
        Kind::Event => EVENT.check(value),
        Kind::Task => TASK.check(value),
        Kind::Message => MESSAGE.check(value),
        Kind::Result => RESULT.check(value),
        Kind::Record => Ok(()),
    }
}

/// The schema of a kind as it ships; that of records admits everything.
#[must_use]
pub const fn text(kind: Kind) -> &'static str {
    match kind {
        Kind::Event => include_str!("../schemas/event.schema.json"),
        Kind::Task => include_str!("../schemas/task.schema.json"),
        Kind::Message => include_str!("../schemas/message.schema.json"),
        Kind::Result => include_str!("../schemas/soldier-result.schema.json"),
        Kind::Record => "true\n",
    }
}

fn compiled(kind: Kind) -> Node {
    Node::compile(text(kind)).expect("a unit test compiles every schema that ships")
}

static EVENT: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Event));
static TASK: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Task));
static MESSAGE: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Message));
static RESULT: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Result));

#[cfg(test)]
mod tests;
