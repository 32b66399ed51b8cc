//! What the court is given to do: its generals, and the events for each.

use super::super::{
    plan::{Device, WORKFLOW},
    pool::BUILT_IN,
};
use crate::failure::Failure;
use muster_court::{Document, Fault};
use serde_json::{Value, json};

/// A general as it is planned.
#[derive(Debug)]
pub(in super::super) struct GeneralPlan {
    pub(in super::super) name: &'static str,
    /// Who does its tasks, in the word of its file.
    pub(in super::super) executor: &'static str,
    /// How many events it gets.
    events: usize,
}

/// An event that was handed in.
#[derive(Clone, Debug)]
pub(in super::super) struct Errand {
    pub(in super::super) general: &'static GeneralPlan,
    /// Counts all of them.
    number: usize,
}

impl GeneralPlan {
    /// Its file.
    pub(super) fn manifest(&self) -> String {
        let Self { name, executor, .. } = self;
        let work = match *executor {
            COMMAND => format!("command = [\"sh\", \"-c\", '''{SOLDIER}''']"),
            executor => format!("executor = \"{executor}\""),
        };
        format!("subscribes = [\"demo.{name}\"]\n{work}\n")
    }

    /// What one of its tasks is about: small enough to stand beside what the demo checks, on devices and workers that the
    /// plan neither wears out nor kills.
    fn payload(&self, number: usize) -> Value {
        match self.executor {
            "run" => json!({
                "workflow_id": WORKFLOW, "params": {"simulate": {"step_ms": 40, "devices": {}}}, "queue": "court",
                "scope": {"devices": [Device(1 + number).id(), Device(2 + number).id()]},
                "title": "For the court",
            }),
            "session" => json!({
                "totalFrames": 24, "framesPerTask": 12, "scenario": {"name": "a courtyard", "fps": 30},
                "cameras": ["front"], "qualityMode": "strict",
            }),
            "job" => {
                json!({"payload": {"op": "sum", "values": [number, 1]}, "region": BUILT_IN, "priority": 100})
            }
            _ => json!({"number": number}),
        }
    }
}

impl Errand {
    /// The events of the first round.
    pub(in super::super) fn planned() -> Vec<Self> {
        let generals = GENERALS.iter().flat_map(|general| std::iter::repeat_n(general, general.events));
        generals.enumerate().map(|(number, general)| Self { general, number }).collect()
    }

    /// As many as the court may be killed at, once more.
    pub(super) fn bait(first: usize) -> Vec<Self> {
        let soldiers = GENERALS.iter().filter(|general| general.executor == COMMAND);
        let errands = soldiers.flat_map(|general| std::iter::repeat_n(general, general.events));
        (first..).zip(errands).map(|(number, general)| Self { general, number }).collect()
    }

    pub(in super::super) fn id(&self) -> String {
        format!("evt-demo-{}-{}", self.general.name, self.number)
    }

    /// What is handed in (C7); the rest is filled in for everybody.
    pub(super) fn event(&self) -> Result<Document, Failure> {
        let Self { general, number } = self;
        let event = json!({"id": self.id(), "type": format!("demo.{}", general.name), "source": "demo",
            "payload": general.payload(*number)});
        let event = Document::parse(event.to_string().as_bytes());
        Ok(event.map_err(|error| Fault::Invalid(error.to_string()))?)
    }
}

/// One for each of the demo's fleets, and one with soldiers.
pub(in super::super) static GENERALS: [GeneralPlan; 4] = [
    GeneralPlan { name: "phones", executor: "run", events: 2 },
    GeneralPlan { name: "film", executor: "session", events: 1 },
    GeneralPlan { name: "sums", executor: "job", events: 3 },
    GeneralPlan { name: "watch", executor: COMMAND, events: 4 },
];

const COMMAND: &str = "command";
/// Takes long enough to be killed at it.
const SOLDIER: &str = r#"sleep 0.8
printf '{"task_id": "%s", "status": "success", "summary": "all is quiet"}' "$MUSTER_TASK_ID" > "$MUSTER_RESULT_PATH""#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::demo::plan::PCS;
    use std::collections::BTreeSet;

    /// C8, C12: events are valid and have ids of their own, also those that are handed in again.
    #[test]
    fn events_are_valid_and_distinct() {
        let home = tempfile::tempdir().unwrap();
        let folder = muster_court::Folder::open(home.path()).unwrap();
        let errands: Vec<Errand> = Errand::planned().into_iter().chain(Errand::bait(10)).collect();
        for errand in &errands {
            let emitted =
                muster_court::emit::emit(&folder, errand.event().unwrap(), muster_court::Clock.now());
            assert!(matches!(emitted, Ok(muster_court::emit::Emitted::New(_))), "{emitted:?}");
        }
        assert_eq!(errands.iter().map(Errand::id).collect::<BTreeSet<_>>().len(), errands.len());
    }

    /// C0: the manifests are read by the court as they are written, soldiers included.
    #[test]
    fn manifests_can_be_read() {
        let home = tempfile::tempdir().unwrap();
        super::super::configure(home.path(), "http://127.0.0.1:1").unwrap();
        let court = muster_court::config::Court::read(home.path()).unwrap();
        assert_eq!(court.generals.len(), GENERALS.len());
        assert_eq!(court.generals["watch"].command[2], SOLDIER);
    }

    /// What the court does on devices is out of the way of agents that are killed.
    #[test]
    fn runs_stay_at_one_pc() {
        for errand in Errand::planned().iter().filter(|errand| errand.general.executor == "run") {
            let payload = errand.general.payload(errand.number);
            for device in payload["scope"]["devices"].as_array().unwrap() {
                assert_eq!(Device::named(device.as_str().unwrap()).unwrap().pc(), PCS[0]);
            }
        }
    }
}
