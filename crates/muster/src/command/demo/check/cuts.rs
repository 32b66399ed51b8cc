//! N15, N19, N20: whoever is cut off goes on, keeps what it has to say, and says it when it is let through again.

use super::{Evidence, Finding, Performed, bad, good};

impl Evidence<'_> {
    /// That every report arrived once, and every row ended as planned, others look at; here: that there was something to
    /// keep, that the server noticed, and that the spool is empty.
    pub(super) fn cuts_made_good(&self) -> Finding {
        let is_missing = |run: &&Performed| {
            let is_cut = self.cuts.iter().any(|cut| cut.run == run.number);
            run.plan.cut_pc().is_some() && !run.is_cancelled && !is_cut
        };
        if let Some(run) = self.runs.iter().find(is_missing) {
            return bad(format!("nobody was cut off in {}", run.plan.title));
        }
        let is_cancelled =
            |number: usize| self.runs.iter().any(|run| run.number == number && run.is_cancelled);
        // Whoever was let through early because the demo was asked to stop has proved nothing, and failed at nothing.
        let mut cuts = self.cuts.iter().filter(|cut| !is_cancelled(cut.run));
        if let Some(cut) = cuts.clone().find(|cut| !cut.is_missed) {
            return bad(format!("{} was cut off, and the server did not notice", cut.pc));
        }
        if let Some(cut) = cuts.clone().find(|cut| cut.spooled == 0) {
            return bad(format!("{} was cut off and kept no report in its spool", cut.pc));
        }
        let spooled: u64 = cuts.clone().map(|cut| cut.spooled).sum();
        let Some(first) = cuts.next() else { return good("nobody was cut off this time".to_owned()) };
        let lasted = first.took.unwrap_or_default().as_secs_f64();
        let times = if cuts.next().is_some() { "again and again, first " } else { "" };
        good(format!(
            "{} was cut off from the server {times}for {lasted:.1} s and taken for offline: it kept {spooled} reports in its spool and delivered them after",
            first.pc
        ))
    }
}
