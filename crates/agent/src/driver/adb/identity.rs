//! Tells a device from the handle that reaches it (N23).

use crate::{Attached, Text};
use muster_model::Attachment;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Kind of connection of a handle to its device; the better way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Route {
    /// The handle is the device's serial.
    Usb,
    /// `ip:port`, or a name that mDNS announced.
    Network,
    /// `emulator-5554`.
    Emulator,
}

/// Which serial was found behind which handle.
#[derive(Debug, Default)]
pub(super) struct Memory {
    learnt: HashMap<Text, Learnt>,
}

#[derive(Debug)]
struct Learnt {
    serial: Text,
    transport: Option<u64>,
    /// False once the handle was seen without its device online: the next may be another.
    holds: bool,
}

/// A device and the best that reaches it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Its immutable serial.
    pub(super) device: Text,
    /// The handle that reaches it.
    pub(super) line: Line,
    attachment: Attachment,
}

impl Route {
    /// Reads a handle.
    pub(super) fn of(handle: &str) -> Self {
        let console = handle.strip_prefix("emulator-");
        if console.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())) {
            Self::Emulator
        } else if handle.contains(':') || handle.contains("._tcp") {
            Self::Network
        } else {
            Self::Usb
        }
    }
}

impl Memory {
    /// True if the device behind an online handle has to be asked who it is.
    pub(super) fn must_ask(&self, line: &Line) -> bool {
        line.state == State::Online && !self.is_sure(line)
    }

    /// True if the name of a device is more than a guess from earlier.
    pub(super) fn is_sure(&self, line: &Line) -> bool {
        let same = |learnt: &Learnt| learnt.holds && learnt.transport == line.transport;
        Route::of(&line.handle) == Route::Usb || self.learnt.get(&line.handle).is_some_and(same)
    }

    /// Remembers what a device said its serial is. One without a serial of its own goes by its handle.
    pub(super) fn learn(&mut self, line: &Line, said: &str) {
        let serial = if is_own(said) { said.into() } else { Text::clone(&line.handle) };
        let learnt = Learnt { serial, transport: line.transport, holds: true };
        self.learnt.insert(Text::clone(&line.handle), learnt);
    }

    /// The serial behind a handle, as far as it is known; else the handle.
    pub(super) fn name(&self, line: &Line) -> Text {
        match self.learnt.get(&line.handle) {
            Some(learnt) if Route::of(&line.handle) != Route::Usb => Text::clone(&learnt.serial),
            _ => Text::clone(&line.handle),
        }
    }

    /// One entry per device: what is online first, then USB before network before emulator.
    pub(super) fn devices(&mut self, lines: &[Line]) -> Vec<Seen> {
        self.doubt(lines);
        let mut found: BTreeMap<Text, Seen> = BTreeMap::new();
        for line in lines.iter().filter(|line| !is_twin(line, lines)) {
            let seen = self.see(line);
            match found.get(&seen.device) {
                Some(better) if better.rank() <= seen.rank() => {}
                _ => drop(found.insert(Text::clone(&seen.device), seen)),
            }
        }
        found.into_values().collect()
    }

    fn see(&self, line: &Line) -> Seen {
        let attachment = match line.state {
            // A device that does not identify itself must not get the work of the device that was attached here
            // before.
            State::Online if !self.is_sure(line) => Attachment::Error,
            State::Online => Attachment::Online,
            State::Unauthorized => Attachment::Unauthorized,
            State::Offline => Attachment::Offline,
            State::Other(_) => Attachment::Error,
        };
        Seen { device: self.name(line), line: line.clone(), attachment }
    }

    /// A connection that broke may come back with another device at the same address.
    fn doubt(&mut self, lines: &[Line]) {
        for line in lines.iter().filter(|line| line.state != State::Online) {
            if let Some(learnt) = self.learnt.get_mut(&line.handle) {
                learnt.holds = false;
            }
        }
        if self.learnt.len() > HANDLES_MAX {
            let listed: HashSet<&Text> = lines.iter().map(|line| &line.handle).collect();
            self.learnt.retain(|handle, _| listed.contains(handle));
        }
    }
}

