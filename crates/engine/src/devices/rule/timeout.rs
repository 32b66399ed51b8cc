//! Q9, Q9b: the error texts of attempts that timed out.

use alloc::{boxed::Box, format};
use muster_model::{LeaseKind, Millis};

/// The error of an attempt that took longer than the limit (Q9).
pub(crate) fn error_text(limit: Millis) -> Box<str> {
    format!("Task device timeout: exceeded {}", amount(limit)).into()
}

/// The error of an attempt whose lease ended: its PC fell silent (Q9b), or nobody renewed the claim (Q14).
pub(crate) fn lease_text(kind: LeaseKind, lease: Millis) -> Box<str> {
    match kind {
        LeaseKind::Presence => {
            format!("Task device timeout: its PC fell silent for {}", amount(lease)).into()
        }
        LeaseKind::Claim => "Task device timeout: its lease was not renewed".into(),
    }
}

fn amount(limit: Millis) -> Box<str> {
    let millis = limit.0;
    match (millis % 60_000, millis % 1000) {
        (0, _) => plural(millis / 60_000, "minute"),
        (_, 0) => plural(millis / 1000, "second"),
        _ => {
            let fraction = format!("{}.{:03}", millis / 1000, millis % 1000);
            format!("{} seconds", fraction.trim_end_matches('0')).into()
        }
    }
}

fn plural(count: i64, unit: &str) -> Box<str> {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{ending}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::script::check;

    /// Q9: the text follows the setting.
    #[test]
    fn the_text_follows_the_setting() {
        assert_eq!(&*error_text(Millis::from_secs(1200)), "Task device timeout: exceeded 20 minutes");
        assert_eq!(&*error_text(Millis::from_secs(60)), "Task device timeout: exceeded 1 minute");
        assert_eq!(&*error_text(Millis::from_secs(90)), "Task device timeout: exceeded 90 seconds");
        assert_eq!(&*error_text(Millis(500)), "Task device timeout: exceeded 0.5 seconds");
    }

    /// Q9b: so does the text of a PC that fell silent; each of them says "timeout".
    #[test]
    fn the_text_of_a_lost_lease_follows_the_setting() {
        let text = |seconds| lease_text(LeaseKind::Presence, Millis::from_secs(seconds));
        assert_eq!(&*text(300), "Task device timeout: its PC fell silent for 5 minutes");
        assert_eq!(&*text(45), "Task device timeout: its PC fell silent for 45 seconds");
        assert!(lease_text(LeaseKind::Claim, Millis(1)).contains("timeout"));
    }

    /// Q9b: the last attempt that ends with its PC's silence leaves a row that says so.
    #[test]
    fn a_silent_pc_leaves_timed_out_rows() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1
            1s   submit r1 attempts=1
            2s   pull PC-01                   -> granted r1/d1#1
            3s   started PC-01 r1/d1
            302s tick
            303s tick                         -> ended r1/d1#1 timeout; closed r1/d1 Failed (Task device timeout: its PC fell silent for 5 minutes); error d1; over r1 Failed (no task completed)
            303s row r1/d1                    => Failed timed_out
            ",
        );
    }

    /// Q9: twenty minutes after an attempt was sent it times out, costs a retry, and the clock starts anew.
    #[test]
    fn an_overdue_attempt_costs_a_retry() {
        check(
            "
            0s    pull PC-01 max=0 devices=d1
            1s    submit r1 attempts=2
            2s    pull PC-01                  -> granted r1/d1#1
            3s    started PC-01 r1/d1         -> confirmed r1/d1
            1190s heartbeat PC-01
            1201s tick
            1202s tick                        -> ended r1/d1#1 timeout; queued r1/d1
            1203s pull PC-01                  -> granted r1/d1#2
            1210s started PC-01 r1/d1 attempt=2
            2390s heartbeat PC-01
            2402s tick
            2403s tick                        -> ended r1/d1#2 timeout; closed r1/d1 Failed (Task device timeout: exceeded 20 minutes); error d1; over r1 Failed (no task completed)
            ",
        );
    }
}
