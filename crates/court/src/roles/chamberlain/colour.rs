//! How much the host can take, in one word.

use crate::{
    Document, Folder,
    config::Chamberlain,
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

/// How much the host can take, as far as the chamberlain has told lately.
///
/// Not to know is orange: nobody may take silence for health.
#[must_use]
pub fn health(folder: &Folder, now: Timestamp) -> Colour {
    told(folder, now).unwrap_or(Colour::Orange)
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
