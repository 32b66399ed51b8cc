//! The payloads of the jobs asked for lately, so that handing out work costs no read.

use muster_model::{JobId, JobPayload};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

const JOBS_MAX: usize = 256;

#[derive(Default)]
pub(crate) struct Payloads(Mutex<(HashMap<JobId, Arc<JobPayload>>, VecDeque<JobId>)>);

impl Payloads {
    pub(crate) fn get(&self, job: JobId) -> Option<Arc<JobPayload>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.get(&job).cloned()
    }

    pub(crate) fn put(&self, job: JobId, payload: Arc<JobPayload>) {
        let (known, order) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.insert(job, payload).is_none() {
            order.push_back(job);
        }
        if order.len() > JOBS_MAX {
            if let Some(oldest) = order.pop_front() {
                known.remove(&oldest);
            }
        }
    }
}
