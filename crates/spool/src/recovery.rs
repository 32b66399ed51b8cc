//! Opening a log: reads what is there, tells a torn end from damage, and makes what it gives back durable.
//!
//! Only the end of the last segment may be torn, and only its last write may not be durable. A last segment
//! without a whole beginning was never in use. Everything else must read as it was written.

use crate::{
    Cut, Disk, Limits, Recovered, Seq, SpoolError,
    error::Task,
    header::{self, Header, Opening, numbers, segment_name},
    record::{Kind, Record, Walk, u32_at, u64_at, was_synced_past},
    segments::{Older, Segments, Tail, establish, full_at, remove},
    spool::EntryPosition,
};
use std::{collections::BTreeMap, ops::RangeInclusive};

/// The log as it was read from disk, ready for use.
pub(crate) struct RecoveredLog<F> {
    pub(crate) segments: Segments<F>,
    pub(crate) index: BTreeMap<u64, EntryPosition>,
    pub(crate) last_seq: u64,
    pub(crate) recovered: Recovered,
}

/// Reads the log; changes nothing if it is damaged.
pub(crate) fn recover<D: Disk>(
    disk: &D,
    names: &[String],
    limits: Limits,
) -> Result<RecoveredLog<D::File>, SpoolError> {
    let mut numbers = numbers(names, segment_name);
    let half_made = take_half_made(disk, &mut numbers)?;
    let headers = headers(disk, &numbers)?;
    let Some((last, older)) = headers.split_last() else {
        return fresh(disk, limits, half_made);
    };
    let newest = check_chain(&headers)?;
    let mut fold = ReplayState { newest, ..ReplayState::default() };
    let older = older.iter().zip(&headers[1..]).map(|(header, next)| fold.older(disk, *header, *next));
    let older = older.collect::<Result<_, _>>()?;
    let (tail, cut) = fold.last(disk, *last, limits)?;
    if let Some(half_made) = &half_made {
        remove(disk, &half_made.file).map_err(Task::on(&half_made.file).refused("remove"))?;
    }
    // Also for what an earlier process removed or created and did not live to sync.
    disk.sync_dir().map_err(Task::on("the spool").refused("sync the directory of"))?;
    let cut = cut.or(half_made).filter(|cut| cut.bytes > 0);
    Ok(fold.found(Segments::new(limits, tail, older), cut))
}

/// Takes the last segment off the list if its beginning is not whole.
fn take_half_made<D: Disk>(disk: &D, numbers: &mut Vec<u64>) -> Result<Option<Cut>, SpoolError> {
    let Some(number) = numbers.last().copied() else { return Ok(None) };
    let file = segment_name(number);
    let bytes = read(disk, &file)?;
    if let Some(header) = Header::decode(&file, &bytes)? {
        let first = Walk::new(&bytes, number).next();
        let has_state = first.is_some_and(|(_, record)| record.kind == Kind::Snapshot);
        if header.opening != Opening::Snapshot || has_state {
            return Ok(None);
        }
    }
    // The segment before is removed only when the next has its beginning.
    let alone = numbers.len() == 1 && number != 1;
    if alone || was_synced_past(&bytes, number, 0) {
        return Err(SpoolError::Damaged { file, offset: 0, what: "its beginning cannot be read" });
    }
    numbers.pop();
    let bytes = if bytes.iter().all(|byte| *byte == 0) { 0 } else { bytes.len() as u64 };
    Ok(Some(Cut { file, offset: 0, bytes }))
}

fn headers<D: Disk>(disk: &D, numbers: &[u64]) -> Result<Vec<Header>, SpoolError> {
    let header = |number: &u64| {
        let file = segment_name(*number);
        let bytes = disk.read_at(&file, 0, header::LENGTH).or_else(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => Ok(Vec::new()),
            _ => Err(Task::on(&file).refused("read")(source)),
        })?;
        let unreadable = "its beginning cannot be read";
        Header::decode(&file, &bytes)?.ok_or(SpoolError::Damaged { file, offset: 0, what: unreadable })
    };
    numbers.iter().map(header).collect()
}

/// From the newest snapshot on no segment may be missing. Older ones are only asked for what is live.
/// Gives the segment where that begins.
fn check_chain(headers: &[Header]) -> Result<u64, SpoolError> {
    let base = headers.iter().rposition(|header| header.opening == Opening::Snapshot).unwrap_or(0);
    let begins = if headers[base].opening == Opening::Continuation { 1 } else { headers[base].number };
    for (header, expected) in headers[base..].iter().zip(begins..) {
        if header.number != expected {
            let file = segment_name(expected);
            return Err(SpoolError::Damaged { file, offset: 0, what: "the file is missing" });
        }
    }
    Ok(begins)
}

