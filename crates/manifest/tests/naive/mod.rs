//! The merge once more, as plainly as possible: frame by frame, range by range, everything compared with everything.
//!
//! It shares nothing with the real merge but the rules.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub(crate) struct MadeFrame {
    pub(crate) id: u64,
    pub(crate) timestamp: Option<i64>,
    pub(crate) statistics: Value,
}

/// A fragment before it becomes JSON. Statistics are whole numbers, or fractions if their last key begins with `f`.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) chunk: u64,
    pub(crate) worker: String,
    pub(crate) replay: bool,
    pub(crate) statistics: Value,
    pub(crate) cameras: Value,
    pub(crate) validation: Value,
    /// Timestamps are RFC 3339 and not numbers.
    pub(crate) has_instants: bool,
    pub(crate) frames: Vec<MadeFrame>,
}

/// The other files of the directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    pub(crate) total_frames: Option<u64>,
    pub(crate) replays: Vec<Run<MadeReplay>>,
    /// With the reasons.
    pub(crate) given_up: Vec<Run<String>>,
    /// Lines of `completions.jsonl`.
    pub(crate) completions: Vec<Value>,
}

/// Frames in a row with the same something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run<T> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) of: T,
}

/// The chunk that was retired, and the one that replaces it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeReplay {
    pub(crate) retired: u64,
    pub(crate) new: u64,
}

/// The result of a naive merge.
pub(crate) struct Expected {
    /// Without the hashes, the statistics, the totals of summaries, and the reasons of ranges skipped for their time.
    pub(crate) manifest: Value,
    pub(crate) statistics: Sums,
    pub(crate) validation: Sums,
    pub(crate) is_estimated: bool,
    /// True if a warning names ranges that go backwards.
    pub(crate) is_backwards: bool,
}

/// Numbers by their paths, and the paths left out because they are numbers here and objects there.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sums {
    pub(crate) numbers: BTreeMap<Vec<String>, f64>,
    pub(crate) mixed: BTreeSet<Vec<String>>,
}

impl Made {
    pub(crate) fn file(&self) -> (String, Vec<u8>) {
        let frames: Vec<Value> = self.frames.iter().map(|frame| self.frame_json(frame)).collect();
        let text = json!({
            "frameRange": [self.start, self.end], "globalIdChunkId": self.chunk, "workerId": self.worker,
            "replay": self.replay, "statistics": self.statistics, "frames": frames, "cameras": self.cameras,
            "validationSummary": self.validation,
        });
        (format!("manifest_fragment_{}_{}.json", self.worker, self.chunk), text.to_string().into_bytes())
    }

    fn frame_json(&self, frame: &MadeFrame) -> Value {
        let id = if frame.id.is_multiple_of(2) { "frameId" } else { "frame_id" };
        let mut object = json!({id: frame.id});
        if let Some(timestamp) = frame.timestamp {
            let instant = || jiff::Timestamp::from_second(timestamp).unwrap().to_string();
            object["timestamp"] = if self.has_instants { json!(instant()) } else { json!(timestamp) };
        }
        if frame.statistics != json!({}) {
            object["statistics"] = frame.statistics.clone();
        }
        object
    }

    fn has(&self, frame: u64) -> bool {
        self.start <= frame && frame < self.end
    }
}

impl<T> Run<T> {
    fn has(&self, frame: u64) -> bool {
        (self.start..self.end).contains(&frame)
    }

    /// `{"frameRange": […]}` with further members.
    fn json(&self, mut members: Value) -> Value {
        members["frameRange"] = json!([self.start, self.end]);
        members
    }
}

impl Around {
    pub(crate) fn session(&self) -> Vec<u8> {
        let replays = self.replays.iter().map(|replay| {
            let MadeReplay { retired, new } = replay.of;
            replay.json(json!({"retiredChunkId": retired, "newChunkId": new}))
        });
        let given_up = self.given_up.iter().map(|part| part.json(json!({"reason": part.of})));
        json!({
            "sessionId": "s", "totalFrames": self.total_frames, "replays": replays.collect::<Vec<_>>(),
            "givenUp": given_up.collect::<Vec<_>>(),
        })
        .to_string()
        .into_bytes()
    }

    pub(crate) fn completions(&self) -> (String, Vec<u8>) {
        let lines: String = self.completions.iter().map(|line| format!("{line}\n")).collect();
        ("completions.jsonl".to_owned(), lines.into_bytes())
    }

    fn is_retired(&self, chunk: u64) -> bool {
        self.replays.iter().any(|replay| replay.of.retired == chunk)
    }

