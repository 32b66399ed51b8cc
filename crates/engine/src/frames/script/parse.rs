//! Reads the words of a script.

use crate::kernel::script::{digest, name};
use alloc::{boxed::Box, string::ToString, vec::Vec};
use muster_model::{
    ClosedSession, Completion, Digest, EntryId, FrameCommand, FrameRange, FrameTaskId, Heartbeat, Held,
    Millis, Progress, QuarantineRecord, Ratio, Registration, RetryRequest, SessionId, SessionSubmission,
    SkippedRange, Steering, Timestamp,
};

pub(super) fn session(text: &str) -> SessionId {
    SessionId::new(text).expect("a session")
}

/// `s.50`.
pub(super) fn task(text: &str) -> FrameTaskId {
    let (id, start) = text.split_once('.').expect("a task is s.50");
    FrameTaskId { session: session(id), start: start.parse().expect("a frame") }
}

pub(super) fn command(words: &[&str]) -> FrameCommand {
    let first = words.get(1).copied().unwrap_or_default();
    match words[0] {
        "register" => register(words),
        "beat" => beat(words),
        "ask" => FrameCommand::Ask { worker: name(first), supply: !has(words, "last") },
        "progress" => progress(words),
        "complete" => complete(words),
        "fail" => FrameCommand::Fail {
            task: task(first),
            worker: words.iter().skip(2).find(|word| word.starts_with('W')).map(|word| name(word)),
            attempt: attempt(words),
            error: "boom".into(),
        },
        "remove" => FrameCommand::Remove { worker: name(first), itself: has(words, "itself") },
        "assign" => FrameCommand::Assign { task: task(first), worker: name(words[2]) },
        "pause-all" => FrameCommand::Broadcast { pause: true },
        "resume-all" => FrameCommand::Broadcast { pause: false },
        "quarantine" => FrameCommand::Quarantine { worker: name(first), reason: "odd".into() },
        "approve" => FrameCommand::Approve { worker: name(first), reason: "mended".into() },
        "ids" => FrameCommand::MoreIds {
            worker: name(first),
            task: None,
            count: number(words, "count=").unwrap_or(1),
        },
        "retire" => FrameCommand::RetireChunk {
            chunk: first.parse().expect("a chunk"),
            task: words.get(2).map(|word| task(word)),
            reason: "wrong".into(),
        },
        "submit" => submit(words),
        "pause" => FrameCommand::Steer { session: session(first), to: Steering::Pause },
        "resume" => FrameCommand::Steer { session: session(first), to: Steering::Resume },
        "cancel" => FrameCommand::Steer { session: session(first), to: Steering::Cancel },
        "rebind" => FrameCommand::Rebind { worker: name(first), held: held(words) },
        "pushed" => FrameCommand::Pushed {
            task: task(first),
            attempt: attempt(words).expect("#1"),
            acked: has(words, "ack"),
        },
        "moved" => FrameCommand::Moved { entry: first.parse().expect("an entry"), files: 3 },
        "confirm" => confirm(words),
        "merged" => FrameCommand::Merged {
            session: session(first),
            mark: number(words, "mark=").expect("the mark of the request"),
            skipped: words[2..].iter().filter_map(|word| skipped(first, word)).collect(),
        },
        "dismissed" => FrameCommand::Dismissed { worker: name(first) },
        other => panic!("`{other}` is no command"),
    }
}

fn register(words: &[&str]) -> FrameCommand {
    FrameCommand::Register(Box::new(Registration {
        worker: name(words[1]),
        token_hash: [number(words, "token=").unwrap_or(1) as u8; 32],
        endpoint: has(words, "endpoint").then(|| "http://10.0.0.7:9000".into()),
        slots: number(words, "slots=").unwrap_or(1) as u32,
        description: "{}".into(),
    }))
}

fn beat(words: &[&str]) -> FrameCommand {
    FrameCommand::Heartbeat(Heartbeat {
        worker: name(words[1]),
        queue_ratio: ratio(words).unwrap_or_default(),
        gpu_usage: None,
        last_frame: None,
        error: has(words, "error"),
        rtt: number(words, "rtt=").map(|millis| Millis(millis as i64)),
    })
}

