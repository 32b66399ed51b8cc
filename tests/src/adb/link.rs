//! One connection of an adb server to the device, and the device's shell: just enough of one to show what it was really
//! told to run.

use super::{Manner, Shared};
use std::{
    collections::{HashMap, VecDeque},
    io::{self, Read, Write},
    net::TcpStream,
    sync::{Arc, atomic::Ordering},
};

/// A connection and what is open in it.
pub(super) struct Link {
    stream: TcpStream,
    device: Arc<Shared>,
    pipes: HashMap<u32, Pipe>,
    opened: u32,
}

/// A service that somebody opened, by the number that the device gave it.
struct Pipe {
    /// The number that the server gave it.
    remote: u32,
    chunks: VecDeque<Vec<u8>>,
    /// One message may be under way; the next waits for its `OKAY`.
    is_ready: bool,
    running: Option<Running>,
}

/// Counts what runs until somebody closes it.
struct Running(Arc<Shared>);

impl Link {
    pub(super) fn new(stream: TcpStream, device: Arc<Shared>) -> Self {
        Self { stream, device, pipes: HashMap::new(), opened: 0 }
    }

    /// Answers until the connection ends.
    pub(super) fn serve(mut self) {
        while let Ok(message) = Message::read(&mut self.stream) {
            let taken = match self.device.manner() {
                Manner::Silent => Ok(()),
                Manner::Locked | Manner::Open => self.take(&message),
            };
            if taken.is_err() {
                return;
            }
        }
    }

    fn take(&mut self, message: &Message) -> io::Result<()> {
        match message.command {
            CNXN if self.device.manner() == Manner::Open => introduce(&self.device, &mut self.stream),
            CNXN => self.challenge(),
            // The signature of a key that the device does not know; then the key itself, for somebody to allow.
            AUTH if message.first == SIGNATURE => self.challenge(),
            OPEN => self.open(message),
            OKAY => self.with_pipe(message.second, |pipe| pipe.is_ready = true),
            WRTE => self.send(OKAY, message.second, message.first),
            CLSE => {
                self.pipes.remove(&message.second);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn challenge(&mut self) -> io::Result<()> {
        let token = Message { command: AUTH, first: TOKEN, second: 0, data: vec![7; 20] };
        token.write(&mut self.stream)
    }

    fn open(&mut self, message: &Message) -> io::Result<()> {
        let service = String::from_utf8(message.data.clone()).unwrap();
        let Some(output) = self.start(service.trim_end_matches('\0')) else {
            return self.send(CLSE, 0, message.first);
        };
        self.opened += 1;
        let (bytes, is_endless) = output;
        let running = is_endless.then(|| Running::count(&self.device));
        let chunks = bytes.chunks(CHUNK).map(<[u8]>::to_vec).collect();
        self.pipes.insert(self.opened, Pipe { remote: message.first, chunks, is_ready: true, running });
        self.send(OKAY, self.opened, message.first)?;
        self.with_pipe(self.opened, |_| ())
    }

    /// Starts a service: its output, and true if it continues until closed; `None` if there is no such service.
    fn start(&self, service: &str) -> Option<(Vec<u8>, bool)> {
        let (name, script) = service.split_once(':')?;
        let run = || run(&self.device, script);
        match name {
            "shell" => Some(on_a_terminal(&run())),
            "exec" => Some(merged(&run())),
            _ if name.starts_with("shell,v2") && self.device.has("shell_v2") => Some(in_packets(&run())),
            _ => None,
        }
    }

    /// Changes a pipe and sends what can be sent on it then.
    fn with_pipe(&mut self, number: u32, change: impl FnOnce(&mut Pipe)) -> io::Result<()> {
        let Some(pipe) = self.pipes.get_mut(&number) else { return Ok(()) };
        change(pipe);
        if !pipe.is_ready {
            return Ok(());
        }
        let remote = pipe.remote;
        if let Some(data) = pipe.chunks.pop_front() {
            pipe.is_ready = false;
            return Message { command: WRTE, first: number, second: remote, data }.write(&mut self.stream);
        }
        if pipe.running.is_some() {
            return Ok(());
        }
        self.pipes.remove(&number);
        self.send(CLSE, number, remote)
    }

    fn send(&mut self, command: u32, first: u32, second: u32) -> io::Result<()> {
        Message { command, first, second, data: Vec::new() }.write(&mut self.stream)
    }
}

impl Running {
    fn count(device: &Arc<Shared>) -> Self {
        device.running.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(device))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Says what the device is: from then on adb lists it as `device`.
pub(super) fn introduce(device: &Shared, stream: &mut TcpStream) -> io::Result<()> {
    let features = device.features.join(",");
    let banner = format!("device::ro.product.name=lab;ro.product.model=Lab 1;features={features}");
    let data = banner.into_bytes();
    Message { command: CNXN, first: device.version, second: LENGTH_MAX, data }.write(stream)
}

/// As old devices run a command: on a terminal, which ends lines with two characters.
fn on_a_terminal(output: &Output) -> (Vec<u8>, bool) {
    let (bytes, is_endless) = merged(output);
    let crlf = bytes.iter().flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] });
    (crlf.collect(), is_endless)
}

fn merged(output: &Output) -> (Vec<u8>, bool) {
    (output.printed.iter().flat_map(|(_, bytes)| bytes).copied().collect(), output.is_endless)
}

/// The second shell protocol: a byte of kind, four of length, and so many of data.
fn in_packets(output: &Output) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut packet = |kind: u8, data: &[u8]| {
        bytes.push(kind);
        bytes.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(data);
    };
    for (to, printed) in &output.printed {
        printed.chunks(1000).for_each(|part| packet(*to, part));
    }
    if !output.is_endless {
        packet(3, &[output.code]);
    }
    (bytes, output.is_endless)
}

