//! Worlds without a planted bug hold, and single stories of outages and failovers.

mod failover;
mod outage;
mod seeds;
