//! Views of sessions: what memory knows beyond the store.

use super::{
    rule::health,
    state::{Farm, FrameTask, Renderer, Session},
};
use alloc::{collections::BTreeMap, vec::Vec};
use muster_model::{
    FrameQuery, FrameRange, FrameTaskId, FrameView, LiveTask, Name, Removal, RendererView, SessionId,
    SessionView, StatusView, Timestamp,
};

impl Farm {
    /// Answers a question; changes nothing.
    pub(crate) fn view(&self, query: &FrameQuery, now: Timestamp) -> FrameView {
        match query {
            FrameQuery::Status => FrameView::Status(self.status(now)),
            FrameQuery::AllRenderers => FrameView::Renderers(
                self.renderers
                    .iter()
                    .map(|(name, renderer)| self.renderer_view(name, renderer, now))
                    .collect(),
            ),
            FrameQuery::Renderers(names) => {
                let known = names.iter().filter_map(|name| self.renderers.get_key_value(name));
                FrameView::Renderers(
                    known.map(|(name, found)| self.renderer_view(name, found, now)).collect(),
                )
            }
            FrameQuery::Session(id) => {
                FrameView::Session(self.sessions.get(id).map(|session| self.session_view(id, session)))
            }
        }
    }

    fn status(&self, now: Timestamp) -> StatusView {
        let mut renderers = BTreeMap::new();
        for renderer in self.renderers.values() {
            *renderers.entry(renderer.state).or_insert(0) += 1;
        }
        let mut sessions = BTreeMap::new();
        for session in self.sessions.values() {
            *sessions.entry(session.status).or_insert(0) += 1;
        }
        let able = self.renderers.values().filter(|renderer| renderer.state.may_work());
        let depth = able.filter_map(|renderer| renderer.max_queue_ratio).max();
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        StatusView {
            renderers: renderers.into_iter().collect(),
            zombies: count(self.renderers.values().filter(|renderer| renderer.is_zombie(now)).count()),
            transitions: self.transitions.iter().map(|(moved, times)| (*moved, *times)).collect(),
            sessions: sessions.into_iter().collect(),
            queue_depth: depth.unwrap_or_default(),
            paused: self.paused,
            next_id: self.ids.next_id,
            next_chunk: self.ids.next_chunk,
            returned: self.sessions.values().map(|session| count(session.ready.len())).sum(),
            live: self.renderers.values().map(|renderer| count(renderer.live.len())).sum(),
        }
    }

    fn renderer_view(&self, name: &Name, renderer: &Renderer, now: Timestamp) -> RendererView {
        let window = now - self.settings.quarantine_window;
        let counted = renderer.failures.iter().chain(&renderer.losses);
        let failures = counted.filter(|at| **at > window).count();
        RendererView {
            id: name.clone(),
            state: renderer.state,
            zombie: renderer.is_zombie(now),
            last_heartbeat: renderer.last_heartbeat,
            queue_ratio: renderer.queue_ratio,
            max_queue_ratio: renderer.max_queue_ratio,
            gpu_usage: renderer.gpu_usage,
            last_frame: renderer.last_frame,
            pressure: health::pressure(renderer),
            rate: renderer.rate,
            failures: u32::try_from(failures).unwrap_or(u32::MAX),
            slots: renderer.slots,
            tasks: renderer.live.iter().filter_map(|id| Some(live_task(id, self.task(id)?))).collect(),
        }
    }

    fn session_view(&self, id: &SessionId, session: &Session) -> SessionView {
        let task = |start: &u64, task: &FrameTask| {
            live_task(&FrameTaskId { session: id.clone(), start: *start }, task)
        };
        let tasks: Vec<LiveTask> = session.tasks.iter().map(|(start, held)| task(start, held)).collect();
        let at_it = session.tasks.values().filter(|task| task.lease.is_some()).map(|task| &task.worker);
        let rates = at_it.filter_map(|worker| self.renderers.get(worker)?.rate);
        SessionView {
            status: session.status,
            merging: session.merging.is_some(),
            completed_frames: session.done,
            uncut: session.uncut.iter().map(|(start, end)| FrameRange { start: *start, end: *end }).collect(),
            tasks,
            failed: joined(session.failed.values().map(|record| (record.id.start, record.end))),
            rate: rates.fold(0, u64::saturating_add),
        }
    }
}

impl Renderer {
    fn is_zombie(&self, now: Timestamp) -> bool {
        let is_calling = self.zombie_until.is_some_and(|until| until > now);
        is_calling || self.removal == Some(Removal::Silent)
    }
}

/// Ranges in order, those that touch joined.
fn joined(ranges: impl Iterator<Item = (u64, u64)>) -> Vec<FrameRange> {
    let mut joined: Vec<FrameRange> = Vec::new();
    for (start, end) in ranges {
        match joined.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => joined.push(FrameRange { start, end }),
        }
    }
    joined
}

fn live_task(id: &FrameTaskId, task: &FrameTask) -> LiveTask {
    let lease = task.lease.as_ref();
    LiveTask {
        id: id.clone(),
        range: task.range,
        status: task.status(),
        worker: lease.map(|_| task.worker.clone()),
        attempt: task.attempt,
        ids: lease.map(|_| task.ids),
        processed: lease.map_or(0, |lease| lease.processed),
        dropped: task.dropped,
        granted_at: task.granted_at,
    }
}
