//! The seeds of the fuzz targets `protocols` and `protocols_…`, replayed, and changed at random.

#[path = "../../../fuzz/drivers/protocols.rs"]
mod driver;
#[cfg(feature = "quic")]
#[path = "../../../fuzz/drivers/quic.rs"]
mod quic;
#[path = "../../../fuzz/drivers/tls.rs"]
mod tls;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tidewire_protocols::Service;

/// The input that a target passes to the driver `protocols`.
fn transformed(target: &str, input: &[u8]) -> Vec<u8> {
    match target {
        "protocols_tls" => tls::framed(input),
        #[cfg(feature = "quic")]
        "protocols_quic" => quic::protected(input),
        _ => input.to_vec(),
    }
}

/// The targets' names and their seeds.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let targets = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut targets: Vec<PathBuf> =
        targets.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("protocols")).collect();
    targets.sort();
    let of_target = |target: &PathBuf| {
        let name = target.file_name().unwrap().to_string_lossy().into_owned();
        let files = std::fs::read_dir(target).unwrap();
        files.map(move |file| (name.clone(), std::fs::read(file.unwrap().path()).unwrap())).collect::<Vec<_>>()
    };
    targets.iter().flat_map(of_target).collect()
}

#[test]
fn seeds_of_protocols() {
    let seeds = seeds();
    let mut reached: Vec<Service> =
        seeds.iter().flat_map(|(target, seed)| driver::run(&transformed(target, seed))).collect();
    reached.sort_unstable();
    reached.dedup();
    // LLMNR is DNS on another port.
    let expected = Service::ALL.into_iter().filter(|service| *service != Service::Llmnr);
    assert_eq!(reached, expected.collect::<Vec<_>>());
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
        let (target, mut seed) = seeds[which % seeds.len()].clone();
        for (at, value) in changes {
            let at = at % seed.len();
            seed[at] = value;
        }
        driver::run(&transformed(&target, &seed));
        // Another order, and an early end.
        let (a, b) = (swap.0 % seed.len(), swap.1 % seed.len());
        seed[a.min(b)..].rotate_left(a.abs_diff(b));
        driver::run(&transformed(&target, &seed));
        driver::run(&transformed(&target, &seed[..a]));
    }
}