const TOKEN: u32 = 1;
const SIGNATURE: u32 = 2;

/// Small, so that anything longer than a few words takes turns with `OKAY`.
const CHUNK: usize = 4096;

const CNXN: u32 = u32::from_le_bytes(*b"CNXN");
const AUTH: u32 = u32::from_le_bytes(*b"AUTH");
const OPEN: u32 = u32::from_le_bytes(*b"OPEN");
const OKAY: u32 = u32::from_le_bytes(*b"OKAY");
const WRTE: u32 = u32::from_le_bytes(*b"WRTE");
const CLSE: u32 = u32::from_le_bytes(*b"CLSE");

/// One message.
#[derive(Debug)]
struct Message {
    command: u32,
    first: u32,
    second: u32,
    data: Vec<u8>,
}

impl Message {
    fn read(stream: &mut TcpStream) -> io::Result<Self> {
        let mut header = [0; 24];
        stream.read_exact(&mut header)?;
        let mut words = header.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        let mut word = || words.next().unwrap();
        let (command, first, second, length, _sum, magic) = (word(), word(), word(), word(), word(), word());
        assert_eq!(magic, !command, "adb sent a header that is none");
        assert!(length <= LENGTH_MAX, "adb sent a payload of {length} bytes");
        let mut data = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut data)?;
        Ok(Self { command, first, second, data })
    }

    fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        // Since version 0x01000001 nobody looks at the sum any more; a device may still send it.
        let sum = self.data.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
        let length = u32::try_from(self.data.len()).unwrap();
        let words = [self.command, self.first, self.second, length, sum, !self.command];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend_from_slice(&self.data);
        stream.write_all(&bytes)
    }
}

/// Maximum size of one message, as this device announces it.
const LENGTH_MAX: u32 = 256 * 1024;

/// Output of a script, and its exit code.
#[derive(Debug, Default)]
struct Output {
    /// The output, in order: `STDOUT` or `STDERR`, and the bytes.
    printed: Vec<(u8, Vec<u8>)>,
    code: u8,
    /// It runs until it is closed.
    is_endless: bool,
}

impl Output {
    fn print(&mut self, to: u8, bytes: impl Into<Vec<u8>>) {
        self.printed.push((to, bytes.into()));
    }
}

