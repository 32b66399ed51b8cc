//! Requests that name the type of their reply.
//!
//! [`Command`] and [`Reply`] are what the engine, the network and the history deal in: any command, any reply. Whoever
//! wants an answer sends a request instead. It becomes its command, and takes its own reply out of the engine's, so that
//! no caller has to handle a reply to something else.

mod reply;
mod request;

pub use reply::FromReply;
pub use request::{accounts, devices, frames, names, pool, schedules};

use crate::{Command, Reply};
use core::any::type_name;

/// A request to the engine.
pub trait Ask: Into<Command> {
    /// The type of its reply.
    type Reply: FromReply;

    /// Takes the reply to this request out of the engine's.
    ///
    /// # Panics
    /// The reply belongs to another request. The engine replies to each command in one way; a test of the engine
    /// holds it to that for every request.
    fn reply(reply: Reply) -> Self::Reply {
        let own = FromReply::from_reply(reply);
        own.unwrap_or_else(|| panic!("the reply to a {} is that to something else", type_name::<Self>()))
    }
}
