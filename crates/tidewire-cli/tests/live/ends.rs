//! Events that end a capture, and events that do not.

use std::{
    net::{TcpStream, UdpSocket},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tidewire_testing::{Ends as _, Signal};

use crate::{
    common::command,
    rig::{self, HERE, HERE_ADDRESS, Rig, Running, THERE_ADDRESS, ip, settle, wait_for},
};

/// Datagrams to a closed port, each from a different port.
fn datagrams(count: usize) {
    for number in 0..count {
        let socket = UdpSocket::bind((HERE_ADDRESS, 0)).expect("a socket");
        // The refusal would be reported by the next call, which does not come.
        let _ = socket.send_to(format!("datagram {number}").as_bytes(), (THERE_ADDRESS, 9));
    }
}

#[test]
fn after_a_number_of_packets() {
    rig::run(&[], |rig| {
        let words = ["flows", "-i", HERE, "--json", "--stats=json", "-c", "7", "-F", "udp and dst port 9"];
        let running = rig.tidewire(&words);
        datagrams(20);
        let ended = running.wait();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        assert_eq!(ended.records().len(), 7);
        let ledger = ended.ledger();
        assert_eq!((&ledger["received"], &ledger["tracked"]), (&7.into(), &7.into()));
        let live = &ledger["detail"]["live"];
        let unread = live["left_unread"].as_u64().expect("a number");
        assert_eq!(live["rings"]["received"].as_u64(), Some(7 + unread));
    });
}

#[test]
fn after_a_while() {
    rig::run(&[], |rig| {
        let begun = Instant::now();
        let running = rig.tidewire(&["flows", "-i", HERE, "--duration", "700ms", "--stats", "--workers", "2"]);
        let ended = running.wait();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(700) && took < Duration::from_secs(20), "{took:?}");
        assert!(ended.out.contains("in 0s of traffic"), "{}", ended.out);
        assert!(ended.said.contains("rings: received"), "{}", ended.said);
    });
}

/// A signal in the middle of a burst: every packet in the rings is in the ledger, every flow is closed.
#[test]
fn by_a_signal_in_a_burst() {
    rig::run(&[], |rig| {
        for (signal, workers) in [(Signal::INT, "1"), (Signal::TERM, "2"), (Signal::HUP, "1")] {
            // Nothing is cut in the kernel: every packet is in the rings.
            let words = ["flows", "-i", HERE, "--mode", "track", "--json", "--stats=json", "-j", workers, "-F", "udp"];
            let running = rig.tidewire(&words);
            thread::scope(|scope| {
                let burst = scope.spawn(|| {
                    let socket = UdpSocket::bind((HERE_ADDRESS, 0)).expect("a socket");
                    let begun = Instant::now();
                    while begun.elapsed() < Duration::from_millis(800) {
                        let _ = socket.send_to(b"burst", (THERE_ADDRESS, 9));
                    }
                });
                // The thread has the near end's namespace, as every thread that this one starts.
                thread::sleep(Duration::from_millis(400));
                running.signal(signal);
                burst.join().expect("a burst");
            });
            let ended = running.wait();
            assert_eq!(ended.code(), 0, "{signal:?}: {}", ended.said);
            let (ledger, records) = (ended.ledger(), ended.records());
            let packets: u64 = records.iter().map(|flow| flow["packets_c2s"].as_u64().unwrap_or(0)).sum();
            assert_eq!(records.len(), 1, "{records:?}");
            assert_eq!(records[0]["end_reason"], "end_of_input");
            assert!(packets > 100, "{packets} packets");
            assert_eq!(ledger["received"].as_u64(), Some(packets));
            assert_eq!(ledger["detail"]["live"]["rings"]["received"].as_u64(), Some(packets));
        }
    });
}

/// Records are printed during the capture, within a fraction of a second.
#[test]
fn matches_and_ended_streams_come_at_once() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let page = format!("http://{THERE_ADDRESS}/");
        let matches = rig.tidewire(&["match", "-i", HERE, "-e", "tide is", "--json"]);
        let flows = rig.tidewire(&["flows", "-i", HERE, "--csv", "-j", "2", "-F", "tcp"]);
        rig.here(&["curl", "-s", &page]);
        let begun = Instant::now();
        matches.wait_for_out("\"pattern\":\"tide is\"");
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        // A second of silence, and time for what is slow here.
        flows.wait_for_out(",closed,fin,");
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        assert_eq!(matches.interrupt().code(), 0);
        let ended = flows.interrupt();
        assert_eq!(ended.code(), 0);
        assert!(ended.out.starts_with("id,proto,"), "{}", ended.out);
    });
}

/// A closed pipe ends the capture silently, even without further output.
#[test]
fn with_its_reader() {
    rig::run(&["nginx", "curl", "sh", "head"], |rig| {
        rig.nginx();
        let mut tidewire = command(&["match", "-i", HERE, "-e", "tide", "--json", "-q"]);
        let mut child = tidewire.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command");
        let mut head = Command::new("head")
            .arg("-1")
            .stdout(Stdio::null())
            .stdin(child.stdout.take().expect("a pipe"))
            .spawn()
            .expect("head");
        wait_for("a match", || {
            rig.here(&["curl", "-s", &format!("http://{THERE_ADDRESS}/")]);
            matches!(head.try_wait(), Ok(Some(_)))
        });
        wait_for("the end", || matches!(child.try_wait(), Ok(Some(_))));
        let output = child.output_in_time("the command");
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    });
}

/// A file that is kept open, and grows.
fn goes_on(rig: &Rig, running: &Running) {
    let before = running.out().len();
    wait_for("a match after it", || {
        rig.here(&["curl", "-s", "-m", "1", &format!("http://{THERE_ADDRESS}/")]);
        running.out().len() > before
    });
}

#[test]
fn not_with_an_interface_that_goes_down() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        ip(&format!("link set {HERE} down"));
        let running = rig.tidewire(&["match", "-i", HERE, "-e", "tide is", "--json", "-j", "2"]);
        running.wait_for_said("tw0 is down");
        ip(&format!("link set {HERE} up"));
        running.wait_for_said("tw0 is up");
        goes_on(rig, &running);
        ip(&format!("link set {HERE} down"));
        wait_for("the second time", || running.said().matches("tw0 is down").count() >= 2);
        ip(&format!("link set {HERE} up"));
        goes_on(rig, &running);
        let ended = running.interrupt();
        assert_eq!(ended.code(), 0);
        // Each once, for any number of rings.
        assert_eq!(ended.said.matches("down").count(), 2, "{}", ended.said);
    });
}

#[test]
fn not_with_an_interface_that_goes_away() {
    rig::run(&[], |rig| {
        let running = rig.tidewire(&["flows", "-i", HERE, "--json", "--stats=json", "-F", "udp"]);
        let _ = TcpStream::connect_timeout(&std::net::SocketAddr::from(([10, 9, 0, 2], 7)), Duration::from_millis(200));
        datagrams(3);
        settle();
        ip(&format!("link del {HERE}"));
        running.wait_for_said("tw0 is gone");
        let ended = running.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        assert_eq!(ended.records().len(), 3);
        // Its counters are those of the last time that they could be read.
        assert!(ended.ledger()["detail"]["live"]["interfaces"][0]["received"].is_u64());
    });
}
