//! Writes `manifest.json`, one list item per line, and `manifest_merge.log`, the findings and decisions for people (S21,
//! S24). Nothing in either depends on the time or place of the merge, so the same fragments give the same bytes.

use super::Merged;
use crate::range::FrameRange;
use muster_artifacts::ContentHash;
use serde::{
    Serialize, Serializer,
    ser::{Error, SerializeMap},
};
use serde_json::value::RawValue;
use std::{
    fmt::Display,
    io::{self, Write},
    mem,
};

impl Merged {
    /// Writes the manifest. The same fragments give the same bytes.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_manifest(&self, out: &mut dyn Write) -> io::Result<()> {
        let entries = self.table.entries();
        let hashes = entries.iter().map(|entry| FragmentHash {
            file: Shown(self.table.file_name(entry)),
            sha256: Shown(entry.hash),
        });
        let mut lines = Lines::begin(out)?;
        lines.member("sessionId", &self.session.session_id)?;
        lines.member("totalFrames", &self.total_frames)?;
        lines.member("complete", &self.is_complete())?;
        lines.list("ranges", self.survivors())?;
        lines.list("gaps", self.coverage.gaps.iter())?;
        lines.list("overlaps", self.coverage.overlaps.iter())?;
        lines.list("replayDrops", self.coverage.drops.iter())?;
        lines.list("skipped", self.skipped.iter())?;
        lines.list("reordered", self.reordered.iter())?;
        lines.list("cameras", self.cameras.iter().map(|camera| Json(camera)))?;
        lines.member("statistics", &Statistics(self))?;
        self.write_validation(&mut lines)?;
        lines.open("distributed", b'{')?;
        lines.list("workers", self.table.workers().iter())?;
        lines.list("replay", self.replays.iter())?;
        lines.list("fragmentHashes", hashes)?;
        lines.close(b'}')?;
        lines.end()
    }

    /// Writes the log of the merge. It contains no time of day, so the same fragments give the same log.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_log(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "merged {} fragments, refused {}", self.table.entries().len(), self.refusals.len())?;
        for refused in &self.refusals {
            writeln!(out, "refused {}: {}", refused.file, refused.reason)?;
        }
        for warning in &self.warnings {
            let about = warning.file.as_deref().unwrap_or("merge");
            writeln!(out, "warning {about}: {}", warning.warning)?;
        }
        for overlap in &self.coverage.overlaps {
            writeln!(out, "overlap {} of chunks {:?}", overlap.frame_range, overlap.chunk_ids)?;
        }
        for drop in &self.coverage.drops {
            writeln!(out, "dropped {} of chunk {}", drop.frame_range, drop.retired_chunk_id)?;
        }
        for skipped in &self.skipped {
            writeln!(out, "skipped {skipped}")?;
        }
        for reordered in &self.reordered {
            writeln!(out, "reordered {reordered}")?;
        }
        for gap in &self.coverage.gaps {
            writeln!(out, "gap {gap}")?;
        }
        let frames: u64 = self.coverage.pieces.iter().map(|piece| piece.range.frames()).sum();
        let outcome = if self.is_complete() { "complete" } else { "incomplete" };
        writeln!(out, "{outcome}: {frames} frames in {} ranges", self.coverage.pieces.len())
    }

    /// Returns the entries of `ranges[]`. Where a fragment has several, the first one carries the files and metrics: a
    /// fragment in very many pieces must not repeat them each time.
    fn survivors(&self) -> impl Iterator<Item = Survivor<'_>> {
        let mut has_ranges = vec![false; self.table.entries().len()];
        self.coverage.pieces.iter().map(move |piece| {
            let entry = &self.table.entries()[piece.entry as usize];
            let is_first = !mem::replace(&mut has_ranges[piece.entry as usize], true);
            let completion = self.completions.of_chunk(entry.chunk).filter(|_| is_first);
            Survivor {
                frame_range: piece.range,
                global_id_chunk_id: entry.chunk,
                worker_id: self.table.worker(entry),
                pose_files: completion.and_then(|line| line.pose_files.as_deref()),
                metrics_snapshot: completion.and_then(|line| line.metrics_snapshot.as_deref()),
            }
        })
    }

    fn write_validation(&self, lines: &mut Lines<'_>) -> io::Result<()> {
        let summaries = self.validation.fragments.iter().filter_map(|place| {
            let entry = &self.table.entries()[*place as usize];
            Some(FragmentSummary {
                worker_id: self.table.worker(entry),
                global_id_chunk_id: entry.chunk,
                validation_summary: Json(self.table.validation_summary(entry)?),
            })
        });
        lines.open("validationSummary", b'{')?;
        lines.member("totals", &self.validation.totals.members)?;
        lines.list("fragments", summaries)?;
        lines.close(b'}')
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Survivor<'a> {
    frame_range: FrameRange,
    global_id_chunk_id: u64,
    worker_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pose_files: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics_snapshot: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FragmentSummary<'a> {
    worker_id: &'a str,
    global_id_chunk_id: u64,
    validation_summary: Json<'a>,
}

#[derive(Serialize)]
#[serde(bound = "F: Display")]
struct FragmentHash<F: Display> {
    file: Shown<F>,
    sha256: Shown<ContentHash>,
}

/// A JSON text, written as it is.
struct Json<'a>(&'a str);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(self.0).map_err(S::Error::custom)?.serialize(to)
    }
}

/// A value, written as its text.
struct Shown<T>(T);

impl<T: Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

struct Statistics<'a>(&'a Merged);

impl Serialize for Statistics<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (name, total) in &self.0.tally.totals.members {
            map.serialize_entry(name, total)?;
        }
        if self.0.tally.is_estimated {
            map.serialize_entry("estimated", &true)?;
        }
        map.end()
    }
}

/// Writes an object with one member, or one item of a list, per line.
struct Lines<'a> {
    out: &'a mut dyn Write,
    depth: usize,
    is_first: bool,
}

impl<'a> Lines<'a> {
    fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        out.write_all(b"{")?;
        Ok(Self { out, depth: 1, is_first: true })
    }

    fn end(mut self) -> io::Result<()> {
        self.close(b'}')?;
        self.out.write_all(b"\n")
    }

    fn member(&mut self, name: &str, value: &impl Serialize) -> io::Result<()> {
        self.next_line()?;
        write!(self.out, "\"{name}\": ")?;
        Ok(serde_json::to_writer(&mut *self.out, value)?)
    }

    fn list(&mut self, name: &str, items: impl Iterator<Item: Serialize>) -> io::Result<()> {
        self.open(name, b'[')?;
        for item in items {
            self.next_line()?;
            serde_json::to_writer(&mut *self.out, &item)?;
        }
        self.close(b']')
    }

    fn open(&mut self, name: &str, bracket: u8) -> io::Result<()> {
        self.next_line()?;
        write!(self.out, "\"{name}\": ")?;
        self.depth += 1;
        self.is_first = true;
        self.out.write_all(&[bracket])
    }

    fn close(&mut self, bracket: u8) -> io::Result<()> {
        self.depth -= 1;
        if !self.is_first {
            self.break_line()?;
        }
        self.is_first = false;
        self.out.write_all(&[bracket])
    }

    fn next_line(&mut self) -> io::Result<()> {
        if !self.is_first {
            self.out.write_all(b",")?;
        }
        self.is_first = false;
        self.break_line()
    }

    fn break_line(&mut self) -> io::Result<()> {
        write!(self.out, "\n{:1$}", "", 2 * self.depth)
    }
}
