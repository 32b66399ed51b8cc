//! Shows a court over HTTP (C14, C21, Q16): what lies where, the questions that wait, the story of one task, and takes
//! answers.
//!
//! A court is files on one host, so every server answers for the directory it was given and passes nothing on. It only
//! looks, but for answers, which go the way `muster court reply` goes. Reads are bounded: so many files per place, so many
//! bytes per answer, few at a time.

mod board;
mod desk;
mod routes;
pub mod wire;

pub use desk::CourtDesk;
pub use routes::routes;
