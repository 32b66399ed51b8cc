//! Numbers that look like chance and are the same at every try.

/// Draws numbers that follow from a seed (splitmix64).
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// Dice for one frame of a session: whoever renders it again gets the same picture.
    pub(super) fn of(session: &str, frame: u64) -> Self {
        // FNV-1a.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let bytes = session.bytes().chain(frame.to_le_bytes());
        Self(bytes.fold(0xcbf2_9ce4_8422_2325, mix))
    }

    /// A number below `end`, which must not be 0.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = (mixed ^ (mixed >> 31)) >> 32;
        u32::try_from(high % u64::from(end)).expect("less than a number of 32 bits")
    }
}
