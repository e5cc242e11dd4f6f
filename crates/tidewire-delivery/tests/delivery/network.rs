//! Networks that are cut, slow, half open, reset, or change what passes: each event arrives once and in order all the same.

use std::{path::Path, process::Command, sync::atomic::Ordering::Relaxed, time::Duration};

use tidewire_delivery::{DestinationSettings, To};
use tidewire_testing::{InTime as _, filters::Numbers, missing, privileged, skip, wait_until};

use crate::{
    proxy::{Fault, Proxy},
    rig::{Collecting, Spooling, batch, count, key_file, numbers, open, to_collector},
};

fn impatient(address: &str, timeout: Duration) -> DestinationSettings {
    let mut to = to_collector("c", address, key_file("edge-1"));
    let To::Collector(of) = &mut to.to else { unreachable!("a collector") };
    of.timeout = timeout;
    to.retry_max = Duration::from_millis(100);
    to
}

/// Events are stored while connections suffer these faults one after the other; then the network is well again.
fn survives(faults: &[(Fault, Fault)], timeout: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    let collecting = Collecting::start(&folder.path().join("collected"));
    let proxy = Proxy::start(collecting.address());
    proxy.set(faults[0].0, faults[0].1);
    let spooling = Spooling::start(&path, vec![impatient(&proxy.address().to_string(), timeout)]);
    let mut stored = 0;
    for (to, back) in faults {
        proxy.set(*to, *back);
        proxy.cut();
        let (before, connections) = (stored, proxy.connections.load(Relaxed));
        stored += 400;
        store.append(&batch(before..stored)).unwrap();
        let there = collecting.of("edge-1");
        // With some faults nothing ever passes: then another connection was tried at least.
        wait_until("an attempt", || count(&there) == stored || proxy.connections.load(Relaxed) > connections + 1);
    }
    proxy.set(Fault::None, Fault::None);
    proxy.cut();
    wait_until("everything", || count(&collecting.of("edge-1")) == stored);
    assert!(numbers(&collecting.of("edge-1")).into_iter().eq(0..stored));
    spooling.until("the position", "c", |status| status.delivered == stored);
}

#[test]
fn connections_that_are_cut_anywhere_lose_nothing() {
    let mut random = Numbers(5);
    let mut faults = Vec::new();
    for _ in 0..12 {
        faults.push((Fault::Cut(random.below(20_000)), Fault::None));
        // An acknowledgment that does not arrive: the batch is stored, and must not be stored again.
        faults.push((Fault::None, Fault::Cut(1500 + random.below(600))));
    }
    survives(&faults, Duration::from_secs(10));
}

#[test]
fn connections_that_are_half_open_are_noticed() {
    let faults = [
        (Fault::Silence(4000), Fault::None),
        (Fault::None, Fault::Silence(1700)),
        (Fault::Silence(0), Fault::None),
        (Fault::Silence(6000), Fault::Silence(1900)),
    ];
    survives(&faults, Duration::from_millis(800));
}

#[test]
fn bytes_that_are_changed_doubled_exchanged_or_left_out_are_refused() {
    let faults: Vec<(Fault, Fault)> = [Fault::Change, Fault::Twice, Fault::Swap, Fault::Drop]
        .into_iter()
        .flat_map(|fault| [(fault(0), Fault::None), (fault(3000), Fault::None), (Fault::None, fault(1800))])
        .collect();
    survives(&faults, Duration::from_millis(1500));
}

#[test]
fn a_slow_network_is_only_slow() {
    survives(&[(Fault::Slow, Fault::Slow), (Fault::Slow, Fault::None)], Duration::from_secs(30));
}

#[test]
fn an_idle_connection_that_dies_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..10)).unwrap();
    let collecting = Collecting::start(&folder.path().join("collected"));
    let proxy = Proxy::start(collecting.address());
    let spooling = Spooling::start(&path, vec![impatient(&proxy.address().to_string(), Duration::from_millis(600))]);
    spooling.until("delivery", "c", |status| status.delivered == 10);
    proxy.mute.store(true, Relaxed);
    spooling.log.until("nothing has come back for");
    proxy.mute.store(false, Relaxed);
    spooling.until("another connection", "c", |status| status.connected && status.delivered == 10);
}

/// With the kernel's own disturbance: loss, delay, duplicates, another order.
#[test]
fn a_disturbed_network_loses_nothing() {
    if let Some(reason) = missing(&["unshare", "ip", "tc"]) {
        return skip(reason);
    }
    let is_root = || match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(std::io::ErrorKind::PermissionDenied.into()),
    };
    if let Err(error) = privileged(is_root) {
        return skip(format!("no network namespace can be made: {error}"));
    }
    let netem =
        "ip link set lo up && tc qdisc add dev lo root netem delay 1ms 1ms loss 2% duplicate 2% reorder 10% 50%";
    let tried = Command::new("unshare").args(["--net", "sh", "-c", netem]).run_in_time().unwrap();
    if !tried.status.success() {
        let why = String::from_utf8_lossy(&tried.stderr);
        return skip(format!("the kernel has no netem: {}", why.trim()));
    }
    let own = std::env::current_exe().unwrap();
    let script = format!("{netem} && exec \"$0\" --ignored --exact network::within_a_disturbed_network --nocapture");
    let output = Command::new("unshare").args(["--net", "sh", "-c", &script]).arg(own).run_in_time().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "a part of a test, which runs it in a network namespace"]
fn within_a_disturbed_network() {
    if !Path::new("/sys/class/net/lo").exists() {
        return;
    }
    survives(&[(Fault::None, Fault::None); 4], Duration::from_secs(20));
}
