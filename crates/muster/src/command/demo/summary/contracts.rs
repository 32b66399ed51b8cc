//! What each of the five contracts did, and what was done to it on purpose, in one table.

use super::{super::paint::grouped, Summary, empty_table};
use comfy_table::Cell;
use serde_json::{Value, json};

/// One contract's line.
struct Deed {
    contract: &'static str,
    did: String,
    suffered: String,
}

impl Summary<'_> {
    pub(super) fn contract_table(&self, is_terminal: bool) -> String {
        let mut table = empty_table(is_terminal);
        table.set_header(["CONTRACT", "DID", "WHAT WAS DONE TO IT, AND MADE GOOD"]);
        for Deed { contract, did, suffered } in self.deeds() {
            table.add_row([Cell::new(contract), Cell::new(did), Cell::new(suffered)]);
        }
        table.trim_fmt()
    }

    pub(super) fn contracts(&self) -> Vec<Value> {
        let deed = |deed: Deed| json!({"contract": deed.contract, "did": deed.did, "faults": deed.suffered});
        self.deeds().into_iter().map(deed).collect()
    }

    fn deeds(&self) -> [Deed; 5] {
        [self.nodes_did(), self.operations_did(), self.frames_did(), self.pool_did(), self.court_did()]
    }

    fn nodes_did(&self) -> Deed {
        let jobs: u64 = self.node_counts().map(|node| node.jobs).sum();
        let did = format!("{} jobs on devices, {} callbacks", grouped(jobs), grouped(self.callbacks));
        let (killed, cut) = (self.fleet.crashes().len(), self.fleet.cuts().len());
        Deed { contract: "nodes", did, suffered: format!("agents killed: {killed}, cut off: {cut}") }
    }

    fn operations_did(&self) -> Deed {
        let retries: u64 = self.runs.iter().map(|run| self.attempts(run).1).sum();
        let rows: usize = self.ledger.rows.values().map(Vec::len).sum();
        let did = format!("{} runs, {} devices served", self.runs.len(), grouped(rows as u64));
        let cancelled = self.runs.iter().filter(|run| run.is_cancelled).count();
        let suffered = format!("attempts failed and repeated: {retries}, runs withdrawn: {cancelled}");
        Deed { contract: "operations", did, suffered }
    }

    fn frames_did(&self) -> Deed {
        let sessions = self.frames.farm.sessions();
        let frames: u64 = sessions.iter().map(|session| session.done).sum();
        let did = format!("{} sessions, {} frames", sessions.len(), grouped(frames));
        let suffered = format!("workers killed: {}", self.frames.farm.losses().len());
        Deed { contract: "simulation", did, suffered }
    }

    fn pool_did(&self) -> Deed {
        let pool = self.pool.pool;
        let receipts = pool.jobs().iter().filter(|job| job.receipt.is_some()).count();
        let did = format!("{} jobs, {receipts} receipts", pool.jobs().len());
        let liars = pool.members().iter().filter(|member| member.standing.is_banned()).count();
        let suffered = format!("workers killed: {}, liars found and banned: {liars}", pool.losses().len());
        Deed { contract: "pool", did, suffered }
    }

    fn court_did(&self) -> Deed {
        let (court, posts) = (self.court.court, self.court.rest.posts.len());
        let did = format!("{} events, {posts} messages", court.errands().len());
        Deed { contract: "court", did, suffered: format!("killed: {}", court.losses().len()) }
    }
}
