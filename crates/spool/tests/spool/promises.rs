//! Behavior that a user of the log sees when nothing, or one thing, goes wrong.

use crate::world::LIMITS;
use muster_spool::{Disk, Failure, Seq, SetAside, SimulatedDisk, Spool, SpoolError, set_aside_entries};

fn open(disk: &SimulatedDisk) -> Spool<SimulatedDisk> {
    Spool::open(disk.clone(), LIMITS).expect("a whole disk is opened").0
}

/// N19: many entries, one write, one sync; nothing to do costs nothing.
#[test]
fn a_sync_is_one_write_and_one_fdatasync_however_much_there_is() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    for n in 0..50 {
        spool.append(&[n; 3]).unwrap();
    }
    spool.ack(Seq(7));
    let before = disk.operations();
    assert_eq!(spool.sync().unwrap(), Seq(50));
    assert_eq!(disk.operations() - before, 2);
    assert_eq!(spool.sync().unwrap(), Seq(50));
    assert_eq!(disk.operations() - before, 2);
}

#[test]
fn seqs_count_from_one_and_go_on_after_a_restart() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    assert_eq!([spool.append(b"a").unwrap(), spool.append(b"").unwrap()], [Seq(1), Seq(2)]);
    spool.sync().unwrap();
    spool.ack(Seq(1));
    spool.ack(Seq(2));
    spool.snapshot(b"").unwrap();
    drop(spool);
    assert_eq!(open(&disk).append(b"c").unwrap(), Seq(3));
}

#[test]
fn an_ack_waits_for_the_next_sync_and_is_not_worth_one() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    let seq = spool.append(b"a").unwrap();
    assert!(spool.needs_sync());
    spool.sync().unwrap();
    let before = disk.operations();
    spool.ack(seq);
    spool.ack(seq);
    spool.ack(Seq(99));
    assert!(!spool.needs_sync());
    assert_eq!((spool.depth(), disk.operations()), (0, before));
    assert_eq!(spool.read(seq).unwrap(), None);
}

#[test]
fn an_entry_is_read_from_memory_and_then_from_disk() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    let seq = spool.append(b"payload").unwrap();
    let before = disk.operations();
    assert_eq!(spool.read(seq).unwrap().unwrap(), b"payload");
    assert_eq!(disk.operations(), before);
    spool.sync().unwrap();
    assert_eq!(spool.read(seq).unwrap().unwrap(), b"payload");
    assert_eq!(disk.operations(), before + 3);
}

#[test]
fn only_a_payload_that_can_never_be_written_is_refused() {
    let mut spool = open(&SimulatedDisk::new());
    spool.append(&vec![0; LIMITS.entry_bytes_max]).unwrap();
    let error = spool.append(&vec![0; LIMITS.entry_bytes_max + 1]).unwrap_err();
    assert_eq!(error.to_string(), "an entry of 2001 bytes, 2000 are allowed");
    assert_eq!(spool.append(b"next").unwrap(), Seq(2));
}

/// N19: a snapshot ends a segment, and segments go when all in them is acked, oldest first.
#[test]
fn segments_are_removed_once_everything_in_them_is_acked() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    for _ in 0..3 {
        while !spool.wants_snapshot() {
            spool.append(&[1; 100]).unwrap();
        }
        spool.snapshot(b"state").unwrap();
    }
    assert_eq!(disk.list().unwrap().len(), 4);
    assert_eq!(spool.bytes(), disk.used());
    let last = spool.append(b"last").unwrap();
    (2..last.0).for_each(|seq| spool.ack(Seq(seq)));
    spool.snapshot(b"state").unwrap();
    assert_eq!(disk.list().unwrap().len(), 5, "the first entry holds them all");
    spool.ack(Seq(1));
    spool.snapshot(b"state").unwrap();
    assert_eq!(disk.list().unwrap().len(), 3, "the one with the last entry, the next, the new");
    assert_eq!(spool.read(last).unwrap().unwrap(), b"last");
    assert_eq!(spool.bytes(), disk.used());
}

