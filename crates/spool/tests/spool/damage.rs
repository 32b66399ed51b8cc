//! Bytes that are missing or wrong.

use crate::world::LIMITS;
use muster_spool::{
    Cut, Disk, Failure, Limits, Recovered, Seq, SimulatedDisk, Spool, SpoolError, set_aside_entries,
};

/// A first segment of three syncs: entries 1 and 2, then 3, then 4 to 6 with an ack of 2.
fn three_syncs() -> (SimulatedDisk, Vec<u8>, Vec<usize>) {
    let disk = SimulatedDisk::new();
    let (mut spool, _) =
        Spool::open(disk.clone(), Limits { segment_bytes: 500, ..LIMITS }).expect("an empty disk");
    let mut ends = vec![HEADER];
    for (seqs, ack) in [(1..3, None), (3..4, None), (4..7, Some(2))] {
        for seq in seqs.clone() {
            assert_eq!(spool.append(&payload(seq)).expect("a short payload"), Seq(seq));
        }
        ack.into_iter().for_each(|seq| spool.ack(Seq(seq)));
        spool.sync().expect("a whole disk");
        let payloads: usize = seqs.clone().map(|seq| RECORD + payload(seq).len()).sum();
        ends.push(ends[ends.len() - 1] + payloads + ack.map_or(0, |_| RECORD));
    }
    let bytes = disk.read(FIRST).expect("the first segment");
    assert!(bytes[ends[3] - 1] != 0 && bytes[ends[3]..].iter().all(|byte| *byte == 0));
    (disk, bytes, ends)
}

fn payload(seq: u64) -> Vec<u8> {
    format!("payload of entry {seq}").into_bytes()
}

fn seqs(entries: &[(Seq, Vec<u8>)]) -> Vec<u64> {
    entries.iter().for_each(|(Seq(seq), found)| assert_eq!(*found, payload(*seq)));
    entries.iter().map(|(Seq(seq), _)| *seq).collect()
}

/// Opens a disk whose first segment has these bytes.
fn open(bytes: &[u8]) -> (SimulatedDisk, Result<Recovered, SpoolError>) {
    let disk = SimulatedDisk::new();
    disk.replace(FIRST, bytes.to_vec());
    let opened = Spool::open(disk.clone(), LIMITS).map(|(_, recovered)| recovered);
    (disk, opened)
}

/// N19: the file ends at any byte.
#[test]
fn a_torn_tail_is_cut_at_every_byte() {
    let (_, bytes, ends) = three_syncs();
    for kept in 0..=ends[3] {
        let (disk, opened) = open(&bytes[..kept]);
        let recovered = opened.unwrap();
        let found = seqs(&recovered.since);
        assert_eq!(found, (1..=found.len() as u64).collect::<Vec<_>>());
        let at_least = ends.iter().position(|end| *end > kept).map_or(6, |place| [0, 0, 2, 3][place]);
        assert!(found.len() >= at_least, "{kept} bytes kept, {found:?} found");
        // The rest of the log is whole: a second open cuts nothing.
        let (_, again) = Spool::open(disk, LIMITS).unwrap();
        assert_eq!((again.cut, again.since), (None, recovered.since));
    }
}

/// N19: a cut says what and where.
#[test]
fn a_cut_names_the_file_the_place_and_the_amount() {
    let (_, bytes, ends) = three_syncs();
    let (_, opened) = open(&bytes[..ends[2] + 7]);
    let cut = Cut { file: FIRST.into(), offset: ends[2] as u64, bytes: 7 };
    assert_eq!(opened.unwrap().cut, Some(cut));
    let (_, opened) = open(&bytes);
    assert_eq!(opened.unwrap().cut, None);
}

