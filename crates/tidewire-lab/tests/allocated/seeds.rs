//! The fuzz target `allocated` on the seeds of `engine`, and on random inputs.

#[path = "../../../../fuzz/drivers/engine/mod.rs"]
mod engine;

use std::{path::Path, sync::PoisonError};

use tidewire_lab::{random::Random, sys::counting::allocated_bytes};

/// The seeds, and each with parts replaced by those of others and by random bytes.
#[test]
fn what_is_charged_is_allocated_for_any_settings() {
    let _alone = super::COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/engine");
    let mut names: Vec<_> =
        std::fs::read_dir(folder).expect("seeds").map(|entry| entry.expect("a seed").path()).collect();
    names.sort();
    let seeds: Vec<_> = names.iter().map(|name| std::fs::read(name).expect("a seed")).collect();
    assert!(seeds.len() >= 12, "{} seeds", seeds.len());
    let mut random = Random::new(1);
    for seed in &seeds {
        engine::run_counted(seed, allocated_bytes);
        for _ in 0..20 {
            let mut input = seed.clone();
            for _ in 0..1 + random.below(8) {
                let at = random.below(input.len() as u64) as usize;
                input[at] = random.next_u64() as u8;
            }
            let other = &seeds[random.below(seeds.len() as u64) as usize];
            input.extend(&other[random.below(other.len() as u64) as usize..]);
            engine::run_counted(&input, allocated_bytes);
        }
    }
}
