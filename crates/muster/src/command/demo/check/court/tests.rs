use super::*;
use crate::command::demo::court::Record;

/// A court that was killed once, and lost nothing.
struct Story {
    errands: Vec<Errand>,
    losses: Vec<CourtLoss>,
    was_spared: bool,
    rest: CourtRest,
    others: BTreeSet<(String, String)>,
}

impl Story {
    fn told() -> Self {
        let errands = Errand::planned();
        let (mut record, mut others) = (Record::default(), BTreeSet::new());
        for (number, errand) in errands.iter().enumerate() {
            let (id, kind) = (format!("task-20260207-{number:03}"), errand.general.executor);
            let remote = (kind != "command").then(|| (kind.to_owned(), format!("remote-{number}")));
            others.extend(remote.clone());
            record.events.insert(errand.id());
            record.results.insert(id.clone(), "success".to_owned());
            record.sent.insert(format!("msg-20260207-1{number:02}"), None);
            record.sent.insert(format!("msg-20260207-2{number:02}"), Some(id.clone()));
            let (event, status) = (errand.id(), "completed".to_owned());
            let remote = remote.into_iter().collect();
            record.tasks.push(TaskFile { id, event, status, attempts: 1, remote, ..TaskFile::default() });
        }
        let posts = record.sent.keys().cloned().collect();
        let rest = CourtRest { record, posts, unwell: None };
        Self { errands, losses: vec![CourtLoss { held: 3 }], was_spared: false, rest, others }
    }

    /// The places of the findings that are bad.
    fn bad(&self) -> Vec<usize> {
        let Self { errands, losses, was_spared, rest, others } = self;
        let (was_spared, others) = (*was_spared, others.clone());
        let findings = CourtEvidence { errands, losses, was_spared, rest, others }.findings();
        findings.iter().enumerate().filter(|(_, finding)| !finding.is_good).map(|(place, _)| place).collect()
    }
}

/// Says what is found once something in the story is otherwise.
fn bad_after(change: impl FnOnce(&mut Story)) -> Vec<usize> {
    let mut story = Story::told();
    change(&mut story);
    story.bad()
}

/// I2, C8, C13: an event without a task, with two, or with another end than success is noticed.
#[test]
fn each_event_is_one_task() {
    assert_eq!(Story::told().bad(), Vec::<usize>::new());
    assert_eq!(bad_after(|story| story.rest.record.tasks[9].event = "evt-other".to_owned()), [0]);
    let doubled = bad_after(|story| {
        let twin = TaskFile { id: "task-20260207-100".to_owned(), ..story.rest.record.tasks[9].clone() };
        story.rest.record.sent.insert("msg-20260207-300".to_owned(), Some(twin.id.clone()));
        story.rest.posts.push("msg-20260207-300".to_owned());
        story.rest.record.tasks.push(twin);
    });
    assert_eq!(doubled, [0]);
    let failed = |story: &mut Story| {
        story.rest.record.results.insert("task-20260207-003".to_owned(), "failed".to_owned());
    };
    assert_eq!(bad_after(failed), [0]);
}

/// C14, C18: an end that nobody heard of, or heard of twice, is noticed; one repeated post is the kill's.
#[test]
fn each_end_is_told_once() {
    assert_eq!(bad_after(|story| story.rest.posts.push("msg-20260207-200".to_owned())), Vec::<usize>::new());
    let twice = |story: &mut Story| {
        story.rest.posts.extend(["msg-20260207-200", "msg-20260207-201"].map(str::to_owned))
    };
    assert_eq!(bad_after(twice), [1]);
    assert_eq!(bad_after(|story| story.rest.posts.retain(|id| id != "msg-20260207-100")), [1]);
    let untold = |story: &mut Story| {
        story.rest.record.sent.insert("msg-20260207-200".to_owned(), None);
    };
    assert_eq!(bad_after(untold), [1]);
}

/// C17: a run that was handed over twice, or that no task knows of, is noticed.
#[test]
fn each_task_is_handed_over_once() {
    let stranger = ("run".to_owned(), "another".to_owned());
    assert_eq!(bad_after(|story| story.others.extend([stranger.clone()])), [2]);
    assert_eq!(bad_after(|story| story.rest.record.tasks[0].remote.extend([stranger.clone()])), [2]);
    assert_eq!(bad_after(|story| story.rest.record.tasks[0].remote.clear()), [2]);
}

/// C6: the court must have been killed at work, unless there was no time for it; and it leaves nothing.
#[test]
fn a_court_is_killed_and_leaves_nothing() {
    assert_eq!(bad_after(|story| story.losses[0].held = 0), [3]);
    assert_eq!(bad_after(|story| story.losses.clear()), [3]);
    let spared = |story: &mut Story| {
        story.losses.clear();
        story.was_spared = true;
    };
    assert_eq!(bad_after(spared), Vec::<usize>::new());
    let left = |story: &mut Story| story.rest.record.leftovers.push("rejected/evt-1.json".to_owned());
    assert_eq!(bad_after(left), [4]);
}
