//! Everything that a checkpoint holds, read and found to agree.

use super::{
    agree, field, ids,
    row::{self, Part},
};
use muster_http::{Fields, Problem};
use muster_model::{
    ChunkRecord, FarmRecord, QuarantineRecord, RendererRecord, ReplayRecord, SessionRecord, Timestamp,
};

/// A checkpoint that can be restored.
pub struct Checkpoint {
    pub(super) epoch: u64,
    pub(super) taken_at: Timestamp,
    pub(super) farm: FarmRecord,
    pub(super) chunk_size: u64,
    pub(super) workers: Vec<RendererRecord>,
    /// Oldest first.
    pub(super) sessions: Vec<SessionRecord>,
    pub(super) parts: Vec<Part>,
    pub(super) chunks: Vec<ChunkRecord>,
    pub(super) replays: Vec<ReplayRecord>,
    pub(super) quarantine: Vec<QuarantineRecord>,
    /// As the document lists them, for comparing.
    pub(super) retired: Vec<u64>,
    pub(super) fragments: Vec<String>,
}

impl Checkpoint {
    /// Reads `checkpoint.distributed`, each field by itself and then all of them beside each other.
    pub(super) fn of(fields: &Fields<'_>) -> Result<Self, Problem> {
        let allocator = fields.required("globalIdAllocator")?.fields()?;
        fields.required("metricsSnapshot")?.fields()?;
        let farm = FarmRecord {
            paused: fields.boolean("paused")?,
            next_chunk: field::whole(&allocator, "nextChunkId", 1..=i64::MAX)?,
            next_id: field::whole(&allocator, "nextRangeStart", 1..=i64::MAX)?,
        };
        let sessions = fields.items("sessions", usize::MAX)?;
        let sessions = sessions.iter().zip(1..).map(|(item, seq)| row::session(item, seq));
        let number = |item: &muster_http::Item<'_>| item.integer_in(1..=i64::MAX).map(i64::unsigned_abs);
        let checkpoint = Self {
            epoch: field::whole(fields, "epoch", 0..=EPOCH_MAX)?,
            taken_at: field::moment(fields, "takenAt")?,
            farm,
            chunk_size: field::whole(&allocator, "chunkSize", 1..=i64::MAX)?,
            workers: field::list(fields, "workers", row::worker)?,
            sessions: sessions.collect::<Result<_, _>>()?,
            parts: field::list(fields, "tasks", row::part)?,
            chunks: field::list(fields, "chunks", row::chunk)?,
            replays: field::list(fields, "replays", row::replay)?,
            quarantine: field::list(fields, "quarantine", row::entry)?,
            retired: field::list(&allocator, "retiredChunks", number)?,
            fragments: field::list(fields, "manifestFragments", |item| item.text(4096).map(str::to_owned))?,
        };
        agree::check(&checkpoint)?;
        ids::check(&checkpoint)?;
        Ok(checkpoint)
    }

    /// Lets epochs go on above all that were given since it was taken: workers may have seen those, and take no task of an
    /// older one (S18). Terms begin far less often than once in a second, so the seconds since 1970 are above every one.
    #[must_use]
    pub fn after(mut self, now: Timestamp) -> Self {
        let seconds = u64::try_from(now.0.div_euclid(1000)).unwrap_or_default();
        self.epoch = self.epoch.max(seconds);
        self
    }

    /// When it was taken.
    #[must_use]
    pub fn taken_at(&self) -> Timestamp {
        self.taken_at
    }
}

/// The problem of a row's field; `detail` goes on after its path.
pub(super) fn refuse(list: &str, index: usize, key: &str, detail: &str) -> Problem {
    let dot = if key.is_empty() { "" } else { "." };
    Problem::unprocessable(format!("checkpoint.distributed.{list}[{index}]{dot}{key}"), detail)
}

/// Beyond it, numbers in JSON are not exact everywhere.
const EPOCH_MAX: i64 = 1 << 52;
