//! The log on the real disk.

use muster_spool::{Directory, Disk, Limits, Seq, Spool, SpoolError, set_aside_entries};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

fn open(path: &Path) -> (Spool<Directory>, muster_spool::Recovered) {
    let directory = Directory::open(path).expect("a directory");
    Spool::open(directory, Limits::default()).expect("a spool")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

/// N19
#[test]
fn what_was_synced_is_there_when_the_directory_is_opened_again() {
    let home = tempfile::tempdir().unwrap();
    let (mut spool, recovered) = open(home.path());
    assert!(recovered.snapshot.is_none() && recovered.pending.is_empty());
    for n in 0..10 {
        spool.append(format!("entry {n}").as_bytes()).unwrap();
    }
    spool.sync().unwrap();
    spool.ack(Seq(3));
    spool.snapshot(b"state").unwrap();
    spool.append(b"after").unwrap();
    spool.sync().unwrap();
    spool.append(b"never synced").unwrap();
    drop(spool);
    let (spool, recovered) = open(home.path());
    assert_eq!(recovered.snapshot.unwrap(), b"state");
    assert_eq!(recovered.since, [(Seq(11), b"after".to_vec())]);
    assert_eq!(recovered.pending.len(), 10);
    assert_eq!(recovered.cut, None);
    assert_eq!(spool.read(Seq(4)).unwrap().unwrap(), b"entry 3");
}

/// N19: two agents on one spool would send everything twice.
#[test]
fn a_second_agent_on_one_spool_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let first = Directory::open(home.path()).unwrap();
    let error = Directory::open(home.path()).unwrap_err();
    assert!(
        matches!(&error, SpoolError::InUse { directory } if *directory == home.path().display().to_string())
    );
    drop(first);
    Directory::open(home.path()).unwrap();
}

#[test]
fn the_directory_and_its_files_are_the_owners_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("deep/spool");
    let (mut spool, _) = open(&path);
    let seq = spool.append(b"a").unwrap();
    spool.sync().unwrap();
    spool.set_aside(seq, b"note");
    spool.sync().unwrap();
    assert_eq!(mode(&path), 0o700);
    let files: Vec<_> = fs::read_dir(&path).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    files.iter().for_each(|file| assert_eq!(mode(file), 0o600, "{file:?}"));
}

#[test]
fn what_was_set_aside_is_read_beside_a_living_agent() {
    let home = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(home.path());
    let seq = spool.append(b"a").unwrap();
    spool.sync().unwrap();
    spool.set_aside(seq, b"note");
    spool.sync().unwrap();
    let beside = Directory::for_reading(home.path());
    assert_eq!(set_aside_entries(&beside).unwrap()[0].payload, b"a");
    assert!(beside.create("segment-0000000000000009.log").is_err());
    assert!(beside.remove("segment-0000000000000001.log").is_err());
}

/// N19: the room of a segment is taken from the disk when it begins.
#[test]
fn room_is_taken_ahead_and_given_back() {
    use std::os::unix::fs::MetadataExt;
    let home = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(home.path());
    let first = home.path().join("segment-0000000000000001.log");
    if spool.room() > 0 {
        assert!(fs::metadata(&first).unwrap().blocks() * 512 >= 5 << 20);
        assert_eq!(spool.bytes(), fs::metadata(&first).unwrap().len());
    }
    spool.append(b"a").unwrap();
    spool.snapshot(b"state").unwrap();
    assert!(fs::metadata(&first).unwrap().len() < 100);
}

/// N19: a torn tail on the real disk.
#[test]
fn a_torn_tail_is_cut() {
    use std::os::unix::fs::FileExt;
    let home = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(home.path());
    spool.append(b"whole").unwrap();
    spool.sync().unwrap();
    spool.append(b"torn").unwrap();
    spool.sync().unwrap();
    drop(spool);
    let file = home.path().join("segment-0000000000000001.log");
    let file = fs::File::options().write(true).open(file).unwrap();
    file.write_all_at(b"?", 41 + 30 + 25).unwrap();
    let (spool, recovered) = open(home.path());
    assert_eq!(recovered.pending, [(Seq(1), b"whole".to_vec())]);
    let cut = recovered.cut.unwrap();
    assert_eq!((cut.offset, spool.depth()), (41 + 30, 1));
    drop(spool);
    assert_eq!(open(home.path()).1.cut, None);
}