    /// The entry that gave up a frame: of several the first in the order of ranges, then of reasons.
    fn given_up(&self, frame: u64) -> Option<&Run<String>> {
        self.given_up.iter().filter(|part| part.has(frame)).min()
    }
}

pub(crate) fn merge(made: &[Made], around: &Around) -> Expected {
    let fits = |fragment: &&Made| around.total_frames.is_none_or(|total| fragment.end <= total);
    let mut made: Vec<&Made> = made.iter().filter(fits).collect();
    made.sort_by_key(|fragment| (fragment.start, fragment.end, fragment.chunk));
    let end = around.total_frames.or(made.iter().map(|fragment| fragment.end).max()).unwrap_or(0);
    let owners: Vec<Option<&Made>> = (0..end).map(|frame| owner(&made, around, frame)).collect();
    let ranges = runs(end, |frame| owners[frame as usize].map(|owner| owner.chunk));
    let by_chunk: BTreeMap<u64, &Made> = made.iter().map(|fragment| (fragment.chunk, *fragment)).collect();
    let Timeline { kept, mut skipped, reordered, is_backwards } = in_time(ranges, &by_chunk);
    let ownerless = |frame: u64| owners[frame as usize].is_none();
    let given_up = runs(end, |frame| around.given_up(frame).filter(|_| ownerless(frame)));
    let skip =
        |Run { start, end, of: part }: Run<&Run<String>>| Run { start, end, of: Some(part.of.clone()) };
    skipped.extend(given_up.into_iter().map(skip));
    skipped.sort();
    let gaps = runs(end, |frame| (ownerless(frame) && around.given_up(frame).is_none()).then_some(()));
    let drops = drops(&made, &owners);
    let (statistics, is_estimated) = statistics(&made, &kept);
    let survivors: Vec<&Made> =
        made.iter().filter(|one| kept.iter().any(|kept| kept.of == one.chunk)).copied().collect();
    let manifest = json!({
        "sessionId": "s",
        "totalFrames": around.total_frames,
        "complete": !kept.is_empty() && skipped.is_empty() && owners.iter().all(Option::is_some),
        "ranges": ranges_json(&kept, &by_chunk, around),
        "gaps": gaps.iter().map(|gap| json!([gap.start, gap.end])).collect::<Vec<_>>(),
        "overlaps": overlaps(&made, end),
        "replayDrops": drops.iter().map(drop_json).collect::<Vec<_>>(),
        "skipped": skipped.iter().map(skipped_json).collect::<Vec<_>>(),
        "reordered": reordered.iter().map(|range| range.json(json!({"chunkId": range.of}))).collect::<Vec<_>>(),
        "cameras": cameras(&survivors),
        "validationSummary": {"fragments": summaries(&survivors)},
        "distributed": {
            "workers": made.iter().map(|fragment| &fragment.worker).collect::<BTreeSet<_>>(),
            "replay": replays(&drops, around),
        },
    });
    let all_leaves = survivors.iter().flat_map(|fragment| leaves(&fragment.validation));
    Expected { manifest, statistics, validation: summed(all_leaves), is_estimated, is_backwards }
}

fn owner<'a>(made: &[&'a Made], around: &Around, frame: u64) -> Option<&'a Made> {
    let valid = made.iter().filter(|fragment| fragment.has(frame) && !around.is_retired(fragment.chunk));
    valid.max_by_key(|fragment| (fragment.replay, fragment.chunk)).copied()
}

fn runs<T: PartialEq>(end: u64, what: impl Fn(u64) -> Option<T>) -> Vec<Run<T>> {
    let mut runs: Vec<Run<T>> = Vec::new();
    for frame in 0..end {
        match (runs.last_mut(), what(frame)) {
            (_, None) => {}
            (Some(run), Some(found)) if run.end == frame && run.of == found => run.end = frame + 1,
            (_, Some(of)) => runs.push(Run { start: frame, end: frame + 1, of }),
        }
    }
    runs
}

/// The first range of a chunk has what its completion says.
fn ranges_json(kept: &[Run<u64>], by_chunk: &BTreeMap<u64, &Made>, around: &Around) -> Vec<Value> {
    let range = |place: usize| {
        let chunk = kept[place].of;
        let mut range =
            kept[place].json(json!({"globalIdChunkId": chunk, "workerId": by_chunk[&chunk].worker}));
        let is_first = !kept[..place].iter().any(|other| other.of == chunk);
        let line = around.completions.iter().find(|line| line["globalIdChunkId"] == chunk);
        for (name, value) in line.filter(|_| is_first).into_iter().flat_map(|line| line.as_object().unwrap())
        {
            if !value.is_null() {
                range[name] = value.clone();
            }
        }
        range
    };
    (0..kept.len()).map(range).collect()
}

