//! Reads about schedules.

use super::{TableReader, nothing};
use crate::{
    fault::Fault,
    rows::{list, one, schedule},
    sql::{Connections, Sql},
};
use muster_model::{ScheduleId, ScheduleRecord};
use muster_store::{
    Cursor, Page, ScheduleReader, StoreError,
    position::{List, Start, sought},
};

impl<P: Connections> ScheduleReader for TableReader<P> {
    fn schedules(&self, page: &Cursor) -> Result<Page<ScheduleRecord>, StoreError> {
        self.read(|connection| schedules(connection, page))
    }

    fn schedule(&self, id: ScheduleId) -> Result<Option<ScheduleRecord>, StoreError> {
        let sql = format!("SELECT {} FROM schedules WHERE id = ?1", schedule::COLUMNS);
        self.read(|connection| one(connection, &sql, &[id.to_string().as_str().into()], schedule::read))
    }
}

fn schedules(connection: &dyn Sql, page: &Cursor) -> Result<Page<ScheduleRecord>, Fault> {
    let after = match List::Schedules.start(page, |text| text.parse::<ScheduleId>().ok()) {
        Start::Beginning => String::new(),
        Start::After(id) => id.to_string(),
        Start::Nowhere => return Ok(nothing()),
    };
    let sql = format!("SELECT {} FROM schedules WHERE id > ?1 ORDER BY id LIMIT ?2", schedule::COLUMNS);
    let items = list(connection, &sql, &[after.as_str().into(), sought(page).into()], schedule::read)?;
    Ok(List::Schedules.page(page, items, |schedule| schedule.id.to_string()))
}
