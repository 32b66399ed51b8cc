//! N8c: a worker that pulls or calls back although its heartbeat loop died.

use crate::{
    devices::state::{State, Worker, WorkerIx},
    kernel::Context,
};
use alloc::{format, vec::Vec};
use muster_model::{AlertKind, AlertRecord, Event, Millis, Timestamp};

/// Time when the heartbeat of an online worker becomes late; `None` if it already is, or if the worker never pulled or called
/// back in this term.
pub(crate) fn due(worker: &Worker) -> Option<Timestamp> {
    worker.heartbeat_due.filter(|_| worker.online && worker.heartbeat_late_since.is_none())
}

/// The moment at which a worker's heartbeat becomes late if none arrives from `from` on.
pub(crate) fn late_at(state: &State, from: Timestamp) -> Timestamp {
    from + Millis(state.settings.heartbeat.0.saturating_mul(PERIODS_UNTIL_LATE))
}

/// The moment at which a worker's heartbeat becomes late, now that it is heard again. Time in which it was not heard at all,
/// beyond a heartbeat's period, does not count: whoever returns from an outage gets the chance to send one.
pub(crate) fn due_after_silence(state: &State, ix: WorkerIx, now: Timestamp) -> Option<Timestamp> {
    let worker = &state.workers[ix];
    let silence = Millis((now - worker.last_seen).0.saturating_sub(state.settings.heartbeat.0).max(0));
    worker.heartbeat_due.map(|due| due + silence)
}

/// Marks the heartbeat of a worker as late, with one alert.
pub(crate) fn judge(state: &State, ix: WorkerIx, context: &Context<'_>) -> Vec<Event> {
    let worker = &state.workers[ix];
    let is_silent = worker.last_seen + state.settings.offline_after <= context.now;
    if is_silent || due(worker).is_none_or(|due| due > context.now) {
        return Vec::new();
    }
    let (name, at) = (worker.name.clone(), context.now);
    let seconds = state.settings.heartbeat.0 * PERIODS_UNTIL_LATE / 1000;
    let message = format!(
        "{name} pulls or calls back, but has sent no heartbeat for {seconds} s: restart its agent or look at its log"
    );
    let alert = AlertRecord {
        // Several workers may become late in one tick: each needs an id of its own.
        id: context.number(u64::MAX / 4 - u64::from(ix.0)),
        kind: AlertKind::HeartbeatLate,
        worker: name.clone(),
        job: None,
        message: message.into(),
        at,
    };
    Vec::from([Event::HeartbeatChanged { worker: name, late: true, at }, Event::AlertRaised(alert)])
}

const PERIODS_UNTIL_LATE: i64 = 3;

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// N8c: three missing heartbeats of a node that still pulls raise one alert, also over a restart; it stays online.
    #[test]
    fn a_node_without_heartbeats_is_late_once() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1
            1s   heartbeat PC-01
            25s  pull PC-01 max=0
            50s  pull PC-01 max=0
            75s  pull PC-01 max=0
            90s  tick                         -> nothing
            91s  tick                         -> heartbeat PC-01 late; alert heartbeat_late
            91s  row PC-01                    => Online late
            100s pull PC-01 max=0
            125s pull PC-01 max=0
            150s pull PC-01 max=0
            175s pull PC-01 max=0
            200s tick                         -> nothing
            201s restart
            201s row PC-01                    => Online late
            225s pull PC-01 max=0
            250s pull PC-01 max=0
            275s pull PC-01 max=0
            300s tick                         -> nothing
            301s heartbeat PC-01              -> heartbeat PC-01 back
            301s row PC-01                    => Online
            ",
        );
    }

    /// N8c: a node that returns from an outage is not late before it could send a heartbeat.
    #[test]
    fn an_outage_is_not_a_late_heartbeat() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1
            1s   heartbeat PC-01
            110s pull PC-01 max=0
            110s tick                         -> nothing
            130s pull PC-01 max=0
            150s pull PC-01 max=0
            169s tick                         -> nothing
            170s tick                         -> heartbeat PC-01 late; alert heartbeat_late
            ",
        );
    }

    /// N8c: a node that never sent a heartbeat is judged from its first contact; one that claims by RPC sends none.
    #[test]
    fn a_node_that_never_sent_one_is_late_too() {
        check(
            "
            0s   claim PC-02 max=1
            10s  pull PC-01 max=0 devices=d1
            35s  pull PC-01 max=0
            35s  claim PC-02 max=1
            60s  pull PC-01 max=0
            60s  claim PC-02 max=1
            85s  pull PC-01 max=0
            85s  claim PC-02 max=1
            99s  tick                         -> nothing
            100s tick                         -> heartbeat PC-01 late; alert heartbeat_late
            ",
        );
    }
}
