//! The envoy tells people, and brings back what they answer (C10, C15, C18).
//!
//! [`Envoy`] is its mind: which message goes next, into which thread, and what becomes of it. Around it messages are
//! posted one at a time, and replies come in by asking Slack for them or through a door at which Slack brings them.

mod listener;
mod mind;
mod outlet;
mod replies;

pub use mind::{Answer, Envoy, Post, Receipt, TimedAnswer};

use crate::{
    Clock, Fault, Folder, Place, Wake,
    clock::wait_until,
    config::{self, Tokens, seconds},
};
use futures_util::future::OptionFuture;
use listener::{ReplyListener, Signing};
use muster_worker_kit::clock::instant_now;
use outlet::{Lines, Outlet, Slack, Webhook};
use replies::Poll;
use std::{
    io::{self, Write},
    net::ToSocketAddrs,
    sync::Arc,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// Settings and credentials of an envoy.
pub struct EnvoySetup {
    /// The settings.
    pub settings: config::Envoy,
    /// The credentials.
    pub tokens: Tokens,
    /// The stream that stands for standard output.
    pub out: Box<dyn Write + Send>,
}

/// The reason why an envoy cannot start.
#[derive(Debug, thiserror::Error)]
pub enum EnvoyError {
    /// Slack lets nobody in without a token.
    #[error(
        "[envoy] to = \"slack\" needs SLACK_BOT_TOKEN in the environment: set it, or change `to` in court.toml"
    )]
    NoBotToken,
    /// The token does not fit in a request.
    #[error("cannot use SLACK_BOT_TOKEN: it holds characters that do not fit in a header")]
    BotToken,
    /// Without the secret anybody could bring anything.
    #[error(
        "[envoy] listen needs SLACK_SIGNING_SECRET in the environment: set it, or take `listen` out of court.toml"
    )]
    NoSigningSecret,
    /// Only Slack brings replies.
    #[error("[envoy] listen is for replies of Slack: set to = \"slack\", or take `listen` out of court.toml")]
    NothingToHear,
    /// A webhook is an address.
    #[error("[envoy] to = \"webhook\" needs base_url, the address that messages are posted to")]
    NoAddress,
    /// An address leads nowhere.
    #[error("{setting} is no address that can be reached, {address:?}: {reason}")]
    Address {
        /// The setting.
        setting: &'static str,
        /// The configured value.
        address: String,
        /// The mistake.
        reason: String,
    },
    /// The door cannot be opened.
    #[error("[envoy] cannot listen on {listen:?}: {error}; it must be as 127.0.0.1:8099, and free")]
    Listen {
        /// The configured value.
        listen: String,
        /// The reason.
        error: io::Error,
    },
    /// The court's directory cannot be written.
    #[error(transparent)]
    Folder(#[from] Fault),
}

/// Says what is wrong with an envoy's settings, before anybody sets out.
pub fn check(settings: &config::Envoy, tokens: &Tokens) -> Result<(), EnvoyError> {
    if let Some((listen, _)) = hearing(settings, tokens)? {
        let failed = |error| EnvoyError::Listen { listen: listen.to_owned(), error };
        listen.to_socket_addrs().map_err(failed)?;
    }
    outlet(settings, tokens, Box::new(io::sink())).map(drop)
}

/// Posts messages and takes in replies until told to stop.
pub async fn run(folder: Arc<Folder>, errand: EnvoySetup, stop: CancellationToken) -> Result<(), EnvoyError> {
    let EnvoySetup { settings, tokens, out } = errand;
    let door = open_door(&folder, &settings, &tokens).await?;
    let outlet = outlet(&settings, &tokens, out)?;
    let poll = match &outlet {
        Outlet::Slack(slack) => {
            Some(Poll::new(Arc::clone(&folder), slack.clone(), seconds(settings.replies_poll_s)))
        }
        Outlet::Webhook(_) | Outlet::Lines(_) => None,
    };
    tokio::join!(
        Delivery::new(Arc::clone(&folder), outlet).run(&stop),
        OptionFuture::from(poll.map(|poll| poll.run(stop.clone()))),
        OptionFuture::from(door.map(|door| door.serve(stop.clone()))),
        live(&folder, &stop),
    );
    Ok(())
}

