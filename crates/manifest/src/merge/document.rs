//! Writes `manifest.json`: one list item on a line, nothing that depends on when or where it was merged.

use super::Merged;
use crate::range::FrameRange;
use muster_artifacts::ContentHash;
use serde::{Serialize, Serializer, ser::SerializeMap};
use std::{
    fmt::Display,
    io::{self, Write},
};

impl Merged {
    /// Writes the manifest; the same fragments give the same bytes.
    ///
    /// # Errors
    /// When writing fails.
    pub fn write_manifest(&self, out: &mut dyn Write) -> io::Result<()> {
        let entries = self.table.entries();
        let ranges = self.coverage.pieces.iter().map(|piece| {
            let entry = &entries[piece.entry as usize];
            Survivor {
                frame_range: piece.range,
                global_id_chunk_id: entry.chunk,
                worker_id: self.table.worker(entry),
            }
        });
        let hashes = entries.iter().map(|entry| FragmentHash {
            file: Shown(self.table.file_name(entry)),
            sha256: Shown(entry.hash),
        });
        let mut lines = Lines::begin(out)?;
        lines.member("sessionId", &self.session.session_id)?;
        lines.member("totalFrames", &self.total_frames)?;
        lines.member("complete", &self.is_complete())?;
        lines.list("ranges", ranges)?;
        lines.list("gaps", self.coverage.gaps.iter())?;
        lines.list("overlaps", self.coverage.overlaps.iter())?;
        lines.list("replayDrops", self.coverage.drops.iter())?;
        lines.list("skipped", self.skipped.iter())?;
        lines.member("statistics", &Statistics(self))?;
        lines.open("distributed", b'{')?;
        lines.list("workers", self.table.workers().iter())?;
        lines.list("replay", self.replays.iter())?;
        lines.list("fragmentHashes", hashes)?;
        lines.close(b'}')?;
        lines.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Survivor<'a> {
    frame_range: FrameRange,
    global_id_chunk_id: u64,
    worker_id: &'a str,
}

#[derive(Serialize)]
#[serde(bound = "F: Display")]
struct FragmentHash<F: Display> {
    file: Shown<F>,
    sha256: Shown<ContentHash>,
}

/// Something by its text.
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
        for (name, total) in &self.0.tally.totals {
            map.serialize_entry(name, total)?;
        }
        if self.0.tally.is_estimated {
            map.serialize_entry("estimated", &true)?;
        }
        map.end()
    }
}

/// Writes an object with a member on each line, and an item of a list on each line.
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
