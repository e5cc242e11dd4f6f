//! The seeds of the fuzz target `events_socket`, replayed, and changed at random.

#[path = "../../../../fuzz/drivers/events_socket.rs"]
mod driver;

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::common::event;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/events_socket")
}

fn seeds() -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(folder()).unwrap();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn seeds_of_packets() {
    let seeds = seeds();
    assert!(seeds.len() > 5);
    seeds.iter().for_each(|seed| driver::run(seed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn changed_packets_and_any_bytes(
        which: usize,
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..6),
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
    }
}

#[test]
#[ignore = "writes the seeds; run it after a change to them"]
fn write_seeds() {
    std::fs::create_dir_all(folder()).unwrap();
    let mut packet = [&[1][..], &7_u64.to_le_bytes()].concat();
    (0..3).for_each(|number| event("a", number).encode(&mut packet).unwrap());
    let acknowledged = [&[2][..], &9_u64.to_le_bytes(), &7_u64.to_le_bytes()].concat();
    for (name, bytes) in [
        ("hello", &b"tidewire-events 1\nname a\nsession 1f\nfirst 8\nanalyzer b\nanalyzer c\n"[..]),
        ("control", b"tidewire-control 1\n"),
        ("goodbye", b"goodbye\n"),
        ("register", b"register\ndestination a\ndestination b\n"),
        ("delivered", b"delivered\ndestination a\nid 77\n"),
        ("welcome", b"welcome\nsession 1f\ndurable 8\nevents 65536\nbytes 8388608\n"),
        ("refused", b"refused\nreason 256 clients are connected\n"),
        ("again", b"again\n"),
        ("events", &packet),
        ("acknowledged", &acknowledged),
    ] {
        std::fs::write(folder().join(name), bytes).unwrap();
    }
}
