use super::*;
use crate::{
    Place,
    scene::{Countdown, court, now},
};
use std::{collections::BTreeSet, fs, thread};

/// C9, C10: at least three digits, by the day in UTC, each series for itself.
#[test]
fn numbers_begin_anew_each_day() {
    let (_home, folder) = court();
    assert_eq!(next(&folder, Series::Task), "task-20260207-001");
    assert_eq!(next(&folder, Series::Task), "task-20260207-002");
    assert_eq!(next(&folder, Series::Message), "msg-20260207-001");
    let evening: Timestamp = "2026-02-07T20:00:00-05:00".parse().unwrap();
    assert_eq!(folder.next_id(Series::Task, evening).unwrap().as_str(), "task-20260208-001");
}

/// C9: numbers grow past 999, in order.
#[test]
fn numbers_grow_past_three_digits() {
    let (_home, folder) = court();
    put(&folder, Place::TasksPending, "task-20260207-998");
    assert_eq!(next(&folder, Series::Task), "task-20260207-999");
    assert_eq!(next(&folder, Series::Task), "task-20260207-1000");
    assert_eq!(next(&folder, Series::Task), "task-20260207-1001");
}

/// C9: whichever directory the largest number of the day is in, the next one is larger, with a counter or without one.
#[test]
fn numbers_continue_after_the_largest_found() {
    for (series, prefix) in [(Series::Task, "task"), (Series::Message, "msg")] {
        for place in series.places() {
            let (home, folder) = court();
            put(&folder, place, &format!("{prefix}-20260206-5000"));
            put(&folder, place, &format!("{prefix}-20260207-041"));
            put(&folder, place, &format!("{prefix}-20260207-007"));
            assert_eq!(next(&folder, series), format!("{prefix}-20260207-042"));
            fs::remove_file(folder.counter(series, DAY)).unwrap();
            put(&folder, place, &format!("{prefix}-20260207-2000"));
            let later = Folder::open(home.path()).unwrap();
            assert_eq!(next(&later, series), format!("{prefix}-20260207-2001"));
        }
    }
}

/// C9, C10: around midnight, and with a clock that is set back, two days are under way at once; neither begins again.
#[test]
fn two_days_may_be_under_way_at_once() {
    let (_home, folder) = court();
    let tomorrow: Timestamp = "2026-02-08T00:00:01Z".parse().unwrap();
    assert_eq!(next(&folder, Series::Message), "msg-20260207-001");
    assert_eq!(folder.next_id(Series::Message, tomorrow).unwrap().as_str(), "msg-20260208-001");
    assert_eq!(next(&folder, Series::Message), "msg-20260207-002");
    assert_eq!(folder.next_id(Series::Message, tomorrow).unwrap().as_str(), "msg-20260208-002");
    let later: Timestamp = "2026-03-08T00:00:01Z".parse().unwrap();
    folder.next_id(Series::Message, later).unwrap();
    assert!(!folder.counter(Series::Message, DAY).exists(), "old days are forgotten");
}

/// C9: a number that somebody took by hand while the counter was below it is passed over.
#[test]
fn a_taken_number_is_passed_over() {
    let (_home, folder) = court();
    assert_eq!(next(&folder, Series::Task), "task-20260207-001");
    put(&folder, Place::TasksCompleted, "task-20260207-002");
    assert_eq!(next(&folder, Series::Task), "task-20260207-003");
}

/// C9, C23: no hostile name uses the numbers up, and no spoilt counter makes them begin again.
#[test]
fn strange_names_and_counters_do_no_harm() {
    let (_home, folder) = court();
    for number in ["18446744073709551615", "99999999999999999999999", "abc", "-3", ""] {
        put(&folder, Place::TasksPending, &format!("task-20260207-{number}"));
    }
    fs::write(folder.counter(Series::Task, DAY), b"\xff\xfe nonsense\n").unwrap();
    assert_eq!(next(&folder, Series::Task), "task-20260207-001");
    fs::write(folder.counter(Series::Task, DAY), format!("{}\n", u64::MAX)).unwrap();
    let refused = folder.next_id(Series::Task, now()).unwrap_err();
    assert_eq!(refused.to_string(), "the numbers of 20260207 are used up");
}

/// C9: whoever asks at the same time, each with a folder of their own as processes have, nobody gets a number twice.
#[test]
fn nobody_gets_the_same_number() {
    let (home, _folder) = court();
    let ask = || {
        let folder = Folder::open(home.path()).unwrap();
        (0..25).map(|_| next(&folder, Series::Message)).collect::<Vec<_>>()
    };
    let numbers: Vec<String> = thread::scope(|scope| {
        let askers: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        askers.into_iter().flat_map(|asker| asker.join().unwrap()).collect()
    });
    let expected: BTreeSet<String> = (1..=100).map(|number| format!("msg-20260207-{number:03}")).collect();
    assert_eq!(numbers.len(), 100);
    assert_eq!(numbers.into_iter().collect::<BTreeSet<_>>(), expected);
}

/// C6, C9: wherever asking is cut short, no number is given twice, and at most one is given to nobody.
#[test]
fn a_crash_leaves_at_most_a_hole() {
    for operations in 0.. {
        let (home, folder) = court();
        assert_eq!(next(&folder, Series::Task), "task-20260207-001");
        let cut =
            Folder::with_fuse(home.path(), Countdown::of(operations)).unwrap().next_id(Series::Task, now());
        let after = next(&Folder::open(home.path()).unwrap(), Series::Task);
        match cut {
            Ok(id) => {
                assert_eq!((id.as_str(), after.as_str()), ("task-20260207-002", "task-20260207-003"));
                assert!(operations >= 4, "made, filled, synced and renamed");
                break;
            }
            Err(_) => {
                assert!(["task-20260207-002", "task-20260207-003"].contains(&after.as_str()), "{after}")
            }
        }
    }
}

fn next(folder: &Folder, series: Series) -> String {
    folder.next_id(series, now()).unwrap().to_string()
}

fn put(folder: &Folder, place: Place, name: &str) {
    fs::write(folder.directory(place).join(format!("{name}.json")), b"{}").unwrap();
}

const DAY: &str = "20260207";