impl Seen {
    fn rank(&self) -> (bool, Route) {
        (self.attachment != Attachment::Online, Route::of(&self.line.handle))
    }
}

impl From<Seen> for Attached {
    fn from(seen: Seen) -> Self {
        Self { device: seen.device, handle: seen.line.handle, attachment: seen.attachment }
    }
}

/// True if a serial is one device's alone.
///
/// `EMULATOR31X3X11X0` is the version of the emulator, the same for all of them.
pub(super) fn is_own(serial: &str) -> bool {
    let fits =
        (1..=SERIAL_BYTES_MAX).contains(&serial.len()) && serial.bytes().all(|byte| byte.is_ascii_graphic());
    fits && serial != "unknown" && !serial.starts_with("EMULATOR")
}

/// `127.0.0.1:5555` is the very port that adb lists as `emulator-5554` by itself.
fn is_twin(line: &Line, lines: &[Line]) -> bool {
    let port = ["127.0.0.1:", "localhost:"].iter().find_map(|host| line.handle.strip_prefix(host));
    let Some(console) = port.and_then(|port| port.parse::<u16>().ok()?.checked_sub(1)) else { return false };
    let emulator = format!("emulator-{console}");
    lines.iter().any(|other| *other.handle == *emulator)
}

/// One entry of the list: a handle and how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// adb's name for it: a USB serial, `ip:port`, `emulator-5554`.
    pub(super) handle: Text,
    /// Its state.
    pub(super) state: State,
    /// The server's number for this connection; absent before adb 1.0.40.
    pub(super) transport: Option<u64>,
}

/// State of a device, as adb says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// `device`.
    Online,
    /// `unauthorized`, `authorizing`.
    Unauthorized,
    /// `offline`, `connecting`.
    Offline,
    /// `recovery`, `sideload`, `no permissions` and whatever may come.
    Other(String),
}

impl Line {
    /// The request that turns a connection towards the device.
    pub(super) fn transport_request(&self) -> String {
        // The number, where there is one: it cannot come to mean another device.
        match self.transport {
            Some(number) => format!("host:transport-id:{number}"),
            None => format!("host:transport:{}", self.handle),
        }
    }

    /// The request for what the device's adbd can.
    pub(super) fn features_request(&self) -> String {
        match self.transport {
            Some(number) => format!("host-transport-id:{number}:features"),
            None => format!("host-serial:{}:features", self.handle),
        }
    }
}

/// Reads the list. What has no serial that could name it is left out.
pub(super) fn read(text: &str) -> Vec<Line> {
    text.lines().filter_map(line).collect()
}

fn line(text: &str) -> Option<Line> {
    let (handle, rest) = text.trim().split_once([' ', '\t'])?;
    // `(no serial number)`, and the `????????????` of devices that cannot be opened.
    if handle.starts_with(['(', '?']) || handle.len() > HANDLE_BYTES_MAX {
        return None;
    }
    let transport = rest.rsplit_once("transport_id:").and_then(|(_, number)| number.trim().parse().ok());
    Some(Line { handle: handle.into(), state: state(rest.trim_start()), transport })
}

fn state(rest: &str) -> State {
    let word = rest.split_whitespace().next().unwrap_or_default();
    match word {
        "device" => State::Online,
        "unauthorized" | "authorizing" => State::Unauthorized,
        "offline" | "connecting" => State::Offline,
        "no" => State::Other("no permissions".to_owned()),
        other => State::Other(other.to_owned()),
    }
}

/// Longer than any serial that Android allows.
const SERIAL_BYTES_MAX: usize = 128;

