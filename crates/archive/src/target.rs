//! Rows on their way into a store that is being filled.

use crate::cell::{Cell, Record};
use muster_tables::{Fault, Put, TABLES, TableShape, Update, Value, Whole};
use std::sync::LazyLock;

/// Puts rows into a table, over what is there.
pub(crate) fn put(target: &mut dyn Whole, shape: &'static TableShape, rows: &[Record]) -> Result<(), Fault> {
    if rows.is_empty() {
        return Ok(());
    }
    target.sink().put(put_of(shape), rows.len(), &mut |place, row| {
        rows[place].iter().for_each(|cell| row.value(cell.value()));
        Ok(())
    })
}

/// Deletes the row with a key.
pub(crate) fn delete(target: &dyn Whole, shape: &'static TableShape, key: &[Cell]) -> Result<(), Fault> {
    let conditions: Vec<String> =
        shape.key.iter().zip(1..).map(|(name, place)| format!("{name} = ?{place}")).collect();
    let params: Vec<Value<'_>> = key.iter().map(Cell::value).collect();
    let sql = format!("DELETE FROM {} WHERE {}", shape.name, conditions.join(" AND "));
    target.sql().execute(&sql, &params).map(|_| ())
}

/// How whole rows get into a table.
fn put_of(shape: &TableShape) -> &'static Put {
    static PUTS: LazyLock<Vec<Put>> = LazyLock::new(|| TABLES.iter().map(whole_rows).collect());
    PUTS.iter().find(|put| put.table == shape.name).expect("each table has one")
}

fn whole_rows(shape: &TableShape) -> Put {
    Put { table: shape.name, columns: shape.columns, key: shape.key, update: Update::Whole }
}
