//! The table of codes: one row per code, one file per contract.

mod court;
mod devices;
mod frames;
mod pool;

/// The rule and the words of one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The code that scripts match on; unique in the whole table.
    pub code: &'static str,
    /// The rule behind it; two where runs and their rows have one each.
    pub rule: &'static str,
    /// The kinds of things that it can be said of.
    pub kinds: &'static [&'static str],
    /// The sentence after its subject, over the data: `{key}`, `{key#one|many}` for a number with its noun, `{key:ago}`
    /// and `{key:in}` for a moment, and `[…]` for a part that is left out when a key in it is missing.
    pub says: &'static str,
    /// The advice: what to do about it.
    pub advice: &'static str,
}

/// Every code there is: the engine's, then those of court tasks.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    devices::ROWS.iter().chain(frames::ROWS).chain(pool::ROWS).chain(court::ROWS)
}
