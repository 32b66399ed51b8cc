//! Output of the demo. While it runs, on standard error: a line per part on a terminal, a line now and then elsewhere, and the
//! moments of the guided tour. At its end the closing table: what each contract did, what was done to it, and the findings of
//! the check.

use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use muster_coordinator::instant_now;
use serde_json::{Value, json};
use std::{
    cell::{Cell, RefCell},
    fmt::Write,
    io::IsTerminal,
    time::Duration,
};
use tokio::time::Instant;

/// The demo's screen.
pub(super) struct Show {
    paint: Paint,
    url: String,
    is_long: bool,
    began: Instant,
    printed_at: Cell<Duration>,
    /// The lines of a terminal.
    bars: Option<MultiProgress>,
    lines: RefCell<Vec<ProgressBar>>,
}

/// A moment worth a look.
pub(super) struct Moment {
    brief: &'static str,
    /// Explanation for the long tour.
    long: &'static str,
    /// The rules that make it safe.
    rules: &'static str,
    /// The page of the dashboard, after its address.
    page: &'static str,
}

impl Show {
    pub(super) fn new(url: &str, is_long: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bars = || MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(15));
        Self {
            paint: Paint::on(&std::io::stderr()),
            url: url.to_owned(),
            is_long,
            began: instant_now(),
            printed_at: Cell::default(),
            bars: is_terminal.then(bars),
            lines: RefCell::default(),
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Tells a moment, above the bars where there are any.
    pub(super) fn tell(&self, moment: &Moment) {
        for line in self.words(moment) {
            self.print(&self.paint.note(&line));
        }
    }

    /// Draws the lines of all parts; without a terminal they are printed every few seconds.
    pub(super) fn draw(&self, parts: &[String]) {
        let Some(bars) = &self.bars else {
            if self.elapsed().saturating_sub(self.printed_at.get()) >= BETWEEN_LINES {
                self.printed_at.set(self.elapsed());
                self.print(&parts.join("; "));
            }
            return;
        };
        let mut lines = self.lines.borrow_mut();
        while lines.len() < parts.len() {
            let style = ProgressStyle::with_template("  {msg}").expect("the template is fixed");
            lines.push(bars.add(ProgressBar::new_spinner().with_style(style)));
        }
        for (line, part) in lines.iter().zip(parts) {
            line.set_message(part.clone());
        }
    }

    /// Removes the lines, before the closing table.
    pub(super) fn close(&self) {
        if let Some(bars) = &self.bars {
            // A terminal that cannot be cleared still shows the table.
            let _ = bars.clear();
            eprintln!();
        }
    }

    fn print(&self, line: &str) {
        let line = format!("{:>5.1} s  {line}", self.elapsed().as_secs_f64());
        match &self.bars {
            // A terminal that is gone needs no line.
            Some(bars) => drop(bars.println(line)),
            None => eprintln!("{line}"),
        }
    }

    fn words(&self, moment: &Moment) -> Vec<String> {
        let Moment { brief, long, rules, page } = moment;
        match self.is_long {
            true => vec![
                format!("┃ {brief}"),
                format!("┃ {long}"),
                format!("┃ Rules {rules}. Look at {}/#/{page}", self.url),
            ],
            false => vec![format!("┃ {brief} ({rules}; #/{page})")],
        }
    }
}

/// Colours text for one stream, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint(bool);

impl Paint {
    /// For a stream: only a terminal gets colours, and none where `NO_COLOR` is set (I4).
    pub(super) fn on(stream: &impl IsTerminal) -> Self {
        Self(crate::output::is_colourful(stream.is_terminal()))
    }

