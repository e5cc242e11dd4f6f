use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use proptest::prelude::*;
use tidewire_live::{FanoutMode, LiveEngine};
use tidewire_testing::InTime as _;

use super::*;
use tidewire_locality::Key;

/// Interfaces that there are.
const INTERFACES: &[&str] = &["eth0", "eth1", "eth3", "br-lan.7", "eth0_1"];

/// The plan for a device, with a configuration file of this text, if any, and these variables.
fn with(file: Option<&[u8]>, variables: &[(&str, &str)], name: &str) -> Result<Plan, String> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("pcap.conf");
    let mut values: HashMap<String, OsString> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    if let Some(text) = file {
        fs::write(&path, text).unwrap();
        values.insert("PCAP_CONFIG".into(), path.clone().into());
    }
    let lookup = |name: &str| values.get(name).cloned();
    let environment = Environment::new(&lookup, Path::new("/nonexistent/pcap.conf"));
    let result = plan(name, &environment, &|name| INTERFACES.contains(&name));
    result.map_err(|error| error.to_string().replace(path.to_str().unwrap(), "FILE"))
}

fn file(text: &str, name: &str) -> Plan {
    with(Some(text.as_bytes()), &[], name).unwrap()
}

fn variables(variables: &[(&str, &str)], name: &str) -> Plan {
    with(None, variables, name).unwrap()
}

/// Group, mode and steering program, where packets are shared.
type Share = Option<(u8, FanoutMode, String)>;

/// Device, group, mode and steering program of each device.
fn shares(plan: &Plan) -> Vec<(String, Share)> {
    let of = |device: &Device| {
        let fanout = device.group.zip(device.fanout.as_ref()).map(|(group, fanout)| {
            let program = fanout.steering.as_ref().map(|steering| steering.program().to_string());
            (group, fanout.mode, program.unwrap_or_default())
        });
        (device.name.clone(), fanout)
    };
    plan.devices.iter().map(of).collect()
}

fn group_and_mode(plan: &Plan) -> (u8, FanoutMode) {
    let (group, mode, _) = shares(plan).remove(0).1.unwrap();
    (group, mode)
}

#[test]
fn without_settings_the_system_captures() {
    for name in ["eth0", "any", "nosuch0", "usbmon1", "eth0:1", ""] {
        let plan = with(None, &[], name).unwrap();
        assert!(plan.is_plain(), "{name}");
    }
    assert_eq!(with(None, &[], "eth0:1").unwrap().system_name, "eth0");
    assert_eq!(with(None, &[], "eth9:1").unwrap().system_name, "eth9:1");
    assert!(file("# nothing\n\n", "eth0").is_plain());
    assert!(variables(&[("PCAP_FANOUT", ""), ("PCAP_GROUP", ""), ("TIDEWIRE_LOCALITY", "off")], "eth0").is_plain());
    assert!(!with(None, &[], "eth0^eth1").unwrap().is_plain());
}

