//! Every datagram that tshark rebuilt from fragments, against ours: length and SHA-256 of the IP payload.
//!
//! tshark keeps fragments in its own way where they overlap, so that captures with overlaps are compared only by which
//! datagrams come out of ours under one of the policies.

use crate::{
    corpus::{self, Entry},
    doubts, oracle,
    record::{self, DatagramRecord},
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Mutex, time::Duration};
use tidewire::DefragPolicy;

/// Length and hash. Addresses are left out: with tunnels tshark names those of every layer.
type Key = (u64, String);

fn ours(datagram: &DatagramRecord) -> Key {
    (datagram.bytes, datagram.sha256.clone())
}

fn theirs(value: &Value) -> Key {
    (value["length"].as_u64().unwrap_or(0), value["sha256"].as_str().unwrap_or_default().to_owned())
}

/// How often each came out.
fn counted(keys: impl Iterator<Item = Key>) -> BTreeMap<Key, usize> {
    let mut result = BTreeMap::new();
    for key in keys {
        *result.entry(key).or_default() += 1;
    }
    result
}

fn rebuilt(entry: &Entry, policy: DefragPolicy) -> Result<Vec<DatagramRecord>, String> {
    // tshark waits for fragments as long as it takes.
    let config = oracle::config()
        .with_defrag_policy(policy)
        .with_defrag_policy_v6(policy)
        .with_fragment_timeout(Duration::from_nanos(1 << 62))
        .with_fragment_timeout_v6(Duration::from_nanos(1 << 62));
    let record = record::run(&entry.path, 1, config).map_err(|error| format!("not read: {error}"))?;
    if let Some(broken) = record.broken.first() {
        return Err(broken.clone());
    }
    Ok(record.datagrams.into_iter().filter(|datagram| datagram.rejected.is_none()).collect())
}

#[test]
fn datagrams_are_tsharks() {
    let Some(entries) = corpus::entries() else { return };
    let entries: Vec<Entry> = entries.into_iter().filter(|entry| entry.oracle.is_some()).collect();
    let tally = Mutex::new([0_usize; 2]);
    let differences = corpus::each(
        &entries,
        |entry| &entry.name,
        |entry| {
            let oracle = entry.oracle();
            let Some(list) = oracle["ip_fragments"]["reassembled"].as_array() else { return Vec::new() };
            let wanted = counted(list.iter().map(theirs));
            let overlaps = oracle["ip_fragments"]["overlap_frames"].as_u64().unwrap_or(0) > 0;
            let policies = if overlaps { DefragPolicy::ALL } else { &[DefragPolicy::First] };
            let mut found = BTreeMap::<Key, usize>::new();
            for policy in policies {
                match rebuilt(entry, *policy) {
                    Ok(datagrams) => {
                        for (key, count) in counted(datagrams.iter().map(ours)) {
                            let most = found.entry(key).or_default();
                            *most = count.max(*most);
                        }
                    }
                    Err(error) => return vec![format!("{}: {error}", policy.name())],
                }
            }
            let mut differences = Vec::new();
            let mut tally = tally.lock().unwrap();
            for (key, count) in &wanted {
                let ours = found.remove(key).unwrap_or(0);
                tally[0] += count;
                tally[1] += ours.min(*count);
                if ours != *count {
                    differences.push(format!("{key:?}: rebuilt {ours} times, by tshark {count}"));
                }
            }
            differences.extend(found.keys().filter(|_| !overlaps).map(|key| format!("{key:?}: not rebuilt by tshark")));
            if doubts::DATAGRAMS.iter().any(|(name, _)| entry.name.ends_with(name)) {
                differences.clear();
            }
            differences
        },
    );
    let [all, matched] = tally.into_inner().unwrap();
    eprintln!("{matched} of tshark's {all} datagrams rebuilt alike");
    differences.conclude();
}