/// N19: any byte of the last write is wrong, as a torn write leaves it: it is cut there, and what follows
/// cannot come back though a record of the same length takes the place.
#[test]
fn a_flipped_byte_in_the_last_write_cuts_it_there_for_good() {
    let (_, bytes, ends) = three_syncs();
    for at in ends[2]..ends[3] {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x55;
        let (disk, opened) = open(&flipped);
        let found = seqs(&opened.unwrap().since);
        assert!(found.len() >= 3 && found.len() <= 6, "byte {at}: {found:?}");
        let (mut spool, _) = Spool::open(disk.clone(), LIMITS).unwrap();
        let next = found.len() as u64 + 1;
        assert_eq!(spool.append(b"PAYLOAD OF ENTRY X").unwrap(), Seq(next));
        spool.sync().unwrap();
        drop(spool);
        let (_, recovered) = Spool::open(disk, LIMITS).unwrap();
        let (last, before) = recovered.since.split_last().unwrap();
        assert_eq!((last, seqs(before)), (&(Seq(next), b"PAYLOAD OF ENTRY X".to_vec()), found), "byte {at}");
    }
}

/// N19: any byte before the last write is wrong: that had been synced, so it is damage and not a torn tail.
#[test]
fn a_flipped_byte_before_the_last_write_is_an_error_and_nothing_is_changed() {
    let (_, bytes, ends) = three_syncs();
    for at in 0..ends[2] {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x55;
        let (disk, opened) = open(&flipped);
        match opened.unwrap_err() {
            SpoolError::Damaged { file, offset, .. } => {
                assert!(file == FIRST && offset <= at as u64, "byte {at}: {file} at {offset}");
            }
            SpoolError::Version { file, .. } => assert!(file == FIRST && (8..12).contains(&at), "byte {at}"),
            other => panic!("byte {at}: {other}"),
        }
        assert_eq!(disk.read(FIRST).unwrap(), flipped);
    }
}

/// Two segments: entries 1 to 3 in the first, the second begun with a state; 2 is acked, 4 and 5 follow.
fn two_segments() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let (mut spool, _) = Spool::open(disk.clone(), LIMITS).expect("an empty disk");
    for seq in 1..4 {
        spool.append(&payload(seq)).expect("a short payload");
    }
    spool.ack(Seq(2));
    spool.snapshot(b"state").expect("a whole disk");
    for seq in 4..6 {
        spool.append(&payload(seq)).expect("a short payload");
        spool.sync().expect("a whole disk");
    }
    disk
}

/// N19: damage anywhere in an older segment is an error that says what to do.
#[test]
fn damage_in_an_older_segment_is_an_error_at_every_byte() {
    let disk = two_segments();
    let bytes = disk.read(FIRST).unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x55;
        disk.replace(FIRST, flipped);
        let error = Spool::open(disk.clone(), LIMITS).unwrap_err();
        assert!(error.to_string().contains(FIRST), "byte {at}: {error}");
        disk.replace(FIRST, bytes[..at].to_vec());
        let error = Spool::open(disk.clone(), LIMITS).unwrap_err();
        assert!(matches!(error, SpoolError::Damaged { .. }), "cut at {at}: {error}");
        assert!(error.to_string().contains("restore"), "{error}");
    }
    disk.replace(FIRST, bytes);
    let (_, recovered) = Spool::open(disk, LIMITS).unwrap();
    assert_eq!(recovered.snapshot.as_deref(), Some(&b"state"[..]));
    assert_eq!((seqs(&recovered.since), seqs(&recovered.pending)), (vec![4, 5], vec![1, 3, 4, 5]));
}

/// N19
#[test]
fn a_missing_segment_is_an_error() {
    let disk = two_segments();
    disk.remove(FIRST).unwrap();
    let error = Spool::open(disk, LIMITS).unwrap_err();
    assert!(matches!(error, SpoolError::Damaged { offset: 41, .. }), "{error}");
    let disk = two_segments();
    disk.remove(FIRST).unwrap();
    disk.replace(SECOND, b"not a beginning".to_vec());
    let error = Spool::open(disk, LIMITS).unwrap_err();
    assert!(matches!(error, SpoolError::Damaged { offset: 0, .. }), "{error}");
}