#[test]
fn the_papers_configuration() {
    let text = "# Pcap configuration file (PFQ flavor)\ndef_group = 11\ncaplen = 64\nrx_slots = 131072\n\n\
                > main = do\n>   tcp\n>   steer_flow\n";
    let plan = file(text, "pfq:eth0^eth1");
    let shared = Some((11, FanoutMode::Ebpf, "tcp >-> steer_flow".to_owned()));
    assert_eq!(shares(&plan), [("eth0".to_owned(), shared.clone()), ("eth1".to_owned(), shared)]);
    assert_eq!(plan.caplen, Some(Caplen { bytes: 64, overrides: false }));
    assert_eq!(plan.ring_bytes, Some(131_072 * 192));
    assert_eq!(plan.engine, Some(Engine::Live(LiveEngine::Auto)));

    let both = "fanout@2 = hash\nfanout@3 = rnd\ngroup_eth0 = 2\ngroup_eth3 = 3\n";
    assert_eq!(group_and_mode(&file(both, "eth0")), (2, FanoutMode::Hash));
    assert_eq!(group_and_mode(&file(both, "eth3")), (3, FanoutMode::Random));
    assert!(file(both, "eth1").is_plain(), "no group names it");

    let virtuals = "group_eth0 = 11\ngroup_eth0:1 = 23\n";
    assert_eq!(group_and_mode(&file(virtuals, "eth0")), (11, FanoutMode::Hash));
    let second = file(virtuals, "eth0:1");
    assert_eq!(group_and_mode(&second), (23, FanoutMode::Hash));
    assert_eq!((second.devices[0].given.as_str(), second.devices[0].name.as_str()), ("eth0:1", "eth0"));

    // PCAP_DEF_GROUP=42 PCAP_GROUP_eth0=11 tcpdump -n -i pfq:eth0^eth1
    let plan = variables(&[("PCAP_DEF_GROUP", "42"), ("PCAP_GROUP_eth0", "11")], "pfq:eth0^eth1");
    let groups: Vec<_> = plan.devices.iter().map(|device| device.group).collect();
    assert_eq!(groups, [Some(11), Some(42)]);

    // PCAP_FANOUT="rnd" PCAP_GROUP=3 foo, whatever the file says
    let plan = with(
        Some(b"group_eth0 = 2\nfanout@2 = hash\nfanout@3 = lb"),
        &[("PCAP_FANOUT", "rnd"), ("PCAP_GROUP", "3")],
        "eth0",
    );
    assert_eq!(group_and_mode(&plan.unwrap()), (3, FanoutMode::Random));
}

#[test]
fn groups_by_rank() {
    let file = "group_eth0 = 5\ngroup = 6\ndef_group = 7\n";
    let group = |variables: &[(&str, &str)], file: &str| {
        with(Some(file.as_bytes()), variables, "eth0").unwrap().devices[0].group
    };
    let own = ("PCAP_GROUP_eth0", "1");
    let all = ("PCAP_GROUP", "2");
    let default = ("PCAP_DEF_GROUP", "3");
    assert_eq!(group(&[own, all, default], file), Some(1));
    assert_eq!(group(&[all, default], file), Some(2));
    assert_eq!(group(&[default], file), Some(5));
    assert_eq!(group(&[default], "group = 6\ndef_group = 7"), Some(6));
    assert_eq!(group(&[default], "def_group = 7"), Some(3));
    assert_eq!(group(&[], "def_group = 7"), Some(7));
    assert_eq!(group(&[("PFQ_GROUP", "9")], file), Some(9));
    assert_eq!(group(&[("PFQ_DEF_GROUP", "9")], ""), Some(9));
}

#[test]
fn underscores_stand_for_what_variables_cannot_have() {
    for (variable, name) in [
        ("PCAP_GROUP_eth0_1", "eth0:1"),
        ("PCAP_GROUP_eth0:1", "eth0:1"),
        ("PCAP_GROUP_br_lan_7", "br-lan.7"),
        ("PCAP_GROUP_br-lan.7", "br-lan.7"),
        ("PCAP_GROUP_eth0_1", "eth0_1"),
    ] {
        assert_eq!(group_and_mode(&variables(&[(variable, "4")], name)), (4, FanoutMode::Hash), "{variable}");
    }
    let exact = variables(&[("PCAP_GROUP_eth0_1", "4"), ("PCAP_GROUP_eth0:1", "5")], "eth0:1");
    assert_eq!(exact.devices[0].group, Some(5));
}

