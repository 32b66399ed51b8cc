//! Reads about accounts.

use super::{TableReader, nothing, number_start};
use crate::{
    fault::Fault,
    rows::{api_key, audit, list, sought_number, user},
    sql::{Connections, Sql},
};
use muster_model::{ApiKeyRecord, AuditRecord, UserId, UserRecord};
use muster_store::{
    AccountReader, Cursor, Page, StoreError,
    position::{List, sought},
};

impl<P: Connections> AccountReader for TableReader<P> {
    fn users(&self, page: &Cursor) -> Result<Page<UserRecord>, StoreError> {
        self.read(|connection| users(connection, page))
    }

    fn api_keys(&self, user: Option<UserId>, page: &Cursor) -> Result<Page<ApiKeyRecord>, StoreError> {
        self.read(|connection| api_keys(connection, user, page))
    }

    fn audit(&self, page: &Cursor) -> Result<Page<AuditRecord>, StoreError> {
        self.read(|connection| audit(connection, page))
    }
}

fn users(connection: &dyn Sql, page: &Cursor) -> Result<Page<UserRecord>, Fault> {
    let Some(after) = number_start(List::Users, page, -1) else {
        return Ok(nothing());
    };
    let sql = format!("SELECT {} FROM users WHERE id > ?1 ORDER BY id LIMIT ?2", user::COLUMNS);
    let items = list(connection, &sql, &[after.into(), sought(page).into()], user::read)?;
    Ok(List::Users.page(page, items, |user| user.id.to_string()))
}

fn api_keys(connection: &dyn Sql, user: Option<UserId>, page: &Cursor) -> Result<Page<ApiKeyRecord>, Fault> {
    let Some(after) = number_start(List::ApiKeys, page, -1) else {
        return Ok(nothing());
    };
    let of_user = if user.is_some() { "user_id = ?2" } else { "CAST(?2 AS BIGINT) IS NULL" };
    let sql =
        format!("SELECT {} FROM api_keys WHERE id > ?1 AND {of_user} ORDER BY id LIMIT ?3", api_key::COLUMNS);
    let user = user.map(|user| sought_number(user.0));
    let items = list(connection, &sql, &[after.into(), user.into(), sought(page).into()], api_key::read)?;
    Ok(List::ApiKeys.page(page, items, |key| key.id.to_string()))
}

fn audit(connection: &dyn Sql, page: &Cursor) -> Result<Page<AuditRecord>, Fault> {
    let Some(before) = number_start(List::Audit, page, i64::MAX) else {
        return Ok(nothing());
    };
    let sql = format!("SELECT {} FROM audit_log WHERE id < ?1 ORDER BY id DESC LIMIT ?2", audit::COLUMNS);
    let items = list(connection, &sql, &[before.into(), sought(page).into()], audit::read)?;
    let numbered = List::Audit.page(page, items, |(place, _)| place.to_string());
    let items = numbered.items.into_iter().map(|(_, act)| act).collect();
    Ok(Page { items, next: numbered.next })
}
