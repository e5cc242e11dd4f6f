//! `-w FILE` of captures from interfaces.

use std::{
    collections::BTreeMap,
    fs,
    io::Cursor,
    net::UdpSocket,
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tidewire_files::{Block, Reader, Source as _};
use tidewire_testing::{Ends as _, InTime as _, Lines, Signal, signal};

use crate::common::{alone, lines};

/// Sizes of the packets in a file.
fn sizes(file: Vec<u8>) -> Vec<u32> {
    let mut reader = Reader::from_stream("memory", Cursor::new(file)).expect("a capture");
    let (mut block, mut sizes) = (Block::new(), Vec::new());
    while reader.fill(&mut block).expect("whole") {
        sizes.extend(block.batch().frames.iter().map(|frame| frame.wire_bytes));
    }
    sizes
}

fn count(file: &[u8], word: &str) -> usize {
    file.windows(word.len()).filter(|window| *window == word.as_bytes()).count()
}

/// Starts a capture of lo, and waits until it captures.
fn started(arguments: &[&str]) -> (Child, Lines) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let said = Lines::new(child.stderr.take().expect("piped"));
    said.until(": packet socket");
    // Printed once the rings are open.
    (child, said)
}

/// Sends datagrams of this content to this port, from one socket each.
fn send(port: u16, contents: &[&[u8]]) {
    let to = UdpSocket::bind(("127.0.0.1", port)).expect("a socket");
    for content in contents {
        let from = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        from.send_to(content, to.local_addr().expect("bound")).expect("sent");
        from.send_to(b"again", to.local_addr().expect("bound")).expect("sent");
    }
}

#[test]
fn packets_of_an_interface_are_written_while_files_are_out_of_reach() {
    alone(|| {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("out.pcapng");
        let name = path.to_str().expect("text");
        for (words, flows) in [(&["flows", "--json"][..], 3), (&["match", "-e", "two", "--json"], 1)] {
            let common = ["-i", "lo", "-F", "udp port 7777", "--stats=json", "-w", name];
            let (child, _said) = started(&[words, &common].concat());
            send(7777, &[b"one", b"two 2", b"three 3 3"]);
            // Long enough for packets to arrive; the end delivers the rest.
            std::thread::sleep(std::time::Duration::from_millis(500));
            signal(&child, Signal::INT);
            let output = child.output_in_time("a capture of lo");
            assert!(output.status.success());
            let file = fs::read(&path).expect("complete");
            let expected = if flows == 3 { vec![45, 47, 47, 47, 51, 47] } else { vec![47, 47] };
            assert_eq!(sizes(file.clone()), expected, "{words:?}");
            let matches = usize::from(flows == 1);
            assert_eq!((count(&file, "community_id 1:"), count(&file, "match \"two\" at c2s 0")), (flows, matches));
            assert_eq!(count(&file, "lo\0\0"), 1, "the interface's name");
            let ids: BTreeMap<String, usize> =
                lines(&output.stdout).iter().filter_map(community).map(|id| (id.clone(), count(&file, &id))).collect();
            assert!(flows == 1 || ids.len() == 3 && ids.values().all(|&count| count == 1), "{ids:?}");
            let names: Vec<_> = fs::read_dir(folder.path()).expect("a directory").collect();
            assert_eq!(names.len(), 1);
        }
    });
}

fn community(line: &Value) -> Option<String> {
    Some(line.get("community_id")?.as_str()?.to_owned())
}

#[test]
fn a_pipe_gets_packets_of_an_interface_as_they_come() {
    alone(|| {
        let (mut child, said) = started(&["flows", "-i", "lo", "-F", "udp port 7778", "-w", "-"]);
        let mut stdout = child.stdout.take().expect("piped");
        send(7778, &[b"one"]);
        let (sender, received) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let (mut all, mut piece) = (Vec::new(), [0; 4096]);
            while let Ok(bytes @ 1..) = std::io::Read::read(&mut stdout, &mut piece) {
                all.extend_from_slice(&piece[..bytes]);
                let _ = sender.send(all.len());
            }
            all
        });
        while received.recv_timeout(tidewire_testing::PATIENCE).expect("packets, while the capture runs") < 300 {}
        signal(&child, Signal::INT);
        assert!(child.wait_in_time("a capture of lo").success());
        assert_eq!(sizes(reader.join().expect("it ends")), [45, 47]);
        // The table went to standard error.
        assert!(said.rest().iter().any(|line| line.contains("udp") && line.contains("7778")));
    });
}

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status_in_time().expect("ip runs");
    assert!(status.success(), "ip {words}");
}

/// As documented: a packet that crosses several interfaces is captured on each, with its name; frames of lo once.
#[test]
fn any_is_every_interface_with_its_name() {
    alone(|| {
        let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        ip("link add tw0 type veth peer name tw1");
        ip("addr add 192.0.2.1/24 dev tw0");
        ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev tw0 nud permanent");
        ["tw0", "tw1"].iter().for_each(|name| ip(&format!("link set {name} up")));
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("out.pcapng");
        // The copy at the other end of the cable is kept.
        let mut words = vec!["flows", "-i", "any", "--json", "-F", "udp port 7779", "--duplicates", "keep", "-w"];
        words.push(path.to_str().expect("text"));
        let (child, _said) = started(&words);
        send(7779, &[b"one"]);
        let from = UdpSocket::bind("192.0.2.1:0").expect("a socket");
        from.send_to(b"over the cable", "192.0.2.2:7779").expect("sent");
        std::thread::sleep(std::time::Duration::from_millis(500));
        signal(&child, Signal::INT);
        let output = child.output_in_time("a capture of any");
        assert!(output.status.success());
        let packets: Vec<u64> =
            lines(&output.stdout).iter().map(|flow| flow["packets_c2s"].as_u64().expect("a number")).collect();
        assert_eq!(packets, [2, 2], "two datagrams over lo, one at both ends of the cable");
        let file = fs::read(&path).expect("complete");
        let mut sizes = sizes(file.clone());
        sizes.sort_unstable();
        assert_eq!(sizes, [45, 47, 56, 56]);
        for name in ["lo\0\0", "tw0\0", "tw1\0"] {
            assert_eq!(count(&file, name), 1, "{name}");
        }
    });
}