#[test]
fn every_mode_by_its_exact_name() {
    for (name, mode) in FanoutMode::ALL.iter().filter(|(name, _)| !matches!(*name, "cbpf" | "ebpf")) {
        for (text, defrag, rollover) in [
            ((*name).to_owned(), false, false),
            (format!("{name}+defrag"), true, false),
            (format!(" {name} , defrag"), true, false),
        ] {
            let fanout = parse_fanout(&text).unwrap();
            assert_eq!((fanout.mode, fanout.defrag, fanout.rollover), (*mode, defrag, rollover), "{text}");
        }
        assert_eq!(parse_fanout(&format!("{name}+rollover")).is_ok(), *name != "rollover");
        for wrong in [format!("{name}foo"), format!("{name}+"), format!("{name}+defrag+defrag"), name.to_uppercase()] {
            assert!(parse_fanout(&wrong).is_err(), "{wrong}");
        }
    }
    let both = parse_fanout("hash+rollover+defrag").unwrap();
    assert!(both.defrag && both.rollover);
    let data = parse_fanout("data").unwrap();
    assert!(data.mode == FanoutMode::Ebpf && data.steering.is_none());
    assert_eq!(parse_fanout("steer_flow").unwrap().steering.unwrap().program().to_string(), "steer_flow");
    for (text, said) in [
        ("hashfoo", "pcap_fanout: unknown mode 'hashfoo'; expected hash lb cpu rollover rnd qm cbpf ebpf data"),
        ("hsah", "did you mean hash?"),
        ("HASH", "did you mean hash?"),
        ("steer_flwo", "did you mean steer_flow?"),
        ("hash+defarg", "column 6: unknown flag 'defarg'; expected defrag or rollover; did you mean defrag?"),
        ("ebpf", "the mode ebpf needs a steering program"),
        ("cbpf", "the mode cbpf needs a classic program"),
        ("", "no fan-out mode"),
        ("  ", "no fan-out mode"),
        ("tcp >-> steer_flwo", "column 9: `steer_flwo` is not a name"),
        ("\u{1b}[31m", "unknown mode '?[31m'"),
    ] {
        let error = parse_fanout(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn the_call_takes_its_program_from_the_file() {
    let plan = file("> steer_p2p\nfanout@4 = rnd\ncbpf@5 = 1, 6 0 0 1\n", "eth1");
    assert!(plan.groupless.is_some(), "until the call names a group");
    let (group, fanout) = plan.choose(7, "ebpf").unwrap();
    assert_eq!((group, fanout.steering.unwrap().program().to_string().as_str()), (7, "steer_p2p"));
    assert!(plan.choose(7, "cbpf").is_err());
    assert_eq!(plan.choose(5, "cbpf").unwrap().1.classic.len(), 1);
    assert_eq!(plan.choose(7, "lb").unwrap().1.mode, FanoutMode::RoundRobin);
    for group in [-1, 256, 1 << 40, i64::MIN] {
        let error = plan.choose(group, "hash").unwrap_err().to_string();
        assert!(error.contains(&format!("group must be 0 to 255, got {group}")), "{error}");
    }
    assert_eq!(plan.choose(255, "hash").unwrap().0, 255);
}

#[test]
fn classic_programs() {
    let text = "def_group = 1\nfanout = cbpf\ncbpf = 2, 40 0 0 12, 22 0 0 0\n";
    let plan = file(text, "eth0");
    let fanout = plan.devices[0].fanout.as_ref().unwrap();
    assert_eq!((fanout.mode, fanout.classic.len(), fanout.classic[0].code), (FanoutMode::Cbpf, 2, 40));
    let printed = variables(&[("PCAP_GROUP", "1"), ("PCAP_CBPF", "2\n40 0 0 12\n22 0 0 0\n")], "eth0");
    assert_eq!(group_and_mode(&printed), (1, FanoutMode::Cbpf));
    for (line, said) in [
        ("cbpf = 3, 40 0 0 12", "expected 3 instructions, got 1"),
        ("cbpf = 1, 40 0 0", "'40 0 0' is not an instruction"),
        ("cbpf = 1, 40 0 256 1", "is not an instruction"),
        ("cbpf = 0", "out of range"),
        ("fanout = hash\ncbpf = 1, 6 0 0 1", "needs the mode cbpf"),
        ("steering = steer_flow\ncbpf = 1, 6 0 0 1", "beside a steering program"),
    ] {
        let error = with(Some(line.as_bytes()), &[("PCAP_GROUP", "1")], "eth0").unwrap_err();
        assert!(error.contains(said), "{line}: {error}");
    }
}

#[test]
fn virtual_lans_are_a_steering_program() {
    for (mode, then) in [("", "steer_flow"), ("hash", "steer_flow"), ("lb", "steer_rrobin"), ("steer_p2p", "steer_p2p")]
    {
        let plan = variables(&[("PCAP_GROUP", "1"), ("PFQ_VLAN", "7, 8"), ("PCAP_FANOUT", mode)], "eth0");
        let program = shares(&plan).remove(0).1.unwrap().2;
        assert_eq!(program, format!("vlan_id_filter [7, 8] >-> {then}"));
    }
    let of = |variables: &[(&str, &str)]| with(None, variables, "eth0").unwrap_err();
    assert!(of(&[("PCAP_GROUP", "1"), ("PFQ_VLAN", "7"), ("PCAP_FANOUT", "rnd")]).contains("mode rnd"));
    assert!(of(&[("PFQ_VLAN", "7,4095")]).starts_with("PFQ_VLAN, column 3: VLAN id: '4095' is out of range"));
}

#[test]
fn mistakes_in_the_file_have_line_and_column() {
    for (text, said) in [
        ("\n  fanuot = hash", "FILE:2:3: unknown key 'fanuot'; did you mean fanout?"),
        ("zebra = 1", "FILE:1:1: unknown key 'zebra'; see tidewire-pcap(7)"),
        ("fanout = hashfoo", "FILE:1:10: unknown mode 'hashfoo'"),
        ("fanout@256 = hash", "FILE:1:8: group: '256' is out of range; give 0 to 255"),
        ("fanout@ = hash", "FILE:1:8: group: '' is not a number"),
        ("fanout@x = hash", "FILE:1:8: group: 'x' is not a number"),
        ("group_eth0 = 64\ngroup_eth0 = 3", "FILE:2:1: 'group_eth0' is already set in line 1"),
        ("FANOUT = hash\nfanout = lb", "FILE:2:1: 'fanout' is already set in line 1"),
        ("def_group = -1", "FILE:1:13: group: '-1' is not a number; give 0 to 255"),
        ("def_group = 300", "FILE:1:13: group: '300' is out of range"),
        ("group_ = 1", "FILE:1:1: 'group_' lacks the name of a device"),
        ("group@eth0 = 1", "FILE:1:7: 'group' takes no @; write group_eth0"),
        ("caplen@2 = 64", "FILE:1:8: 'caplen' takes no @"),
        ("caplen = 0", "FILE:1:10: caplen: '0' is out of range; give 1 to 262144"),
        ("caplen = 64, 65", "FILE:1:10: caplen: '64, 65' is not a number"),
        ("caplen", "FILE:1:1: expected a setting, got 'caplen'; write key = value"),
        ("caplen =", "'caplen' has no value"),
        ("caplen = # all of it", "'caplen' has no value"),
        ("= 3", "FILE:1:1: unknown key ''"),
        ("rx_slots = 0", "FILE:1:12: slots: '0' is out of range"),
        ("tx_slots = many", "FILE:1:12: slots: 'many' is not a number"),
        ("tx_hw_queue = 0, x", "FILE:1:18: tx_hw_queue: 'x' is not a number"),
        ("rx_channels = 4", "FILE:1:1: 'rx_channels' lacks the name of a device"),
        ("combined_channels@eth0 = 0", "FILE:1:26: channels: '0' is out of range"),
        (
            "engine = xpd",
            "FILE:1:10: unknown engine 'xpd'; expected system, packet, xdp, xdp-generic, auto; did you mean xdp?",
        ),
        (
            "locality = prot",
            "FILE:1:12: locality: 'prot' is unknown; expected off, port, service, flow, auto; did you mean port?",
        ),
        ("locality_batch = 1", "FILE:1:18: locality_batch: '1' is out of range; give 2 to 65536"),
        ("locality_timeout = 1h", "FILE:1:20: locality_timeout: '1h' is not a time in range"),
        ("locality_batch = 100", "FILE:1:18: this setting needs locality"),
        ("locality = port\nlocality_key = flow", "FILE:2:16: locality names another key"),
        ("locality_thraed = on", "unknown key 'locality_thraed'; did you mean locality_thread?"),
        ("# x\n> main = do\n>   tcp\n>   steer_flwo", "FILE:4:5: `steer_flwo` is not a name"),
        ("> tcp\n\n# between\n> steer_flwo", "FILE:4:3: `steer_flwo`"),
        ("> steer_flow\nfanout = hash", "FILE:1:1: a steering program beside another way to share"),
        ("> steer_flow\nsteering = steer_p2p", "FILE:2:12: a steering program beside the lines with >"),
        ("fanout = steer_flwo", "FILE:1:10: unknown mode 'steer_flwo'"),
        ("fanout =  tcp >-> steer_flwo", "FILE:1:19: `steer_flwo` is not a name"),
        ("lang = /nonexistent", "FILE:1:8: /nonexistent: program file not found"),
        ("lang = relative", "FILE:1:8: 'relative' is not an absolute path"),
    ] {
        let error = with(Some(text.as_bytes()), &[], "eth0").unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn every_mistake_in_the_file_is_listed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("pcap.conf");
    fs::write(&path, "group = 256\nfanuot = hash\n# a comment\n> steer_flwo\ncaplen = 128\ncaplen = 0\n").unwrap();
    let lookup = |name: &str| (name == "PCAP_CONFIG").then(|| path.clone().into());
    let environment = Environment::new(&lookup, Path::new("/nonexistent/pcap.conf"));
    let lines = |found: Vec<Error>| found.iter().map(|mistake| mistake.line).collect::<Vec<_>>();
    assert_eq!(lines(mistakes(&environment)), [1, 2, 4, 6]);
    // `plan` fails with the first of them.
    assert_eq!(plan("eth0", &environment, &|_| true).err(), mistakes(&environment).into_iter().next());
    fs::write(&path, "wrong\n".repeat(1_000)).unwrap();
    assert_eq!(mistakes(&environment).len(), 100);
    fs::remove_file(&path).unwrap();
    assert_eq!(mistakes(&environment), []);
}

#[test]
fn mistakes_in_variables_are_named() {
    for (name, value, said) in [
        ("PCAP_GROUP", "256", "PCAP_GROUP: group: '256' is out of range; give 0 to 255"),
        ("PCAP_GROUP", " -1", "PCAP_GROUP, column 2: group: '-1' is not a number"),
        ("PCAP_GROUP_eth0", "x", "PCAP_GROUP_eth0: group: 'x' is not a number"),
        ("PCAP_FANOUT", "hashfoo", "PCAP_FANOUT: unknown mode 'hashfoo'"),
        ("PCAP_FANOUT", "hash", "PCAP_FANOUT: a fan-out mode without a group; set PCAP_GROUP"),
        ("PCAP_CAPLEN", "9999999", "PCAP_CAPLEN: caplen: '9999999' is out of range"),
        ("PFQ_eth0", "maybe", "PFQ_eth0: this device: 'maybe' is unknown; expected"),
        ("PFQ_LANG_LIT", "tcp >-> steer_flwo", "PFQ_LANG_LIT, column 9: `steer_flwo`"),
        ("PFQ_LANG_LIT", "main = do\n  steer_flwo", "PFQ_LANG_LIT, line 2, column 3: `steer_flwo`"),
        ("TIDEWIRE_ENGINE", "dpdk", "TIDEWIRE_ENGINE: unknown engine 'dpdk'"),
        ("TIDEWIRE_ENGINE_eth0", "dpdk", "TIDEWIRE_ENGINE_eth0: unknown engine 'dpdk'"),
        ("TIDEWIRE_LOCALITY_BATCH", "70000", "TIDEWIRE_LOCALITY_BATCH: locality_batch: '70000'"),
        ("TIDEWIRE_INSTANCE", "0", "TIDEWIRE_INSTANCE: TIDEWIRE_INSTANCE and TIDEWIRE_INSTANCES go together"),
        ("PCAP_CONFIG", "/nonexistent/x", "/nonexistent/x: configuration file not found; correct PCAP_CONFIG"),
        ("PFQ_CONFIG", "/", "/: the configuration file is a directory"),
    ] {
        let plan = with(None, &[(name, value)], "eth0");
        let error = plan.map(|plan| plan.groupless.map(|error| error.to_string()));
        let error = error.unwrap_or_else(Some).unwrap();
        assert!(error.starts_with(said), "{name}={value}: {error}");
    }
    let engines = [("TIDEWIRE_ENGINE_eth0", "xdp"), ("TIDEWIRE_ENGINE_eth1", "packet")];
    assert!(with(None, &engines, "eth0^eth1").unwrap_err().contains("eth1 has a different engine"));
    let system = [("TIDEWIRE_ENGINE", "system"), ("PCAP_GROUP", "1")];
    assert!(with(None, &system, "eth0").unwrap_err().contains("the engine system cannot have groups"));
    for (name, engine) in [("eth0", "xdp"), ("xdp-generic:eth0", "auto")] {
        let error = with(None, &[("TIDEWIRE_ENGINE", engine), ("PCAP_GROUP", "1")], name).unwrap_err();
        assert!(error.contains("AF_XDP cannot share a group among processes"), "{error}");
    }
    assert!(with(None, &[], "xdp:eth0").unwrap().choose(1, "hash").is_err());
    let beside = [("PFQ_LANG_LIT", "steer_flow"), ("PCAP_FANOUT", "lb"), ("PCAP_GROUP", "1")];
    assert!(with(None, &beside, "eth0").unwrap_err().contains("beside another way to share"));
    let members =
        [("PCAP_FANOUT", "steer_to 3"), ("PCAP_GROUP", "1"), ("TIDEWIRE_INSTANCE", "0"), ("TIDEWIRE_INSTANCES", "3")];
    assert!(with(None, &members, "eth0").unwrap_err().contains("names worker 3, and there are 3"));
}

#[test]
fn variables_that_are_not_text() {
    let bytes = |name: &str| (name == "PCAP_FANOUT").then(|| OsString::from_vec(vec![0xff, b'x']));
    let environment = Environment::new(&bytes, Path::new("/nonexistent/x"));
    let error = plan("eth0", &environment, &|_| true).unwrap_err().to_string();
    assert_eq!(error, "PCAP_FANOUT: is not UTF-8; write it in UTF-8");
}

#[test]
fn engines_by_rank() {
    let engine = |file: &str, variables: &[(&str, &str)], name: &str| {
        with(Some(file.as_bytes()), variables, name).unwrap().engine
    };
    let live = |engine| Some(Engine::Live(engine));
    let file = "engine@eth0 = packet\nengine = xdp-generic";
    assert_eq!(engine(file, &[], "eth0"), live(LiveEngine::Packet));
    assert_eq!(engine(file, &[], "eth1"), live(LiveEngine::XdpGeneric));
    assert_eq!(engine(file, &[("TIDEWIRE_ENGINE", "xdp")], "eth0"), live(LiveEngine::Xdp));
    let both = [("TIDEWIRE_ENGINE", "xdp"), ("TIDEWIRE_ENGINE_eth0", "auto")];
    assert_eq!(engine(file, &both, "eth0"), live(LiveEngine::Auto));
    assert_eq!(engine(file, &both, "packet:eth0"), live(LiveEngine::Packet));
    assert_eq!(engine("", &[("PFQ_eth0", "1")], "eth0"), live(LiveEngine::Auto));
    assert_eq!(engine("", &[("PFQ_eth0", "0")], "eth0"), None);
    assert_eq!(engine("", &[("PFQ_FORCE_ALL", "1")], "eth1"), live(LiveEngine::Auto));
    assert_eq!(engine(file, &[("TIDEWIRE_ENGINE", "system")], "eth0"), Some(Engine::System));
    assert!(with(Some(file.as_bytes()), &[("PCAP_GROUP", "1")], "system:eth0").unwrap().is_plain());
}

#[test]
fn what_is_no_interface_is_not_silently_left_out() {
    let group = [("PCAP_GROUP", "3")];
    for name in ["any", "usbmon0", "nosuch0"] {
        let error = with(None, &group, name).unwrap_err();
        assert!(error.contains("is not a network interface and cannot share its packets (group 3)"), "{error}");
    }
    assert!(with(None, &[("TIDEWIRE_LOCALITY", "port"), ("PCAP_CAPLEN", "64")], "any").unwrap().is_plain());
    assert!(with(None, &[("TIDEWIRE_ENGINE_any", "xdp")], "any").unwrap_err().contains("a private engine"));
    assert!(with(None, &group, "system:any").unwrap().is_plain());
    assert!(with(None, &[], "xdp:nosuch0").unwrap_err().contains("not a network interface"));
}

#[test]
fn sizes_are_cut_only_where_configured() {
    let plan = variables(&[("PCAP_GROUP", "1")], "eth0");
    assert_eq!((plan.caplen, plan.ring_bytes), (None, None));
    let plan = variables(&[("PCAP_CAPLEN", "9000"), ("PFQ_RX_SLOTS", "4096")], "eth0");
    assert_eq!(plan.caplen, Some(Caplen { bytes: 9000, overrides: true }));
    assert_eq!(plan.ring_bytes, Some(8 << 20));
    let most = with(None, &[("PCAP_RX_SLOTS", &file::SLOTS_MAX.to_string())], "eth0").unwrap();
    assert!(most.ring_bytes.unwrap() < 4 << 30);
    assert!(with(None, &[("PCAP_RX_SLOTS", &(file::SLOTS_MAX + 1).to_string())], "eth0").is_err());
}

#[test]
fn locality_of_devices_and_files() {
    let plan = file(
        "locality = auto\nlocality_key = service\nlocality_batch = 4000 # packets\nlocality_timeout=50ms\nlocality_thread = on",
        "eth0",
    );
    let expected = Locality::new(Key::Service)
        .with_adaptive(true)
        .with_batch_frames(4000)
        .with_timeout(Duration::from_millis(50))
        .with_thread(true);
    assert_eq!(plan.locality, Some(expected));
    assert!(!plan.is_plain());
    let lookup = |name: &str| (name == "TIDEWIRE_LOCALITY").then(|| "port".into());
    let environment = Environment::new(&lookup, Path::new("/nonexistent/x"));
    let default = Locality::new(Key::Port).with_batch_frames(4000).with_timeout(Duration::from_millis(100));
    assert_eq!(locality(&environment), Ok(Some(default)));
    assert!(with(Some(b"locality = port"), &[("TIDEWIRE_LOCALITY", "off")], "eth0").unwrap().locality.is_none());
}

#[test]
fn instances_know_their_place() {
    let run = [("TIDEWIRE_INSTANCE", "2"), ("TIDEWIRE_INSTANCES", "4"), ("TIDEWIRE_COUNTERS", "/dev/shm/x")];
    let plan = variables(&run, "eth0");
    assert_eq!(plan.instance, Some(Instance { number: 2, count: 4, counters: Some(PathBuf::from("/dev/shm/x")) }));
    for wrong in [[("TIDEWIRE_INSTANCE", "4"), run[1]], [run[0], ("TIDEWIRE_INSTANCES", "257")]] {
        assert!(with(None, &wrong, "eth0").is_err());
    }
    assert!(with(None, &[run[0], run[1], ("TIDEWIRE_COUNTERS", "x")], "eth0").is_err());
}

#[test]
fn paths_of_no_regular_file_are_refused_at_once() {
    let place = tempfile::tempdir().unwrap();
    let fifo = place.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status_in_time().unwrap().success());
    let large = place.path().join("large");
    fs::write(&large, vec![b'#'; (64 << 10) + 1]).unwrap();
    let started = Instant::now();
    for (path, said) in [
        (fifo.to_str().unwrap(), "no regular file"),
        ("/dev/zero", "no regular file"),
        (large.to_str().unwrap(), "more than 64 KiB"),
        (place.path().to_str().unwrap(), "a directory"),
    ] {
        let error = with(None, &[("PCAP_CONFIG", path)], "eth0").unwrap_err();
        assert!(error.contains(said) && error.len() <= ERROR_BYTES_MAX, "{error}");
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    for (bytes, said) in [
        (&b"caplen = 64\nfan\xff"[..], "FILE:2:4: a byte that is not UTF-8"),
        (b"caplen\0 = 64", "FILE:1:7: a byte that is zero"),
    ] {
        let error = with(Some(bytes), &[], "eth0").unwrap_err();
        assert!(error.starts_with(said), "{error}");
    }
    let (one, other) = (place.path().join("one"), place.path().join("other"));
    std::os::unix::fs::symlink(&one, &other).unwrap();
    std::os::unix::fs::symlink(&other, &one).unwrap();
    for (path, said) in [
        ("~/pcap.conf", "~/pcap.conf: configuration file not found; write the full path"),
        (one.to_str().unwrap(), "name a text file in PCAP_CONFIG"),
    ] {
        let error = with(None, &[("PCAP_CONFIG", path)], "eth0").unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    // Files that the file names are not the configuration.
    for (path, said) in [
        ("/nonexistent/program", "FILE:2:8: /nonexistent/program: program file not found; correct the path"),
        (
            "/dev/zero",
            "FILE:2:8: /dev/zero: the program file is no regular file; name a text file with a steering program",
        ),
        ("~/program", "FILE:2:8: '~/program' is not an absolute path; write it from the root on, without ~"),
    ] {
        let error = with(Some(format!("group = 1\nlang = {path}\n").as_bytes()), &[], "eth0").unwrap_err();
        assert!(error.starts_with(said), "{error}");
    }
    for nothing in ["", "/dev/null"] {
        assert!(with(None, &[("PCAP_CONFIG", nothing), ("PFQ_CONFIG", "/nonexistent")], "eth0").unwrap().is_plain());
    }
    assert_eq!(file("\u{feff}caplen = 64\r\n", "eth0").caplen.unwrap().bytes, 64);
}

#[test]
fn default_files_may_be_absent() {
    let place = tempfile::tempdir().unwrap();
    let system = place.path().join("etc.conf");
    fs::write(&system, "def_group = 1").unwrap();
    let home = place.path().as_os_str().to_owned();
    let lookup = |name: &str| (name == "HOME").then(|| home.clone());
    let environment = Environment::new(&lookup, &system);
    let group = || plan("eth0", &environment, &|_| true).unwrap().devices[0].group;
    assert_eq!(group(), Some(1));
    fs::write(place.path().join(".pcap.conf"), "def_group = 2").unwrap();
    assert_eq!(group(), Some(2), "the user's own comes first");
}

/// Pieces that files are made of, so that most of them mean something.
fn lines() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("fanout".to_owned()),
        Just("group_eth0".into()),
        Just("def_group".into()),
        Just("vlan".into()),
        Just("cbpf".into()),
        Just("@".into()),
        Just("=".into()),
        Just(" ".into()),
        Just(",".into()),
        Just("\n".into()),
        Just("> ".into()),
        Just("steer_flow".into()),
        Just("main = do".into()),
        Just("hash".into()),
        Just("+defrag".into()),
        Just("# x".into()),
        Just("locality".into()),
        Just("engine".into()),
        Just("1".into()),
        Just("255".into()),
        "[ -~\u{e9}\t\n]{0,6}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), name in "\\PC{0,20}") {
        let text = String::from_utf8_lossy(&bytes).replace('\0', "");
        for error in [
            with(Some(&bytes), &[], &name).err(),
            with(None, &[("PCAP_FANOUT", &text), ("PCAP_GROUP", "1")], "eth0").err(),
            with(None, &[("PCAP_CBPF", &text), ("PFQ_VLAN", &text)], &format!("eth0^{name}")).err(),
            parse_fanout(&text).err().map(|error| error.to_string()),
        ].into_iter().flatten() {
            prop_assert!(error.len() <= ERROR_BYTES_MAX && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn no_lines_make_it_panic(text in lines()) {
        if let Err(error) = with(Some(text.as_bytes()), &[], "eth0^eth1") {
            prop_assert!(error.len() <= ERROR_BYTES_MAX && !error.contains('\n'), "{error}");
        }
    }
}
