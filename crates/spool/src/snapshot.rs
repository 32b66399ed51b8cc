//! The payload of a snapshot: which entries are still live, and the owner's state.
//!
//! The list makes the snapshot speak for all that lies before it: older segments are asked for these entries
//! and nothing else, so one that comes back after its removal brings nothing back to life.

use crate::record::{u32_at, u64_at};
use std::ops::RangeInclusive;

/// A snapshot that was read.
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
