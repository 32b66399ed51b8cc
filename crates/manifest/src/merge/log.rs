//! Writes `manifest_merge.log`: the findings and decisions of a merge, for people (S21, S24).

use super::Merged;
use std::io::{self, Write};

impl Merged {
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
}