fn skipped_json(skipped: &Run<Option<String>>) -> Value {
    skipped.json(skipped.of.as_ref().map_or_else(|| json!({}), |reason| json!({"reason": reason})))
}

fn cameras(survivors: &[&Made]) -> Vec<Value> {
    let mut cameras: Vec<Value> = Vec::new();
    for fragment in survivors {
        let listed = match &fragment.cameras {
            Value::Null => Vec::new(),
            Value::Array(listed) => listed.clone(),
            other => vec![other.clone()],
        };
        for camera in listed {
            if !cameras.contains(&camera) {
                cameras.push(camera);
            }
        }
    }
    cameras
}

fn summaries(survivors: &[&Made]) -> Vec<Value> {
    let with_one = survivors.iter().filter(|fragment| !fragment.validation.is_null());
    let summary = |one: &&Made| json!({"workerId": one.worker, "globalIdChunkId": one.chunk, "validationSummary": one.validation});
    with_one.map(summary).collect()
}

/// Everything that was superseded with its chunk, sorted.
fn drops(made: &[&Made], owners: &[Option<&Made>]) -> Vec<Run<u64>> {
    let mut drops = Vec::new();
    for fragment in made {
        let is_lost = |frame: u64| {
            let owner = owners[frame as usize].map(|owner| owner.chunk);
            (fragment.has(frame) && owner != Some(fragment.chunk)).then_some(fragment.chunk)
        };
        drops.extend(runs(owners.len() as u64, is_lost));
    }
    drops.sort_unstable();
    drops
}

fn drop_json(drop: &Run<u64>) -> Value {
    drop.json(json!({"retiredChunkId": drop.of}))
}

fn overlaps(made: &[&Made], end: u64) -> Vec<Value> {
    let several = |frame: u64| {
        let chunks: BTreeSet<u64> =
            made.iter().filter(|fragment| fragment.has(frame)).map(|fragment| fragment.chunk).collect();
        (chunks.len() > 1).then_some(chunks)
    };
    runs(end, several).into_iter().map(|run| run.json(json!({"chunkIds": run.of}))).collect()
}

fn replays(drops: &[Run<u64>], around: &Around) -> Vec<Value> {
    let is_told = |drop: &Run<u64>| {
        let covers = |told: &Run<MadeReplay>| told.start <= drop.start && drop.end <= told.end;
        around.replays.iter().any(|told| told.of.retired == drop.of && covers(told))
    };
    let told = around.replays.iter().map(|Run { start, end, of: MadeReplay { retired, new } }| {
        (Run { start: *start, end: *end, of: *retired }, Some(*new))
    });
    let dropped = drops.iter().filter(|drop| !is_told(drop)).map(|drop| (drop.clone(), None));
    let replay = |(run, new): (Run<u64>, Option<u64>)| {
        let mut replay = drop_json(&run);
        new.into_iter().for_each(|new| replay["newChunkId"] = json!(new));
        replay
    };
    told.chain(dropped).collect::<BTreeSet<_>>().into_iter().map(replay).collect()
}

/// All numbers in nested objects, by their paths.
pub(crate) fn leaves(value: &Value) -> Vec<(Vec<String>, f64)> {
    let empty = Map::new();
    let mut leaves = Vec::new();
    for (key, value) in value.as_object().unwrap_or(&empty) {
        leaves.extend(value.as_f64().map(|number| (vec![key.clone()], number)));
        let nested = self::leaves(value).into_iter();
        leaves.extend(nested.map(|(path, number)| ([vec![key.clone()], path].concat(), number)));
    }
    leaves
}

fn summed(leaves: impl IntoIterator<Item = (Vec<String>, f64)>) -> Sums {
    let mut numbers: BTreeMap<Vec<String>, f64> = BTreeMap::new();
    leaves.into_iter().for_each(|(path, number)| *numbers.entry(path).or_default() += number);
    let is_above = |one: &[String], other: &[String]| one.len() < other.len() && other.starts_with(one);
    let is_mixed = |path: &&Vec<String>| numbers.keys().any(|other| is_above(path, other));
    let mixed: BTreeSet<Vec<String>> = numbers.keys().filter(is_mixed).cloned().collect();
    let topmost = |path: &&Vec<String>| !mixed.iter().any(|other| is_above(other, path));
    let mixed: BTreeSet<Vec<String>> = mixed.iter().filter(topmost).cloned().collect();
    numbers.retain(|path, _| !mixed.iter().any(|mixed| path.starts_with(mixed)));
    Sums { numbers, mixed }
}

