//! Records that have no room in memory before they are printed lie in a temporary file, and come out in the same order.

use tidewire_testing::InTime as _;

use crate::{common::*, exports::capture_of};

/// What is printed is the same as without such a file; where it cannot be made, the records stay in memory, and that is said.
#[test]
fn records_without_room_are_printed_in_the_same_order() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 4000);
    let orders: [&[&str]; 4] = [&[], &["--json"], &["--csv"], &["--wide"]];
    let sorted: [&[&str]; 3] =
        [&["--sort", "server"], &["--top", "duration", "--limit", "2000"], &["--sort", "end", "--json"]];
    let of = |name: &'static str, words: &[&'static str]| [&[name][..], words].concat();
    let runs = ["flows", "streams", "transactions"].into_iter().flat_map(|name| orders.map(|words| of(name, words)));
    for words in runs.chain(sorted.map(|words| of("flows", words))) {
        // A room of 256 KiB: of a few hundred records.
        let words = [&words, ["--memory", "2M", capture.as_str()].as_slice()].concat();
        let printed = |temporary: &str| {
            let output = command(&words).env("TMPDIR", temporary).run_in_time().unwrap();
            assert!(output.status.success(), "{words:?}");
            (output.stdout, String::from_utf8(output.stderr).unwrap())
        };
        let (spilled, complaints) = printed(bench.path("").to_str().unwrap());
        assert!(!complaints.contains("temporary"), "{words:?}: {complaints}");
        let (in_memory, complaints) = printed("/nowhere");
        assert!(complaints.contains("a temporary file in /nowhere cannot be written"), "{words:?}: {complaints}");
        assert!(spilled == in_memory && spilled.len() > 100_000, "{words:?}");
    }
    let left = std::fs::read_dir(bench.path("")).unwrap().count();
    assert_eq!(left, 1, "the capture alone");
}
