//! Vectors published with Suricata (OISF/suricata, src/tests/stream-tcp-list.c and stream-tcp-reassemble.c), taken as
//! data: where each segment lies, and what is there at the end.

use super::*;

/// Segments that come before the first byte, in order of arrival; offset from 1.
const BEFORE: &[(u64, &str)] = &[
    (2, "AAA"),
    (6, "BB"),
    (8, "CCC"),
    (12, "D"),
    (15, "EE"),
    (17, "FFF"),
    (20, "GG"),
    (22, "HH"),
    (24, "I"),
    (3, "JJJJ"),
    (8, "KKK"),
    (11, "LLL"),
    (14, "MMM"),
    (18, "N"),
    (21, "O"),
    (22, "P"),
    (24, "QQ"),
    (1, "0"),
];
/// Segments after the first bytes.
const AFTER: &[(u64, &str)] = &[(1, "AA"), (16, "FFF"), (19, "GG"), (2, "JJ"), (20, "O"), (17, "N")];

/// Policy, what is there after `BEFORE`, and after `AFTER`.
const EXPECTED: &[(TcpPolicy, &str, &str)] = &[
    (TcpPolicy::Bsd, "0AAAJJBCCCLLLMMMFFFGGHHIQ", "AAJ............FFFGG"),
    (TcpPolicy::Vista, "0AAAJBBCCCLDLMEEFFFGGHHIQ", "AAJ............FFFGG"),
    (TcpPolicy::Linux26, "0AAAJJBCCCLLLMMMFFFGGHHQQ", "AAJ............FFFGG"),
    (TcpPolicy::Linux22, "0AAAJJBKKKLLLMMMFFFGGHHQQ", "AAJ............FFFGG"),
    (TcpPolicy::Solaris, "0AJJJBBKKKLLLMMMFFFGGHHQQ", "AJJ............FFFGG"),
    (TcpPolicy::Last, "0AJJJJBKKKLLLMMMFNFGOPHQQ", "AJJ............FNFGO"),
];

/// Runs segments through a queue as an engine would, without acknowledgements.
fn reassemble<'a>(policy: TcpPolicy, segments: impl IntoIterator<Item = (u64, &'a [u8])>) -> String {
    let (mut queue, mut out, mut expected) = (Queue::default(), Vec::new(), 1);
    let mut put = |start: u64, bytes: &[u8]| {
        out.resize(out.len().max(start as usize + bytes.len() - 1), b'.');
        out[start as usize - 1..][..bytes.len()].copy_from_slice(bytes);
    };
    for (start, bytes) in segments {
        let incoming = Incoming { start, bytes, length: bytes.len() as u64, ..Incoming::default() };
        queue.insert(policy, expected, &incoming, &mut |_, _| ());
        let limit = if policy.holds_until_acknowledged() { expected } else { u64::MAX };
        while let Some(piece) = queue.take(expected, limit, 0) {
            put(expected, piece.bytes());
            expected += piece.length;
        }
    }
    while let Some(start) = queue.first_start() {
        let piece = queue.take(start, u64::MAX, 0).unwrap();
        put(piece.start, piece.bytes());
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn published_overlaps() {
    for &(policy, before, after) in EXPECTED {
        let bytes = |segments: &'static [(u64, &str)]| segments.iter().map(|&(at, text)| (at, text.as_bytes()));
        assert_eq!(reassemble(policy, bytes(BEFORE)), before, "{}", policy.name());
        assert_eq!(reassemble(policy, bytes(AFTER)), after, "{} after", policy.name());
    }
    let bsd =
        |segments: &[(u64, &str)]| reassemble(TcpPolicy::Bsd, segments.iter().map(|&(at, text)| (at, text.as_bytes())));
    assert_eq!(bsd(&[(3, "BBB"), (1, "AA")]), "AABBB");
    let xs = "x".repeat(50);
    assert_eq!(
        bsd(&[(11, "AAAAAAAAAA"), (21, "BBBBBBBBBB"), (41, "CCCCCCCCCC"), (6, "aaaaaaaaaaaaaaaaaaaa"), (1, &xs)]),
        xs
    );
}

/// The same from the file, where the corpus lies beside the checkout (or `TIDEWIRE_CORPUS` names it).
#[test]
fn vectors_of_the_corpus() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let corpus = std::env::var("TIDEWIRE_CORPUS").unwrap_or_else(|_| beside.into());
    let path = format!("{corpus}/vectors/tcp_overlap_policy_vectors.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {path} is absent");
        return;
    };
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert!(vectors.len() >= 14);
    for vector in vectors {
        let policy = match vector["policy"].as_str().unwrap() {
            "LINUX" => TcpPolicy::Linux26,
            "OLD_LINUX" => TcpPolicy::Linux22,
            name => name.parse().unwrap(),
        };
        let steps = vector["steps"].as_array().unwrap();
        let segment = |step: &'static serde_json::Value| {
            (step["rel_seq"].as_u64().unwrap(), step["segment"].as_str().unwrap().as_bytes())
        };
        // (Leaked, so that the closure above needs no lifetimes; it is a test.)
        let steps: &'static [serde_json::Value] = steps.clone().leak();
        for count in 1..=steps.len() {
            let wanted = steps[count - 1]["expect_after"].as_str().unwrap();
            let found = reassemble(policy, steps[..count].iter().map(segment));
            assert_eq!(found, wanted, "{} after {count} steps", vector["name"]);
        }
    }
}
