//! A thread that panics takes the process with it: one that answers nobody is worse than none.

use muster_coordinator::{Coordinator, LeaseTimes, Options};
use muster_model::{
    Facts, JobId, Key, Millis, Name,
    ask::devices::{Cancel, Heartbeat},
};
use muster_store::{
    Batch, Candidate, Cutoffs, Election, Loaded, Lookup, MemoryStore, Reader, Standing, Store, StoreError,
    Term, Writer,
};
use std::{os::unix::process::ExitStatusExt, process, sync::Arc, time::Duration};

/// Environment variable that names the call in which the child process's store panics.
const PLACE: &str = "MUSTER_TEST_PANICS_AT";

/// S18: a panic of the thread that decides, commits or shows life ends the process.
#[test]
fn a_thread_that_panics_ends_the_process() {
    for place in ["facts", "commit", "renew"] {
        let own = std::env::current_exe().expect("it runs");
        let mut child = process::Command::new(own);
        child.args(["--exact", "panics::panics_where_it_is_told", "--ignored"]).env(PLACE, place);
        let ended = child.output().expect("it starts");
        let said = String::from_utf8_lossy(&ended.stderr) + String::from_utf8_lossy(&ended.stdout);
        assert_eq!(ended.status.signal(), Some(6), "{place}: {said}");
    }
}

/// Run by the test above, in a process of its own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "ends the process"]
async fn panics_where_it_is_told() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let store = Frail { store: MemoryStore::shared(), place };
    let candidate = Candidate { node: "a".into(), address: "http://a:1".into() };
    let options = Options { lease: LeaseTimes { lease: Millis(240) }, ..Options::default() };
    let coordinator = Coordinator::join(Arc::new(store), options, candidate).expect("it joins");
    let worker = Name::new("PC-01").expect("a name");
    // Long enough for the slowest machine; then the process ends as if all were well.
    for _ in 0..3_000 {
        let _ = coordinator.ask(Heartbeat { worker: worker.clone() }).await;
        // A job that memory does not know is looked up.
        let _ = coordinator.ask(Cancel { job: JobId(1) }).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A store that panics.
#[derive(Clone)]
struct Frail {
    store: MemoryStore,
    place: String,
}

impl Frail {
    fn at(&self, place: &str) {
        assert!(self.place != place, "planted");
    }

    fn term(&self, term: Term) -> Term {
        let writer = Box::new(FrailWriter(self.clone(), term.writer));
        let lookup = Box::new(FrailLookup(self.clone(), term.lookup));
        Term { writer, lookup, ..term }
    }
}

impl Store for Frail {
    fn begin_term(&self) -> Result<Term, StoreError> {
        Ok(self.term(self.store.begin_term()?))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.store.reader()
    }

    fn election(&self) -> Option<Arc<dyn Election>> {
        Some(Arc::new(self.clone()))
    }
}

impl Election for Frail {
    fn look(&self) -> Result<Standing, StoreError> {
        self.store.look()
    }

    fn take(&self, seen: &Standing, who: &Candidate, epoch_seen: u64) -> Result<Option<Term>, StoreError> {
        Ok(self.store.take(seen, who, epoch_seen)?.map(|term| self.term(term)))
    }

    fn renew(&self, epoch: u64) -> Result<(), StoreError> {
        self.at("renew");
        self.store.renew(epoch)
    }

    fn resign(&self, epoch: u64) -> Result<(), StoreError> {
        self.store.resign(epoch)
    }

    fn preload(&self, sink: &mut dyn FnMut(Loaded)) -> Result<u64, StoreError> {
        self.store.preload(sink)
    }
}

struct FrailWriter(Frail, Box<dyn Writer>);

impl Writer for FrailWriter {
    fn load(&mut self, sink: &mut dyn FnMut(Loaded)) -> Result<(), StoreError> {
        self.1.load(sink)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.0.at("commit");
        self.1.commit(batch)
    }

    fn prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, StoreError> {
        self.1.prune(cutoffs)
    }
}

struct FrailLookup(Frail, Box<dyn Lookup>);

impl Lookup for FrailLookup {
    fn facts(&mut self, keys: &[Key]) -> Result<Facts, StoreError> {
        self.0.at("facts");
        self.1.facts(keys)
    }
}