fn progress(words: &[&str]) -> FrameCommand {
    let named = words.get(2).copied().unwrap_or_default();
    let id = if named.contains('.') { task(named).session } else { session(named) };
    FrameCommand::Progress(Box::new(Progress {
        worker: name(words[1]),
        session: id,
        task: named.contains('.').then(|| task(named)),
        processed: number(words, "frames=").unwrap_or(0),
        max_queue_ratio: ratio(words).unwrap_or_default(),
        dropped: number(words, "dropped=").unwrap_or(0),
        diagnostics: Vec::new(),
    }))
}

/// `complete s.0 W1 #1 chunk=1 0..50 [body=x] [dropped=2] [dry]`
fn complete(words: &[&str]) -> FrameCommand {
    let range = words.iter().find_map(|word| word.split_once("..")).expect("a range");
    let body = text(words, "body=").unwrap_or("same");
    FrameCommand::Complete(Box::new(Completion {
        task: task(words[1]),
        worker: words.iter().skip(2).find(|word| word.starts_with('W')).map(|word| name(word)),
        attempt: attempt(words),
        range: FrameRange {
            start: range.0.parse().expect("a frame"),
            end: range.1.parse().expect("a frame"),
        },
        chunk: number(words, "chunk=").expect("chunk="),
        dropped: number(words, "dropped=").unwrap_or(0),
        digest: digest(body),
        result: "{}".into(),
        dry: has(words, "dry"),
    }))
}

fn submit(words: &[&str]) -> FrameCommand {
    FrameCommand::Submit(Box::new(SessionSubmission {
        session: session(words[1]),
        digest: Digest(number(words, "frames=").unwrap_or(0).into()),
        total_frames: number(words, "frames=").expect("frames="),
        frames_per_task: number(words, "per=").expect("per="),
        strict: has(words, "strict"),
        output: alloc::format!("session_{}", words[1]).into(),
        body: "{}".into(),
    }))
}

/// `skip=20:7`: the range that begins with frame 20, whose chunk is 7.
fn skipped(id: &str, word: &str) -> Option<SkippedRange> {
    let (start, chunk) = word.strip_prefix("skip=")?.split_once(':').expect("skip=frame:chunk");
    let task = FrameTaskId { session: session(id), start: start.parse().expect("a frame") };
    Some(SkippedRange { task, chunk: chunk.parse().expect("a chunk"), reason: "time goes backwards".into() })
}

/// `retry s [a..b]`
pub(super) fn retry(words: &[&str], closed: Option<ClosedSession>) -> RetryRequest {
    let frames = words.iter().find_map(|word| word.split_once("..")).map(|(start, end)| FrameRange {
        start: start.parse().expect("a frame"),
        end: end.parse().expect("a frame"),
    });
    RetryRequest { session: session(words[1]), frames: frames.map(|range| Vec::from([range])), closed }
}

fn held(words: &[&str]) -> Option<Held> {
    let id = words.get(2).filter(|word| word.contains('.'))?;
    Some(Held {
        task: task(id),
        attempt: attempt(words).expect("#1"),
        chunk: number(words, "chunk=").expect("chunk="),
    })
}

/// `confirm chunk-1 [unmoved]`: as whoever confirms it has read it in the store.
fn confirm(words: &[&str]) -> FrameCommand {
    let record = QuarantineRecord {
        id: words[1].parse::<EntryId>().expect("an entry"),
        session: session("s"),
        output: "session_s".into(),
        worker: name("W1"),
        moved: !has(words, "unmoved"),
        files: 3,
        confirmed: None,
        at: Timestamp(0),
    };
    FrameCommand::Confirm { record: Box::new(record), note: "looked".into() }
}

fn has(words: &[&str], word: &str) -> bool {
    words.contains(&word)
}

fn attempt(words: &[&str]) -> Option<u16> {
    text(words, "#").map(|number| number.parse().expect("an attempt"))
}

fn number(words: &[&str], key: &str) -> Option<u64> {
    text(words, key).map(|number| number.parse().expect("a number"))
}

fn ratio(words: &[&str]) -> Option<Ratio> {
    text(words, "q=").map(|text| Ratio::new(text.parse().expect("a ratio")).expect("a ratio"))
}

fn text<'w>(words: &[&'w str], key: &str) -> Option<&'w str> {
    words.iter().find_map(|word| word.strip_prefix(key))
}

pub(super) fn text_of(id: &FrameTaskId) -> alloc::string::String {
    alloc::format!("{}.{}", id.session, id.start).to_string()
}