    #[cfg(test)]
    pub(super) const fn off() -> Self {
        Self(false)
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

/// A whole number with a comma before each group of three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| str::from_utf8(g).ok()).collect();
    groups.join(",")
}

pub(super) const STARTED: Moment = Moment {
    brief: "Runs, a session of frames, jobs of a pool and the events of a court have been submitted.",
    long: "Each PC has 20 slots; whenever one is free, the next device of the oldest run takes it, and never are two \
           tasks on one device. All of it is one log of decisions in one store, so nothing is in two states at once.",
    rules: "Q2, Q3, N18",
    page: "overview",
};
pub(super) const RUN_CANCELLED: Moment = Moment {
    brief: "An operator cancels a run that is under way.",
    long: "It is cancelled at once. Devices that work on it are told to stop and keep their slot until they confirm, so \
           nothing new starts on a device that is still busy.",
    rules: "Q7",
    page: "runs",
};
pub(super) const DEVICES_FAILED: Moment = Moment {
    brief: "Three devices failed three times each: they are out of service, and are returned with a note.",
    long: "A device that uses up its attempts is taken out, so that it spoils no further run, until an operator says \
           what was done about it. The audit log records that.",
    rules: "Q10, Q11",
    page: "audit",
};
pub(super) const AGENT_KILLED: Moment = Moment {
    brief: "The agent of PC-02 is killed (kill -9) with devices at work.",
    long: "Every report was on its disk before it was sent. After its restart it delivers the rest and reports each \
           interrupted task as interrupted; the server has those tried again, none silently twice.",
    rules: "N19, N22b, Q10",
    page: "fleet/node/PC-02",
};
pub(super) const RENDERER_KILLED: Moment = Moment {
    brief: "A simulation worker is killed (kill -9) in the middle of a range of frames.",
    long: "After three missed heartbeats it counts as lost: the whole range goes to another worker with new ids, and \
           its pictures are quarantined, so no id is ever given to two things.",
    rules: "S13, S15, S16",
    page: "sessions/demo-1",
};
pub(super) const MEMBER_KILLED: Moment = Moment {
    brief: "A worker of the pool is killed (kill -9) with a job in hand.",
    long: "Finished and signed results are in its spool; after its restart it continues the jobs it had begun, under \
           the same assignments, so no result is lost and none is counted twice.",
    rules: "P16, P8",
    page: "jobs",
};
pub(super) const LIAR_BANNED: Moment = Moment {
    brief: "mallory-1 lied about results once too often: it is banned.",
    long: "Some jobs go to three workers of different owners, and the majority of the hashes decides. Every result is \
           signed, so a lie has an author; the receipts of the true ones verify offline.",
    rules: "P15, P17",
    page: "fleet?tab=pool",
};
pub(super) const COURT_KILLED: Moment = Moment {
    brief: "The court is killed (kill -9) with tasks under way.",
    long: "Its queues are directories and every change of state is one rename: after the restart each file is in \
           exactly one place. Work that was handed to the server is recognised, not repeated.",
    rules: "C6, C17",
    page: "court",
};
pub(super) const COURT_DONE: Moment = Moment {
    brief: "The court is done: each event has one task, one result and one message.",
    long: "Its generals had runs, a session and jobs done by the same fleets, and the rest by programs of their own.",
    rules: "C8, C14, C17",
    page: "court",
};

const BETWEEN_LINES: Duration = Duration::from_secs(3);

/// Everything that the demo reports at its end.
pub(super) struct Summary {
    pub(super) url: String,
    /// Callbacks that the server took, heartbeats and repeats included.
    pub(super) callbacks: u64,
    pub(super) elapsed: Duration,
    pub(super) contracts: Vec<Contract>,
    pub(super) findings: Vec<Finding>,
}

/// One line of the closing table.
pub(super) struct Contract {
    pub(super) name: &'static str,
    /// Work that was done.
    pub(super) did: String,
    /// Faults that were made on purpose.
    pub(super) faults: String,
}

/// Result of one comparison.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) is_good: bool,
    pub(super) says: String,
}

impl Finding {
    /// Ok says what holds, Err what does not.
    pub(super) fn of(result: Result<String, String>) -> Self {
        let is_good = result.is_ok();
        Self { is_good, says: result.unwrap_or_else(|wrong| wrong) }
    }

