//! The payloads of the jobs asked for lately, so that handing out work costs no read.

use muster_model::{JobId, JobPayload};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

const JOBS_MAX: usize = 256;

/// Remembers the payloads of a bounded number of jobs.
#[derive(Default)]
pub(crate) struct Payloads(Mutex<Known>);

#[derive(Default)]
struct Known {
    payloads: HashMap<JobId, Arc<JobPayload>>,
    oldest_first: VecDeque<JobId>,
}

impl Payloads {
    pub(crate) fn get(&self, job: JobId) -> Option<Arc<JobPayload>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).payloads.get(&job).cloned()
    }

    pub(crate) fn put(&self, job: JobId, payload: Arc<JobPayload>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.payloads.insert(job, payload).is_some() {
            return;
        }
        known.oldest_first.push_back(job);
        if known.oldest_first.len() > JOBS_MAX
            && let Some(oldest) = known.oldest_first.pop_front()
        {
            known.payloads.remove(&oldest);
        }
    }
}
