//! The program `muster`.

use std::process::ExitCode;

/// Frees without touching its neighbours: with a million devices a command costs a third less than with the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    muster::run()
}
