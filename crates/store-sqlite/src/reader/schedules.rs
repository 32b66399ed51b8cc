//! Reads about schedules.

use super::{SqliteReader, nothing};
use crate::{
    fault::Fault,
    rows::{list, one, schedule},
};
use muster_model::{ScheduleId, ScheduleRecord};
use muster_store::{
    Cursor, Page, ScheduleReader, StoreError,
    position::{List, Start, sought},
};
use rusqlite::{Connection, params};

impl ScheduleReader for SqliteReader {
    fn schedules(&self, page: &Cursor) -> Result<Page<ScheduleRecord>, StoreError> {
        self.read(|connection| schedules(connection, page))
    }

    fn schedule(&self, id: ScheduleId) -> Result<Option<ScheduleRecord>, StoreError> {
        let sql = format!("SELECT {} FROM schedules WHERE id = ?1", schedule::COLUMNS);
        self.read(|connection| one(connection, &sql, [id.to_string()], schedule::read))
    }
}

fn schedules(connection: &Connection, page: &Cursor) -> Result<Page<ScheduleRecord>, Fault> {
    let after = match List::Schedules.start(page, |text| text.parse::<ScheduleId>().ok()) {
        Start::Beginning => String::new(),
        Start::After(id) => id.to_string(),
        Start::Nowhere => return Ok(nothing()),
    };
    let sql = format!("SELECT {} FROM schedules WHERE id > ?1 ORDER BY id LIMIT ?2", schedule::COLUMNS);
    let items = list(connection, &sql, params![after, sought(page)], schedule::read)?;
    Ok(List::Schedules.page(page, items, |schedule| schedule.id.to_string()))
}
