//! The seeds of the fuzz target `protocols`, replayed, and changed at random.

#[path = "../../../fuzz/drivers/protocols.rs"]
mod driver;

use std::path::{Path, PathBuf};

use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/protocols")
}

fn seeds() -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(folder()).unwrap();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn seeds_of_protocols() {
    let seeds = seeds();
    assert!(seeds.len() > 5);
    seeds.iter().for_each(|seed| driver::run(seed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn changed_seeds_and_any_bytes(
        which: usize,
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..6),
        swap in any::<(usize, usize)>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        driver::run(&bytes);
        let seeds = seeds();
        let mut seed = seeds[which % seeds.len()].clone();
        for (at, value) in changes {
            let at = at % seed.len();
            seed[at] = value;
        }
        driver::run(&seed);
        // Another order, and an early end.
        let (a, b) = (swap.0 % seed.len(), swap.1 % seed.len());
        seed[a.min(b)..].rotate_left(a.abs_diff(b));
        driver::run(&seed);
        driver::run(&seed[..a]);
    }
}