fn fresh<D: Disk>(
    disk: &D,
    limits: Limits,
    half_made: Option<Cut>,
) -> Result<RecoveredLog<D::File>, SpoolError> {
    let header = Header { opening: Opening::Fresh, number: 1, first_seq: 1, prior_end: 0 };
    let tail = establish(disk, header, &mut [], limits)?;
    let cut = half_made.filter(|cut| cut.bytes > 0);
    Ok(ReplayState::default().found(Segments::new(limits, tail, [].into()), cut))
}

/// State that the records so far make.
#[derive(Default)]
struct ReplayState {
    /// The segment of the newest snapshot.
    newest: u64,
    snapshot: Option<Vec<u8>>,
    since: Vec<(Seq, Vec<u8>)>,
    pending: BTreeMap<u64, (EntryPosition, Vec<u8>)>,
    last_seq: u64,
}

impl ReplayState {
    /// Takes in a segment that grows no more; the one after it says where it ends.
    fn older<D: Disk>(&mut self, disk: &D, header: Header, next: Header) -> Result<Older, SpoolError> {
        let file = segment_name(header.number);
        let bytes = read(disk, &file)?;
        let known_end = (next.number == header.number + 1).then_some(next.prior_end);
        let limit = known_end.and_then(|end| usize::try_from(end).ok()).unwrap_or(bytes.len());
        let mut walk = Walk::new(&bytes[..limit.min(bytes.len())], header.number);
        self.walk(header, &mut walk)?;
        let end = walk.end() as u64;
        if known_end.is_some_and(|known| known != end) {
            return Err(SpoolError::Damaged { file, offset: end, what: "no whole record" });
        }
        Ok(Older { number: header.number, bytes: bytes.len() as u64 })
    }

    /// Takes in the segment that grows, cuts its torn end, and makes sure of its last write.
    fn last<D: Disk>(
        &mut self,
        disk: &D,
        header: Header,
        limits: Limits,
    ) -> Result<(Tail<D::File>, Option<Cut>), SpoolError> {
        let file = segment_name(header.number);
        let bytes = read(disk, &file)?;
        let mut walk = Walk::new(&bytes, header.number);
        self.walk(header, &mut walk)?;
        let last = LastSegment { header, bytes: &bytes, end: walk.end(), batch: walk.batch() };
        if was_synced_past(&bytes, header.number, last.end) {
            return Err(SpoolError::Damaged { file, offset: last.end as u64, what: "no whole record" });
        }
        last.repair(disk, &file, limits)
    }

    fn walk(&mut self, header: Header, walk: &mut Walk<'_>) -> Result<(), SpoolError> {
        self.last_seq = self.last_seq.max(header.first_seq.saturating_sub(1));
        for (offset, record) in walk {
            let place = EntryPosition { segment: Some(header.number), offset, length: record.length() };
            self.record(record, place).map_err(|what| SpoolError::Damaged {
                file: segment_name(header.number),
                offset,
                what,
            })?;
        }
        Ok(())
    }

    fn record(&mut self, record: Record<'_>, place: EntryPosition) -> Result<(), &'static str> {
        let Record { seq, payload, .. } = record;
        match record.kind {
            Kind::Entry => {
                self.pending.insert(seq, (place, payload.into()));
                self.since.push((Seq(seq), payload.into()));
            }
            Kind::Ack => drop(self.pending.remove(&seq)),
            Kind::Snapshot => self.begin_anew(payload, place.segment == Some(self.newest))?,
            Kind::Aside => return Err("a record that does not belong here"),
        }
        self.last_seq = self.last_seq.max(seq);
        Ok(())
    }

    /// Keeps of what came before only what was live. What an older snapshot counted on may be acked and its
    /// segment removed since; what the newest one counts on must be there.
    fn begin_anew(&mut self, payload: &[u8], newest: bool) -> Result<(), &'static str> {
        let snapshot = decode(payload).ok_or("a snapshot that cannot be read")?;
        let expected: u64 = snapshot.live.iter().map(|run| run.end() - run.start() + 1).sum();
        let mut kept = BTreeMap::new();
        for run in snapshot.live {
            kept.extend(self.pending.extract_if(run, |_, _| true));
        }
        if newest && kept.len() as u64 != expected {
            return Err("an entry that was live at this snapshot is missing from the older segments");
        }
        (self.pending, self.snapshot) = (kept, Some(snapshot.state.into()));
        self.since.clear();
        Ok(())
    }