/// N19: a state longer than a segment does not make every segment full.
#[test]
fn a_long_state_leaves_room_for_entries() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    spool.snapshot(&vec![7; 5000]).unwrap();
    assert!(!spool.wants_snapshot());
    drop(spool);
    let (spool, recovered) = Spool::open(disk, LIMITS).unwrap();
    assert!(!spool.wants_snapshot());
    assert_eq!(recovered.snapshot.unwrap().len(), 5000);
}

/// N19: what no one will take is kept for people, and blocks nothing.
#[test]
fn what_is_set_aside_is_durable_with_the_next_sync_and_acked() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    let seqs = [b"a", b"b", b"c"].map(|payload| spool.append(payload).unwrap());
    spool.sync().unwrap();
    spool.set_aside(seqs[1], b"422: what is this");
    spool.set_aside(seqs[1], b"again");
    spool.ack(seqs[1]);
    spool.set_aside(Seq(99), b"unknown");
    assert!(spool.needs_sync());
    assert_eq!(spool.depth(), 3);
    spool.sync().unwrap();
    assert_eq!(spool.depth(), 2);
    drop(spool);
    disk.crash(&mut |_| 0);
    let (_, recovered) = Spool::open(disk.clone(), LIMITS).unwrap();
    assert_eq!(recovered.pending.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [seqs[0], seqs[2]]);
    let entry = SetAside { seq: seqs[1], note: b"422: what is this".into(), payload: b"b".into() };
    assert_eq!(set_aside_entries(&disk).unwrap(), [entry]);
}

/// N19: an aside file that cannot be written holds up no sync, and is tried again.
#[test]
fn trouble_with_what_is_set_aside_holds_up_nothing_else() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    let seq = spool.append(b"a").unwrap();
    spool.sync().unwrap();
    spool.set_aside(seq, b"note");
    spool.append(b"b").unwrap();
    disk.set_capacity(Some(disk.used()));
    assert_eq!(spool.sync().unwrap(), Seq(2));
    assert!(matches!(spool.aside_failure(), Some(SpoolError::Full { .. })));
    assert_eq!((spool.depth(), spool.needs_sync()), (2, true));
    disk.set_capacity(None);
    spool.sync().unwrap();
    assert!(spool.aside_failure().is_none());
    assert_eq!((spool.depth(), set_aside_entries(&disk).unwrap().len()), (1, 1));
}

/// N19: nor is a file of what was set aside trusted after a sync that failed.
#[test]
fn a_failed_sync_begins_a_new_file_of_what_is_set_aside() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    let seqs = [b"a", b"b"].map(|payload| spool.append(payload).unwrap());
    spool.sync().unwrap();
    spool.set_aside(seqs[0], b"first");
    spool.sync().unwrap();
    spool.set_aside(seqs[1], b"second");
    // Of: read the entry, write, sync.
    disk.fail(2, Failure::Broken);
    spool.sync().unwrap();
    assert!(matches!(spool.aside_failure(), Some(SpoolError::Io { doing: "sync", .. })));
    spool.sync().unwrap();
    assert!(disk.list().unwrap().contains(&"aside-0000000000000002.log".to_owned()));
    let notes: Vec<_> = set_aside_entries(&disk).unwrap().into_iter().map(|entry| entry.note).collect();
    assert_eq!(notes, [b"first".to_vec(), b"second".to_vec()]);
}

