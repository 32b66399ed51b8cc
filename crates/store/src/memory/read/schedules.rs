//! Reads about schedules.

use super::{MemoryReader, following, take};
use crate::{Cursor, Page, ScheduleReader, StoreError, position::List};
use muster_model::{ScheduleId, ScheduleRecord};

impl ScheduleReader for MemoryReader {
    fn schedules(&self, page: &Cursor) -> Result<Page<ScheduleRecord>, StoreError> {
        let tables = self.tables();
        let start = List::Schedules.start(page, |text| text.parse::<ScheduleId>().ok());
        let found = following(start, tables.schedules.values(), |schedule, after| schedule.id > *after);
        Ok(List::Schedules.page(page, take(found, page), |schedule| schedule.id.to_string()))
    }

    fn schedule(&self, id: ScheduleId) -> Result<Option<ScheduleRecord>, StoreError> {
        Ok(self.tables().schedules.get(&id).cloned())
    }
}
