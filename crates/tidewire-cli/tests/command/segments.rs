//! The same fields however a conversation was cut into segments, and in whatever order and how often these came.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;
use tidewire_testing::filters::Numbers;

use crate::common::*;

/// Bytes of one side, up to the other side's.
type Said = Vec<(bool, Vec<u8>)>;

/// Conversations out of the seeds of the fuzz target `protocols`: its format without gaps and datagrams.
fn conversations() -> Vec<(String, Said)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/protocols");
    let mut names: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let of_file = |name: String| {
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        let (first, mut rest) = bytes.split_first().unwrap();
        let mut said = Said::new();
        while let Some((&[how, high, low], behind)) = rest.split_first_chunk() {
            let length = usize::from(u16::from_be_bytes([high, low])).min(behind.len());
            if how & 0x0e == 0x0e {
                return None;
            }
            said.push((how & 1 == 1, behind[..length].to_vec()));
            rest = &behind[length..];
        }
        // The second bit of the first byte is the one of datagrams; ports are the driver's.
        (first & 4 == 0 && said.len() > 1).then_some((name, said))
    };
    names.into_iter().filter_map(of_file).collect()
}

/// Offset and length of each segment of a text, in the order in which they are sent.
fn segments(variant: u64, length: usize, numbers: &mut Numbers) -> Vec<(usize, usize)> {
    let size = [1, 2, 3, 7, 100][(variant % 5) as usize];
    let mut segments: Vec<_> = (0..length).step_by(size).map(|at| (at, size.min(length - at))).collect();
    match variant / 5 {
        0 => {}
        1 => segments.reverse(),
        // Each repeats the end of the one before it.
        2 => segments.iter_mut().skip(1).for_each(|(at, bytes)| (*at, *bytes) = (*at - 1, *bytes + 1)),
        3 => segments = segments.iter().flat_map(|&one| [one, one]).collect(),
        // Near each other: how many holes a direction may have is limited.
        _ => {
            for near in segments.chunks_mut(16) {
                for place in (1..near.len()).rev() {
                    near.swap(place, numbers.below(place as u64 + 1) as usize);
                }
            }
        }
    }
    segments
}

const VARIANTS: u64 = 30;

#[test]
fn fields_do_not_depend_on_segments() {
    let (conversations, bench, mut numbers) = (conversations(), Bench::new(), Numbers(7));
    let mut pcap = Pcap::new();
    let port = |which: usize, variant: u64| 10_000 + which as u16 * 100 + variant as u16;
    for (which, (_, said)) in conversations.iter().enumerate() {
        for variant in 0..VARIANTS {
            let mut talk = Talk::new(port(which, variant));
            talk.server.1 = 9_999;
            talk.handshake(&mut pcap);
            for (from_server, text) in said {
                let begin = talk.sequence(*from_server);
                for (at, bytes) in segments(variant, text.len(), &mut numbers) {
                    let sequence = begin.wrapping_add(at as u32);
                    talk.segment(&mut pcap, *from_server, sequence, PSH | ACK, &text[at..at + bytes]);
                }
                talk.skip(*from_server, text.len());
            }
            talk.goodbye(&mut pcap);
        }
    }
    let capture = bench.file("segments.pcap", pcap.bytes());
    for words in [&["transactions", "--json"][..], &["transactions", "--json", "-j", "2"], &["flows", "--json"]] {
        let mut found: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
        for mut one in json(&[words, &[&capture]].concat()) {
            let client = one["client"]["port"].as_u64().unwrap();
            let mut fields = match one["app"].take() {
                Value::Null if words[0] == "flows" => continue,
                Value::Null => one[one["service"].as_str().unwrap()].clone(),
                app => app,
            };
            // Time depends on the number of segments.
            fields.as_object_mut().unwrap().remove("latency_ns");
            if let Some(dns) = fields.get_mut("dns") {
                dns.as_object_mut().unwrap().remove("latency_ns");
            }
            found.entry(client).or_default().push(fields);
        }
        // Those of one segment have the same time.
        found.values_mut().for_each(|fields| fields.sort_by_key(Value::to_string));
        let mut recognised = 0;
        for (which, (name, _)) in conversations.iter().enumerate() {
            let of = |variant| found.get(&port(which, variant).into()).cloned().unwrap_or_default();
            recognised += usize::from(!of(4).is_empty());
            for variant in 0..VARIANTS {
                assert_eq!(of(variant), of(4), "{name}, variant {variant}, {words:?}");
            }
        }
        assert!(recognised >= 10, "{recognised} of {} conversations", conversations.len());
    }
}
