//! Kernel programs: every packet is counted once, from the interface to the engine.

use std::net::UdpSocket;

use serde_json::Value;
use tidewire_testing::InTime as _;

use crate::{
    common::json,
    rig::{self, HERE, HERE_ADDRESS, Rig, THERE_ADDRESS, ip, settle},
};

const DATAGRAMS: u64 = 2000;

fn send_from_there(rig: &Rig) {
    rig.there(|| {
        let socket = UdpSocket::bind((THERE_ADDRESS, 0)).expect("a socket");
        for _ in 0..DATAGRAMS {
            let _ = socket.send_to(&[7; 100], (HERE_ADDRESS, 9));
        }
    });
}

/// On a tap: the counts of interface, kernel program, rings and ledger agree.
#[test]
fn every_engine_conserves_packets() {
    rig::run(&[], |rig| {
        let address = std::process::Command::new("ip").args(["-o", "link", "show", HERE]).run_in_time().expect("ip");
        let address = String::from_utf8(address.stdout).expect("text");
        let address =
            address.split("link/ether ").nth(1).expect("an address").split(' ').next().expect("it").to_owned();
        // No question for an address is in the way.
        rig.there(move || ip(&format!("neigh add {HERE_ADDRESS} lladdr {address} dev tw1 nud permanent")));
        for engine in ["packet", "xdp", "xdp-generic"] {
            let words = [
                "flows",
                "-i",
                HERE,
                "--tap",
                "--incoming",
                "--mode",
                "track",
                "--engine",
                engine,
                "--json",
                "--stats=json",
            ];
            let mut command = crate::common::command(&words);
            command.args(["-F", "udp"]);
            let running = rig::Running::start(command);
            running.wait_for_said("tw0: ");
            send_from_there(rig);
            settle();
            let ended = running.interrupt();
            assert_eq!(ended.code(), 0, "{engine}: {}", ended.said);
            let ledger = ended.ledger();
            let live = &ledger["detail"]["live"];
            assert_eq!(live["rings"]["received"], DATAGRAMS, "{engine}: {ledger}");
            assert_eq!((&ledger["received"], &ledger["tracked"]), (&DATAGRAMS.into(), &DATAGRAMS.into()), "{engine}");
            assert_eq!(ended.records()[0]["packets_c2s"], DATAGRAMS, "{engine}");
            let kernel = &live["interfaces"][0]["kernel"];
            if engine != "packet" {
                let figure = |name: &str| kernel[name].as_u64().expect("a number");
                assert_eq!(figure("delivered"), DATAGRAMS, "{engine}: {ledger}");
                assert_eq!(figure("received"), figure("delivered") + figure("filtered"), "{engine}: {ledger}");
            }
        }
    });
}

/// Cutoff 0: most packets never leave the kernel, and the figures are those of a file that has them all.
#[test]
fn what_the_kernel_cut_off_is_in_the_figures() {
    rig::run(&["nginx", "curl", "tcpdump"], |rig| {
        rig.nginx();
        rig.wait_for_closed();
        let (tcpdump, path) = rig.tcpdump("beside.pcap", "tcp port 80");
        let words = ["streams", "-i", HERE, "--cutoff", "0", "--json", "--stats=json", "-F", "tcp port 80"];
        let running = rig.tidewire(&words);
        for page in ["big", "", "big"] {
            rig.here(&["curl", "-s", "-o", "/dev/null", &format!("http://{THERE_ADDRESS}/{page}")]);
        }
        settle();
        let ended = running.interrupt();
        std::thread::sleep(std::time::Duration::from_millis(1300));
        assert!(tcpdump.interrupt().said.contains("0 packets dropped by kernel"));
        assert_eq!(ended.code(), 0, "{}", ended.said);
        let ledger = ended.ledger();
        let live = &ledger["detail"]["live"];
        let shunted = live["shunted_packets"].as_u64().expect("a number");
        assert!(shunted > 20, "{ledger}");
        let file = json(&["streams", "--json", &path]);
        let figures = |records: &[Value]| {
            let of = |record: &Value| {
                let side =
                    |name: &str| (record[name]["packets"].as_u64(), record[name]["payload_bytes_on_wire"].as_u64());
                (record["client"]["port"].as_u64(), side("c2s"), side("s2c"))
            };
            // The check whether the server answers yet may have connected before the capture began, without a payload.
            let has_request = |record: &&Value| record["c2s"]["payload_bytes_on_wire"].as_u64() > Some(0);
            let mut all: Vec<_> = records.iter().filter(has_request).map(of).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(figures(&ended.records()), figures(&file));
        let packets: u64 = ended
            .records()
            .iter()
            .flat_map(|one| ["c2s", "s2c"].map(|side| one[side]["packets"].as_u64()))
            .flatten()
            .sum();
        assert_eq!(ledger["received"].as_u64().expect("a number") + shunted, packets);
    });
}