/// Runs a script: words, quotes, `$?`, and several commands in a row.
fn run(device: &Shared, script: &str) -> Output {
    let mut output = Output::default();
    let mut rest = script.chars().peekable();
    while rest.peek().is_some() && !output.is_endless {
        let words = words(&mut rest, output.code);
        if !words.is_empty() {
            execute(device, &words, &mut output);
        }
    }
    output
}

/// The words up to the end of a command. What a shell would expand and nobody here knows becomes nothing.
fn words(rest: &mut impl Iterator<Item = char>, code: u8) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    while let Some(character) = rest.next() {
        match character {
            ';' | '&' | '|' | '\n' => break,
            ' ' | '\t' => words.extend(word.take()),
            '\'' => word.get_or_insert_default().extend(rest.by_ref().take_while(|next| *next != '\'')),
            '\\' => word.get_or_insert_default().extend(rest.next()),
            '$' => match rest.next() {
                Some('?') => word.get_or_insert_default().push_str(&code.to_string()),
                _ => drop(word.get_or_insert_default()),
            },
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

fn execute(device: &Shared, words: &[String], output: &mut Output) {
    device.ran.lock().unwrap().push(words.to_vec());
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    output.code = 0;
    match plain.as_slice() {
        ["getprop", name] => {
            let value = device.props.lock().unwrap().get(*name).cloned().unwrap_or_default();
            output.print(STDOUT, format!("{value}\n"));
        }
        ["echo", said @ ..] => output.print(STDOUT, format!("{}\n", said.join(" "))),
        ["input" | "am", ..] => {}
        ["screencap", "-p"] => output.print(STDOUT, device.screen.lock().unwrap().clone()),
        ["sleep", "forever"] => output.is_endless = true,
        ["cat", path] => {
            output.print(STDERR, format!("cat: {path}: No such file or directory\n"));
            output.code = 1;
        }
        ["exit", code] => output.code = code.parse().unwrap(),
        _ => {
            output.print(STDERR, format!("sh: {}: not found\n", plain[0]));
            output.code = 127;
        }
    }
}

/// As the second shell protocol numbers them.
const STDOUT: u8 = 1;
const STDERR: u8 = 2;

/// A picture of noise, so large that it takes many messages to send.
pub(super) fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut pixels = Vec::new();
    for _ in 0..HEIGHT {
        let row = (0..WIDTH * 3).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_le_bytes()[7]
        });
        // A row begins with the number of its filter: none.
        pixels.extend(std::iter::once(0).chain(row));
    }
    let mut header = Vec::new();
    header.extend(WIDTH.to_be_bytes());
    header.extend(HEIGHT.to_be_bytes());
    // Eight bits a channel, red green blue, the one compression, the one filter, no interlacing.
    header.extend([8, 2, 0, 0, 0]);
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(*b"IHDR", &header),
        chunk(*b"IDAT", &zlib(&pixels)),
        chunk(*b"IEND", &[]),
    ]
    .concat()
}

fn chunk(name: [u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [&name, data].concat();
    let length = u32::try_from(data.len()).unwrap().to_be_bytes();
    [&length[..], &body, &crc32(&body).to_be_bytes()].concat()
}

/// Stored blocks of deflate, in the envelope of zlib.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x78, 0x01];
    let mut blocks = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap();
        bytes.push(u8::from(blocks.peek().is_none()));
        bytes.extend(length.to_le_bytes());
        bytes.extend((!length).to_le_bytes());
        bytes.extend_from_slice(block);
    }
    bytes.extend(adler32(data).to_be_bytes());
    bytes
}

fn crc32(data: &[u8]) -> u32 {
    let shifted = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| shifted(crc)))
}

fn adler32(data: &[u8]) -> u32 {
    let step = |(a, b): (u32, u32), byte: &u8| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    };
    let (a, b) = data.iter().fold((1, 0), step);
    (b << 16) | a
}

const WIDTH: u32 = 240;
const HEIGHT: u32 = 160;
