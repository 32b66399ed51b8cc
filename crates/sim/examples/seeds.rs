//! Runs seeds.
use muster_sim::*;
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let (from, n, show) = (a[0], a[1], a.get(2).copied().unwrap_or(0));
    let mut cov = Coverage::default();
    let mut fails = std::collections::BTreeMap::<&str, (u64, u64)>::new();
    let mut total = 0i64;
    for seed in from..from + n {
        match run(&Scenario::new(seed)) {
            Ok(s) => {
                cov.add(&s.coverage);
                total += s.lasted.0
            }
            Err(f) => {
                let e = fails.entry(f.check).or_insert((0, seed));
                e.0 += 1;
                if show == 1 {
                    println!("{f}\n{}", f.trace.join("\n"));
                    return;
                }
            }
        }
    }
    if show == 0 {
        for (w, c) in cov.iter() {
            println!("{c:>9} {w}")
        }
        println!("mean lasted {}s", total / 1000 / n as i64)
    }
    for (w, (c, s)) in fails {
        println!("FAIL {w}: {c}, first seed {s}")
    }
}