/// N19: room that was taken before is there when the disk has none left.
#[test]
fn on_a_full_disk_the_reserved_room_can_still_be_filled() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    disk.set_capacity(Some(disk.used()));
    assert_eq!(spool.room(), LIMITS.segment_bytes + LIMITS.reserve_bytes);
    while !spool.wants_snapshot() {
        spool.append(&[1; 75]).unwrap();
        spool.sync().unwrap();
    }
    let room = spool.room();
    for left in [0, 200] {
        disk.set_capacity(Some(disk.used() + left));
        assert!(matches!(spool.snapshot(b"state").unwrap_err(), SpoolError::Full { .. }));
        assert_eq!(disk.list().unwrap().len(), 1, "what was begun is gone");
        assert_eq!(spool.room(), room, "a segment without a reserve is none to change for");
    }
    disk.set_capacity(Some(disk.used()));
    while spool.room() >= 100 {
        spool.append(&[2; 75]).unwrap();
        spool.sync().unwrap();
    }
    spool.append(&[3; 500]).unwrap();
    let durable = spool.append(b"x").unwrap().0 - 2;
    assert!(matches!(spool.sync().unwrap_err(), SpoolError::Full { .. }));
    assert_eq!(spool.room(), 0);
    assert_eq!(spool.depth() as u64, durable + 2);
    disk.set_capacity(None);
    assert_eq!(spool.sync().unwrap(), Seq(durable + 2));
    spool.snapshot(b"state").unwrap();
    assert_eq!(spool.room(), LIMITS.segment_bytes + LIMITS.reserve_bytes);
}

/// N19: after a sync that failed the file is not trusted again, and the entries stand in a new one.
#[test]
fn a_failed_sync_begins_a_new_segment() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    spool.append(b"a").unwrap();
    disk.fail(1, Failure::Broken);
    let error = spool.sync().unwrap_err();
    assert!(matches!(error, SpoolError::Io { doing: "sync", .. }), "{error}");
    assert_eq!(spool.room(), 0);
    spool.append(b"b").unwrap();
    assert_eq!(spool.sync().unwrap(), Seq(2));
    assert_eq!(disk.list().unwrap().len(), 2);
    assert_eq!(spool.read(Seq(1)).unwrap().unwrap(), b"a");
    drop(spool);
    disk.crash(&mut |_| 0);
    let (_, recovered) = Spool::open(disk, LIMITS).unwrap();
    assert_eq!(recovered.pending, [(Seq(1), b"a".to_vec()), (Seq(2), b"b".to_vec())]);
}

/// N19: a place on the disk that cannot be written is not tried for ever.
#[test]
fn a_failed_write_begins_a_new_segment() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    spool.append(b"a").unwrap();
    disk.fail(0, Failure::Broken);
    let error = spool.sync().unwrap_err();
    assert!(matches!(error, SpoolError::Io { doing: "write", .. }), "{error}");
    assert_eq!(spool.sync().unwrap(), Seq(1));
    assert_eq!(disk.list().unwrap().len(), 2);
}

/// N19: a disk that never syncs again is not filled with beginnings.
#[test]
fn a_broken_disk_is_not_filled_with_new_segments() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    spool.append(b"a").unwrap();
    disk.fail(1, Failure::Broken);
    spool.sync().unwrap_err();
    for _ in 0..20 {
        // Of: create, allocate, write, sync, then remove what was begun.
        disk.fail(3, Failure::Broken);
        spool.sync().unwrap_err();
        assert_eq!(disk.list().unwrap().len(), 1);
        disk.fail(3, Failure::Broken);
        disk.fail(4, Failure::Broken);
        spool.sync().unwrap_err();
        assert_eq!(disk.list().unwrap().len(), 2);
        disk.fail(0, Failure::Broken);
        spool.sync().unwrap_err();
        disk.fail(2, Failure::Broken);
        spool.sync().unwrap_err();
        assert_eq!(disk.list().unwrap().len(), 1);
    }
    assert_eq!(spool.sync().unwrap(), Seq(1));
}

/// N19: a failure of the whole disk while it is opened leaves it as it can be opened later.
#[test]
fn a_spool_that_could_not_be_opened_can_be_opened_later() {
    let disk = SimulatedDisk::new();
    let mut spool = open(&disk);
    spool.append(b"a").unwrap();
    spool.sync().unwrap();
    drop(spool);
    for nth in 0.. {
        disk.fail(nth, Failure::Broken);
        let opened = Spool::open(disk.clone(), LIMITS);
        disk.fail_no_more();
        assert_eq!(open(&disk).depth(), 1);
        if opened.is_ok() && nth > 10 {
            break;
        }
    }
}
