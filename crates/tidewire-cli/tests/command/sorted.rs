//! Records that have no room in memory before they are printed lie in a temporary file, and come out in the same order.

use tidewire_testing::InTime as _;

use crate::{common::*, exports::capture_of};

/// The output is the same as without such a file; where it cannot be made, the records stay in memory, with a message.
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

/// Patterns inside each other match hundreds of times at each byte: of each byte the longest are reported and the others counted, in
/// the same order with and without room.
#[test]
fn matches_inside_each_other_are_bounded_and_counted() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, &[b'a'; 1000]), (true, b"answer")]);
    let capture = bench.file("nested.pcap", pcap.bytes());
    let patterns: String = (1..=200).map(|length| "a".repeat(length) + "\n").collect();
    let patterns = bench.file("patterns", patterns.as_bytes());
    // Of 'a' once at its end in "answer", and of the first bytes fewer than the bound.
    let reported = 1 + (1..=1000).map(|end: u64| end.min(8)).sum::<u64>();
    // 1 to 192 of the bytes up to the 200th, then 192 of each.
    let said = "172,128 matches left out: at most 8";
    let printed = |words: &[&str], temporary: &str| {
        let words = [&["match", &capture, "-f", &patterns, "--memory", "2M"], words].concat();
        let output = command(&words).env("TMPDIR", temporary).run_in_time().unwrap();
        let complaints = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && complaints.contains(said), "{words:?}: {complaints}");
        (String::from_utf8(output.stdout).unwrap(), complaints)
    };
    let (spilled, complaints) = printed(&["--json"], bench.path("").to_str().unwrap());
    assert!(!complaints.contains("temporary"), "{complaints}");
    assert_eq!(spilled.lines().count() as u64, reported);
    let (in_memory, complaints) = printed(&["--json"], "/nowhere");
    assert!(complaints.contains("a temporary file in /nowhere cannot be written"), "{complaints}");
    assert_eq!(spilled, in_memory);
    let (limited, _) = printed(&["--json", "--limit", "7"], "/nowhere");
    assert_eq!(limited.lines().collect::<Vec<_>>(), spilled.lines().take(7).collect::<Vec<_>>());
    let (counts, _) = printed(&["--count", "--csv"], "/nowhere");
    let counts = counts.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<u64>().unwrap());
    assert_eq!(counts.sum::<u64>(), reported);
}
