//! Measurements, each a ratio in one run: `cargo run --release -p muster-bench -- all`.

mod engine;
mod fleet;
mod stopwatch;

use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Cost of an engine command and memory, from 1k to 1M devices.
    Engine,
}

fn main() {
    match Arguments::parse().what {
        What::Engine => engine::measure(),
    }
}