    fn found<F>(self, segments: Segments<F>, cut: Option<Cut>) -> RecoveredLog<F> {
        let index = self.pending.iter().map(|(seq, (place, _))| (*seq, *place)).collect();
        let pending = self.pending.into_iter().map(|(seq, (_, payload))| (Seq(seq), payload)).collect();
        let recovered = Recovered { snapshot: self.snapshot, since: self.since, pending, cut };
        RecoveredLog { segments, index, last_seq: self.last_seq, recovered }
    }
}

/// The segment that grows, as it was read.
struct LastSegment<'a> {
    header: Header,
    bytes: &'a [u8],
    end: usize,
    batch: usize,
}

impl LastSegment<'_> {
    fn repair<D: Disk>(
        &self,
        disk: &D,
        file: &str,
        limits: Limits,
    ) -> Result<(Tail<D::File>, Option<Cut>), SpoolError> {
        let task = Task { file, bytes: self.end - self.batch };
        let (end, length) = (self.end as u64, self.bytes.len() as u64);
        let torn = self.bytes[self.end..].iter().any(|byte| *byte != 0);
        let handle = disk.open(file).map_err(task.refused("open"))?;
        if torn {
            // Else a record of the next write could end where an old one begins.
            disk.truncate(&handle, end).map_err(task.refused("cut"))?;
        }
        let first = Walk::new(self.bytes, self.header.number).next().map_or(0, |(_, record)| record.length());
        let full_at = full_at(self.header.opening, first, limits);
        let (kept, wanted) = (if torn { end } else { length }, full_at + limits.reserve_bytes);
        let enough = kept >= wanted || disk.allocate(&handle, wanted).is_ok();
        let reserved = if enough { kept.max(wanted) } else { kept };
        // The bytes of the last write may be in the page cache alone, even after a sync that failed: only bytes that
        // are written again are surely synced.
        let batch = &self.bytes[self.batch..self.end];
        disk.write_at(&handle, self.batch as u64, batch).map_err(task.refused("write"))?;
        disk.sync_data(&handle).map_err(task.refused("sync"))?;
        let tail = Tail { number: self.header.number, file: handle, end, full_at, reserved };
        Ok((tail, torn.then(|| Cut { file: file.into(), offset: end, bytes: length - end })))
    }
}

fn read<D: Disk>(disk: &D, file: &str) -> Result<Vec<u8>, SpoolError> {
    disk.read(file).map_err(Task::on(file).refused("read"))
}

/// The payload of a snapshot: which entries are still live, and the owner's state.
///
/// The list makes the snapshot speak for all that lies before it: older segments are asked for these entries and nothing
/// else, so one that comes back after its removal brings nothing back to life.
pub(crate) struct Snapshot<'a> {
    /// The live entries, in order.
    pub(crate) live: Vec<RangeInclusive<u64>>,
    /// The owner's state.
    pub(crate) state: &'a [u8],
}

/// Writes the list of live entries, given in order; the state follows it.
pub(crate) fn encode_live(seqs: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for seq in seqs {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == seq => *last = seq,
            _ => runs.push((seq, seq)),
        }
    }
    let count = u32::try_from(runs.len()).expect("the runs are held in memory with their entries");
    let mut bytes = Vec::from(count.to_le_bytes());
    runs.iter().flat_map(|(first, last)| [first, last]).for_each(|seq| bytes.extend(seq.to_le_bytes()));
    bytes
}

/// Reads the payload of a snapshot; nothing if it does not hold what it says.
pub(crate) fn decode(payload: &[u8]) -> Option<Snapshot<'_>> {
    let (count, rest) = payload.split_at_checked(4)?;
    let (runs, state) = rest.split_at_checked((u32_at(count, 0) as usize).checked_mul(RUN)?)?;
    let live: Vec<_> = runs.chunks_exact(RUN).map(|run| u64_at(run, 0)..=u64_at(run, 8)).collect();
    live.iter().all(|run| !run.is_empty()).then_some(Snapshot { live, state })
}

const RUN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_entries_and_state_are_read_as_they_were_written() {
        let mut payload = encode_live([3, 4, 5, 9, 11, 12].into_iter());
        payload.extend(b"state");
        let snapshot = decode(&payload).unwrap();
        assert_eq!(snapshot.live, [3..=5, 9..=9, 11..=12]);
        assert_eq!(snapshot.state, b"state");
        assert!(decode(&payload[..10]).is_none());
    }
}
