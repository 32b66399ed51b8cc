//! Lists of the store, read to their end.

use muster_store::{Cursor, Page, StoreError};

/// Hands over every item of a list, page by page.
pub(crate) fn pages<T>(
    read: impl FnMut(&Cursor) -> Result<Page<T>, StoreError>,
    each: impl FnMut(T),
) -> Result<(), StoreError> {
    pages_of(PAGE_ITEMS, read, each)
}

/// Like [`pages`], with few items at a time: for items that may be as large as a request body.
pub(crate) fn small_pages<T>(
    read: impl FnMut(&Cursor) -> Result<Page<T>, StoreError>,
    each: impl FnMut(T),
) -> Result<(), StoreError> {
    pages_of(LARGE_ITEMS, read, each)
}

fn pages_of<T>(
    limit: u32,
    mut read: impl FnMut(&Cursor) -> Result<Page<T>, StoreError>,
    mut each: impl FnMut(T),
) -> Result<(), StoreError> {
    let mut page = Cursor { after: None, limit };
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
const LARGE_ITEMS: u32 = 16;
