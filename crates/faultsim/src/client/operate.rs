//! What operators do while the world runs: turn knobs, have runs submitted by the calendar, and repeat words of coordinators
//! that are no longer in office (Q17).

use super::{Clients, Fleet, Order, label};
use crate::{network::Sender, scene::Scene};
use muster_model::{
    Command, Millis, Missed, Name, ScheduleCommand, ScheduleDraft, ScheduleId, SubmissionKey, Timestamp,
};

impl Clients {
    /// Does one thing, drawn by chance.
    pub(super) fn operate(&mut self, scene: &mut Scene, fleet: &Fleet<'_>) {
        if scene.plan.schedules && scene.dice.chance(300) {
            return self.keep_calendar(scene, fleet);
        }
        let worker = scene.dice.pick(&fleet.workers).map(|name| (*name).clone());
        let lane = scene.dice.pick(&fleet.lanes).map(|name| (*name).clone());
        let command = match (scene.dice.below(20), worker, lane) {
            (0..5, ..) => return_one(scene, fleet),
            (5..8, ..) => return self.cancel_one(scene),
            (8..10, Some(worker), _) => Some(drain(scene, worker)),
            (10..12, Some(worker), _) => Some(cap(scene, worker)),
            (12..15, _, Some(lane)) => {
                let labels = label(scene);
                Some(Command::Label { lane, labels })
            }
            (15, Some(worker), _) => {
                let hash = scene.dice.bytes();
                Some(Command::RotateSecret { worker, hash })
            }
            (16, ..) => Some(Command::Sweep),
            (17, Some(worker), _) => meddle(scene, fleet, worker),
            (18.., ..) => return self.order_more(scene, fleet),
            _ => None,
        };
        if let Some(command) = command {
            scene.ask(Sender::Client, command, None);
        }
    }

    /// Lifts whatever would keep runs from ending once the faults have stopped.
    pub(super) fn put_in_order(&self, scene: &mut Scene, fleet: &Fleet<'_>) {
        for worker in &fleet.workers {
            let worker = (*worker).clone();
            let cap = None;
            scene.ask(Sender::Client, Command::Resume { worker: worker.clone() }, None);
            scene.ask(Sender::Client, Command::SetCap { worker, cap }, None);
        }
        self.clear_calendar(scene, fleet);
    }

    /// A long world needs more runs than it was planned with.
    fn order_more(&mut self, scene: &mut Scene, fleet: &Fleet<'_>) {
        let n = self.orders.len();
        if n < ORDERS_MAX {
            let devices: Vec<Name> = fleet.lanes.iter().map(|lane| (*lane).clone()).collect();
            self.orders.push(Order::draw(n, scene, &devices));
            self.submit(n, scene);
        }
    }

    fn cancel_one(&mut self, scene: &mut Scene) {
        if let Some(job) = scene.dice.pick(&self.jobs).copied() {
            self.cancel(job, scene);
        }
    }
}

fn return_one(scene: &mut Scene, fleet: &Fleet<'_>) -> Option<Command> {
    let lane = (*scene.dice.pick(&fleet.failed)?).clone();
    scene.count("return asked");
    let note = Some(format!("well again, {}", scene.now.0).into());
    Some(Command::ReturnToService { lane, note })
}

fn drain(scene: &mut Scene, worker: Name) -> Command {
    match scene.dice.chance(400) {
        true => Command::Drain { worker },
        false => Command::Resume { worker },
    }
}

fn cap(scene: &mut Scene, worker: Name) -> Command {
    let cap = scene.dice.chance(700).then(|| scene.dice.between(0, 4));
    Command::SetCap { worker, cap: cap.and_then(|cap| u32::try_from(cap).ok()) }
}

/// Somebody tries to prolong a row that is not theirs.
fn meddle(scene: &mut Scene, fleet: &Fleet<'_>, worker: Name) -> Option<Command> {
    let task = *scene.dice.pick(&fleet.running)?;
    Some(Command::Renew { task, worker, lease: Millis(600_000) })
}

/// Runs that one world may have.
const ORDERS_MAX: usize = 40;

impl Clients {
    /// Makes a schedule, deletes one, or has somebody fire a slot again that may be long past.
    pub(super) fn keep_calendar(&mut self, scene: &mut Scene, fleet: &Fleet<'_>) {
        let command = match (scene.dice.below(10), scene.dice.pick(&fleet.schedules).copied()) {
            (0, Some(schedule)) => ScheduleCommand::Delete { schedule },
            (1..7, Some(schedule)) => fire_again(scene, schedule),
            (7, Some(schedule)) => skip_again(scene, schedule),
            _ if fleet.schedules.len() < SCHEDULES_MAX => self.plan_runs(scene, fleet),
            _ => return,
        };
        scene.ask(Sender::Client, Command::Schedules(command), None);
    }

    /// Every schedule ends, so that runs can come to an end.
    pub(super) fn clear_calendar(&self, scene: &mut Scene, fleet: &Fleet<'_>) {
        for schedule in &fleet.schedules {
            let command = ScheduleCommand::Delete { schedule: *schedule };
            scene.ask(Sender::Client, Command::Schedules(command), None);
        }
    }

    fn plan_runs(&self, scene: &mut Scene, fleet: &Fleet<'_>) -> ScheduleCommand {
        let devices: Vec<Name> = fleet.lanes.iter().map(|lane| (*lane).clone()).collect();
        let number = scene.dice.below(1_000);
        let mut run = Order::draw(number, scene, &devices).into_submission();
        run.key = scene
            .dice
            .chance(300)
            .then(|| format!("calendar-{number}"))
            .map(|key| SubmissionKey::new(&key).expect("a plain key"));
        let every = scene.dice.pick(&["* * * * *", "*/2 * * * *", "*/3 * * * *"]).copied();
        let missed = if scene.dice.chance(500) { Missed::Once } else { Missed::Skip };
        ScheduleCommand::Create(Box::new(ScheduleDraft {
            cron: every.unwrap_or("* * * * *").into(),
            timezone: "Asia/Kathmandu".into(),
            missed,
            next_at: Some(minute(scene.now) + MINUTE),
            run,
        }))
    }
}

fn fire_again(scene: &mut Scene, schedule: ScheduleId) -> ScheduleCommand {
    let slot = minute(scene.now) - Millis(MINUTE.0 * scene.dice.between(0, 3));
    ScheduleCommand::Fire { schedule, slot, next_at: Some(slot + MINUTE) }
}

fn skip_again(scene: &mut Scene, schedule: ScheduleId) -> ScheduleCommand {
    ScheduleCommand::Skip { schedule, next_at: Some(minute(scene.now)) }
}

fn minute(at: Timestamp) -> Timestamp {
    Timestamp(at.0.div_euclid(MINUTE.0) * MINUTE.0)
}

const MINUTE: Millis = Millis::from_secs(60);
/// At once; each makes a run every few minutes.
const SCHEDULES_MAX: usize = 2;
