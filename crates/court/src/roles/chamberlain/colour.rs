//! How much the host can take, in one word.

use crate::{
    Document, Folder,
    config::{Chamberlain, King},
    file::{Priority, instant},
};
use jiff::{SignedDuration, Timestamp};

/// How much the host can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// Everything.
    Green,
    /// Only what is urgent.
    Yellow,
    /// Nothing more.
    Orange,
    /// Nothing more, and it is serious.
    Red,
}

/// The host's health by the chamberlain's last report. A report that is missing, empty or stale counts as orange.
#[must_use]
pub fn health(folder: &Folder, now: Timestamp) -> Colour {
    told(folder, now).unwrap_or(Colour::Orange)
}

/// The colour that the king goes by (C19): the host's health if it is told to obey it, else green, which holds nothing
/// back.
#[must_use]
pub fn obeyed_health(folder: &Folder, king: &King, now: Timestamp) -> Colour {
    if king.obey_health { health(folder, now) } else { Colour::Green }
}

impl Colour {
    /// The colour of a percentage in use.
    #[must_use]
    pub fn at(percent: f64, limits: &Chamberlain) -> Self {
        if percent >= limits.red_percent {
            Self::Red
        } else if percent >= limits.orange_percent {
            Self::Orange
        } else if percent >= limits.yellow_percent {
            Self::Yellow
        } else {
            Self::Green
        }
    }

    /// Whether the king may begin something of this priority.
    #[must_use]
    pub fn accepts(self, priority: Priority) -> bool {
        match self {
            Self::Green => true,
            Self::Yellow => priority == Priority::High,
            Self::Orange | Self::Red => false,
        }
    }

    /// Reads the word in `state/resources.json`.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        [Self::Green, Self::Yellow, Self::Orange, Self::Red].into_iter().find(|colour| colour.word() == word)
    }

    /// The word in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Orange => "orange",
            Self::Red => "red",
        }
    }
}

/// What was told, unless that is too long ago, or not yet.
fn told(folder: &Folder, now: Timestamp) -> Option<Colour> {
    let document = Document::parse(&folder.bytes(&folder.path(RESOURCES)).ok()?).ok()?;
    let at = instant(&document.text("timestamp")?)?;
    let is_fresh = now.duration_since(at).abs() <= AGE_MAX;
    Colour::of(&document.text("health")?).filter(|_| is_fresh)
}

/// Where the chamberlain tells.
pub(crate) const RESOURCES: &str = "state/resources.json";
const AGE_MAX: SignedDuration = SignedDuration::from_secs(120);
