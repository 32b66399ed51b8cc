//! One cause, as the table has it.

/// What there is to say of one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What scripts match on; once in all tables.
    pub code: &'static str,
    /// The rule that says so; two where runs and their rows have one each.
    pub rule: &'static str,
    /// What it may be said of.
    pub kinds: &'static [&'static str],
    /// The sentence after its subject, over the data: `{key}`, `{key#one|many}` for a number with its noun, `{key:ago}`
    /// and `{key:in}` for a moment, and `[…]` for what is left out when a key in it is missing.
    pub says: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}
