//! nmap, which reads the answers to what it sends through libpcap: over a link to a namespace with a host in it.

use std::{process::Command, time::Duration};

use tidewire_testing::{InTime as _, find};

use crate::common::{FAR, NEAR, Over, Running, ip, missing, on_a_link, wait_until};

/// The host's address, and ours.
const THERE: &str = "10.88.0.2";
const HERE: &str = "10.88.0.1/24";
/// An open port there, and one without a listener.
const OPEN: &str = "8123";
const CLOSED: &str = "8124";

/// A host at the far end of the link: a namespace of a program that listens there.
fn host() -> Running {
    let script = format!(
        "import socket, time\ns = socket.socket()\ns.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n\
         s.bind(('0.0.0.0', {OPEN}))\ns.listen(50)\nprint('listening', flush=True)\ntime.sleep(120)\n"
    );
    let mut command = Command::new("unshare");
    command.args(["-n", "python3", "-c", &script]);
    let running = Running::start(command);
    let id = running.id().to_string();
    assert!(
        wait_until(Duration::from_secs(10), || running.printed()[0].contains("listening")),
        "{:?}",
        running.printed()
    );
    ip(&format!("link set {FAR} netns {id}"));
    for words in ["link set lo up", &format!("addr add {THERE}/24 dev {FAR}"), &format!("link set {FAR} up")] {
        let inside = format!("-t {id} -n ip {words}");
        let status = Command::new("nsenter").args(inside.split(' ')).status_in_time().expect("nsenter");
        assert!(status.success(), "{words}");
    }
    ip(&format!("addr add {HERE} dev {NEAR}"));
    running
}

/// Findings of nmap, without times and its own name.
fn scan(options: &[&str], over: Over, variables: &[(&str, &str)]) -> Vec<String> {
    on_a_link(|| {
        let _host = host();
        let mut command = Command::new(find("nmap").expect("it is there"));
        command.args(["-n", "-T4", "--reason"]).args(options).arg(THERE);
        over.put_under(&mut command);
        command.envs(variables.iter().copied());
        let ended = Running::start(command).wait(Duration::from_secs(40));
        assert!(ended.is_success(), "{options:?}: {ended:?}");
        let is_found = |line: &&str| {
            ["Nmap scan", "/tcp", "/udp", "Not shown", "Host is", "All "].iter().any(|word| line.contains(word))
        };
        let without_time = |line: &str| line.split(" (0.").next().unwrap_or(line).to_owned();
        ended.out.lines().filter(is_found).map(without_time).collect()
    })
}

#[test]
fn nmap_finds_the_same() {
    if let Some(reason) = missing(&["nmap", "python3", "nsenter", "unshare"]) {
        println!("skipped: {reason}");
        return;
    }
    let ports = format!("-p{OPEN},{CLOSED}");
    let scans: [&[&str]; 3] = [&["-sn", "-PR"], &["-sS", &ports], &["-sU", "-p53"]];
    for options in scans {
        let expected = scan(options, Over::System, &[]);
        assert!(!expected.is_empty() && expected.iter().any(|line| line.contains("arp-response")), "{expected:?}");
        if options[0] == "-sS" {
            let says = |what: &str| expected.iter().any(|line| line.contains(what));
            assert!(says("open") && says("closed"), "{expected:?}");
        }
        for variables in [&[][..], &[("TIDEWIRE_ENGINE", "packet")], &[("PCAP_FANOUT", "hash"), ("PCAP_GROUP", "4")]] {
            assert_eq!(scan(options, Over::Preloaded, variables), expected, "{options:?} with {variables:?}");
        }
    }
}
