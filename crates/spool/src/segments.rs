//! The files the log lies in: one that grows, and older ones kept while an entry in them is live.

use crate::{
    Disk, Limits, SpoolError,
    error::Task,
    header::{self, Header, Opening, segment_name},
    record,
};
use std::{collections::VecDeque, io};

/// The files of the log.
pub(crate) struct Segments<F> {
    pub(crate) limits: Limits,
    pub(crate) tail: Tail<F>,
    pub(crate) older: VecDeque<Older>,
    /// A sync of the tail failed. Nobody knows what of it is durable, and no later sync would tell.
    spoiled: bool,
    /// The beginning of the next segment failed, and it may yet lie on disk whole. The tail must not grow
    /// until that is gone: after a crash the next segment would say that the tail ends where it did.
    doubtful: bool,
}

/// The segment that grows.
pub(crate) struct Tail<F> {
    pub(crate) number: u64,
    pub(crate) file: F,
    /// Everything before this byte is durable.
    pub(crate) end: u64,
    /// Length at which the segment counts as full.
    pub(crate) full_at: u64,
    /// Room was taken from the disk to this byte.
    pub(crate) reserved: u64,
}

/// A segment that grows no more.
#[derive(Clone, Copy)]
pub(crate) struct Older {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
}

/// Position of records.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    pub(crate) segment: u64,
    pub(crate) offset: u64,
}

impl<F> Segments<F> {
    /// Takes over segments that were found or just begun.
    pub(crate) fn new(limits: Limits, tail: Tail<F>, older: VecDeque<Older>) -> Self {
        Self { limits, tail, older, spoiled: false, doubtful: false }
    }

    /// Makes records durable. After an error they may be given again, with more behind them.
    pub(crate) fn write<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        records: &mut [u8],
        first_seq: u64,
    ) -> Result<Spot, SpoolError> {
        self.clear_doubt(disk)?;
        if self.spoiled {
            return self.begin(disk, self.next(Opening::Continuation, first_seq), records);
        }
        let spot = Spot { segment: self.tail.number, offset: self.tail.end };
        record::stamp(records, spot.segment, spot.offset);
        self.grow(disk, records)?;
        self.tail.end += records.len() as u64;
        Ok(spot)
    }

    /// Begins a segment with the owner's state. Fails on a full disk; the tail stays in use then.
    pub(crate) fn begin_with<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        snapshot: &mut [u8],
        first_seq: u64,
    ) -> Result<(), SpoolError> {
        self.begin(disk, self.next(Opening::Snapshot, first_seq), snapshot).map(|_| ())
    }

    /// Removes older segments with a smaller number. What cannot be removed is tried again some day.
    pub(crate) fn remove_below<D: Disk<File = F>>(&mut self, disk: &D, number: u64) {
        let mut removed = false;
        while let Some(oldest) = self.older.front().filter(|oldest| oldest.number < number) {
            if remove(disk, &segment_name(oldest.number)).is_err() {
                break;
            }
            self.older.pop_front();
            removed = true;
        }
        if removed {
            // A segment that reappears after a crash holds nothing that the snapshot counts as live.
            let _ = disk.sync_dir();
        }
    }

    /// Tells whether the tail is full once so many bytes more are written.
    pub(crate) fn is_full(&self, more: usize) -> bool {
        self.tail.end + more as u64 >= self.tail.full_at
    }

    /// Bytes reserved and not used.
    pub(crate) fn room(&self) -> u64 {
        if self.spoiled { 0 } else { self.tail.reserved.saturating_sub(self.tail.end) }
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.older.iter().map(|older| older.bytes).sum::<u64>() + self.tail.bytes()
    }

    fn grow<D: Disk<File = F>>(&mut self, disk: &D, records: &[u8]) -> Result<(), SpoolError> {
        let (tail, name) = (&self.tail, segment_name(self.tail.number));
        let task = Task { file: &name, bytes: records.len() };
        if let Err(error) = disk.write_at(&tail.file, tail.end, records).map_err(task.refused("write")) {
            // After a write to a full disk, the next try overwrites the bytes that got through, because it begins
            // with the same bytes. A place that cannot be written is never used again.
            self.spoiled = !matches!(error, SpoolError::Full { .. });
            return Err(error);
        }
        let synced = disk.sync_data(&tail.file).map_err(task.refused("sync"));
        self.spoiled = synced.is_err();
        synced
    }

    fn next(&self, opening: Opening, first_seq: u64) -> Header {
        Header { opening, number: self.tail.number + 1, first_seq, prior_end: self.tail.end }
    }

    fn begin<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        header: Header,
        records: &mut [u8],
    ) -> Result<Spot, SpoolError> {
        self.doubtful = true;
        match establish(disk, header, records, self.limits) {
            Ok(tail) => {
                (self.doubtful, self.spoiled) = (false, false);
                let before = std::mem::replace(&mut self.tail, tail);
                self.retire(disk, before);
                Ok(Spot { segment: header.number, offset: header::LENGTH as u64 })
            }
            Err(error) => {
                // Tried again before the next write; only that depends on it.
                let _ = self.clear_doubt(disk);
                Err(error)
            }
        }
    }

    /// Gives back the room that a segment took and did not use.
    fn retire<D: Disk<File = F>>(&mut self, disk: &D, tail: Tail<F>) {
        let shortened = disk.truncate(&tail.file, tail.end);
        let bytes = if shortened.is_ok() { tail.end } else { tail.bytes() };
        self.older.push_back(Older { number: tail.number, bytes });
    }

    fn clear_doubt<D: Disk<File = F>>(&mut self, disk: &D) -> Result<(), SpoolError> {
        if self.doubtful {
            let name = segment_name(self.tail.number + 1);
            remove(disk, &name).map_err(Task::on(&name).refused("remove"))?;
            disk.sync_dir().map_err(Task::on(&name).refused("sync the directory of"))?;
            self.doubtful = false;
        }
        Ok(())
    }
}