    /// Compares the number of violations with zero.
    pub(super) fn none(violations: u64, holds: &str) -> Self {
        let is_good = violations == 0;
        let says = if is_good { holds.to_owned() } else { format!("{violations} exceptions from: {holds}") };
        Self { is_good, says }
    }
}

impl Summary {
    pub(super) fn is_good(&self) -> bool {
        self.findings.iter().all(|finding| finding.is_good)
    }

    /// For people.
    pub(super) fn text(&self, paint: Paint, is_terminal: bool) -> String {
        let mut table = Table::new();
        table.load_style(if is_terminal { presets::UTF8_BORDERS_ONLY } else { presets::NOTHING });
        table.set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(["CONTRACT", "DID", "WHAT WAS DONE TO IT, AND MADE GOOD"]);
        for Contract { name, did, faults } in &self.contracts {
            table.add_row([name, did.as_str(), faults.as_str()]);
        }
        let (callbacks, seconds) = (grouped(self.callbacks), self.elapsed.as_secs_f64());
        let rate = grouped(self.callbacks_per_s());
        let mut text =
            format!("{}\n\n{callbacks} callbacks in {seconds:.1} s: {rate}/s\n\n", table.trim_fmt());
        for finding in &self.findings {
            let mark = if finding.is_good { paint.good("✔") } else { paint.bad("✘") };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {mark} {}", finding.says);
        }
        let verdict = if self.is_good() {
            paint.good("Nothing lost, nothing doubled: every piece of work ended as it should.")
        } else {
            paint.bad("Not everything ended as it should; see the lines marked ✘.")
        };
        let _ = write!(text, "\n{verdict}");
        text
    }

    /// For scripts.
    pub(super) fn document(&self) -> Value {
        let contracts = self.contracts.iter();
        let contracts =
            contracts.map(|row| json!({"contract": row.name, "did": row.did, "faults": row.faults}));
        let checks = self.findings.iter().map(|f| json!({"ok": f.is_good, "check": f.says}));
        json!({
            "server": self.url,
            "elapsed_ms": u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            "contracts": contracts.collect::<Vec<_>>(),
            "totals": {"callbacks": self.callbacks, "callbacks_per_s": self.callbacks_per_s()},
            "checks": checks.collect::<Vec<_>>(),
            "ok": self.is_good(),
        })
    }

    fn callbacks_per_s(&self) -> u64 {
        self.callbacks * 1000 / u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_tour_says_more() {
        let words = |is_long| Show::new("http://a:1", is_long).words(&STARTED).join("\n");
        assert!(words(true).contains("http://a:1/#/overview") && words(true).contains("never are two tasks"));
        assert_eq!(words(false).lines().count(), 1);
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    /// I2, I4: one bad finding makes the whole demo bad; in a pipe the table is bare.
    #[test]
    fn one_bad_finding_is_enough() {
        let contracts = vec![Contract { name: "pool", did: "1 job".to_owned(), faults: "none".to_owned() }];
        let findings = vec![Finding::none(0, "all is well")];
        let url = "http://127.0.0.1:1".to_owned();
        let mut summary =
            Summary { url, callbacks: 3000, elapsed: Duration::from_secs(2), contracts, findings };
        assert!(summary.is_good());
        assert_eq!(summary.document()["totals"]["callbacks_per_s"], 1500);
        assert!(!summary.text(Paint::off(), false).contains('─'));
        assert!(summary.text(Paint::off(), true).contains('─'));
        summary.findings.push(Finding::of(Err("a frame is missing".to_owned())));
        assert!(!summary.is_good() && summary.document()["ok"] == false);
        assert!(summary.text(Paint::off(), false).contains("✘ a frame is missing"));
        assert_eq!(Finding::none(2, "no row open").says, "2 exceptions from: no row open");
    }
}
