//! Table `sim_farm`: its one row.

use super::{integer, one};
use crate::{fault::Fault, fields::Fields};
use muster_model::FarmRecord;
use rusqlite::{Connection, params};

/// Writes the row.
pub(crate) fn write(connection: &Connection, farm: &FarmRecord) -> Result<(), Fault> {
    let sql = "INSERT OR REPLACE INTO sim_farm (id, paused, next_chunk_id, next_id) VALUES (1, ?1, ?2, ?3)";
    let (chunk, id) = (integer(farm.next_chunk)?, integer(farm.next_id)?);
    connection.prepare_cached(sql)?.execute(params![farm.paused, chunk, id])?;
    Ok(())
}

/// Reads the row. Without it ids would be granted twice, so there is no default for it.
pub(crate) fn read(connection: &Connection) -> Result<FarmRecord, Fault> {
    let found = one(connection, "SELECT id, paused, next_chunk_id, next_id FROM sim_farm", [], |row| {
        let fields = Fields::new("sim_farm", row);
        Ok(FarmRecord { paused: fields.flag(1)?, next_chunk: fields.number(2)?, next_id: fields.number(3)? })
    })?;
    found.ok_or_else(|| Fault::corrupt("sim_farm: its row is missing"))
}
