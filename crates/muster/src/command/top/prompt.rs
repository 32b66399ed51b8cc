//! What stands before the panes: a question, a text, a filter being written.

/// What keys are for at the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Moving about.
    #[default]
    Looking,
    /// Writing what the lines of a pane must contain.
    Filtering,
    /// Reading a text.
    Reading { title: String, text: String },
    /// Saying yes or no.
    Confirming(Order),
    /// Writing a few words about an order.
    Writing { order: Order, words: String },
}

/// Something to be done at the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Drain(String),
    Resume(String),
    Return(String),
    Cancel(String),
}

impl Order {
    /// What it would do, as a question.
    pub(super) fn question(&self) -> String {
        match self {
            Self::Drain(node) => format!("Give {node} no more work? What it has it may finish."),
            Self::Resume(node) => format!("Give {node} work again?"),
            Self::Return(device) => format!("Return {device} to service?"),
            Self::Cancel(run) => format!("Cancel run {run}? Devices at work are told to stop."),
        }
    }

    /// What is to be written about it.
    pub(super) fn wanted(&self) -> String {
        match self {
            Self::Return(device) => format!("What was done about {device}?"),
            Self::Drain(name) | Self::Resume(name) | Self::Cancel(name) => format!("Why ({name})?"),
        }
    }

    /// What is said when it is done.
    pub(super) fn done(&self) -> String {
        match self {
            Self::Drain(node) => format!("{node} gets no more work"),
            Self::Resume(node) => format!("{node} gets work again"),
            Self::Return(device) => format!("{device} is back in service"),
            Self::Cancel(run) => format!("run {run} is cancelled"),
        }
    }
}

pub(super) const HELP: &str = "\
Tab, Shift-Tab   next pane, the one before
Up Down PgUp PgDn Home End   move in the pane
Enter            devices of the chosen node
Esc              back; clears the pane's filter
/                only lines of this pane that contain …
e                explain: why is the chosen thing not running
d                drain the chosen node, or resume it
r                return the chosen device to service
c                cancel the chosen run
?                this help
q, Ctrl-C        quit

Queues count what is at work + what waits.";
