//! Colours, where they are welcome (I4).

use crate::command::top::fleet::DeviceState;
use ratatui::style::{Color, Modifier, Style};

/// Colours, or none. Nothing is told by colour alone.
#[derive(Clone, Copy, Debug)]
pub(in crate::command::top) struct Theme {
    pub(in crate::command::top) is_coloured: bool,
}

impl Theme {
    /// No colours where `NO_COLOR` is set.
    pub(in crate::command::top) fn of_environment() -> Self {
        Self { is_coloured: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    pub(super) fn border(self, is_used: bool) -> Style {
        if is_used { self.with(Color::Cyan).add_modifier(Modifier::BOLD) } else { Style::default() }
    }

    pub(super) fn chosen(self, is_used: bool) -> Style {
        if is_used { Style::default().add_modifier(Modifier::REVERSED) } else { Style::default() }
    }

    pub(super) const fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) const fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn bad(self) -> Style {
        self.with(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn good(self) -> Style {
        self.with(Color::Green)
    }

    pub(super) fn of_device(self, state: DeviceState) -> Style {
        match state {
            DeviceState::Running => self.with(Color::Green),
            DeviceState::Idle => self.with(Color::Blue),
            DeviceState::Error => self.with(Color::Red),
            DeviceState::Offline => self.with(Color::DarkGray),
        }
    }

    fn with(self, colour: Color) -> Style {
        if self.is_coloured { Style::default().fg(colour) } else { Style::default() }
    }
}

/// What a device in a state looks like in a bar.
pub(super) const fn cell_of(state: DeviceState) -> &'static str {
    match state {
        DeviceState::Running => "█",
        DeviceState::Idle => "▒",
        DeviceState::Error => "!",
        DeviceState::Offline => "·",
    }
}
