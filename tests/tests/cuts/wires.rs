//! That a cut is what it is taken for.

use muster_tests::{Network, Place, ServerSetup, in_own_network};
use std::path::Path;

/// What is sent between two places that are cut off from each other is dropped without a word, each way; all others
/// hear each other as before, and so do those two once it is mended.
#[test]
fn a_cut_drops_what_passes_between_two() {
    in_own_network(|| {
        let network = Network::with(&["a", "b", "c"]);
        let server = ServerSetup::new(&[]).place(network.place("a")).start();
        let url = format!("{}/healthz", server.anonymous().url());
        let reaches = |from: &str| curl(network.place(from), &url);
        assert_eq!([reaches("b"), reaches("c")], [FINE, FINE]);
        network.cut("a", "b");
        assert_eq!([reaches("b"), reaches("c")], [TIMED_OUT, FINE]);
        assert_eq!(server.anonymous().get("/healthz").status, 200);
        network.mend("b", "a");
        assert_eq!([reaches("b"), reaches("c")], [FINE, FINE]);
    });
}

/// How curl ends that asks for a page from somewhere.
fn curl(from: &Place, url: &str) -> i32 {
    let mut curl = from.command(Path::new("curl"));
    let output = curl.args(["--silent", "--show-error", "--max-time", "2", url]).output().unwrap();
    output.status.code().unwrap()
}

const FINE: i32 = 0;
const TIMED_OUT: i32 = 28;
