//! The merge once more, as plainly as it can be said: frame by frame, every fragment asked about every frame.
//!
//! It shares nothing with the real one but the rules.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub(crate) struct MadeFrame {
    pub(crate) id: u64,
    pub(crate) timestamp: Option<i64>,
    pub(crate) statistics: Vec<(String, f64)>,
}

/// A fragment before it is JSON. Statistics are whole numbers, or else their name begins with `f`.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) chunk: u64,
    pub(crate) worker: String,
    pub(crate) replay: bool,
    pub(crate) statistics: Vec<(String, f64)>,
    pub(crate) frames: Vec<MadeFrame>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    pub(crate) total_frames: Option<u64>,
    /// (start, end, retired, new)
    pub(crate) replays: Vec<(u64, u64, u64, u64)>,
}

impl Made {
    pub(crate) fn file(&self) -> (String, Vec<u8>) {
        let frames: Vec<Value> = self.frames.iter().map(frame_json).collect();
        let text = json!({
            "frameRange": [self.start, self.end], "globalIdChunkId": self.chunk, "workerId": self.worker,
            "replay": self.replay, "statistics": numbers_json(&self.statistics), "frames": frames,
        });
        (format!("manifest_fragment_{}_{}.json", self.worker, self.chunk), text.to_string().into_bytes())
    }

    fn has(&self, frame: u64) -> bool {
        self.start <= frame && frame < self.end
    }
}

fn frame_json(frame: &MadeFrame) -> Value {
    let mut object = json!({"frameId": frame.id});
    if let Some(timestamp) = frame.timestamp {
        object["timestamp"] = json!(timestamp);
    }
    if !frame.statistics.is_empty() {
        object["statistics"] = numbers_json(&frame.statistics);
    }
    object
}

#[allow(clippy::cast_possible_truncation)]
fn numbers_json(numbers: &[(String, f64)]) -> Value {
    let number = |(name, value): &(String, f64)| {
        (name.clone(), if name.starts_with('f') { json!(value) } else { json!(*value as i64) })
    };
    Value::Object(numbers.iter().map(number).collect::<Map<_, _>>())
}

impl Around {
    pub(crate) fn json(&self) -> Vec<u8> {
        let replay = |(start, end, retired, new): &(u64, u64, u64, u64)| json!({"frameRange": [start, end], "retiredChunkId": retired, "newChunkId": new});
        let replays: Vec<Value> = self.replays.iter().map(replay).collect();
        json!({"sessionId": "s", "totalFrames": self.total_frames, "replays": replays})
            .to_string()
            .into_bytes()
    }

    fn is_retired(&self, chunk: u64) -> bool {
        self.replays.iter().any(|(_, _, retired, _)| *retired == chunk)
    }
}

/// The manifest, without the hashes, the reasons of what was skipped, and the statistics, which come beside it.
pub(crate) fn merge(made: &[Made], around: &Around) -> (Value, BTreeMap<String, f64>, bool) {
    let fits = |fragment: &&Made| around.total_frames.is_none_or(|total| fragment.end <= total);
    let made: Vec<&Made> = made.iter().filter(fits).collect();
    let end = around.total_frames.or(made.iter().map(|fragment| fragment.end).max()).unwrap_or(0);
    let owners: Vec<Option<&Made>> = (0..end).map(|frame| owner(&made, around, frame)).collect();
    let ranges = runs(end, |frame| owners[frame as usize].map(|owner| owner.chunk));
    let by_chunk: BTreeMap<u64, &Made> = made.iter().map(|fragment| (fragment.chunk, *fragment)).collect();
    let (kept, skipped) = in_time(ranges, &by_chunk);
    let drops = drops(&made, &owners);
    let (statistics, is_estimated) = statistics(&made, &kept);
    let manifest = json!({
        "sessionId": "s",
        "totalFrames": around.total_frames,
        "complete": !kept.is_empty() && skipped.is_empty() && owners.iter().all(Option::is_some),
        "ranges": kept.iter().map(|(start, end, chunk)| json!({
            "frameRange": [start, end], "globalIdChunkId": chunk, "workerId": by_chunk[chunk].worker,
        })).collect::<Vec<_>>(),
        "gaps": runs(end, |frame| owners[frame as usize].is_none().then_some(())).iter()
            .map(|(start, end, ())| json!([start, end])).collect::<Vec<_>>(),
        "overlaps": overlaps(&made, end),
        "replayDrops": drops.iter().map(drop_json).collect::<Vec<_>>(),
        "skipped": skipped.iter().map(|(start, end)| json!({"frameRange": [start, end]})).collect::<Vec<_>>(),
        "distributed": {
            "workers": made.iter().map(|fragment| &fragment.worker).collect::<BTreeSet<_>>(),
            "replay": replays(&drops, around),
        },
    });
    (manifest, statistics, is_estimated)
}

