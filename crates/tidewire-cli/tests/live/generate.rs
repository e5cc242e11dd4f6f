//! `tidewire gen` and `tidewire lab net` for users: messages, exit codes, cleanup.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::common::run;
use serde_json::Value;
use tidewire_testing::{Ends as _, InTime as _, Lines, wait_until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tidewire");

/// Runs a shell line in a new network; `None`, after printing the reason, without privileges.
fn inside(options: &str, line: &str) -> Option<(String, String, i32)> {
    if let Some(why) = tidewire_gen::net::missing() {
        println!("skipped: {why}");
        return None;
    }
    let line = line.replace("tidewire ", &format!("{PROGRAM} "));
    let output = Command::new(PROGRAM)
        .args(["lab", "net", "up"])
        .args(options.split_whitespace())
        .args(["--", "sh", "-c", &line])
        .stdin(Stdio::null())
        .run_in_time()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Some((text(output.stdout), text(output.stderr), output.status.code().unwrap_or(-1)))
}

#[test]
fn what_was_sent_is_reported() {
    let Some((out, errors, code)) = inside("", "tidewire gen udp -i tx0 -n 7 -c 5000 -r 200kpps --json") else {
        return;
    };
    assert_eq!((code, errors.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&out).unwrap();
    for (name, wanted) in [("packets", 5000), ("bytes", 320_000), ("arrived", 5000), ("dropped", 0), ("failed", 0)] {
        assert_eq!(report[name], wanted, "{name} in {out}");
    }
    assert_eq!((&report["sender"], &report["ended"]), (&"kernel".into(), &"done".into()));
    assert_eq!(report["interfaces"][0]["unaccounted"], 0);
    let (out, _, _) = inside("", "tidewire gen tcp -i tx0 --connections 50 --segments 2 --sender socket").unwrap();
    assert!(out.contains("connections closed                    50") && out.contains("by a packet socket"), "{out}");
}

#[test]
fn where_the_kernel_cannot_a_socket_does() {
    let line = "tidewire gen udp -i tx0 -c 100 --json; tidewire gen udp -i tx0 -c 100 --sender kernel";
    let Some((out, errors, code)) = inside("--no-gro", line) else { return };
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["sender"], &report["arrived"]), (&"socket".into(), &100.into()), "{out}");
    assert!(report["fallback"].as_str().unwrap().contains("has neither GRO nor an XDP program"), "{out}");
    assert!(errors.contains("ethtool -K rx0 gro on"), "{errors}");
    assert_eq!(code, 3);
    let (out, _, _) = inside("--mtu 9000", "tidewire gen udp -i tx0 -c 100 -s 9000 --json").unwrap();
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["sender"], &report["bytes"]), (&"socket".into(), &900_000.into()), "{out}");
    assert!(report["fallback"].as_str().unwrap().contains("3328"), "{out}");
}

#[test]
fn what_cannot_be_is_said() {
    let cases = [
        ("tidewire gen udp -i nowhere", 2, "there is no interface nowhere; there are: "),
        ("tidewire gen udp -i lo", 2, "--i-own-this-network"),
        ("tidewire gen udp -i tx0 -i tx0", 2, "the same"),
        ("tidewire gen udp -i tx0 -s 9000", 2, "whose MTU is 1500"),
        ("ip link set tx0 down; tidewire gen udp -i tx0", 3, "is down; switch it on: ip link set tx0 up"),
        ("ip link set rx0 down; tidewire gen udp -i tx0", 3, "has no carrier"),
        ("tidewire gen udp -i tx0 -s 63", 2, "must have 64 to 9018 bytes"),
        ("tidewire gen udp -i tx0 -n 0", 2, "is not a count"),
        ("tidewire gen udp -i tx0 -r 10", 2, "has no unit of a rate"),
        ("tidewire gen tcp -i tx0 --class 1:2:3:4", 2, "SHARE:PORT[:DSCP]"),
        ("tidewire gen replay -i tx0 /nonexistent.pcap", 3, "no such file"),
        ("tidewire gen fragments -i tx0 -f 100", 2, "multiple of 8"),
        ("setpriv --bounding-set -all --inh-caps -all tidewire gen udp -i tx0 -c 9", 3, "cap_net_raw"),
    ];
    for (line, wanted_code, wanted) in cases {
        let Some((out, errors, code)) = inside("", line) else { return };
        assert!(errors.contains(wanted), "{line}: {errors}");
        assert_eq!((code, out.as_str()), (wanted_code, ""), "{line}");
    }
}

