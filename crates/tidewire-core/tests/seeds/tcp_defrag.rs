//! The seeds of the fuzz targets `tcp` and `defrag`, and whatever those have found, replayed; and many inputs at random.

#[path = "../../../../fuzz/drivers/defrag.rs"]
mod defrag;
#[path = "../../../../fuzz/drivers/sent.rs"]
mod sent;
#[path = "../../../../fuzz/drivers/tcp.rs"]
mod tcp;

use std::path::{Path, PathBuf};

use proptest::prelude::*;

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

fn replay(target: &str, run: fn(&[u8])) {
    let files = std::fs::read_dir(folder(target)).unwrap();
    let inputs: Vec<_> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(!inputs.is_empty());
    inputs.iter().for_each(|input| run(input));
}

#[test]
fn seeds() {
    replay("tcp", tcp::run);
    replay("defrag", defrag::run);
}

/// One operation of the target `tcp`.
fn segment(kind: u8, start: u16, length: u16, value: u8) -> Vec<u8> {
    [&[kind][..], &start.to_le_bytes(), &length.to_le_bytes(), &[value]].concat()
}

/// One operation of the target `defrag`.
fn fragment(flags: u8, id: u8, offset: u16, length: u16, value: u8, time: u8) -> Vec<u8> {
    [&[flags, id][..], &offset.to_le_bytes(), &length.to_le_bytes(), &[value, time]].concat()
}

#[test]
#[ignore = "writes the seeds; run it after a change to them"]
fn write_seeds() {
    let write = |target: &str, name: String, policy: u8, operations: Vec<Vec<u8>>| {
        std::fs::create_dir_all(folder(target)).unwrap();
        std::fs::write(folder(target).join(name), [vec![policy], operations.concat()].concat()).unwrap();
    };
    for policy in 0..13 {
        let overlaps = vec![
            segment(0, 20, 40, 1),
            segment(0, 60, 40, 2),
            segment(0, 30, 60, 3),
            segment(0x40, 10, 200, 4),
            segment(0, 100, 10, 5),
            segment(5, 0x7fff, 0, 0),
            segment(0, 0, 30, 6),
            segment(5, 50, 0, 0),
            segment(5, 0x7fff, 0x7fff, 0),
            segment(0x80, 300, 100, 7),
            segment(6, 0, 0, 0),
        ];
        write("tcp", format!("overlaps-{policy}"), policy, overlaps);
    }
    let reverse = (0..100).rev().map(|at| segment(0, at * 3, 2, at as u8)).chain([segment(7, 0, 0, 0)]);
    write("tcp", "reverse".into(), 3, reverse.collect());
    for policy in 0..9 {
        let overlaps = vec![
            fragment(1, 0, 0, 24, 1, 0),
            fragment(1, 0, 2, 24, 2, 0),
            fragment(0, 0, 5, 20, 3, 0),
            fragment(3, 1, 4, 8, 4, 0),
            fragment(2, 1, 5, 9, 5, 0),
            fragment(3, 1, 0, 32, 6, 0),
            fragment(1, 2, 0, 8, 7, 255),
            fragment(5, 3, 0, 64, 8, 255),
            fragment(0, 2, 1, 8, 9, 1),
        ];
        write("defrag", format!("overlaps-{policy}"), policy, overlaps);
    }
    let flood = (0..100).map(|at| fragment(1, at as u8, at, 2800, at as u8, 1));
    write("defrag", "flood".into(), 4, flood.collect());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn any_operations(input in prop::collection::vec(any::<u8>(), 0..600)) {
        tcp::run(&input);
        defrag::run(&input);
    }
}
