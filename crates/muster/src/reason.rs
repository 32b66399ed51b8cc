//! Why something is done, for the audit log (I7).

use clap::Args;

/// What commands take that others may one day ask about.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Reason {
    /// Why; stands in the audit log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Reason {
    /// In the user's words.
    pub(crate) fn text(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// One that was asked for on a screen.
    pub(crate) fn because(reason: &str) -> Self {
        Self { reason: Some(reason.to_owned()) }
    }
}
