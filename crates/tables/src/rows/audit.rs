//! Table `audit_log`.

use super::{integer, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, number, text},
    sql::{Cells, Sink},
};
use muster_model::{Actor, AuditRecord, UserId};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, at, user_id, user_name, action, subject";

/// Adds an act.
pub(crate) fn write(sink: &mut dyn Sink, act: &AuditRecord) -> Result<(), Fault> {
    put_one(
        sink,
        &PUT,
        &[
            act.at.into(),
            integer(act.actor.user.0)?.into(),
            (&*act.actor.name).into(),
            (&*act.action).into(),
            (&*act.subject).into(),
        ],
    )
}

/// Makes a record of a row, with the number of the row.
pub(crate) fn read(row: &dyn Cells) -> Result<(u64, AuditRecord), Fault> {
    let fields = Fields::new("audit_log", row);
    let act = AuditRecord {
        actor: Actor { user: UserId(fields.number(2)?), name: fields.text(3)?.into(), reason: None },
        action: fields.text(4)?.into(),
        subject: fields.text(5)?.into(),
        at: fields.time(1)?,
    };
    Ok((fields.number(0)?, act))
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "audit_log",
    columns: &[
        number("at"),
        number("user_id"),
        text("user_name"),
        text("action"),
        text("subject"),
        number("id"),
    ],
    key: &["id"],
    numbered: true,
};

static PUT: Put = TABLE.put_numbered();
