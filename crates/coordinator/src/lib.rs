//! The one writer: drives the engine, commits in groups, answers only what is durable.
//!
//! [`WritePath`] is the whole protocol without threads or clocks: requests go in, batches come out, answers
//! are released when their batch is durable, and requests that found nothing wait to be decided again.
//! The driver puts threads around it; the simulated world puts its own around the same write_path.
//! [`Coordinator`] is the handle everything else holds.
//!
//! One of several servers that share a store leads. [`Watch`] says when another may try to, [`Lease`] for how long a
//! leader may answer from memory; both are pure, and the simulated world uses the same.

mod audit;
mod backoff;
mod callers;
mod clock;
mod coordinator;
mod delivery;
mod driver;
mod entropy;
mod feed;
mod feed_entry;
mod follow;
mod inbox;
mod leadership;
mod lease;
mod load;
mod outage;
mod parked;
mod pool;
mod queries;
mod renewal;
mod schedules;
mod shared;
mod start;
mod stats;
mod term;
mod write_path;

pub use callers::{Accounts, TokenHash};
pub use clock::{Clock, ManualClock, SystemClock, instant_now};
pub use coordinator::{Coordinator, Refusal};
pub use feed::{Feed, FeedError};
pub use leadership::{Lead, LeaseTimes, Step, Watch};
pub use lease::Lease;
pub use load::hand_over;
pub use pool::{JobWatch, PoolDirectory, PoolMember};
pub use shared::Effects;
pub use start::Options;
pub use stats::{Latencies, Stats};
pub use write_path::{Answer, Released, Request, WritePath};
