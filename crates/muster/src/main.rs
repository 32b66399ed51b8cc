//! One control plane for fleets of workers that come and go.

fn main() {}