#[test]
fn a_signal_ends_with_a_report() {
    let line = "tidewire gen udp -i tx0 -r 20kpps --json & sleep 0.5; kill -INT $!; wait $!; echo $?";
    let Some((out, _, _)) = inside("", line) else { return };
    let (report, code) = out.trim().split_once('\n').unwrap();
    let report: Value = serde_json::from_str(report).unwrap();
    assert_eq!((&report["ended"], code), (&"stopped".into(), "130"));
    let packets = report["packets"].as_u64().unwrap();
    assert!(packets > 100 && report["arrived"] == packets, "{report}");
}

#[test]
fn the_missing_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        capture.extend(word.to_le_bytes());
    }
    for number in (0..50_u64).filter(|number| !matches!(number, 7 | 20..=29)) {
        let frame = [vec![0; 54], tidewire_gen::number::trailer(number).to_vec()].concat();
        for word in [0, 0, 60, 60_u32] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(frame);
    }
    let path = folder.path().join("arrived.pcap");
    std::fs::write(&path, capture).unwrap();
    let output = run(&["gen", "missing", "-c", "60", path.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  missing: ")).collect();
    assert_eq!(lines, ["7", "20 to 29", "50 to 59"], "{text}");
    assert_eq!(output.status.code(), Some(1));
    let output = run(&["gen", "missing", "--json", path.to_str().unwrap()]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["missing"], &report["arrived"], &report["late"]), (&11.into(), &39.into(), &0.into()));
    assert_eq!((&report["sent"], &report["sent_is_inferred"]), (&50.into(), &true.into()));
    let output = run(&["gen", "missing", path.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("sent, inferred                        50  from the last number"), "{text}");
    let output = run(&["gen", "missing", "-c", "30", path.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("number 49 arrived: more than 30 frames were sent"));
    let output = run(&["gen", "missing", concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap")]);
    assert_eq!(output.status.code(), Some(1), "nothing arrived, and nothing is known to be missing");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no numbered frames found"));
}

#[test]
fn networks_come_and_go() {
    let Some((out, _, code)) =
        inside("--cables 2 --queues 2 --mtu 4000", "ip -o link | grep -c 'mtu 4000.*state UP'; exit 9")
    else {
        return;
    };
    assert_eq!((out.trim(), code), ("4", 9), "the command's status is ours");
    // A shell can ask for a connection: that it is refused at once is an answer from the other end.
    let asks = "LC_ALL=C timeout 5 bash -c ': < /dev/tcp/10.77.0.2/9' 2>&1 | grep -qF refused && echo refused";
    let line = format!("nsenter --net=$TIDEWIRE_LAB_RX ip -o link | grep -c rx0; ip -o link | grep -c rx0; {asks}");
    let (out, _, _) = inside("--addresses --apart", &line).unwrap();
    assert_eq!(out, "1\n0\nrefused\n");
    let name = format!("test-{}", std::process::id());
    let code = |arguments: &[&str]| run(&[&["lab", "net"], arguments].concat()).status.code().unwrap();
    assert_eq!(code(&["up", &name]), 0);
    let listed = String::from_utf8(run(&["lab", "net", "list"]).stdout).unwrap();
    assert!(listed.lines().any(|line| line == name), "{listed}");
    assert_eq!(code(&["up", &name]), 2, "there is one");
    assert_eq!(code(&["down", &name]), 0);
    assert_eq!(code(&["down", &name]), 2, "there is none");
    assert_eq!(code(&["up", "a/b"]), 2);
    assert_eq!(code(&["up", &name, "--queues", "0"]), 2);
    assert!(!String::from_utf8(run(&["lab", "net", "list"]).stdout).unwrap().contains(&name), "nothing is left of it");
}

#[test]
fn a_network_goes_with_its_command_killed() {
    if tidewire_gen::net::missing().is_some() {
        return;
    }
    let script = "readlink /proc/self/ns/net $TIDEWIRE_LAB_RX; exec sleep 0.5";
    let mut child = Command::new(PROGRAM)
        .args(["lab", "net", "up", "--apart", "--", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = Lines::new(child.stdout.take().unwrap());
    let namespaces: Vec<String> = (0..2).map(|_| lines.next("a namespace").unwrap()).collect();
    assert!(namespaces.iter().all(|name| name.starts_with("net:[")), "{namespaces:?}");
    let before: Vec<_> = namespaces.iter().map(|name| users(name)).collect();
    assert!(before.iter().all(|users| !users.is_empty()), "{before:?}");
    child.kill().unwrap();
    child.wait_in_time("the process");
    // The kernel gives the number of a namespace that is gone to the next one, which another test may make: the test is
    // whether those who were in it are gone.
    wait_until("the end of all in the two namespaces", || {
        let mut both = namespaces.iter().zip(&before);
        both.all(|(name, before)| !users(name).iter().any(|one| before.contains(one)))
    });
}

#[test]
fn a_link_is_split() {
    let line = "tidewire split rx0 tx1 tx2 --json -q & sleep 0.5; tidewire gen tcp -i tx0 -n 200 -r 100kpps --json; kill -INT $!; wait $!; ip -d link show rx0 | grep -c prog/xdp";
    let Some((out, errors, _)) = inside("--cables 3", line) else { return };
    let lines: Vec<&str> = out.lines().collect();
    let [sent, split, left] = lines[..] else { panic!("{out}{errors}") };
    let [sent, split]: [Value; 2] = [sent, split].map(|line| serde_json::from_str(line).unwrap());
    assert_eq!((&split["received"], &split["lost"], &split["unsteered"]), (&sent["packets"], &0.into(), &0.into()));
    let each = split["outputs"].as_array().unwrap().iter().map(|output| {
        assert_eq!(output["packets"], output["tx_packets"], "{output}");
        output["packets"].as_u64().unwrap()
    });
    let each: Vec<u64> = each.collect();
    assert_eq!(Some(each.iter().sum()), sent["packets"].as_u64());
    assert!(each.iter().all(|count| *count > 1000), "both have a share: {each:?}");
    assert_eq!(left, "0", "nothing stays attached");
    let (_, errors, code) = inside("--cables 2 --addresses", "tidewire split rx0 tx1").unwrap();
    assert!(code == 2 && errors.contains("has an IP address"), "{errors}");
}

/// The input and an output are removed and made again: both are said, what comes is split again, and the totals come at the end.
#[test]
fn a_split_goes_on_when_its_interfaces_are_there_again() {
    let line = "make() { ip link add $1 type veth peer name $2; ip link set $1 up; ip link set $2 up; }; \
                said() { n=0; until grep -q \"$1\" log; do n=$((n + 1)); [ $n -lt 200 ] || exit 9; sleep 0.05; done; }; \
                cd $(mktemp -d); make in0 far0; make one0 far1; make two0 far2; \
                tidewire split in0 one0 two0 --mode generic --json 2>log & split=$!; said 'splitting in0'; \
                ip link del in0; said 'in0 is gone; nothing is split'; make in0 far0; said 'in0 is back'; \
                tidewire gen udp -i far0 -c 1000 -r 20kpps -q --i-own-this-network; \
                ip link set in0 down; said 'in0 is down'; ip link set in0 name other0; ip link set other0 up; said 'in0 was renamed to other0'; \
                tidewire gen udp -i far0 -c 1000 -r 20kpps -q --i-own-this-network; \
                ip link del two0; said 'two0 is gone; its share is lost'; make two0 far2; said 'two0 is back'; \
                tidewire gen udp -i far0 -c 1000 -r 20kpps -q --i-own-this-network; \
                sleep 0.3; kill -INT $split; wait $split; echo $?; cat log >&2";
    let Some((out, errors, _)) = inside("", line) else { return };
    let lines: Vec<&str> = out.lines().filter(|line| !line.is_empty()).collect();
    let Some((code, split)) = lines.split_last().and_then(|(code, lines)| Some((code, lines.last()?))) else {
        panic!("{out}{errors}");
    };
    assert_eq!(*code, "0", "{errors}");
    let split: Value = serde_json::from_str(split).unwrap();
    let left: u64 = split["outputs"].as_array().unwrap().iter().map(|output| output["packets"].as_u64().unwrap()).sum();
    let received = split["received"].as_u64().unwrap();
    assert!(received >= 2000 && left + split["lost"].as_u64().unwrap() == received, "{split} {errors}");
    assert!(left >= 3000 && errors.matches("in0 is gone").count() == 1, "{split} {errors}");
}

/// A veth whose other end has no GRO drops what is redirected in its driver, as it is when it was just made.
const DEAF: &str = "ip link add out0 type veth peer name far0; ip link set out0 up; ip link set far0 up; sleep 0.3; ";

#[test]
fn an_output_that_would_lose_every_frame_is_noticed_before() {
    let line = format!(
        "{DEAF} tidewire split rx0 out0 --json -q & sleep 1; \
         tidewire gen udp -i tx0 -c 1000 -r 20kpps --json; kill -INT $!; wait $!"
    );
    let Some((out, errors, _)) = inside("", &line) else { return };
    let lines: Vec<&str> = out.lines().collect();
    let [sent, split] = lines[..] else { panic!("{out}{errors}") };
    let [sent, split]: [Value; 2] = [sent, split].map(|line| serde_json::from_str(line).unwrap());
    assert!(errors.contains("not in the driver: ") && errors.contains("ethtool -K far0 gro on"), "{errors}");
    assert_eq!((&sent["packets"], &split["lost"]), (&1000.into(), &0.into()), "{out}");
    let output = &split["outputs"][0];
    assert!(output["tx_packets"].as_u64() >= Some(1000) && output["packets"] == split["received"], "{split}");
    let (_, errors, code) = inside("", &format!("{DEAF} tidewire split rx0 out0 --mode native")).unwrap();
    assert!(code == 3 && errors.contains("would lose every frame") && errors.contains("far0 gro on"), "{errors}");
    // The generator's own way out is the same.
    let line = format!("{DEAF} tidewire gen udp -i out0 -c 10 --sender kernel --i-own-this-network");
    let (_, errors, code) = inside("", &line).unwrap();
    assert!(code == 3 && errors.contains("ethtool -K far0 gro on"), "{errors}");
}

#[test]
fn conversations_that_would_be_divided_are_named() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/fragments-ipv4/capture.pcap");
    let output = run(&["split", "a", "b", "c", "--check", capture]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("split: 0 of") && text.contains("packets for each output: b "), "{text}");
    // One that divides everything: named by the outputs, as the command line has them.
    let line = ["split", "a", "one", "two", "--steering", "steer_rrobin", "--check", capture];
    let output = run(&line);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains(" to one, ") && text.contains(" to two") && !text.contains("worker"), "{text}");
    let output = run(&[&line[..], &["--json"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("{\"output\":\"two\"") && text.contains("\"outputs\":["), "{text}");
    assert!(!text.contains("worker"), "{text}");
}

/// The threads in this namespace, each with the time of its start, so that another one of its number is not it.
fn users(name: &str) -> Vec<(PathBuf, String)> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let threads = processes.filter_map(|process| std::fs::read_dir(process.path().join("task")).ok());
    let threads = threads.flat_map(|threads| threads.flatten()).map(|thread| thread.path());
    let inside =
        threads.filter(|thread| std::fs::read_link(thread.join("ns/net")).is_ok_and(|link| link == Path::new(name)));
    inside.filter_map(|thread| Some((thread.clone(), start(&thread)?))).collect()
}

/// `starttime` of proc_pid_stat(5): the 20th field after the name, which may itself contain spaces.
fn start(thread: &Path) -> Option<String> {
    let text = std::fs::read_to_string(thread.join("stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().nth(19)?.to_owned())
}
