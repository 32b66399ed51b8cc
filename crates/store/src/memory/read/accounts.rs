//! Reads about accounts.

use super::{MemoryReader, following, take};
use crate::{
    AccountReader, Cursor, Page, StoreError,
    position::{List, parse_number},
};
use muster_model::{ApiKeyRecord, AuditRecord, UserId, UserRecord};

impl AccountReader for MemoryReader {
    fn users(&self, page: &Cursor) -> Result<Page<UserRecord>, StoreError> {
        let tables = self.tables();
        let start = List::Users.start(page, parse_number);
        let found = following(start, tables.accounts.users.values(), |user, after| user.id.0 > *after);
        Ok(List::Users.page(page, take(found, page), |user| user.id.to_string()))
    }

    fn api_keys(&self, user: Option<UserId>, page: &Cursor) -> Result<Page<ApiKeyRecord>, StoreError> {
        let tables = self.tables();
        let wanted = |key: &&ApiKeyRecord| user.is_none_or(|user| user == key.user);
        let keys = tables.accounts.api_keys.values().filter(wanted);
        let found = following(List::ApiKeys.start(page, parse_number), keys, |key, after| key.id > *after);
        Ok(List::ApiKeys.page(page, take(found, page), |key| key.id.to_string()))
    }

    fn audit(&self, page: &Cursor) -> Result<Page<AuditRecord>, StoreError> {
        let tables = self.tables();
        let acts: Vec<(u64, AuditRecord)> =
            tables.accounts.audit.iter().rev().map(|(place, act)| (*place, act.clone())).collect();
        let start = List::Audit.start(page, parse_number);
        let found = following(start, acts.iter(), |(place, _), after| place < after);
        let numbered = List::Audit.page(page, take(found, page), |(place, _)| place.to_string());
        let items = numbered.items.into_iter().map(|(_, act)| act).collect();
        Ok(Page { items, next: numbered.next })
    }
}