fn owner<'a>(made: &[&'a Made], around: &Around, frame: u64) -> Option<&'a Made> {
    let valid = made.iter().filter(|fragment| fragment.has(frame) && !around.is_retired(fragment.chunk));
    valid.max_by_key(|fragment| (fragment.replay, fragment.chunk)).copied()
}

/// Frames in a row with the same something.
fn runs<T: PartialEq>(end: u64, what: impl Fn(u64) -> Option<T>) -> Vec<(u64, u64, T)> {
    let mut runs: Vec<(u64, u64, T)> = Vec::new();
    for frame in 0..end {
        match (runs.last_mut(), what(frame)) {
            (_, None) => {}
            (Some((_, end, same)), Some(found)) if *end == frame && *same == found => *end = frame + 1,
            (_, Some(found)) => runs.push((frame, frame + 1, found)),
        }
    }
    runs
}

type Kept = Vec<(u64, u64, u64)>;

fn in_time(ranges: Kept, by_chunk: &BTreeMap<u64, &Made>) -> (Kept, Vec<(u64, u64)>) {
    let (mut kept, mut skipped, mut latest) = (Vec::new(), Vec::new(), None);
    for (start, end, chunk) in ranges {
        let frames = by_chunk[&chunk].frames.iter().filter(|frame| start <= frame.id && frame.id < end);
        let times: Vec<i64> = frames.filter_map(|frame| frame.timestamp).collect();
        if times.iter().min().is_some_and(|first| latest.is_some_and(|latest| *first < latest)) {
            skipped.push((start, end));
        } else {
            latest = times.iter().copied().max().or(latest);
            kept.push((start, end, chunk));
        }
    }
    (kept, skipped)
}

/// (start, end, chunk) of everything that was superseded, sorted.
fn drops(made: &[&Made], owners: &[Option<&Made>]) -> Vec<(u64, u64, u64)> {
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

fn drop_json((start, end, chunk): &(u64, u64, u64)) -> Value {
    json!({"frameRange": [start, end], "retiredChunkId": chunk})
}

fn overlaps(made: &[&Made], end: u64) -> Vec<Value> {
    let several = |frame: u64| {
        let chunks: BTreeSet<u64> =
            made.iter().filter(|fragment| fragment.has(frame)).map(|fragment| fragment.chunk).collect();
        (chunks.len() > 1).then_some(chunks)
    };
    let overlap = |(start, end, chunks)| json!({"frameRange": [start, end], "chunkIds": chunks});
    runs(end, several).into_iter().map(overlap).collect()
}

fn replays(drops: &[(u64, u64, u64)], around: &Around) -> Vec<Value> {
    let is_told = |(start, end, chunk): &(u64, u64, u64)| {
        around.replays.iter().any(|(from, to, retired, _)| retired == chunk && from <= start && end <= to)
    };
    let told = around.replays.iter().map(|(start, end, retired, new)| (*start, *end, *retired, Some(*new)));
    let dropped = drops.iter().filter(|drop| !is_told(drop));
    let all: BTreeSet<_> =
        told.chain(dropped.map(|(start, end, chunk)| (*start, *end, *chunk, None))).collect();
    all.into_iter()
        .map(|(start, end, chunk, new)| {
            let mut replay = drop_json(&(start, end, chunk));
            new.into_iter().for_each(|new| replay["newChunkId"] = json!(new));
            replay
        })
        .collect()
}

#[allow(clippy::cast_precision_loss)]
fn statistics(made: &[&Made], kept: &Kept) -> (BTreeMap<String, f64>, bool) {
    let (mut sums, mut is_estimated) = (BTreeMap::<String, f64>::new(), false);
    for fragment in made {
        let survives = |frame: u64| {
            kept.iter().any(|(start, end, chunk)| *start <= frame && frame < *end && *chunk == fragment.chunk)
        };
        let all = fragment.end - fragment.start;
        let surviving = (fragment.start..fragment.end).filter(|frame| survives(*frame)).count() as u64;
        if surviving == 0 {
            continue;
        }
        let listed: BTreeSet<&str> = fragment
            .frames
            .iter()
            .flat_map(|frame| frame.statistics.iter().map(|(name, _)| name.as_str()))
            .collect();
        let said: BTreeMap<&str, f64> =
            fragment.statistics.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        for name in listed.iter().copied().chain(said.keys().copied()).collect::<BTreeSet<_>>() {
            let of_frames: f64 = fragment
                .frames
                .iter()
                .filter(|frame| survives(frame.id))
                .flat_map(|frame| &frame.statistics)
                .filter(|(found, _)| found == name)
                .map(|(_, value)| value)
                .sum();
            let value = match said.get(name) {
                Some(said) if surviving == all => *said,
                Some(said) if !listed.contains(name) => {
                    is_estimated = true;
                    said * surviving as f64 / all as f64
                }
                _ => of_frames,
            };
            *sums.entry(name.to_owned()).or_default() += value;
        }
    }
    (sums, is_estimated)
}