impl<F> Tail<F> {
    fn bytes(&self) -> u64 {
        self.end.max(self.reserved)
    }
}

/// Makes a file that begins so, durable under its name.
pub(crate) fn establish<D: Disk>(
    disk: &D,
    header: Header,
    records: &mut [u8],
    limits: Limits,
) -> Result<Tail<D::File>, SpoolError> {
    record::stamp(records, header.number, 0);
    let mut bytes = header.encode();
    bytes.extend_from_slice(records);
    let name = header.name();
    let task = Task { file: &name, bytes: bytes.len() };
    let file = disk.create(&name).map_err(task.refused("create"))?;
    let full_at = full_at(header.opening, records.len(), limits);
    let reserved = match disk.allocate(&file, full_at + limits.reserve_bytes) {
        Ok(()) => full_at + limits.reserve_bytes,
        // The old segment has its own reserve; any other beginning is better than none.
        Err(source) if header.opening == Opening::Snapshot && source.kind() != io::ErrorKind::Unsupported => {
            return Err(task.refused("reserve")(source));
        }
        Err(_) => 0,
    };
    disk.write_at(&file, 0, &bytes).map_err(task.refused("write"))?;
    disk.sync_data(&file).map_err(task.refused("sync"))?;
    disk.sync_dir().map_err(task.refused("sync the directory of"))?;
    Ok(Tail { number: header.number, file, end: bytes.len() as u64, full_at, reserved })
}

/// Offset at which a segment counts as full. The snapshot, however long, takes no room from the entries.
pub(crate) fn full_at(opening: Opening, first_record: usize, limits: Limits) -> u64 {
    let snapshot = if opening == Opening::Snapshot { first_record } else { 0 };
    (header::LENGTH + snapshot) as u64 + limits.segment_bytes
}

/// Removes a file; one that is not there is removed.
pub(crate) fn remove<D: Disk>(disk: &D, name: &str) -> io::Result<()> {
    disk.remove(name)
        .or_else(|source| if source.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(source) })
}
