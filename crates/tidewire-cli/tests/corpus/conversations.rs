//! Every TCP and UDP flow of the corpus against tshark's conversations: packets and bytes of frames a direction.
//!
//! `tests/corpus/tshark-conversations.json.zst` holds tshark 4.0.17's figures, as numbers, keyed by the capture's
//! SHA-256; `scripts/tshark-conversations.py` says how they come about and makes them again. Two things are counted
//! in another way, on purpose, and taken into account here:
//!
//! - Fragments. tshark counts the frame that completed a datagram, and the other fragments nowhere; we count every
//!   frame that the datagram came in (the fixture has their number and bytes beside the conversation's).
//! - Tunnels. `tshark -z conv` counts a frame in the outer conversation and in the inner one; a flow of ours is the
//!   innermost, and so are the fixture's.
//!
//! Flows' keys are the default ones: VLAN and tunnel ids divide no conversation for tshark either.

use crate::{
    corpus::{self, Entry},
    doubts,
    matching::{TCP, UDP, UDP_LITE, by_pair, endpoint, ours, pair},
    oracle,
    record::{self, StreamRecord},
};
use serde_json::Value;
use std::{collections::BTreeMap, fs::File, net::SocketAddr, sync::Mutex};

/// One of tshark's conversations.
struct Conversation {
    ends: [SocketAddr; 2],
    first: u64,
    /// Frames, bytes, fragments besides and their bytes, by direction.
    figures: [[u64; 4]; 2],
}

impl Conversation {
    fn parse(value: &Value) -> Self {
        let end = |index: usize| endpoint(value[index].as_str().expect("an address"));
        let number = |index: usize| value[index].as_u64().unwrap_or(0);
        let direction = |at: usize, more: usize| [number(at), number(at + 1), number(more), number(more + 1)];
        Self { ends: [end(0), end(1)], first: number(2), figures: [direction(3, 7), direction(5, 9)] }
    }
}

#[test]
fn flows_are_tsharks_conversations() {
    let Some(entries) = corpus::entries() else { return };
    let fixture = corpus::root().join("tests/corpus/tshark-conversations.json.zst");
    let fixture = zstd::Decoder::new(File::open(fixture).expect("the fixture is there")).expect("zstd");
    let fixture: BTreeMap<String, Value> = serde_json::from_reader(fixture).expect("JSON");
    let tally = Mutex::new([0_usize; 2]);
    let used = Mutex::new(Vec::new());
    let differences = corpus::each(
        &entries,
        |entry| &entry.name,
        |entry| {
            let Ok(record) = record::run(&entry.path, 1, oracle::config()) else { return vec!["not read".into()] };
            let theirs = fixture.get(&entry.sha256).unwrap_or(&Value::Null);
            let mut differences = Vec::new();
            for (family, protocols) in [("tcp", &[TCP][..]), ("udp", &[UDP, UDP_LITE])] {
                let theirs = theirs[family].as_array().map_or(&[][..], Vec::as_slice);
                let theirs: Vec<Conversation> = theirs.iter().map(Conversation::parse).collect();
                let found = compare(&record.streams, protocols, &theirs);
                let mut tally = tally.lock().unwrap();
                tally[0] += theirs.len();
                tally[1] += found.len();
                differences.extend(found.into_iter().map(|line| format!("{family} {line}")));
            }
            explain(entry, differences, &used)
        },
    );
    let [all, different] = tally.into_inner().unwrap();
    eprintln!("{all} conversations of tshark's, {different} differences explained");
    differences.conclude();
    doubts::assert_conversations_used(&used.into_inner().unwrap());
}

/// Differences that `doubts` does not explain.
fn explain(entry: &Entry, differences: Vec<String>, used: &Mutex<Vec<usize>>) -> Vec<String> {
    let unexplained = |_: &String| match doubts::find_conversation(&entry.name) {
        Some(doubt) => {
            used.lock().unwrap().push(doubt);
            false
        }
        None => true,
    };
    differences.into_iter().filter(unexplained).collect()
}

fn compare(streams: &[StreamRecord], protocols: &[u8], theirs: &[Conversation]) -> Vec<String> {
    let mut groups = BTreeMap::<_, Vec<&Conversation>>::new();
    for conversation in theirs {
        groups.entry(pair(conversation.ends[0], conversation.ends[1])).or_default().push(conversation);
    }
    let mine = by_pair(streams, protocols);
    let mut differences = Vec::new();
    for (ends, group) in &groups {
        let mine = mine.get(ends).map_or(&[][..], Vec::as_slice);
        if mine.len() != group.len() {
            let first = group[0].first;
            differences.push(format!("{ends:?} packet {first}: {} flows, tshark has {}", mine.len(), group.len()));
            continue;
        }
        for (ours, theirs) in mine.iter().zip(group) {
            differences.extend(difference(ours, theirs));
        }
    }
    let alien = mine.iter().filter(|(ends, _)| !groups.contains_key(ends));
    differences.extend(alien.map(|(ends, group)| {
        format!("{ends:?} packet {}: {} flows that tshark does not have", group[0].id, group.len())
    }));
    differences
}

fn difference(mine: &StreamRecord, theirs: &Conversation) -> Option<String> {
    let swapped = usize::from(ours(mine.key.client) != theirs.ends[0]);
    let figures = |index: usize| {
        let stats = &mine.directions[index ^ swapped].stats;
        [stats.packets, stats.frames, stats.frame_bytes]
    };
    let expected = |index: usize| {
        let [frames, bytes, fragments, fragment_bytes] = theirs.figures[index];
        [frames, frames + fragments, bytes + fragment_bytes]
    };
    let (found, wanted) = ([figures(0), figures(1)], [expected(0), expected(1)]);
    (found != wanted).then(|| {
        let [a, b] = theirs.ends;
        format!("{a} {b} packet {}: [packets, frames, bytes] {found:?}, tshark has {wanted:?}", theirs.first)
    })
}
