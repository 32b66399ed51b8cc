//! The one writer: drives the engine, commits in groups, answers only what is durable.
//!
//! [`WritePath`] is the whole protocol without threads or clocks: requests go in, batches come out, answers
//! are released when their batch is durable, and requests that found nothing wait to be decided again.
//! The driver puts threads around it; the simulated world puts its own around the same write_path.
//! [`Coordinator`] is the handle everything else holds.
//!
//! Where several servers share a store one of them leads. [`Watch`] says when another may try to, [`Lease`] for how long a
//! leader may answer from memory; both are pure, and the simulated world goes by the same.

mod accounts;
mod audit;
mod backoff;
mod clock;
mod coordinator;
mod diagnostics;
mod driver;
mod effects;
mod entropy;
mod explain;
mod feed;
mod feed_entry;
mod follow;
mod latencies;
mod leadership;
mod lease;
mod load;
mod options;
mod outage;
mod parked;
mod payload;
mod pool;
mod renewal;
mod schedules;
mod secrets;
mod shared;
mod start;
mod stats;
mod strangers;
mod supply;
mod tenure;
mod term;
mod tokens;
mod twin;
mod vital;
mod write_path;

pub use accounts::Accounts;
pub use clock::{Clock, ManualClock, SystemClock, instant_now};
pub use coordinator::{Coordinator, Refusal};
pub use effects::Effects;
pub use feed::{Feed, FeedError};
pub use latencies::Latencies;
pub use leadership::{Lead, LeaseTimes, Step, Watch};
pub use lease::Lease;
pub use load::hand_over;
pub use options::Options;
pub use pool::{JobWatch, PoolDirectory, PoolMember};
pub use stats::Stats;
pub use write_path::{Answer, Released, Request, WritePath};
