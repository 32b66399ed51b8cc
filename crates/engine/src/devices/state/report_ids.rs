//! Ids of reports that memory answers for (N5).

use crate::kernel::Map;
use alloc::collections::BTreeMap;
use muster_model::{ReportId, ReportSubject};

/// Ids of reports: those that a look-up in the store might still miss, and the newest of those that the store has.
///
/// Ids that begin with the time, as those of agents do, sort by age. So nearly every report that arrives has an id after all
/// that the store holds and memory does not: it is new, and nobody has to ask the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportIds {
    /// Not confirmed by the store yet.
    unconfirmed: Map<ReportId, ReportSubject>,
    /// All ids after `stored_up_to`, in the order of their texts.
    newest: BTreeMap<ReportId, ReportSubject>,
    /// The store may hold any id up to this one; `None`: it holds none.
    stored_up_to: Option<ReportId>,
}

impl ReportIds {
    /// The subject of the report with this id, if memory has it.
    pub(crate) fn get(&self, id: &ReportId) -> Option<&ReportSubject> {
        self.unconfirmed.get(id).or_else(|| self.newest.get(id))
    }

    /// True if the store may hold this id although memory does not.
    pub(crate) fn needs_look_up(&self, id: &ReportId) -> bool {
        !self.is_after_stored(id) && !self.unconfirmed.contains_key(id)
    }

    /// Adds an id.
    pub(crate) fn insert(&mut self, id: ReportId, subject: ReportSubject) {
        if self.is_after_stored(&id) {
            self.newest.insert(id.clone(), subject);
            if self.newest.len() > NEWEST_MAX {
                self.stored_up_to = self.newest.pop_first().map(|(first, _)| first);
            }
        }
        self.unconfirmed.insert(id, subject);
    }

    fn is_after_stored(&self, id: &ReportId) -> bool {
        self.stored_up_to.as_ref().is_none_or(|last| id > last)
    }

    /// The store has confirmed this id.
    pub(crate) fn confirm(&mut self, id: &ReportId) {
        self.unconfirmed.remove(id);
    }

    /// The store holds this id and none after it.
    pub(crate) fn restore(&mut self, newest: ReportId) {
        self.stored_up_to = self.stored_up_to.take().max(Some(newest));
    }

    /// Adds the ids of another, for a planted bug that hides them.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.unconfirmed.extend(other.unconfirmed);
        self.newest.extend(other.newest);
        self.stored_up_to = self.stored_up_to.take().max(other.stored_up_to);
    }
}

/// Half a second of reports at the highest rate that was measured; about two megabytes.
const NEWEST_MAX: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use muster_model::{JobId, ReportType};

    fn id(text: &str) -> ReportId {
        ReportId::new(text).unwrap()
    }

    fn numbered(number: usize) -> ReportId {
        id(&format!("{number:012x}/spool/1"))
    }

    fn subject(ordinal: u32) -> ReportSubject {
        ReportSubject { kind: ReportType::TaskStarted, job: JobId(1), ordinal }
    }

    /// N5: an id is looked up unless memory can know that the store lacks it.
    #[test]
    fn only_an_id_after_all_stored_ones_needs_no_look_up() {
        let mut ids = ReportIds::default();
        assert!(!ids.needs_look_up(&id("a")), "the store is empty");
        ids.restore(id("m"));
        ids.restore(id("c"));
        for stored in ["a", "c", "m"] {
            assert!(ids.needs_look_up(&id(stored)), "{stored}");
        }
        assert!(!ids.needs_look_up(&id("m/2")) && !ids.needs_look_up(&id("n")));
    }

    /// N5: memory knows an id after the store has confirmed it, if it comes after all others there.
    #[test]
    fn a_confirmed_id_is_still_known() {
        let mut ids = ReportIds::default();
        ids.restore(id("m"));
        for (text, ordinal) in [("n", 1), ("b", 2)] {
            ids.insert(id(text), subject(ordinal));
            assert!(!ids.needs_look_up(&id(text)), "{text}");
            ids.confirm(&id(text));
        }
        assert_eq!(ids.get(&id("n")), Some(&subject(1)));
        assert!(ids.get(&id("b")).is_none() && ids.needs_look_up(&id("b")));
    }

    /// N5: an id that memory lets go of is looked up from then on, and so is every one before it.
    #[test]
    fn memory_is_bounded_and_knows_what_it_forgot() {
        let mut ids = ReportIds::default();
        for number in (1..=NEWEST_MAX + 2).rev() {
            ids.insert(numbered(number), subject(1));
            ids.confirm(&numbered(number));
        }
        assert_eq!(ids.newest.len(), NEWEST_MAX);
        for forgotten in [1, 2] {
            assert!(ids.get(&numbered(forgotten)).is_none() && ids.needs_look_up(&numbered(forgotten)));
        }
        assert!(ids.get(&numbered(3)).is_some() && !ids.needs_look_up(&numbered(NEWEST_MAX + 3)));
    }
}
