//! Somebody who watches the feed over all deaths of the server.

use super::{Ledger, PAUSE, Phase};
use crate::{Client, Request};
use std::{io, thread, time::Duration};

/// Watches from the very first entry on and takes no gap, no repeat and no refusal.
pub(super) fn watch(client: &Client, ledger: &Ledger) {
    let mut last = 0;
    while ledger.phase() != Phase::Over {
        if follow(client, ledger, &mut last).is_err() {
            thread::sleep(PAUSE);
        }
    }
    assert!(last > 0, "nothing was seen");
    println!("{last} entries of the feed seen, without a gap");
}

fn follow(client: &Client, ledger: &Ledger, last: &mut u64) -> io::Result<()> {
    let request = Request::new("GET", "/api/events").header("Last-Event-ID", &last.to_string());
    let mut stream = client.stream(request).inspect_err(|error| {
        assert!(error.kind() != io::ErrorKind::Other, "after {last}: {error}");
    })?;
    stream.set_patience(Duration::from_millis(500));
    while ledger.phase() != Phase::Over {
        let event = stream.next_event()?;
        assert_eq!(event.id, *last + 1, "{event:?}");
        *last = event.id;
    }
    Ok(())
}
