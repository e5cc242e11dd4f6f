//! Vectors published with Suricata (OISF/suricata, src/defrag.c, after Novak and Sturges), and Shankar and Paxson's
//! arrangement, taken as data.

use super::*;

/// Offset and length in units of eight bytes, more to come, letter.
type Row = (u32, u32, bool, u8);

const NOVAK: &[Row] = &[
    (0, 3, true, b'A'),
    (4, 2, true, b'B'),
    (6, 3, true, b'C'),
    (10, 1, true, b'D'),
    (13, 2, true, b'E'),
    (15, 3, true, b'F'),
    (18, 2, true, b'G'),
    (20, 2, true, b'H'),
    (22, 1, true, b'I'),
    (1, 4, true, b'J'),
    (6, 3, true, b'K'),
    (9, 3, true, b'L'),
    (12, 3, true, b'M'),
    (16, 1, true, b'N'),
    (19, 1, true, b'O'),
    (20, 1, true, b'P'),
    (22, 2, false, b'Q'),
];
const PAXSON: &[Row] = &[
    (0, 3, true, b'1'),
    (4, 2, true, b'2'),
    (6, 3, true, b'3'),
    (1, 4, true, b'4'),
    (6, 3, true, b'5'),
    (9, 3, false, b'6'),
];

/// Fragments, policy, and the letter of each eight bytes of the rebuilt payload.
const EXPECTED: &[(&[Row], DefragPolicy, &str)] = &[
    (NOVAK, DefragPolicy::Bsd, "AAAJJBCCCLLLMMMFFFGGHHIQ"),
    (NOVAK, DefragPolicy::Linux26, "AAAJJBKKKLLLMMMFFFGGPHQQ"),
    (NOVAK, DefragPolicy::Windows, "AAAJBBCCCLLLMEEFFFGGHHIQ"),
    (NOVAK, DefragPolicy::Solaris, "AAAJBBCCCLLLMMMFFFGGHHIQ"),
    (NOVAK, DefragPolicy::First, "AAAJBBCCCLDLMEEFFFGGHHIQ"),
    (NOVAK, DefragPolicy::Last, "AJJJJBKKKLLLMMMFNFGOPHQQ"),
    (PAXSON, DefragPolicy::Bsd, "111442333666"),
    (PAXSON, DefragPolicy::BsdRight, "144422555666"),
    (PAXSON, DefragPolicy::Linux26, "111442555666"),
    (PAXSON, DefragPolicy::First, "111422333666"),
    (PAXSON, DefragPolicy::Last, "144442555666"),
];

#[test]
fn published_overlaps() {
    for &(rows, policy, wanted) in EXPECTED {
        for is_ipv6 in [false, true] {
            let mut bench = Bench::new(Config::default());
            let mut last = Result::Held;
            for &(offset, units, more, letter) in rows {
                assert_eq!(last, Result::Held);
                let piece = Piece { offset: offset * 8, more, data: vec![letter; units as usize * 8] };
                last = bench.piece(policy, is_ipv6, 7, &piece);
            }
            let payload: Vec<u8> = wanted.bytes().flat_map(|letter| [letter; 8]).collect();
            assert_eq!(last, Result::Rebuilt { payload, fragments: rows.len() as u32 }, "{}", policy.name());
            assert!(bench.finish().is_empty());
        }
    }
}

/// All of them from the file, where the corpus lies beside the checkout (or `TIDEWIRE_CORPUS` names it).
#[test]
fn vectors_of_the_corpus() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let corpus = std::env::var("TIDEWIRE_CORPUS").unwrap_or_else(|_| beside.into());
    let path = format!("{corpus}/vectors/ip_defrag_policy_vectors.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {path} is absent");
        return;
    };
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut checked = 0;
    for test in file["tests"].as_array().unwrap() {
        for (name, wanted) in test["expected_by_policy"].as_object().unwrap() {
            let policies = match name.as_str() {
                // Neither policy below takes data beyond the end, or overlaps.
                "ANY" => DefragPolicy::ALL.to_vec(),
                "LINUX" => vec![DefragPolicy::Linux26],
                name => vec![name.parse().unwrap()],
            };
            for policy in policies {
                let reverse = test["name"].as_str().unwrap().contains("Reverse");
                let found = run(test, policy, reverse);
                let refuses = matches!(policy, DefragPolicy::Linux | DefragPolicy::Rfc5722);
                let is_beyond = test["name"] == "DefragMfIpv4Test";
                let wanted = wanted.as_str().filter(|_| !(refuses && is_beyond));
                assert_eq!(found.as_deref(), wanted, "{} {}", test["name"], policy.name());
                checked += 1;
            }
        }
    }
    assert!(checked >= 50, "{checked}");
}

fn run(test: &serde_json::Value, policy: DefragPolicy, reverse: bool) -> Option<String> {
    let mut bench = Bench::new(Config { fragment_bytes_min: 8, ..Config::default() });
    let mut pieces: Vec<Piece> = test["fragments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fragment| Piece {
            offset: fragment["offset"].as_u64().unwrap() as u32,
            more: fragment["mf"] == 1,
            data: fragment["payload"].as_str().unwrap().as_bytes().to_vec(),
        })
        .collect();
    if reverse {
        pieces.reverse();
    }
    for piece in pieces {
        if let Result::Rebuilt { payload, .. } = bench.piece(policy, test["ip"] == 6, 12, &piece) {
            return Some(String::from_utf8(payload).unwrap());
        }
    }
    None
}