fn outlet(
    settings: &config::Envoy,
    tokens: &Tokens,
    out: Box<dyn Write + Send>,
) -> Result<Outlet, EnvoyError> {
    let base_url = settings.base_url.as_deref();
    Ok(match settings.to {
        config::Outlet::Slack => Outlet::Slack(Slack::new(base_url, tokens.slack_bot.as_deref())?),
        config::Outlet::Webhook => Outlet::Webhook(Webhook::new(base_url.ok_or(EnvoyError::NoAddress)?)?),
        config::Outlet::Stdout => Outlet::Lines(Lines::new(out)),
    })
}

async fn open_door(
    folder: &Arc<Folder>,
    settings: &config::Envoy,
    tokens: &Tokens,
) -> Result<Option<ReplyListener>, EnvoyError> {
    let Some((listen, signing)) = hearing(settings, tokens)? else { return Ok(None) };
    ReplyListener::open(Arc::clone(folder), listen, signing).await.map(Some)
}

/// The address to listen on and the signing secret, if replies are pushed.
fn hearing<'a>(
    settings: &'a config::Envoy,
    tokens: &Tokens,
) -> Result<Option<(&'a str, Signing)>, EnvoyError> {
    let Some(listen) = &settings.listen else { return Ok(None) };
    if settings.to != config::Outlet::Slack {
        return Err(EnvoyError::NothingToHear);
    }
    let secret = tokens.slack_signing.as_deref().ok_or(EnvoyError::NoSigningSecret)?;
    Ok(Some((listen, Signing::new(secret))))
}

/// Shows that the envoy lives, also while it waits for an answer.
async fn live(folder: &Folder, stop: &CancellationToken) {
    let mut beats = tokio::time::interval(BEAT);
    while stop.run_until_cancelled(beats.tick()).await.is_some() {
        folder.beat(ROLE, Clock.now());
    }
}

/// The way of messages from their directory to people.
struct Delivery {
    folder: Arc<Folder>,
    outlet: Outlet,
    mind: Envoy,
}

impl Delivery {
    fn new(folder: Arc<Folder>, outlet: Outlet) -> Self {
        Self { folder, outlet, mind: Envoy::default() }
    }

    /// Posts until told to stop. A post that is on its way is waited for: cut short, it would be posted twice.
    async fn run(mut self, stop: &CancellationToken) {
        let wake = Wake::on(&[&self.folder.directory(Place::MessagesPending)], POLL);
        if let Err(error) = self.folder.sweep(Clock.now()) {
            tracing::warn!(%error, "what dead writers left behind cannot be removed");
        }
        while !stop.is_cancelled() {
            if let Err(error) = self.post_all(stop).await {
                tracing::warn!(%error, "the envoy could not finish a step; it is tried again");
            }
            let now = Clock.now();
            let limit = self.mind.next_deadline(now).map(|at| wait_until(at, now));
            let _ = stop.run_until_cancelled(wake.wait(limit)).await;
        }
    }

    async fn post_all(&mut self, stop: &CancellationToken) -> Result<(), Fault> {
        self.mind.look(&self.folder)?;
        let mut looked = instant_now();
        while !stop.is_cancelled() {
            let Some(post) = self.mind.next(&self.folder, Clock.now())? else { break };
            let answer = self.outlet.post(&post).await;
            self.mind.hear(&self.folder, &post, TimedAnswer { answer, at: Clock.now() })?;
            // While thousands are posted, what is new must not wait for the last of them.
            if looked.elapsed() >= LOOK {
                self.mind.look(&self.folder)?;
                looked = instant_now();
            }
        }
        Ok(())
    }
}

/// The role's name among locks and heartbeats.
pub const ROLE: &str = "envoy";
const BEAT: Duration = Duration::from_secs(5);
/// The polling interval, in case no notification arrives.
const POLL: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
