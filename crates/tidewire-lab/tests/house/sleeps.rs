//! Tests await conditions instead of sleeping: by `wait_until` of `tidewire-testing`, and by its `let_pass` where something must not happen.

use super::{FLOORS, tests};

/// Sleeps in the tests of a crate, which pace a sender, wait blindly, or let a time pass in which nothing may happen. Crates that are not
/// listed have none. The numbers only become less.
const SLEEPS: &[(&str, usize)] = &[
    ("tidewire", 11),
    ("tidewire-cli", 43),
    ("tidewire-delivery", 5),
    ("tidewire-event-socket", 6),
    ("tidewire-event-store", 1),
    ("tidewire-gen", 1),
    ("tidewire-lab", 4),
    ("tidewire-live", 31),
    ("tidewire-pcap", 7),
    ("tidewire-queue", 10),
    ("tidewire-queue-c", 1),
    ("tidewire-recorder", 2),
    ("tidewire-sensor", 8),
];

/// How a test sleeps. In pieces, so that this file does not hold them itself.
const CALLS: [&str; 4] = [
    concat!("thread::", "sleep("),
    concat!(" sleep", "(Duration"),
    concat!("park_", "timeout("),
    concat!("let_", "pass("),
];

/// How often a text sleeps.
fn sleeps(text: &str) -> usize {
    CALLS.iter().map(|call| text.matches(call).count()).sum()
}

#[test]
fn sleeps_in_tests_become_fewer() {
    let all = tests();
    for (name, _) in FLOORS {
        let most = SLEEPS.iter().find(|known| known.0 == *name).map_or(0, |known| known.1);
        let count: usize = all.iter().filter(|(file, _)| file.starts_with(name)).map(|(_, text)| sleeps(text)).sum();
        assert!(
            count <= most,
            "{name}: {count} sleeps in tests, and {most} may be there: await a condition (wait_until)"
        );
        assert!(count == most, "{name}: {count} sleeps are left in tests: lower the number here from {most}");
    }
    for (name, _) in SLEEPS {
        assert!(FLOORS.iter().any(|known| known.0 == *name), "{name} is no crate");
    }
}

#[test]
fn every_way_to_sleep_is_counted() {
    let text = CALLS.map(|call| format!("{call}time);\n")).concat();
    assert_eq!(sleeps(&text), CALLS.len());
    assert_eq!(sleeps("wait_until(\"it\", || true); use tidewire_testing::let_pass;"), 0);
}
