//! Epochs after a restore: none is given a second time (S18).

use crate::restore::RestoreError;
use muster_tables::{Fault, Sql, Value};

/// Raises the epoch of a store that was filled from a backup above all that may have been given since; answers it.
///
/// Workers remember the highest epoch they saw and take no task of an older one, and they may have seen some after the
/// backup was made, or after it was restored before. Terms begin far less often than once in a second, so seconds since
/// 1970 (`now_s`) are above every epoch that was ever given, unless a clock went wrong: a large step must do then.
///
/// # Errors
/// When the store holds no epoch that makes sense, or fails.
pub fn raise_epoch(sql: &dyn Sql, now_s: i64) -> Result<i64, RestoreError> {
    let mut epoch = None;
    sql.each("SELECT value FROM meta WHERE key = 'epoch'", &[], &mut |row| {
        epoch = match row.cell(0)? {
            Value::Integer(epoch) => Some(epoch),
            other => return Err(Fault::corrupt(format!("meta epoch: {other:?}"))),
        };
        Ok(())
    })?;
    let epoch = epoch.filter(|epoch| (0..EPOCH_MAX).contains(epoch)).ok_or(RestoreError::NoEpoch)?;
    let raised = if now_s > epoch { now_s } else { epoch + STEP };
    sql.execute("UPDATE meta SET value = ?1 WHERE key = 'epoch'", &[Value::Integer(raised)])?;
    Ok(raised)
}

/// More terms than any installation begins between two backups.
const STEP: i64 = 1_000_000;

/// Beyond it, numbers in JSON are not exact everywhere.
const EPOCH_MAX: i64 = 1 << 52;
