//! People who have runs submitted by the calendar, and words of coordinators that are no longer in office (Q17).

use super::{Clients, Fleet, submit::Order};
use crate::{network::Sender, scene::Scene};
use muster_model::{
    Command, Millis, Missed, Name, ScheduleCommand, ScheduleDraft, ScheduleId, SubmissionKey, Timestamp,
};

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
