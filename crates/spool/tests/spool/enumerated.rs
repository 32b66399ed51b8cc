//! One script, and the disk fails at every single operation of it.

use crate::world::{Dice, World};
use muster_spool::Failure;

/// N19: a crash at every operation, with several fates of what was not synced.
#[test]
fn a_loss_of_power_at_any_operation_breaks_no_promise() {
    for operation in 0..operations() {
        for fate in 0..FATES {
            let mut world = World::new();
            world.disk.fail(operation, Failure::PowerLoss);
            script(&mut world);
            assert!(world.disk.is_powerless(), "operation {operation}");
            crash_and_check(&mut world, fate);
        }
    }
}

/// N19: a second crash at every operation of the recovery from the first.
#[test]
fn a_loss_of_power_while_recovering_breaks_no_promise() {
    for operation in 0..operations() {
        for fate in 0..FATES {
            recover_with_a_second_crash(operation, fate);
        }
    }
}

fn recover_with_a_second_crash(operation: u64, fate: usize) {
    for second in 0.. {
        let mut world = World::new();
        world.disk.fail(operation, Failure::PowerLoss);
        script(&mut world);
        world.crash(&mut chooser(fate));
        world.disk.fail(second, Failure::PowerLoss);
        let opened = world.open().is_ok();
        crash_and_check(&mut world, fate + 1);
        if opened {
            return;
        }
    }
}

/// N19: a process that ends at every operation, is opened again on a machine that lives on, and then that dies.
#[test]
fn an_exit_at_any_operation_and_a_later_crash_break_no_promise() {
    for operation in 0..operations() {
        for fate in 0..FATES {
            for failure in [Failure::Broken, Failure::Full] {
                let mut world = World::new();
                world.disk.fail(operation, failure);
                script_until_an_error(&mut world);
                world.exit();
                world.open().expect("a whole disk is opened");
                world.append(20);
                world.sync().expect("a whole disk is written");
                crash_and_check(&mut world, fate);
            }
        }
    }
}

/// N19: EIO and ENOSPC at every operation; what was to be written stays in memory and the next sync takes it.
#[test]
fn a_failure_at_any_operation_loses_nothing() {
    for operation in 0..operations() {
        for failure in [Failure::Broken, Failure::Full] {
            for fate in 0..FATES {
                let mut world = World::new();
                world.disk.fail(operation, failure);
                script(&mut world);
                world.sync().expect("the disk is whole again");
                crash_and_check(&mut world, fate);
            }
        }
    }
}

/// N19: two failures, so that the way out of the first fails too.
#[test]
fn a_failure_while_getting_over_another_loses_nothing() {
    for operation in 0..operations() {
        for (second, fate) in (1..12).flat_map(|second| [(second, 0), (second, 1), (second, 5)]) {
            for failures in [[Failure::Broken, Failure::Broken], [Failure::Full, Failure::PowerLoss]] {
                let mut world = World::new();
                world.disk.fail(operation, failures[0]);
                world.disk.fail(operation + second, failures[1]);
                script(&mut world);
                crash_and_check(&mut world, fate);
            }
        }
    }
}

/// Crashes, and checks that the log on a whole disk keeps its promises.
fn crash_and_check(world: &mut World, fate: usize) {
    world.crash(&mut chooser(fate));
    world.open().expect("a whole disk is opened");
    world.check_in_depth();
}

/// Everything a log goes through: acks out of order, segments that fill, some set aside, a restart.
fn script(world: &mut World) {
    run(world, false);
}

fn script_until_an_error(world: &mut World) {
    run(world, true);
}

/// Gives up at the first error if told so; else tries opening again as long as there is power.
fn run(world: &mut World, give_up: bool) {
    if !reopen(world, give_up) {
        return;
    }
    for round in 0..9 {
        (0..3).for_each(|n| world.append(n * 90 + round * 10));
        let mut failed = world.sync().is_err();
        let last = world.last();
        world.ack(last - 1);
        match round {
            2 | 6 => world.set_aside(last - 2),
            4 => failed |= world.snapshot().is_err(),
            5 => {
                world.exit();
                if !reopen(world, give_up) {
                    return;
                }
            }
            _ => world.ack(last.saturating_sub(5)),
        }
        if world.spool().wants_snapshot() {
            failed |= world.snapshot().is_err();
        }
        if failed && (give_up || world.disk.is_powerless()) {
            return;
        }
    }
}

fn reopen(world: &mut World, give_up: bool) -> bool {
    // A script meets two failures at most.
    let tries = if give_up { 1 } else { 3 };
    (0..tries).any(|_| world.open().is_ok())
}

/// Counts the operations of the script on a disk that does not fail.
fn operations() -> u64 {
    let mut world = World::new();
    script(&mut world);
    let operations = world.disk.operations();
    assert!(operations > 60, "the script does something: {operations}");
    operations
}

/// Nothing, everything, every beginning, or what dice say.
fn chooser(fate: usize) -> impl FnMut(usize) -> usize {
    let mut dice = Dice(fate as u64);
    move |end| match fate {
        0 => 0,
        1 => 1.min(end - 1),
        2 => [2, end / 2][usize::from(end > 4)].min(end - 1),
        _ => dice.below(end),
    }
}

const FATES: usize = 6;