/// N19: nor may one of those be missing that follow each other after failed syncs.
#[test]
fn a_gap_between_segments_is_an_error() {
    for number in 1..3 {
        let disk = SimulatedDisk::new();
        let (mut spool, _) = Spool::open(disk.clone(), LIMITS).unwrap();
        for seq in 1..3 {
            spool.append(&payload(seq)).unwrap();
            disk.fail(1, Failure::Broken);
            spool.sync().unwrap_err();
            spool.sync().unwrap();
        }
        drop(spool);
        let missing = format!("segment-{number:016}.log");
        disk.remove(&missing).unwrap();
        let error = Spool::open(disk, LIMITS).unwrap_err();
        assert!(matches!(&error, SpoolError::Damaged { file, .. } if *file == missing), "{error}");
    }
}

/// N19: a segment that was begun and did not get far is nothing, at every byte of its beginning.
#[test]
fn a_half_made_segment_is_removed() {
    let disk = two_segments();
    let (first, second) = (disk.read(FIRST).unwrap(), disk.read(SECOND).unwrap());
    let whole = HEADER + RECORD + 4 + 2 * 16 + b"state".len();
    for kept in 0..=whole {
        for length in [kept, 700] {
            let disk = SimulatedDisk::new();
            let mut torn = second[..kept].to_vec();
            torn.resize(length, 0);
            disk.replace(FIRST, first.clone());
            disk.replace(SECOND, torn);
            let (spool, recovered) = Spool::open(disk.clone(), LIMITS).unwrap();
            assert_eq!(recovered.snapshot.is_some(), kept == whole, "{kept} bytes");
            assert_eq!(seqs(&recovered.pending), [1, 3], "{kept} bytes");
            assert_eq!(recovered.cut.is_some(), (1..whole).contains(&kept), "{kept} bytes");
            assert_eq!(disk.list().unwrap().len(), if kept == whole { 2 } else { 1 });
            assert_eq!(spool.depth(), 2);
        }
    }
}

/// N19
#[test]
fn a_log_of_another_version_is_refused_by_name() {
    let (_, mut bytes, _) = three_syncs();
    bytes[8] = 9;
    let (_, opened) = open(&bytes);
    let error = opened.unwrap_err();
    assert!(matches!(error, SpoolError::Version { found: 9, known: 1, .. }), "{error}");
}

/// N19: an entry that rots while the log is open is not given out.
#[test]
fn an_entry_that_no_longer_reads_as_written_is_an_error() {
    let disk = SimulatedDisk::new();
    let (mut spool, _) = Spool::open(disk.clone(), LIMITS).unwrap();
    let seq = spool.append(&payload(1)).unwrap();
    spool.sync().unwrap();
    assert_eq!(spool.read(seq).unwrap(), Some(payload(1)));
    let mut bytes = disk.read(FIRST).unwrap();
    bytes[HEADER + RECORD] ^= 1;
    disk.replace(FIRST, bytes);
    let error = spool.read(seq).unwrap_err();
    assert!(matches!(error, SpoolError::Damaged { offset: 41, .. }), "{error}");
}

/// N19: what was set aside is for people, so its damage is not passed over either.
#[test]
fn damage_in_what_was_set_aside_is_told_and_a_torn_tail_is_not() {
    let disk = SimulatedDisk::new();
    let (mut spool, _) = Spool::open(disk.clone(), LIMITS).unwrap();
    let seqs = [1, 2].map(|seq| spool.append(&payload(seq)).unwrap());
    spool.sync().unwrap();
    for seq in seqs {
        spool.set_aside(seq, b"no");
        spool.sync().unwrap();
    }
    assert_eq!(set_aside_entries(&disk).unwrap().len(), 2);
    let bytes = disk.read(ASIDE).unwrap();
    disk.replace(ASIDE, bytes[..bytes.len() - 1].to_vec());
    assert_eq!(set_aside_entries(&disk).unwrap().len(), 1);
    for at in (0..HEADER + RECORD + 10).filter(|at| !(8..12).contains(at)) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x55;
        disk.replace(ASIDE, flipped);
        let error = set_aside_entries(&disk).unwrap_err();
        assert!(matches!(error, SpoolError::Damaged { .. }), "byte {at}: {error}");
    }
}

const FIRST: &str = "segment-0000000000000001.log";
const SECOND: &str = "segment-0000000000000002.log";
const ASIDE: &str = "aside-0000000000000001.log";
const HEADER: usize = 41;
const RECORD: usize = 25;
