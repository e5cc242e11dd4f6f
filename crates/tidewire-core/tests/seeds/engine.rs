//! The seeds of the fuzz target `engine`, and whatever it has found, replayed; and inputs at random.

#[path = "../../../../fuzz/drivers/engine/mod.rs"]
mod driver;

use std::path::{Path, PathBuf};

use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/engine")
}

#[test]
fn seeds() {
    let mut seeds = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        driver::run(&std::fs::read(path).unwrap());
        seeds += 1;
    }
    assert!(seeds >= 12, "{seeds} seeds");
}

/// Operations as the script reads them: kind, head (connection, side, time, link), and what the kind needs.
const CONVERSATION: &[&[u8]] = &[
    &[6, 0x40, 0, 150],
    &[0, 0x40, 0, 100],
    &[0, 0x44, 0, 200],
    &[0, 0x40, 1, 80, 50],
    &[0, 0x40, 0, 30],
    &[0, 0x48, 0x81, 60, 1, 0xe0],
    &[0, 0x40, 0, 250],
    &[7, 0x40, 0, 120, 0x21, 9],
    &[0, 0x44, 0, 0],
    &[12, 0x41, 5, 0, 90, 0x11, 2],
    &[8, 0x01, 0x80, 64, 1],
    &[8, 0x01, 0x08, 64, 1],
    &[8, 0x11, 0x84, 64, 1],
    &[9, 0x01, 0, 40],
    &[9, 0x02, 0x20, 100, 3, 2],
    &[10, 0, 1, 6, 2, 2, 2, 2, 2, 2],
    &[11, 0x02, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8],
    &[14, 0x00, 3],
    &[15, 0x08, 4, 60, 0xff],
    &[6, 0x02, 20, 220],
    &[0, 0x06, 0, 255],
    &[0, 0x02, 0x82, 90, 0x54, 9, 30],
    &[0, 0x02, 0x30, 0],
    &[13, 0x40],
    &[6, 0x78, 7, 7],
    &[0, 0x40, 0x40, 0],
];

/// Settings: what `settings.rs` reads before the script.
fn settings(number: u8) -> Vec<u8> {
    let mut bytes = vec![0, 0, number * 11];
    bytes.extend([number % 3, number / 2 % 3, number, number]);
    match number {
        0..=2 => {}
        3..=5 => {
            bytes[0] = 32;
            bytes.extend([40 * (number - 3), 10, number, 0, number - 3, 1, 1, 1, 1, 0, 0]);
        }
        6..=8 => {
            bytes[0] = 64;
            bytes.extend([number - 5, 1, 1, number - 6, 2, number - 6, 1, 3, 1, 1, number & 1]);
        }
        9..=11 => {
            bytes[0] = 128;
            bytes.extend([number - 9, 0, 0, number - 9, 1, number - 9, number - 9, number - 9, number - 9, 0]);
        }
        _ => {
            (bytes[0], bytes[1]) = (16 | 32, number);
            bytes.extend([number, 4, 60, 20, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    }
    bytes
}

#[test]
#[ignore = "writes the first seeds; run it after a change of the format"]
fn write_seeds() {
    std::fs::create_dir_all(folder()).unwrap();
    for number in 0..18 {
        let mut operations = CONVERSATION.to_vec();
        operations.rotate_left(usize::from(number) % 3);
        let bytes = [settings(number), operations.concat()].concat();
        std::fs::write(folder().join(format!("conversation-{number}")), bytes).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_input(input in prop::collection::vec(any::<u8>(), 0..800)) {
        driver::run(&input);
    }

    #[test]
    fn any_settings(settings in prop::collection::vec(any::<u8>(), 40), rotated in 0..CONVERSATION.len(), twice in any::<bool>()) {
        let mut operations = CONVERSATION.to_vec();
        operations.rotate_left(rotated);
        if twice {
            operations.extend_from_within(..);
        }
        driver::run(&[settings, operations.concat()].concat());
    }
}