/// Beyond this many, handles that are no longer listed are forgotten.
const HANDLES_MAX: usize = 4096;
/// Longer than any host name with a port.
const HANDLE_BYTES_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(memory: &mut Memory, text: &str) -> Vec<String> {
        let show = |seen: Seen| format!("{} by {} {:?}", seen.device, seen.line.handle, seen.attachment);
        memory.devices(&read(text)).into_iter().map(show).collect()
    }

    fn learn(memory: &mut Memory, text: &str, serial: &str) {
        let line = read(text).remove(0);
        assert!(memory.must_ask(&line));
        memory.learn(&line, serial);
        assert!(!memory.must_ask(&line));
    }

    /// N23: a USB handle is the serial; any other device is asked, once per connection.
    #[test]
    fn a_device_goes_by_its_serial_whatever_reaches_it() {
        let mut memory = Memory::default();
        assert!(!memory.must_ask(&read("SER1 device transport_id:1")[0]));
        learn(&mut memory, "10.0.0.7:5555 device transport_id:2", "SER2");
        learn(&mut memory, "adb-SER3-x7._adb-tls-connect._tcp device transport_id:3", "SER3");
        let text = "SER1 device transport_id:1\n10.0.0.7:5555 device transport_id:2\n\
                    adb-SER3-x7._adb-tls-connect._tcp device transport_id:3";
        let expected = [
            "SER1 by SER1 Online",
            "SER2 by 10.0.0.7:5555 Online",
            "SER3 by adb-SER3-x7._adb-tls-connect._tcp Online",
        ];
        assert_eq!(shown(&mut memory, text), expected);
        assert!(memory.must_ask(&read("10.0.0.7:5555 device transport_id:9")[0]));
    }

    /// N23: an address that was away, or a connection that is new, is not taken for the device it was.
    #[test]
    fn who_does_not_say_who_it_is_is_not_usable() {
        let mut memory = Memory::default();
        learn(&mut memory, "10.0.0.7:5555 device transport_id:2", "SER2");
        assert_eq!(
            shown(&mut memory, "10.0.0.7:5555 device transport_id:5"),
            ["SER2 by 10.0.0.7:5555 Error"]
        );
        assert_eq!(
            shown(&mut memory, "10.0.0.7:5555 offline transport_id:2"),
            ["SER2 by 10.0.0.7:5555 Offline"]
        );
        assert_eq!(
            shown(&mut memory, "10.0.0.7:5555 device transport_id:2"),
            ["SER2 by 10.0.0.7:5555 Error"]
        );
        learn(&mut memory, "10.0.0.7:5555 device transport_id:2", "SER9");
        assert_eq!(
            shown(&mut memory, "10.0.0.7:5555 device transport_id:2"),
            ["SER9 by 10.0.0.7:5555 Online"]
        );
    }

    /// N23: what was never online goes by its handle.
    #[test]
    fn without_anything_learnt_the_handle_is_the_name() {
        let text = "10.0.0.7:5555 unauthorized transport_id:2\nemulator-5554 offline transport_id:3";
        let expected =
            ["10.0.0.7:5555 by 10.0.0.7:5555 Unauthorized", "emulator-5554 by emulator-5554 Offline"];
        assert_eq!(shown(&mut Memory::default(), text), expected);
    }

    /// N18, N23: a device that is reached twice is one device.
    #[test]
    fn the_better_way_to_a_device_is_taken() {
        let mut memory = Memory::default();
        learn(&mut memory, "10.0.0.7:5555 device transport_id:2", "SER1");
        let both = "10.0.0.7:5555 device transport_id:2\nSER1 device usb:1-1 transport_id:1";
        assert_eq!(shown(&mut memory, both), ["SER1 by SER1 Online"]);
        let one = "SER1 unauthorized usb:1-1 transport_id:1\n10.0.0.7:5555 device transport_id:2";
        assert_eq!(shown(&mut memory, one), ["SER1 by 10.0.0.7:5555 Online"]);
        let none = "10.0.0.7:5555 offline transport_id:2\nSER1 recovery usb:1-1 transport_id:1";
        assert_eq!(shown(&mut memory, none), ["SER1 by SER1 Error"]);
    }

    /// N18, N23: emulators of one version are several devices, and one that is also connected by address is one.
    #[test]
    fn emulators_without_a_serial_of_their_own_go_by_their_handle() {
        let mut memory = Memory::default();
        learn(&mut memory, "emulator-5554 device transport_id:1", "EMULATOR31X3X11X0");
        learn(&mut memory, "emulator-5556 device transport_id:2", "EMULATOR31X3X11X0");
        learn(&mut memory, "emulator-5558 device transport_id:3", "LAB-7");
        let text = "emulator-5554 device transport_id:1\nemulator-5556 device transport_id:2\n\
                    emulator-5558 device transport_id:3\nlocalhost:5555 device transport_id:4\n";
        let expected = [
            "LAB-7 by emulator-5558 Online",
            "emulator-5554 by emulator-5554 Online",
            "emulator-5556 by emulator-5556 Online",
        ];
        assert_eq!(shown(&mut memory, text), expected);
    }

    /// N23: a serial is taken only where it can be one.
    #[test]
    fn a_serial_that_names_nothing_is_none() {
        let long = "x".repeat(129);
        for wrong in ["", "unknown", "EMULATOR30X0", "two words", "caf\u{e9}", "a\nb", long.as_str()] {
            assert!(!is_own(wrong), "{wrong:?}");
        }
        assert!(is_own("R58M12ABCDE") && is_own("10.0.0.7:5555"));
    }

    /// N23
    #[test]
    fn memory_stays_small() {
        let mut memory = Memory::default();
        for number in 0..=HANDLES_MAX {
            learn(&mut memory, &format!("h{number}:5555 device transport_id:1"), "S");
        }
        assert_eq!(shown(&mut memory, "h7:5555 device transport_id:1"), ["S by h7:5555 Online"]);
        assert_eq!(memory.learnt.len(), 1);
    }

    fn entry(handle: &str, state: State, transport: Option<u64>) -> Line {
        Line { handle: handle.into(), state, transport }
    }

    /// N23
    #[test]
    fn every_kind_of_line_is_read() {
        let text = "R58M12ABCDE            device usb:1-4 product:a5 model:SM_A5 device:a5 transport_id:1\n\
                    192.168.0.7:5555       unauthorized transport_id:12\n\
                    10.0.0.8:5555\tauthorizing\n\
                    emulator-5554          offline transport_id:3\n\
                    [fe80::1]:5555         connecting transport_id:4\n\
                    0123456789             recovery usb:1-2 transport_id:5\n\
                    XYZ                    no permissions (missing udev rules? user is in the plugdev group); \
                    see [http://developer.android.com/tools/device.html] usb:1-3 transport_id:6\n\
                    SIDE                   sideload transport_id:7\n";
        let expected = [
            entry("R58M12ABCDE", State::Online, Some(1)),
            entry("192.168.0.7:5555", State::Unauthorized, Some(12)),
            entry("10.0.0.8:5555", State::Unauthorized, None),
            entry("emulator-5554", State::Offline, Some(3)),
            entry("[fe80::1]:5555", State::Offline, Some(4)),
            entry("0123456789", State::Other("recovery".to_owned()), Some(5)),
            entry("XYZ", State::Other("no permissions".to_owned()), Some(6)),
            entry("SIDE", State::Other("sideload".to_owned()), Some(7)),
        ];
        assert_eq!(read(text), expected);
    }

    /// N23: what cannot be named is left out, and nothing strange breaks the reading.
    #[test]
    fn strange_lines_are_left_out() {
        let long = "x".repeat(301);
        let text = format!(
            "\n \nalone\n(no serial number) device usb:1-1\n????????????  no permissions\n{long} device\n"
        );
        assert_eq!(read(&text), []);
        assert_eq!(read("A device transport_id:x"), [entry("A", State::Online, None)]);
        assert_eq!(read("A \u{fffd}"), [entry("A", State::Other("\u{fffd}".to_owned()), None)]);
    }
}
