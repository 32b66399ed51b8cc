//! Cursors of pages, the same in every store.

use crate::{Cursor, Page};
use muster_model::EntryId;

/// Declares the lists, each with the mark of its cursors.
macro_rules! lists {
    ($($(#[$doc:meta])* $list:ident = $mark:literal,)*) => {
        /// A list that is read page by page. Its cursors are told from those of the others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum List {
            $($(#[$doc])* $list,)*
        }

        impl List {
            const fn mark(self) -> &'static str {
                match self {
                    $(Self::$list => $mark,)*
                }
            }
        }
    };
}

lists! {
    /// Jobs, by their age number.
    Jobs = "jobs",
    /// Tasks of a job, by their ordinal.
    Tasks = "tasks",
    /// Devices, by name.
    Lanes = "devices",
    /// Workers, by name.
    Workers = "pcs",
    /// Alerts, by moment and id.
    Alerts = "alerts",
    /// Sessions, by their age number.
    Sessions = "sessions",
    /// Ranges of a session, by first frame.
    FrameTasks = "frames",
    /// Ranges of a session that were given out anew, by the number of their new chunk.
    Replays = "replays",
    /// Granted ids, by number.
    Chunks = "chunks",
    /// Workers of sessions, by name.
    Renderers = "renderers",
    /// Entries of the quarantine, by moment and id.
    Quarantine = "quarantine",
    /// Lines of the diagnostics log, by the number the store gave them.
    Diagnostics = "diagnostics",
    /// Jobs of the pool, by number.
    PoolJobs = "pool_jobs",
    /// Workers of the pool, by number.
    PoolWorkers = "workers",
    /// Users, by number.
    Users = "users",
    /// Keys for programs, by number.
    ApiKeys = "api_keys",
    /// Privileged acts, by the number the store gave them.
    Audit = "audit",
    /// Schedules, by id.
    Schedules = "schedules",
}

/// Start of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<T> {
    /// With the first item.
    Beginning,
    /// After the item with this key.
    After(T),
    /// The cursor is none of this list's: the page is empty.
    Nowhere,
}

impl List {
    /// Reads a cursor's key.
    #[must_use]
    pub fn start<T>(self, cursor: &Cursor, parse: impl Fn(&str) -> Option<T>) -> Start<T> {
        let Some(text) = &cursor.after else {
            return Start::Beginning;
        };
        let key = text.strip_prefix(self.mark()).and_then(|rest| rest.strip_prefix(':')).and_then(parse);
        key.map_or(Start::Nowhere, Start::After)
    }

    /// Makes a page of up to one item more than the cursor allows: that one says that more follow.
    pub fn page<T>(self, cursor: &Cursor, mut items: Vec<T>, key: impl Fn(&T) -> String) -> Page<T> {
        let limit = usize::try_from(cursor.limit.max(1)).unwrap_or(usize::MAX);
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| self.after(&key(last)));
        Page { items, next }
    }

    /// The cursor of whatever follows a key.
    #[must_use]
    pub fn after(self, key: &str) -> String {
        format!("{}:{key}", self.mark())
    }
}

/// Number of items to look for: one more than the page may have, which is at least one.
#[must_use]
pub fn sought(cursor: &Cursor) -> u32 {
    cursor.limit.max(1).saturating_add(1)
}

/// The key of an alert in a cursor.
#[must_use]
pub fn alert_key(at: i64, id: u128) -> String {
    format!("{at}.{id:032x}")
}

/// Reads the key of an alert.
#[must_use]
pub fn parse_alert_key(text: &str) -> Option<(i64, u128)> {
    let (at, id) = text.split_once('.')?;
    Some((at.parse().ok()?, u128::from_str_radix(id, 16).ok()?))
}

/// The key of an entry of the quarantine in a cursor.
#[must_use]
pub fn entry_key(at: i64, id: &EntryId) -> String {
    format!("{at}.{id}")
}

/// Reads the key of an entry of the quarantine: its moment and the text of its id, by which entries of one
/// moment are ordered.
#[must_use]
pub fn parse_entry_key(text: &str) -> Option<(i64, String)> {
    let (at, id) = text.split_once('.')?;
    Some((at.parse().ok()?, id.parse::<EntryId>().ok()?.to_string()))
}

/// Reads a number that counts up from 1 and fits every store.
#[must_use]
pub fn parse_number(text: &str) -> Option<u64> {
    text.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(after: Option<&str>, limit: u32) -> Cursor {
        Cursor { after: after.map(str::to_owned), limit }
    }

    #[test]
    fn a_page_tells_where_the_next_begins() {
        let page = List::Jobs.page(&cursor(None, 2), vec![9, 8, 7], u64::to_string);
        assert_eq!(page.items, [9, 8]);
        let next = cursor(page.next.as_deref(), 2);
        assert_eq!(List::Jobs.start(&next, parse_number), Start::After(8));
    }

    #[test]
    fn the_last_page_has_no_next() {
        assert_eq!(List::Jobs.page(&cursor(None, 3), vec![3, 2, 1], u64::to_string).next, None);
    }

    #[test]
    fn a_cursor_of_another_list_leads_nowhere() {
        for text in ["", "7", "tasks:7", "jobs7", "jobs:", "jobs:x", "jobs:-1", "jobs:99999999999999999999"] {
            assert_eq!(List::Jobs.start(&cursor(Some(text), 1), parse_number), Start::Nowhere, "{text}");
        }
    }
}
