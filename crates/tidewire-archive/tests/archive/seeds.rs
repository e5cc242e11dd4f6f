//! The seeds of the fuzz target `archive`, and whatever it has found, replayed; and what is left of them after random changes.

#[path = "../../../../fuzz/drivers/archive.rs"]
mod driver;

use std::{fs, path::PathBuf};

use tidewire_archive::{Compression, Directory, Identities, Settings, Transform};

use crate::rig::Numbers;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/archive")
}

#[test]
fn seeds_of_the_fuzz_target_are_replayed() {
    let work = tempfile::tempdir().expect("a folder");
    let (mut seeds, mut numbers) = (0, Numbers(0xa5c1_1e5e));
    for path in fs::read_dir(folder()).expect("seeds").map(|entry| entry.expect("a seed").path()) {
        let seed = fs::read(&path).expect("a seed");
        driver::run(work.path(), &seed);
        seeds += 1;
        for _ in 0..60 {
            let mut changed = seed.clone();
            for _ in 0..=numbers.below(4) {
                let at = 1 + numbers.below(changed.len() as u64 - 1) as usize;
                match numbers.below(4) {
                    0 => changed.truncate(at.max(2)),
                    1 => changed[at] = [0, 0xff, 0x7f, 0x80][numbers.below(4) as usize],
                    _ => changed[at] ^= 1 << numbers.below(8),
                }
            }
            driver::run(work.path(), &changed);
        }
    }
    assert!(seeds >= 5, "{seeds} seeds");
}

#[test]
#[ignore = "writes the seeds; run it after a change of the format"]
fn write_seeds() {
    let (work, segment) = (tempfile::tempdir().expect("a folder"), driver::segment());
    let write = |name: &str, kind: u8, bytes: &[u8]| {
        fs::create_dir_all(folder()).expect("a folder");
        fs::write(folder().join(name), [&[kind], bytes].concat()).expect("a seed");
    };
    for (kind, &compression) in (0..).zip(Compression::ALL) {
        let mut stored = Vec::new();
        let mut transform = Transform::new(compression, None, &mut stored).expect("a transform");
        for part in segment.chunks(1500) {
            transform.push(part, &mut stored).expect("compressed");
            transform.flush(&mut stored).expect("compressed");
        }
        transform.finish(&mut stored).expect("compressed");
        write(&format!("segment-{compression:?}").to_lowercase(), kind, &stored);
    }
    let directory = Directory::open(work.path(), &Settings::default(), 1).expect("a directory");
    let name = directory.begin(1_700_000_000_000_000_000, 0);
    fs::write(work.path().join(name.hidden()), &segment).expect("written");
    directory.repair(&Identities::default(), 2).expect("repaired");
    write("index", 3, &fs::read(work.path().join(name.index())).expect("an index"));
    write("manifest", 4, &fs::read(work.path().join("manifest.jsonl")).expect("a manifest"));
}
