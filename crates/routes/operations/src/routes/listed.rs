//! Runs of a page with how far each is (Q15).

use muster_contract_operations::{Counts, ListedRun, count_rows, show_listed};
use muster_model::JobId;
use muster_store::{CountedJob, Cursor, JobFilter, Page, Reader, StoreError};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How the runs stand that are closed: they are counted when somebody first looks, and change no more.
#[derive(Clone, Default)]
pub(super) struct Closed(Arc<Mutex<Arc<BTreeMap<JobId, Counts>>>>);

impl Closed {
    /// A page of runs, all of it as at one moment.
    pub(super) fn page(
        &self,
        store: &dyn Reader,
        filter: &JobFilter,
        page: &Cursor,
    ) -> Result<Page<ListedRun>, StoreError> {
        // Held as they are: what others look at meanwhile may push some of them out.
        let known = Arc::clone(&self.counts());
        let Page { items, next } = store.counted_jobs(filter, page, &|id| known.contains_key(&id))?;
        let mut fresh = Vec::new();
        let mut show = |CountedJob { job, tasks, targets }: CountedJob| {
            let counts = match &tasks {
                Some(tasks) => count_rows(tasks),
                None => known.get(&job.id).copied().unwrap_or_default(),
            };
            if !job.open && tasks.is_some() {
                fresh.push((job.id, counts));
            }
            show_listed(job, counts, targets)
        };
        let items = items.into_iter().map(&mut show).collect();
        drop(known);
        self.keep(fresh);
        Ok(Page { items, next })
    }

    fn keep(&self, fresh: Vec<(JobId, Counts)>) {
        if fresh.is_empty() {
            return;
        }
        let mut counts = self.counts();
        let kept = Arc::make_mut(&mut counts);
        kept.extend(fresh);
        // The oldest are looked at least.
        while kept.len() > KEPT_MAX {
            kept.pop_first();
        }
    }

    fn counts(&self) -> MutexGuard<'_, Arc<BTreeMap<JobId, Counts>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Several of the longest pages.
const KEPT_MAX: usize = 5000;
