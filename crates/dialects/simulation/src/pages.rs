//! Lists of the store, read to their end.

use muster_store::{Cursor, Page, StoreError};

/// Hands over every item of a list, page by page.
pub(crate) fn pages<T>(
    mut read: impl FnMut(&Cursor) -> Result<Page<T>, StoreError>,
    mut each: impl FnMut(T),
) -> Result<(), StoreError> {
    let mut page = Cursor { after: None, limit: PAGE_ITEMS };
    loop {
        let Page { items, next } = read(&page)?;
        items.into_iter().for_each(&mut each);
        match next {
            Some(next) => page.after = Some(next),
            None => return Ok(()),
        }
    }
}

const PAGE_ITEMS: u32 = 1000;
