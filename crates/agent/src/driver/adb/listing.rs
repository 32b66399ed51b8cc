//! Reads the list of `host:devices-l`.

use crate::Text;

/// One entry of the list: a handle and how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// What adb calls it: a USB serial, `ip:port`, `emulator-5554`.
    pub(super) handle: Text,
    /// How it is.
    pub(super) state: State,
    /// The server's number for this connection; absent before adb 1.0.40.
    pub(super) transport: Option<u64>,
}

/// How adb says a device is.
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

/// Longer than any host name with a port.
const HANDLE_BYTES_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

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
