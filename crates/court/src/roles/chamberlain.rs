//! Watches the host (C19).

mod colour;
mod look;
mod sample;
mod sense;

pub(crate) use colour::RESOURCES;
pub use colour::{Colour, health, obeyed_health};
pub use look::Chamberlain;
pub use sample::Sample;
pub use sense::SenseError;

use crate::{Clock, Folder, config};
use sense::Senses;
use std::{sync::Arc, time::Duration};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Looks after the host until it is told to stop; a host that cannot be read at all is an error.
pub async fn run(
    folder: Arc<Folder>,
    settings: config::Chamberlain,
    channel: String,
    stop: CancellationToken,
) -> Result<(), SenseError> {
    folder.beat(ROLE, Clock.now());
    let mut looks = interval(config::seconds(settings.every_s));
    let mut beats = interval(BEAT);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mind = Chamberlain::new(settings, channel);
    let mut senses = Senses::new(folder.home())?;
    // The processors' load is what happens between two readings, so the first look needs a moment to look at.
    tokio::time::sleep(FIRST_READING).await;
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            _ = beats.tick() => folder.beat(ROLE, Clock.now()),
            _ = looks.tick() => look(&folder, &mind, &mut senses),
        }
    }
}

/// One look; what goes wrong is tried again at the next, and until then the king sees the last one grow old.
fn look(folder: &Folder, mind: &Chamberlain, senses: &mut Senses) {
    match senses.sample() {
        Ok(sample) => {
            if let Err(error) = mind.look(folder, &sample, Clock.now()) {
                tracing::warn!(%error, "the host's health was not written");
            }
        }
        Err(error) => tracing::warn!(%error, "the host's health is not known"),
    }
}

const ROLE: &str = "chamberlain";
const BEAT: Duration = Duration::from_secs(10);
const FIRST_READING: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests;
