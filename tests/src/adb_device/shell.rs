//! The shell of the device: just enough of one to show what it was really told to run.

use super::Shared;

/// What a script printed, and how it ended.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// What it printed, in order: `STDOUT` or `STDERR`, and the bytes.
    pub(super) printed: Vec<(u8, Vec<u8>)>,
    pub(super) code: u8,
    /// It runs until somebody closes it.
    pub(super) is_endless: bool,
}

impl Output {
    fn print(&mut self, to: u8, bytes: impl Into<Vec<u8>>) {
        self.printed.push((to, bytes.into()));
    }
}

/// Runs a script: words, quotes, `$?`, and several commands in a row.
pub(super) fn run(device: &Shared, script: &str) -> Output {
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