#[allow(clippy::cast_precision_loss)]
fn statistics(made: &[&Made], kept: &[Run<u64>]) -> (Sums, bool) {
    let (mut all, mut is_estimated) = (Vec::new(), false);
    for fragment in made {
        let survives = |frame: u64| kept.iter().any(|run| run.has(frame) && run.of == fragment.chunk);
        let frames = fragment.end - fragment.start;
        let surviving = (fragment.start..fragment.end).filter(|frame| survives(*frame)).count() as u64;
        if surviving == 0 {
            continue;
        }
        let listed: BTreeSet<Vec<String>> = fragment
            .frames
            .iter()
            .flat_map(|frame| leaves(&frame.statistics))
            .map(|(path, _)| path)
            .collect();
        let said: BTreeMap<Vec<String>, f64> = leaves(&fragment.statistics).into_iter().collect();
        for path in listed.iter().chain(said.keys()).collect::<BTreeSet<_>>() {
            let surviving_frames = fragment.frames.iter().filter(|frame| survives(frame.id));
            let of_frames: f64 = surviving_frames
                .flat_map(|frame| leaves(&frame.statistics))
                .filter(|(found, _)| found == path)
                .map(|(_, number)| number)
                .sum();
            let value = match said.get(path) {
                Some(said) if surviving == frames => *said,
                Some(said) if !listed.contains(path) => {
                    is_estimated = true;
                    said * surviving as f64 / frames as f64
                }
                _ => of_frames,
            };
            all.push((path.clone(), value));
        }
    }
    (summed(all), is_estimated)
}

/// The ranges with their chunks in the order of time (S23), every range compared with every other.
struct Timeline {
    /// In the order of `ranges[]`.
    kept: Vec<Run<u64>>,
    /// Without reasons.
    skipped: Vec<Run<Option<String>>>,
    reordered: Vec<Run<u64>>,
    is_backwards: bool,
}

/// The kind, the earliest and the latest time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    has_instants: bool,
    first: i64,
    last: i64,
}

fn in_time(ranges: Vec<Run<u64>>, by_chunk: &BTreeMap<u64, &Made>) -> Timeline {
    let span = |range: &Run<u64>| span(by_chunk[&range.of], range);
    let is_late = |place: usize| {
        let before = ranges[..place].iter().filter_map(span);
        span(&ranges[place]).is_some_and(|span| {
            before
                .filter(|other| other.has_instants == span.has_instants)
                .any(|other| span.first < other.last)
        })
    };
    if !(0..ranges.len()).any(is_late) {
        return Timeline { kept: ranges, skipped: Vec::new(), reordered: Vec::new(), is_backwards: false };
    }
    let (mut kept, mut skipped): (Vec<Run<u64>>, Vec<_>) = (Vec::new(), Vec::new());
    for range in &ranges {
        let mut spans = kept.iter().filter_map(span);
        if span(range).is_some_and(|one| spans.any(|other| interleave(one, other))) {
            skipped.push(Run { start: range.start, end: range.end, of: None });
        } else {
            kept.push(range.clone());
        }
    }
    let in_frame_order = kept.clone();
    for kind in [false, true] {
        let is_kind = |range: &Run<u64>| span(range).is_some_and(|span| span.has_instants == kind);
        let places: Vec<usize> = (0..kept.len()).filter(|place| is_kind(&in_frame_order[*place])).collect();
        let mut sorted: Vec<Run<u64>> = places.iter().map(|place| in_frame_order[*place].clone()).collect();
        sorted.sort_by_key(|range| span(range));
        places.into_iter().zip(sorted).for_each(|(place, range)| kept[place] = range);
    }
    let moved = kept.iter().zip(&in_frame_order).filter(|(now, before)| now != before);
    let reordered = moved.map(|(now, _)| now.clone()).collect();
    Timeline { kept, skipped, reordered, is_backwards: true }
}

fn span(fragment: &Made, range: &Run<u64>) -> Option<Span> {
    let frames = fragment.frames.iter().filter(|frame| range.has(frame.id));
    let times: Vec<i64> = frames.filter_map(|frame| frame.timestamp).collect();
    let (first, last) = (*times.iter().min()?, *times.iter().max()?);
    Some(Span { has_instants: fragment.has_instants, first, last })
}

fn interleave(one: Span, other: Span) -> bool {
    one.has_instants == other.has_instants && !(one.last <= other.first || other.last <= one.first)
}
