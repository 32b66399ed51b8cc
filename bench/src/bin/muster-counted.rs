//! `muster` with an allocator that counts. For each line on its input it prints the number of allocations so far, by
//! thread. Only `muster-bench allocations` runs it.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs,
    process::ExitCode,
    sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed},
    thread,
};
use tracking_allocator::{AllocationGroupId, AllocationRegistry, AllocationTracker, Allocator};

#[global_allocator]
static ALLOCATOR: Allocator<mimalloc::MiMalloc> = Allocator::from_allocator(mimalloc::MiMalloc);

fn main() -> ExitCode {
    AllocationRegistry::set_global_tracker(Counter).expect("it is set once");
    AllocationRegistry::enable_tracking();
    thread::spawn(print_on_request);
    muster::run()
}

fn print_on_request() {
    for _ in std::io::stdin().lines() {
        println!("{}", serde_json::to_string(&by_name()).expect("a map of numbers"));
    }
}

/// Threads that have ended have no name.
fn by_name() -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for thread in THREADS.iter().take(STARTED.load(Relaxed)) {
        let name = fs::read_to_string(format!("/proc/self/task/{}/comm", thread.id.load(Relaxed)));
        let name = name.map_or_else(|_| "ended".into(), |name| name.trim_end().to_owned());
        *counts.entry(name).or_default() += thread.allocations.load(Relaxed);
    }
    counts
}

/// Counts allocations where they happen; allocates nothing itself.
struct Counter;

impl AllocationTracker for Counter {
    fn allocated(&self, _: usize, _: usize, _: usize, _: AllocationGroupId) {
        let place = PLACE.with(|place| {
            place.get().unwrap_or_else(|| {
                let next = STARTED.fetch_add(1, Relaxed).min(THREADS.len() - 1);
                THREADS[next].id.store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
                place.set(Some(next));
                next
            })
        });
        THREADS[place].allocations.fetch_add(1, Relaxed);
    }

    fn deallocated(&self, _: usize, _: usize, _: usize, _: AllocationGroupId, _: AllocationGroupId) {}
}

/// The count of one thread.
struct Thread {
    id: AtomicI32,
    allocations: AtomicU64,
}

thread_local! {
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
}
static STARTED: AtomicUsize = AtomicUsize::new(0);
static THREADS: [Thread; 4096] =
    [const { Thread { id: AtomicI32::new(0), allocations: AtomicU64::new(0) } }; 4096];
