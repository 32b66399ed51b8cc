//! Reads about schedules.

use super::{TableReader, nothing};
use crate::{
    record::{record, records},
    sql::Connections,
};
use muster_model::{ScheduleId, ScheduleRecord};
use muster_store::{
    Cursor, Page, ScheduleReader, StoreError,
    position::{List, Start, sought},
};

impl<P: Connections> ScheduleReader for TableReader<P> {
    fn schedules(&self, page: &Cursor) -> Result<Page<ScheduleRecord>, StoreError> {
        let after = match List::Schedules.start(page, |text| text.parse::<ScheduleId>().ok()) {
            Start::Beginning => String::new(),
            Start::After(id) => id.to_string(),
            Start::Nowhere => return Ok(nothing()),
        };
        self.read(|connection| {
            let params = [after.as_str().into(), sought(page).into()];
            let items = records(connection, "WHERE id > ?1 ORDER BY id LIMIT ?2", &params)?;
            Ok(List::Schedules.page(page, items, |schedule: &ScheduleRecord| schedule.id.to_string()))
        })
    }

    fn schedule(&self, id: ScheduleId) -> Result<Option<ScheduleRecord>, StoreError> {
        self.read(|connection| record(connection, "WHERE id = ?1", &[id.to_string().as_str().into()]))
    }
}
