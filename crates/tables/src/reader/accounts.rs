//! Reads about accounts.

use super::{TableReader, nothing, number_start, without_numbers};
use crate::{
    column::sought_number,
    record::{numbered_records, records},
    sql::Connections,
};
use muster_model::{ApiKeyRecord, AuditRecord, UserId, UserRecord};
use muster_store::{
    AccountReader, Cursor, Page, StoreError,
    position::{List, sought},
};

impl<P: Connections> AccountReader for TableReader<P> {
    fn users(&self, page: &Cursor) -> Result<Page<UserRecord>, StoreError> {
        self.read(|connection| {
            let Some(after) = number_start(List::Users, page, -1) else {
                return Ok(nothing());
            };
            let params = [after.into(), sought(page).into()];
            let items = records(connection, "WHERE id > ?1 ORDER BY id LIMIT ?2", &params)?;
            Ok(List::Users.page(page, items, |user: &UserRecord| user.id.to_string()))
        })
    }

    fn api_keys(&self, user: Option<UserId>, page: &Cursor) -> Result<Page<ApiKeyRecord>, StoreError> {
        self.read(|connection| {
            let Some(after) = number_start(List::ApiKeys, page, -1) else {
                return Ok(nothing());
            };
            let of_user = if user.is_some() { "user_id = ?2" } else { "CAST(?2 AS BIGINT) IS NULL" };
            let user = user.map(|user| sought_number(user.0));
            let items = records(
                connection,
                &format!("WHERE id > ?1 AND {of_user} ORDER BY id LIMIT ?3"),
                &[after.into(), user.into(), sought(page).into()],
            )?;
            Ok(List::ApiKeys.page(page, items, |key: &ApiKeyRecord| key.id.to_string()))
        })
    }

    fn audit(&self, page: &Cursor) -> Result<Page<AuditRecord>, StoreError> {
        self.read(|connection| {
            let Some(before) = number_start(List::Audit, page, i64::MAX) else {
                return Ok(nothing());
            };
            let params = [before.into(), sought(page).into()];
            let items = numbered_records(connection, "WHERE id < ?1 ORDER BY id DESC LIMIT ?2", &params)?;
            Ok(without_numbers(List::Audit.page(page, items, |(number, _)| number.to_string())))
        })
    }
}
