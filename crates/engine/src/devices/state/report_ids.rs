//! Ids of reports that memory answers for (N5).

use crate::kernel::Map;
use alloc::collections::BTreeMap;
use muster_model::{ReportId, ReportSubject};

/// Ids of reports: those that a look-up in the store might still miss, and the newest of those that the store has.
///
/// Ids that begin with the time, as those of agents do, sort by age. So nearly every report that arrives has an id above all
/// that the store holds and memory does not: it is new, and nobody has to ask the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportIds {
    /// Not confirmed by the store yet.
    unconfirmed: Map<ReportId, ReportSubject>,
    /// All UUIDs above `stored_up_to`.
    newest: BTreeMap<u128, ReportSubject>,
    /// The store may hold any UUID up to this one.
    stored_up_to: u128,
}

impl ReportIds {
    /// The subject of the report with this id, if memory has it.
    pub(crate) fn get(&self, id: &ReportId) -> Option<&ReportSubject> {
        self.unconfirmed.get(id).or_else(|| self.newest.get(&id.as_uuid()?))
    }

    /// True if the store may hold this id although memory does not.
    pub(crate) fn needs_look_up(&self, id: &ReportId) -> bool {
        let is_above = id.as_uuid().is_some_and(|uuid| uuid > self.stored_up_to);
        !is_above && !self.unconfirmed.contains_key(id)
    }

    /// Adds an id.
    pub(crate) fn insert(&mut self, id: ReportId, subject: ReportSubject) {
        if let Some(uuid) = id.as_uuid().filter(|uuid| *uuid > self.stored_up_to) {
            self.newest.insert(uuid, subject);
            if self.newest.len() > NEWEST_MAX {
                let smallest = self.newest.pop_first();
                self.stored_up_to = smallest.map_or(self.stored_up_to, |(uuid, _)| uuid);
            }
        }
        self.unconfirmed.insert(id, subject);
    }

    /// The store has confirmed this id.
    pub(crate) fn confirm(&mut self, id: &ReportId) {
        self.unconfirmed.remove(id);
    }

    /// The store holds this UUID and none above it.
    pub(crate) fn restore(&mut self, newest: u128) {
        self.stored_up_to = self.stored_up_to.max(newest);
    }

    /// Adds the ids of another, for a planted bug that hides them.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.unconfirmed.extend(other.unconfirmed);
        self.newest.extend(other.newest);
        self.stored_up_to = self.stored_up_to.max(other.stored_up_to);
    }
}

/// Half a second of reports at the highest rate that was measured; about a megabyte.
const NEWEST_MAX: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use muster_model::{JobId, ReportType};

    fn uuid(number: u128) -> ReportId {
        ReportId::new(&JobId(number).to_string()).unwrap()
    }

    fn subject(ordinal: u32) -> ReportSubject {
        ReportSubject { kind: ReportType::TaskStarted, job: JobId(1), ordinal }
    }

    /// N5: an id is looked up unless memory can know that the store lacks it.
    #[test]
    fn only_a_uuid_above_all_stored_ones_needs_no_look_up() {
        let mut ids = ReportIds::default();
        ids.restore(100);
        assert!(ids.needs_look_up(&uuid(99)) && ids.needs_look_up(&uuid(100)));
        assert!(!ids.needs_look_up(&uuid(101)));
        for other in ["event-7", &JobId(0xabc << 100).to_string().to_uppercase()] {
            assert!(ids.needs_look_up(&ReportId::new(other).unwrap()), "{other}");
        }
    }

    /// N5: memory knows a UUID after the store has confirmed it, and any id until then.
    #[test]
    fn a_confirmed_id_is_still_known() {
        let mut ids = ReportIds::default();
        let (new, text) = (uuid(5), ReportId::new("event-7").unwrap());
        ids.insert(new.clone(), subject(1));
        ids.insert(text.clone(), subject(2));
        assert!(!ids.needs_look_up(&text));
        ids.confirm(&new);
        ids.confirm(&text);
        assert_eq!(ids.get(&new), Some(&subject(1)));
        assert!(ids.get(&text).is_none() && ids.needs_look_up(&text));
    }

    /// N5: an id that memory lets go of is looked up from then on, and so is every smaller one.
    #[test]
    fn memory_is_bounded_and_knows_what_it_forgot() {
        let mut ids = ReportIds::default();
        let most = NEWEST_MAX as u128;
        for number in (1..=most + 2).rev() {
            ids.insert(uuid(number), subject(1));
            ids.confirm(&uuid(number));
        }
        assert_eq!(ids.newest.len(), NEWEST_MAX);
        for forgotten in [1, 2] {
            assert!(ids.get(&uuid(forgotten)).is_none() && ids.needs_look_up(&uuid(forgotten)));
        }
        assert!(ids.get(&uuid(3)).is_some() && !ids.needs_look_up(&uuid(most + 3)));
    }
}
