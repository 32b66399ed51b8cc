//! Whether the overview stays responsive in a real Chromium while ten thousand devices are at work, and what one more
//! open dashboard costs the server.

mod browser;
mod fleet;
mod viewer;

use crate::{connection::Connection, cost::Cost, server::Server};
use fleet::Fleet;
use std::{thread, time::Duration};
use viewer::Viewers;

/// What is measured.
pub(crate) struct Scale {
    pub(crate) devices: usize,
    /// Entries of the feed per second.
    pub(crate) events: usize,
    /// How long the browser looks.
    pub(crate) seconds: u64,
}

/// Programs that take the feed and the snapshots as a dashboard does: one alone would drown in the noise.
const VIEWERS: usize = 20;
const SPAN: Duration = Duration::from_secs(30);

pub(crate) fn measure(scale: &Scale) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start(data.path(), "sqlite", &[("MUSTER_RETENTION__HISTORY_DAYS", "1")]);
    let fleet = Fleet::start(server.address, scale);
    println!(
        "dashboard: {} devices on {} nodes, {} entries of the feed a second asked for; server, load and browser share the cores",
        scale.devices,
        fleet.nodes(),
        scale.events
    );
    thread::sleep(Duration::from_secs(5));
    let bare = watch(&server, "nobody looks", || thread::sleep(SPAN));
    let viewers = Viewers::open(server.address, VIEWERS);
    let looked = watch(&server, &format!("{VIEWERS} dashboards, without a browser"), || {
        thread::sleep(SPAN);
    });
    let bytes = viewers.close();
    let one = (share(&looked) - share(&bare)) / VIEWERS as f64;
    println!(
        "  one more dashboard costs the server {:.2} % of a core, {:.1} MiB at most, {:.0} kB/s of loopback",
        100.0 * one,
        (looked.resident_mib() - bare.resident_mib()).max(0.0) / VIEWERS as f64,
        bytes as f64 / VIEWERS as f64 / SPAN.as_secs_f64() / 1000.0
    );
    let mut told = None;
    watch(&server, "one dashboard in Chromium", || {
        told = browser::look(server.address, scale.seconds);
    });
    match told {
        Some(told) => browser::print(&told),
        None => println!("  no browser: install Debian's chromium and run `npm --prefix bench/node ci`"),
    }
    fleet.stop();
}

fn share(cost: &Cost) -> f64 {
    cost.cpu.as_secs_f64() / cost.span.as_secs_f64()
}

/// Watches the server while something is done; says what it cost and how many entries there were.
fn watch(server: &Server, what: &str, meanwhile: impl FnOnce()) -> Cost {
    let before = newest(server);
    let cost = Cost::watch(server.id(), meanwhile);
    let rate = (newest(server) - before) as f64 / cost.span.as_secs_f64();
    println!("  {what:<36} server {}   {rate:>6.0} entries/s", cost.words());
    cost
}

/// On a connection of its own: one that rests for minutes is closed by the server.
fn newest(server: &Server) -> u64 {
    Connection::open(server.address).get_as_operator("/api/overview")["seq"]
        .as_u64()
        .expect("the feed is numbered")
}
