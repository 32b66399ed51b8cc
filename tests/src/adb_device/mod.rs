//! A device that a real adb server connects to over TCP.
//!
//! [`AdbDevice`] speaks adbd's side of the protocol, as far as tests need it: it introduces itself, asks for
//! authorisation if it is told to, and runs a few programs through `shell:`, `shell,v2:` and `exec:`.

mod link;
mod shell;

use link::Link;
use std::{
    collections::HashMap,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// A device on a port of its own; gone with the value.
#[derive(Debug)]
pub struct AdbDevice {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// How a device behaves towards adb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It introduces itself: `device`.
    Open,
    /// It asks for a key that nobody has allowed: `unauthorized`.
    Locked,
    /// It takes connections and says nothing: `offline`, or, once it was online, a device that hangs.
    Silent,
}

/// What the device's threads share.
#[derive(Debug)]
struct Shared {
    version: u32,
    features: Vec<&'static str>,
    manner: Mutex<Manner>,
    props: Mutex<HashMap<String, String>>,
    screen: Mutex<Vec<u8>>,
    ran: Mutex<Vec<Vec<String>>>,
    running: AtomicUsize,
    links: Mutex<Vec<TcpStream>>,
    is_over: AtomicBool,
}

impl AdbDevice {
    /// Starts a device of today.
    #[must_use]
    pub fn start(serial: &str) -> Self {
        Self::with(serial, Manner::Open, 0x0100_0001, vec!["shell_v2", "cmd"])
    }

    /// Starts a device from before the second shell protocol.
    #[must_use]
    pub fn old(serial: &str) -> Self {
        Self::with(serial, Manner::Open, 0x0100_0000, vec!["cmd"])
    }

    /// Starts a device that nobody has allowed this PC to debug.
    #[must_use]
    pub fn locked(serial: &str) -> Self {
        Self::with(serial, Manner::Locked, 0x0100_0001, vec!["shell_v2", "cmd"])
    }

    /// Starts a device that takes connections and says nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self::with("", Manner::Silent, 0x0100_0001, vec![])
    }

    fn with(serial: &str, manner: Manner, version: u32, features: Vec<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let props = HashMap::from([("ro.serialno".to_owned(), serial.to_owned())]);
        let shared = Arc::new(Shared {
            version,
            features,
            manner: Mutex::new(manner),
            props: Mutex::new(props),
            screen: Mutex::new(shell::noise(u64::from(address.port()))),
            ran: Mutex::default(),
            running: AtomicUsize::new(0),
            links: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Self { address, shared }
    }

    /// Where it listens, which is what adb calls it.
    #[must_use]
    pub fn handle(&self) -> String {
        self.address.to_string()
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Sets a property.
    pub fn set_prop(&self, name: &str, value: &str) {
        self.shared.props.lock().unwrap().insert(name.to_owned(), value.to_owned());
    }

    /// What `screencap -p` gives.
    #[must_use]
    pub fn screen(&self) -> Vec<u8> {
        self.shared.screen.lock().unwrap().clone()
    }

    /// Changes what `screencap -p` gives.
    pub fn set_screen(&self, bytes: &[u8]) {
        *self.shared.screen.lock().unwrap() = bytes.to_vec();
    }

    /// Every command it was told to run, word by word.
    #[must_use]
    pub fn ran(&self) -> Vec<Vec<String>> {
        self.shared.ran.lock().unwrap().clone()
    }

    /// How many commands run until somebody closes them.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.running.load(Ordering::SeqCst)
    }

    /// Behaves otherwise from now on; connections stay as they are.
    pub fn set_manner(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap() = manner;
    }

    /// Ends every connection, as a pulled cable does, and answers none that follows.
    pub fn vanish(&self) {
        self.set_manner(Manner::Silent);
        self.shared.hang_up();
    }

    /// Allows the PC that asks, as a finger on the screen does.
    pub fn allow(&self) {
        self.set_manner(Manner::Open);
        for link in self.shared.links.lock().unwrap().iter_mut() {
            let _ = link::introduce(&self.shared, link);
        }
    }
}

impl Drop for AdbDevice {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.shared.hang_up();
        // Wakes the one that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn manner(&self) -> Manner {
        *self.manner.lock().unwrap()
    }

    fn has(&self, feature: &str) -> bool {
        self.features.contains(&feature)
    }

    fn hang_up(&self) {
        for link in self.links.lock().unwrap().drain(..) {
            let _ = link.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        shared.links.lock().unwrap().push(stream.try_clone().unwrap());
        let link = Link::new(stream, Arc::clone(shared));
        thread::spawn(|| link.serve());
    }
}
