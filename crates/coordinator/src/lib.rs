//! The one writer: drives the engine, commits in groups, answers only what is durable.
//!
//! [`Desk`] is the whole protocol without threads or clocks: requests go in, batches come out, answers
//! are released when their batch is durable, and requests that found nothing wait to be decided again.
//! The driver puts threads around it; the simulated world puts its own around the same desk.
//! [`Coordinator`] is the handle everything else holds.

mod accounts;
mod audit;
mod clock;
mod coordinator;
mod desk;
mod driver;
mod entropy;
mod feed;
mod feed_entry;
mod leadership;
mod lease;
mod parked;
mod payload;
mod pool;
mod schedules;
mod secrets;
mod stats;
mod tokens;

pub use accounts::Accounts;
pub use clock::{Clock, ManualClock, SystemClock};
pub use coordinator::{Coordinator, Options, Refusal};
pub use desk::{Answer, Desk, Released, Request};
pub use feed::{Feed, FeedError};
pub use leadership::{Lead, LeaseTimes, Step, Watch};
pub use lease::Lease;
pub use pool::{JobWatch, PoolDirectory, PoolMember, Worked};
pub use stats::Stats;
