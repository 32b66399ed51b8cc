//! Q9: an attempt may take so long and no longer, counted anew for each.

use alloc::{boxed::Box, format};
use muster_model::Millis;

/// The text that says an attempt took too long, in the words of the setting.
pub(crate) fn error_text(limit: Millis) -> Box<str> {
    let millis = limit.0;
    let amount = match (millis % 60_000, millis % 1000) {
        (0, _) => plural(millis / 60_000, "minute"),
        (_, 0) => plural(millis / 1000, "second"),
        _ => {
            let fraction = format!("{}.{:03}", millis / 1000, millis % 1000);
            format!("{} seconds", fraction.trim_end_matches('0')).into()
        }
    };
    format!("Task device timeout: exceeded {amount}").into()
}

fn plural(count: i64, unit: &str) -> Box<str> {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{ending}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::check;

    /// Q9: the text follows the setting.
    #[test]
    fn the_text_follows_the_setting() {
        assert_eq!(&*error_text(Millis::from_secs(1200)), "Task device timeout: exceeded 20 minutes");
        assert_eq!(&*error_text(Millis::from_secs(60)), "Task device timeout: exceeded 1 minute");
        assert_eq!(&*error_text(Millis::from_secs(90)), "Task device timeout: exceeded 90 seconds");
        assert_eq!(&*error_text(Millis(500)), "Task device timeout: exceeded 0.5 seconds");
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
            1190s sight PC-01
            1201s tick
            1202s tick                        -> ended r1/d1#1 timeout; queued r1/d1
            1203s pull PC-01                  -> granted r1/d1#2
            1210s started PC-01 r1/d1 attempt=2
            2390s sight PC-01
            2402s tick
            2403s tick                        -> ended r1/d1#2 timeout; closed r1/d1 Failed (Task device timeout: exceeded 20 minutes); error d1; over r1 Failed (no task completed)
            ",
        );
    }
}
