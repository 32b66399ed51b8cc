//! A spool on a simulated disk beside a plain model of what it promised.

use muster_spool::{Limits, Recovered, Seq, SimulatedDisk, Spool, SpoolError, set_aside_entries};
use std::collections::{BTreeMap, BTreeSet};

/// Small, so that a few entries fill a segment.
pub(crate) const LIMITS: Limits = Limits { segment_bytes: 900, reserve_bytes: 700, entry_bytes_max: 2000 };

/// A stream of numbers that a seed decides.
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

pub(crate) struct World {
    pub(crate) disk: SimulatedDisk,
    spool: Option<Spool<SimulatedDisk>>,
    /// Payloads that were appended and not lost since, by seq.
    payloads: BTreeMap<u64, Vec<u8>>,
    /// Entries up to here were promised.
    durable: u64,
    acked: BTreeSet<u64>,
    acked_durably: BTreeSet<u64>,
    aside: BTreeSet<u64>,
    /// States that were given, the last seq each covers; and which were promised.
    snapshots: Vec<(Vec<u8>, u64)>,
    promised_snapshots: usize,
    appends: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            disk: SimulatedDisk::new(),
            spool: None,
            payloads: BTreeMap::new(),
            durable: 0,
            acked: BTreeSet::new(),
            acked_durably: BTreeSet::new(),
            aside: BTreeSet::new(),
            snapshots: Vec::new(),
            promised_snapshots: 0,
            appends: 0,
        }
    }

    pub(crate) fn spool(&mut self) -> &mut Spool<SimulatedDisk> {
        self.spool.as_mut().expect("the spool is open")
    }

    pub(crate) fn is_open(&self) -> bool {
        self.spool.is_some()
    }

    pub(crate) fn append(&mut self, length: usize) {
        self.appends += 1;
        let mut payload = format!("entry {} ", self.appends).into_bytes();
        payload.resize(payload.len() + length, b'.');
        let Seq(seq) = self.spool().append(&payload).expect("a payload within limits is taken");
        assert_eq!(seq, self.last().max(self.durable) + 1);
        self.payloads.insert(seq, payload);
    }

    pub(crate) fn last(&self) -> u64 {
        self.payloads.keys().next_back().copied().unwrap_or(0)
    }

    pub(crate) fn ack(&mut self, seq: u64) {
        self.spool().ack(Seq(seq));
        if self.payloads.contains_key(&seq) && !self.aside.contains(&seq) {
            self.acked.insert(seq);
        }
    }

    pub(crate) fn set_aside(&mut self, seq: u64) {
        self.spool().set_aside(Seq(seq), format!("note on {seq}").as_bytes());
        if self.payloads.contains_key(&seq) && !self.acked.contains(&seq) {
            self.aside.insert(seq);
        }
    }

    pub(crate) fn sync(&mut self) -> Result<(), SpoolError> {
        let (durable_before, last) = (self.durable, self.last());
        let Seq(durable) = self.spool().sync()?;
        assert_eq!(durable, last.max(durable_before));
        self.promise(durable_before);
        Ok(())
    }

    pub(crate) fn snapshot(&mut self) -> Result<(), SpoolError> {
        let (durable_before, covers) = (self.durable, self.last().max(self.durable));
        let mut state = format!("state {} ", self.snapshots.len()).into_bytes();
        state.resize(state.len() + self.snapshots.len() % 7 * 100, b's');
        self.snapshots.push((state.clone(), covers));
        self.spool().snapshot(&state)?;
        self.promised_snapshots = self.snapshots.len();
        self.promise(durable_before);
        Ok(())
    }

    fn promise(&mut self, durable_before: u64) {
        self.durable = self.last().max(self.durable);
        if self.spool().aside_failure().is_none() {
            let written: Vec<u64> = self.aside.range(..=durable_before).copied().collect();
            self.acked.extend(written);
        }
        self.acked_durably.extend(&self.acked);
    }

    /// The process ends; the machine lives on.
    pub(crate) fn exit(&mut self) {
        self.spool = None;
    }

    /// The machine ends.
    pub(crate) fn crash(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        self.exit();
        self.disk.crash(choose);
    }

    /// Opens the spool and compares what it found with what was promised.
    pub(crate) fn open(&mut self) -> Result<(), SpoolError> {
        let opened = Spool::open(self.disk.clone(), LIMITS);
        assert!(!matches!(opened, Err(SpoolError::Damaged { .. })), "{opened:?}");
        let (spool, recovered) = opened?;
        assert_eq!(spool.depth(), recovered.pending.len());
        self.spool = Some(spool);
        self.compare(&recovered);
        Ok(())
    }

    fn compare(&mut self, recovered: &Recovered) {
        let pending = self.known(&recovered.pending);
        let since = self.known(&recovered.since);
        let covers = self.compare_snapshot(recovered);
        let back: BTreeSet<u64> = pending.union(&since).copied().collect();
        let last = back.last().copied().unwrap_or(0).max(self.durable).max(covers);
        for &seq in self.payloads.keys() {
            let promised = seq <= self.durable;
            let done = self.is_done(seq);
            assert!(!promised || done || pending.contains(&seq), "entry {seq} was promised and is lost");
            assert!(
                !promised || seq <= covers || since.contains(&seq),
                "entry {seq} is not among those since"
            );
            assert!(seq > last || done || back.contains(&seq), "entry {seq} is lost before one that is not");
            let gone = self.acked_durably.contains(&seq);
            assert!(!gone || !pending.contains(&seq), "entry {seq} was acked and is back");
        }
        assert!(
            since.first().is_none_or(|first| *first > covers),
            "an entry the snapshot covers is since it"
        );
        // Recovered entries are durable from here on, and so are the acks that survived.
        self.durable = last;
        self.payloads.split_off(&(last + 1));
        self.acked =
            self.payloads.keys().filter(|seq| **seq <= last && !pending.contains(seq)).copied().collect();
        self.acked_durably = self.acked.clone();
        self.aside.retain(|seq| self.acked.contains(seq));
    }

    fn is_done(&self, seq: u64) -> bool {
        self.acked.contains(&seq) || self.aside.contains(&seq)
    }

    fn compare_snapshot(&mut self, recovered: &Recovered) -> u64 {
        let Some(found) = &recovered.snapshot else {
            assert_eq!(self.promised_snapshots, 0, "a promised snapshot is lost");
            return 0;
        };
        let place =
            self.snapshots.iter().position(|(state, _)| state == found).expect("a state that was given");
        assert!(place + 1 >= self.promised_snapshots, "an older snapshot is back");
        self.promised_snapshots = place + 1;
        self.snapshots[place].1
    }

    /// Checks that entries are what was appended, in order, once each.
    fn known(&self, entries: &[(Seq, Vec<u8>)]) -> BTreeSet<u64> {
        assert!(entries.is_sorted_by(|(before, _), (after, _)| before < after), "out of order");
        for (Seq(seq), payload) in entries {
            assert_eq!(self.payloads.get(seq), Some(payload), "entry {seq} is altered");
        }
        entries.iter().map(|(Seq(seq), _)| *seq).collect()
    }

    /// Reads an entry back; it may fail only if it was made to.
    pub(crate) fn read(&mut self, seq: u64) -> Result<(), SpoolError> {
        let expected = self.payloads.get(&seq).filter(|_| !self.acked.contains(&seq)).cloned();
        let found = self.spool().read(Seq(seq))?;
        // A sync that failed may have set it aside all the same.
        let set_aside = found.is_none() && self.aside.contains(&seq);
        assert!(set_aside || found == expected, "entry {seq} is {found:?}");
        Ok(())
    }

    /// Checks, on a disk that no longer fails, that every entry is where it must be and the log goes on.
    pub(crate) fn check_in_depth(&mut self) {
        self.disk.fail_no_more();
        self.disk.set_capacity(None);
        for seq in self.payloads.keys().copied().collect::<Vec<_>>() {
            self.read(seq).expect("a whole disk is read");
        }
        let shelved = set_aside_entries(&self.disk).expect("what was set aside is read");
        for entry in &shelved {
            let Seq(seq) = entry.seq;
            assert_eq!(self.payloads.get(&seq), Some(&entry.payload), "entry {seq} is altered");
            assert_eq!(entry.note, format!("note on {seq}").as_bytes());
        }
        for seq in self.aside.intersection(&self.acked_durably) {
            assert!(
                shelved.iter().any(|entry| entry.seq == Seq(*seq)),
                "entry {seq} was set aside and is lost"
            );
        }
        self.append(10);
        self.sync().expect("a whole disk is written");
        self.snapshot().expect("a whole disk is written");
        self.exit();
        self.open().expect("a whole disk is opened");
    }
}
