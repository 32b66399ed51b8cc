//! State that the handle and the driver share, and the effects on their way out.

use crate::{
    Accounts, Clock, Feed, Lead, Options, PoolDirectory, Stats,
    callers::{Secrets, Sightings, Tokens},
    clock::Time,
    driver::Message,
    inbox::Inbox,
    outage::Outage,
    renewal::RunningTerm,
};
use muster_model::{Effect, JobId, JobPayload, Timestamp};
use quick_cache::sync::Cache;
use std::sync::Arc;
use tokio::sync::{mpsc as channel, watch};

/// An effect and the epoch that asked for it.
pub(crate) type DueEffect = (u64, Effect);

/// Set-up of a server.
pub(crate) struct Setup {
    pub(crate) options: Options,
    /// Advertised URL of this server, if it has one.
    pub(crate) address: Option<String>,
    /// True if other servers share the store.
    pub(crate) has_others: bool,
}

pub(crate) struct Shared {
    pub(crate) options: Options,
    /// Advertised URL of this server, if it has one.
    pub(crate) address: Option<String>,
    /// True if other servers share the store.
    pub(crate) has_others: bool,
    pub(crate) time: Time,
    pub(crate) inbox: Inbox<Message>,
    pub(crate) feed: Feed,
    pub(crate) secrets: Secrets,
    pub(crate) tokens: Tokens,
    pub(crate) accounts: Accounts,
    pub(crate) pool: PoolDirectory,
    /// Empty directories, for the time in which memory may not be trusted.
    pub(crate) nobody: (Accounts, PoolDirectory),
    /// As many as there are things due; never more than live state makes. With the epoch that asked for them.
    pub(crate) effects: channel::UnboundedSender<DueEffect>,
    pub(crate) stats: Stats,
    pub(crate) lead: watch::Sender<Lead>,
    pub(crate) running: RunningTerm,
    pub(crate) outage: Outage,
    /// The payloads of the jobs asked for lately, so that handing out work costs no read.
    pub(crate) payloads: Cache<JobId, Arc<JobPayload>>,
    /// The last signs of life of workers.
    pub(crate) sightings: Sightings,
}

impl Shared {
    /// Nothing known yet, and no term.
    pub(crate) fn new(
        setup: Setup,
        clock: Arc<dyn Clock>,
        feed: Feed,
        effects: channel::UnboundedSender<DueEffect>,
    ) -> Self {
        Self {
            options: setup.options,
            address: setup.address,
            has_others: setup.has_others,
            time: Time::new(clock),
            inbox: Inbox::new(),
            feed,
            secrets: Secrets::default(),
            tokens: Tokens::default(),
            accounts: Accounts::default(),
            pool: PoolDirectory::default(),
            nobody: Default::default(),
            effects,
            stats: Stats::default(),
            lead: watch::Sender::new(Lead::Nowhere),
            running: RunningTerm::default(),
            outage: Outage::default(),
            payloads: Cache::new(PAYLOADS_MAX),
            sightings: Sightings::default(),
        }
    }

    /// Now, as it is written down.
    pub(crate) fn now(&self) -> Timestamp {
        self.time.now()
    }

    /// True if what memory says is the truth: a term runs, is loaded, and nobody else can lead (S18).
    pub(crate) fn is_ready(&self) -> bool {
        self.stats.is_ready() && self.running.is_sole(self.time.local())
    }

    /// True while this term is loaded and has not ended. The renewal thread may end it before the driver hears of it.
    pub(crate) fn runs(&self, epoch: u64) -> bool {
        self.stats.is_ready() && self.running.runs(epoch)
    }

    /// Makes known who leads; whether that is news.
    pub(crate) fn tell_lead(&self, lead: Lead) -> bool {
        self.lead.send_if_modified(|known| {
            let is_news = *known != lead;
            *known = lead;
            is_news
        })
    }

    /// A term is loaded and answers from here on.
    pub(crate) fn begin_term(&self, epoch: u64, feed_seq: u64) {
        self.feed.resume(feed_seq);
        self.stats.begin_term(epoch);
        self.tell_lead(Lead::Here { epoch });
    }

    /// A term is over: nobody is answered by what it knew, and those who listened are sent where things go on.
    pub(crate) fn end_term(&self, epoch: u64) {
        self.stats.end_term();
        self.running.end(epoch);
        self.tell_lead(Lead::Nowhere);
        self.forget();
        if self.has_others {
            self.feed.close();
        }
    }

    /// Forgets who may call, before it is loaded anew and when nobody may be answered by it any more.
    pub(crate) fn forget(&self) {
        self.secrets.clear();
        self.tokens.clear();
        self.accounts.clear();
        self.pool.clear();
        self.sightings.clear();
    }
}

/// Effects that must happen outside: each once it is durable, for as long as the term runs that asked for it.
pub struct Effects {
    due: channel::UnboundedReceiver<DueEffect>,
    shared: Arc<Shared>,
}

impl Effects {
    pub(crate) fn new(due: channel::UnboundedReceiver<DueEffect>, shared: Arc<Shared>) -> Self {
        Self { due, shared }
    }

    /// The next one; whoever stops waiting misses nothing. What a term asked for that is over is passed over: the next
    /// one derives it again, wherever that runs.
    pub async fn recv(&mut self) -> Option<Effect> {
        loop {
            let (epoch, effect) = self.due.recv().await?;
            if self.shared.runs(epoch) {
                return Some(effect);
            }
        }
    }
}

/// Jobs whose payload is kept in memory.
const PAYLOADS_MAX: usize = 256;
