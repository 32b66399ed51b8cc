//! Colours, where they are welcome.

use std::io::IsTerminal;

/// Colours text for one stream, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint(bool);

impl Paint {
    /// For a stream: only a terminal gets colours, and none where `NO_COLOR` is set (I4).
    pub(super) fn on(stream: &impl IsTerminal) -> Self {
        Self(stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
    }

    pub(super) const fn is_on(self) -> bool {
        self.0
    }

    pub(super) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(super) fn note(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(super) fn accent(self, text: &str) -> String {
        self.with("36", text)
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// A whole number with its thousands set apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| str::from_utf8(g).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
