//! Table `sim_farm`: its one row.

use super::{integer, one, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number},
    sql::{Sink, Sql},
    value::Value,
};
use muster_model::FarmRecord;

/// Writes the row.
pub(crate) fn write(sink: &mut dyn Sink, farm: &FarmRecord) -> Result<(), Fault> {
    let (chunk, id) = (integer(farm.next_chunk)?, integer(farm.next_id)?);
    put_one(sink, &PUT, &[Value::Integer(1), farm.paused.into(), chunk.into(), id.into()])
}

/// Reads the row. Without it ids would be granted twice, so there is no default for it.
pub(crate) fn read(connection: &dyn Sql) -> Result<FarmRecord, Fault> {
    let found = one(connection, "SELECT id, paused, next_chunk_id, next_id FROM sim_farm", &[], |row| {
        let fields = Fields::new("sim_farm", row);
        Ok(FarmRecord { paused: fields.flag(1)?, next_chunk: fields.number(2)?, next_id: fields.number(3)? })
    })?;
    found.ok_or_else(|| Fault::corrupt("sim_farm: its row is missing"))
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "sim_farm",
    columns: &[number("id"), number("paused"), number("next_chunk_id"), number("next_id")],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);
