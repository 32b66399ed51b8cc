//! The messages between an adb server and a device: six little-endian words, then the payload.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
};

pub(super) const CNXN: u32 = u32::from_le_bytes(*b"CNXN");
pub(super) const AUTH: u32 = u32::from_le_bytes(*b"AUTH");
pub(super) const OPEN: u32 = u32::from_le_bytes(*b"OPEN");
pub(super) const OKAY: u32 = u32::from_le_bytes(*b"OKAY");
pub(super) const WRTE: u32 = u32::from_le_bytes(*b"WRTE");
pub(super) const CLSE: u32 = u32::from_le_bytes(*b"CLSE");

/// One message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) command: u32,
    pub(super) first: u32,
    pub(super) second: u32,
    pub(super) data: Vec<u8>,
}

impl Message {
    pub(super) fn read(stream: &mut TcpStream) -> io::Result<Self> {
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

    pub(super) fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        // Since version 0x01000001 nobody looks at the sum any more; a device may still send it.
        let sum = self.data.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
        let length = u32::try_from(self.data.len()).unwrap();
        let words = [self.command, self.first, self.second, length, sum, !self.command];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend_from_slice(&self.data);
        stream.write_all(&bytes)
    }
}

/// What this device announces that it takes in one message.
pub(super) const LENGTH_MAX: u32 = 256 * 1024;
