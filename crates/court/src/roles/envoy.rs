//! The envoy tells people, and brings back what they answer (C10, C15, C18).
//!
//! [`Envoy`] is its mind: which message goes next, into which thread, and what becomes of it. Where messages go and how
//! replies come in is the business of the runtime around it.

mod mind;
mod post;
mod queue;
pub mod replies;

pub use mind::{Answer, Envoy, Heard};
pub use post::{Post, Receipt};

#[cfg(test)]
mod tests;
