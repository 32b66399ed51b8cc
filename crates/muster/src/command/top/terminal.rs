//! The terminal, taken and given back.

use ratatui::DefaultTerminal;
use std::io;

/// The terminal while it is ours; dropped, it is as it was. A panic gives it back before it says anything.
pub(super) struct Taken(pub(super) DefaultTerminal);

impl Taken {
    pub(super) fn take() -> io::Result<Self> {
        ratatui::try_init().map(Self)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
