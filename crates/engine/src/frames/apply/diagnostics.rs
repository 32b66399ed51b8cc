//! S20b: the master's own lines in the diagnostics log, one for each thing that did not go as planned.

use crate::frames::state::Farm;
use alloc::{boxed::Box, collections::BTreeSet, format, vec::Vec};
use muster_model::{
    DiagnosticKind, DiagnosticRecord, EntryId, FrameChange, FrameEvent, FrameTaskId, Name, RangeEnd,
    RangeGrant, RendererState, Reopening, SessionId, Timestamp,
};

impl Farm {
    /// Writes the lines about an event, before it is applied.
    pub(super) fn diagnose(&mut self, event: &FrameEvent) {
        let lines: Vec<DiagnosticRecord> = match event {
            FrameEvent::RendererMoved { worker, to, cause, at, .. } => {
                let text = format!("worker {worker} is {}: {cause}", to.as_str());
                self.about_worker(worker, *to)
                    .map(|session| worker_line(worker, session, &text, *at))
                    .collect()
            }
            event => self.about_range(event).into_iter().collect(),
        };
        self.dirty.history.extend(lines.into_iter().map(FrameChange::Diagnostic));
    }

    /// The sessions that hear of a worker that may not work any more: those it holds a range of.
    fn about_worker(&self, worker: &Name, to: RendererState) -> impl Iterator<Item = SessionId> + use<> {
        let renderer = self.renderers.get(worker).filter(|_| !to.may_work());
        let held = renderer.into_iter().flat_map(|renderer| &renderer.live);
        held.map(|task| task.session.clone()).collect::<BTreeSet<_>>().into_iter()
    }

    fn about_range(&self, event: &FrameEvent) -> Option<DiagnosticRecord> {
        use DiagnosticKind::{Ended, GivenUp, Retired, Retried, Skipped, Split};
        Some(match event {
            FrameEvent::RangeGranted(grant) => self.reassigned(grant)?,
            FrameEvent::RangeEnded { end: RangeEnd::SessionEnded, .. } => return None,
            FrameEvent::RangeEnded { task, attempt, end, error, at } => {
                let range = self.task(task)?.range;
                let detail = error.as_ref().map_or_else(Default::default, |error| format!(": {error}"));
                let text = format!("attempt {attempt} of frames {range} ended: {}{detail}", end.as_str());
                line(Ended, self.about_task(task)?, text, *at)
            }
            FrameEvent::RangeSplit { task, middle, at } => {
                let text = format!("frames {} halved at {middle}: they keep failing", self.task(task)?.range);
                line(Split, self.about_task(task)?, text, *at)
            }
            FrameEvent::RangeGivenUp { task, error, at } => {
                let text = format!("frame {} given up: {error}", task.start);
                line(GivenUp, self.about_task(task)?, text, *at)
            }
            FrameEvent::RangeReopened { record, cause: Reopening::Skipped(reason), at } => {
                let text =
                    format!("frames [{}, {}) to be rendered again: {reason}", record.id.start, record.end);
                line(Skipped, About { worker: &record.worker, task: &record.id }, text, *at)
            }
            FrameEvent::RangeSkipped { record, reason, at } => {
                let text = format!("frames [{}, {}) skipped: {reason}", record.id.start, record.end);
                line(Skipped, About { worker: &record.worker, task: &record.id }, text, *at)
            }
            FrameEvent::RangeRetried { task, at } => {
                let failed = self.sessions.get(&task.session)?.failed.get(&task.start)?;
                let about = About { worker: &failed.worker, task };
                line(Retried, about, "to be rendered again on request", *at)
            }
            FrameEvent::ChunkRetired { ids, task, worker, reason, at, .. } => {
                let text = format!("chunk {} retired: {reason}", ids.chunk);
                line(Retired, About { worker, task }, text, *at)
            }
            FrameEvent::QuarantineWanted { entry, session, worker, at, .. } => {
                quarantine_line(entry, session, worker, *at)
            }
            _ => return None,
        })
    }

    /// The line about a range that was given out before.
    fn reassigned(&self, grant: &RangeGrant) -> Option<DiagnosticRecord> {
        let RangeGrant { task, range, worker, attempt, ids, replaces, at, .. } = grant;
        let (retired, before) = ((*replaces)?, &self.task(task)?.worker);
        let change = match before == worker {
            true => format!("given to {worker} again"),
            false => format!("reassigned from {before} to {worker}"),
        };
        let text =
            format!("frames {range} {change}: attempt {attempt}, chunk {} instead of {retired}", ids.chunk);
        Some(line(DiagnosticKind::Reassigned, About { worker, task }, text, *at))
    }

    /// A range that was cut and is not done, with its worker.
    fn about_task<'a>(&'a self, task: &'a FrameTaskId) -> Option<About<'a>> {
        Some(About { worker: &self.task(task)?.worker, task })
    }
}

/// Subject of a line.
struct About<'a> {
    worker: &'a Name,
    task: &'a FrameTaskId,
}

fn line(
    kind: DiagnosticKind,
    about: About<'_>,
    text: impl Into<Box<str>>,
    at: Timestamp,
) -> DiagnosticRecord {
    let (worker, session) = (about.worker.clone(), about.task.session.clone());
    DiagnosticRecord { kind, worker, session, task: Some(about.task.clone()), text: text.into(), at }
}

fn worker_line(worker: &Name, session: SessionId, text: &str, at: Timestamp) -> DiagnosticRecord {
    let (kind, worker, text) = (DiagnosticKind::Worker, worker.clone(), text.into());
    DiagnosticRecord { kind, worker, session, task: None, text, at }
}

fn quarantine_line(entry: &EntryId, session: &SessionId, worker: &Name, at: Timestamp) -> DiagnosticRecord {
    let text = match entry {
        EntryId::Chunk(chunk) => {
            format!("chunk {chunk} counts no more: its files go to quarantine/dropped_chunks/{chunk}/")
        }
        EntryId::Worker(worker, session) => {
            format!(
                "worker {worker} may not write any more: its files go to quarantine/worker/{worker}/{session}/"
            )
        }
    };
    let (kind, worker, session) = (DiagnosticKind::Quarantined, worker.clone(), session.clone());
    DiagnosticRecord { kind, worker, session, task: None, text: text.into(), at }
}
