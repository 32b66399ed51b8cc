//! Random histories on a disk that fails and crashes, against a plain model.

use crate::world::{Dice, World};
use muster_spool::Failure;

/// N19: nothing promised is lost, altered or out of order, whatever the disk does.
#[test]
fn no_history_breaks_a_promise() {
    for seed in 0..HISTORIES {
        let caught = std::panic::catch_unwind(|| live(seed));
        assert!(caught.is_ok(), "seed {seed}");
    }
}

fn live(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x1234_5678_9abc_def1));
    let mut world = World::new();
    for _ in 0..STEPS {
        if world.is_open() {
            step(&mut world, &mut dice);
        } else if world.open().is_err() && dice.below(4) == 0 {
            world.disk.set_capacity(None);
        }
        if world.disk.is_powerless() {
            world.crash(&mut |end| dice.below(end));
        }
    }
    world.disk.fail_no_more();
    world.disk.set_capacity(None);
    world.crash(&mut |end| dice.below(end));
    world.open().expect("a whole disk is opened");
    world.check_in_depth();
}

/// Errors are the disk's to make; the model only counts what was promised.
fn step(world: &mut World, dice: &mut Dice) {
    let seq = (world.last() + 1).saturating_sub(dice.below(12) as u64);
    match dice.below(100) {
        0..38 => world.append(dice.below(8) * dice.below(80)),
        38..58 => world.ack(seq),
        58..61 => world.set_aside(seq),
        61..79 => drop(world.sync()),
        79..82 => drop(world.snapshot()),
        82..86 => drop(world.read(seq)),
        86..88 => world.exit(),
        88..91 => world.crash(&mut |end| dice.below(end)),
        91..96 => {
            let failure = [Failure::Broken, Failure::Full, Failure::PowerLoss][dice.below(3)];
            world.disk.fail(dice.below(8) as u64, failure);
        }
        96..98 => {
            let room = dice.below(2000) as u64;
            let capacity = (dice.below(2) == 0).then(|| world.disk.used() + room);
            world.disk.set_capacity(capacity);
        }
        _ => {}
    }
    if world.is_open() && world.spool().wants_snapshot() && dice.below(3) > 0 {
        let _ = world.snapshot();
    }
}

const HISTORIES: u64 = 3_000;
const STEPS: usize = 120;
