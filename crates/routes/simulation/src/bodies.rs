//! The bodies of the sessions asked for lately, so that handing out work costs no read.

use muster_contract_simulation::{JsonText, read_parts};
use muster_coordinator::{Coordinator, Refusal};
use muster_model::{FrameRejection, Rejection, SessionId};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What of a session's submission is needed again and again.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// Its directory, relative to the output root.
    pub(crate) output: Box<str>,
    /// What to simulate.
    pub(crate) scenario: JsonText,
    /// By which cameras, where that was told.
    pub(crate) cameras: Option<JsonText>,
}

/// Remembers the bodies of as many sessions as fit.
pub(crate) struct Bodies {
    coordinator: Coordinator,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    bodies: HashMap<SessionId, Arc<Body>>,
    oldest_first: VecDeque<SessionId>,
    bytes: usize,
}

impl Bodies {
    pub(crate) fn new(coordinator: Coordinator) -> Self {
        Self { coordinator, known: Mutex::default() }
    }

    /// The body of a session.
    ///
    /// # Errors
    /// `SessionUnknown` where there is none, or a failed read.
    pub(crate) async fn get(&self, session: &SessionId) -> Result<Arc<Body>, Refusal> {
        if let Some(body) = self.known().bodies.get(session) {
            return Ok(Arc::clone(body));
        }
        let id = session.clone();
        let record = self.coordinator.read(move |reader| reader.session(&id)).await?;
        let record =
            record.ok_or(Rejection::Frames(FrameRejection::SessionUnknown)).map_err(Refusal::Rejected)?;
        let (scenario, cameras) = read_parts(record.body.as_deref().unwrap_or("{}"));
        let body = Arc::new(Body { output: record.output, scenario, cameras });
        self.known().put(session.clone(), Arc::clone(&body));
        Ok(body)
    }

    /// Forgets a session: a new one has its name.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.known().remove(session);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Each change leaves the maps whole, so a panic elsewhere while holding the lock harms nothing.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn put(&mut self, session: SessionId, body: Arc<Body>) {
        self.remove(&session);
        self.bytes += body.bytes();
        self.oldest_first.push_back(session.clone());
        self.bodies.insert(session, body);
        while self.bytes > BYTES_MAX {
            let Some(oldest) = self.oldest_first.front().cloned() else { return };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, session: &SessionId) {
        if let Some(body) = self.bodies.remove(session) {
            self.bytes -= body.bytes();
            self.oldest_first.retain(|known| known != session);
        }
    }
}

impl Body {
    fn bytes(&self) -> usize {
        let cameras = self.cameras.as_ref().map_or(0, |cameras| cameras.as_str().len());
        self.scenario.as_str().len() + cameras + self.output.len() + OVERHEAD
    }
}

/// Dozens of the largest scenarios, or tens of thousands of common ones.
const BYTES_MAX: usize = 64 << 20;
const OVERHEAD: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn body(bytes: usize) -> Arc<Body> {
        let scenario = JsonText::new(&format!("\"{}\"", "x".repeat(bytes))).unwrap();
        Arc::new(Body { output: "o".into(), scenario, cameras: None })
    }

    #[test]
    fn memory_is_bounded() {
        let mut known = Known::default();
        let id = |n: usize| SessionId::new(&format!("s{n}")).unwrap();
        for n in 0..100 {
            known.put(id(n), body(1 << 20));
            known.put(id(n), body(1 << 20));
        }
        assert!(known.bytes <= BYTES_MAX && known.bodies.len() == known.oldest_first.len());
        assert!(known.bodies.contains_key(&id(99)) && !known.bodies.contains_key(&id(0)));
        for n in 0..100 {
            known.remove(&id(n));
        }
        assert_eq!((known.bytes, known.bodies.len()), (0, 0));
    }
}
