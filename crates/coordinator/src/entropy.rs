//! The one place that draws random bytes.

use rand::{Rng, SeedableRng, rngs::StdRng};

/// Source of seeds.
pub(crate) type Seeds = Box<dyn FnMut() -> [u8; 32] + Send>;

/// Seeds from a generator that the operating system's randomness started.
pub(crate) fn system_seeds() -> Seeds {
    let mut generator = StdRng::from_rng(&mut rand::rng());
    Box::new(move || draw(&mut generator))
}

/// 32 random bytes, for a secret.
pub(crate) fn random_bytes() -> [u8; 32] {
    draw(&mut rand::rng())
}

fn draw(generator: &mut impl Rng) -> [u8; 32] {
    let mut bytes = [0; 32];
    generator.fill_bytes(&mut bytes);
    bytes
}
