//! The closing table: what each contract did, what was done to it, and the findings of the check.

use super::show::{Paint, grouped};
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};
use std::{fmt::Write, time::Duration};

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
