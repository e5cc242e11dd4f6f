//! `tidewire run`: environments of instances, how they end, what is refused, and programs with their packets shared.
#![forbid(unsafe_code)]

#[path = "../common/mod.rs"]
mod common;
mod daemons;
mod install;
mod programs;

use std::{
    env, fs,
    os::unix::{
        fs::{PermissionsExt as _, symlink},
        process::ExitStatusExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use tidewire_testing::{Ends as _, InTime as _, Lines, PATIENCE, let_pass, missing, wait_until};

/// A library that can be loaded before any other, where none of ours is needed.
fn any_library() -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("libc.so"));
    PathBuf::from(path.expect("a C library"))
}

/// `tidewire run` with words behind it.
fn command(words: &[&str]) -> Command {
    // The test's parent may ignore signals (nohup, a job in the background), which its children then do as well.
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_tidewire"), "run"]).args(words);
    command.env_remove("COLUMNS").stdin(Stdio::null());
    command.env("TIDEWIRE_PCAP_LIBRARY", any_library()).env_remove("LD_PRELOAD").env("PCAP_CONFIG", "");
    command
}

fn run(words: &[&str]) -> Output {
    command(words).run_in_time().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn printed(output: &Output) -> Vec<String> {
    let mut lines: Vec<_> = String::from_utf8(output.stdout.clone()).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The whole of a file, or nothing.
fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn instances_get_their_number_and_group() {
    let script = "echo $TIDEWIRE_INSTANCE/$TIDEWIRE_INSTANCES %i %% %% $PCAP_FANOUT $PCAP_GROUP $TIDEWIRE_ENGINE \
                  $TIDEWIRE_LOCALITY $TIDEWIRE_LOCALITY_BATCH; test -f $TIDEWIRE_COUNTERS; cat";
    let words = [
        "-n",
        "3",
        "-f",
        "lb+defrag",
        "--group",
        "9",
        "--engine",
        "packet",
        "--locality",
        "port,batch=500",
        "sh",
        "-c",
        script,
    ];
    let output = run(&words);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let line = |number: u32| format!("{number}/3 {number} % % lb+defrag 9 packet port 500");
    assert_eq!(printed(&output), [line(0), line(1), line(2)]);

    let output = run(&["-n", "2", "--no-substitute", "--", "echo", "%i", "%%"]);
    assert_eq!(printed(&output), ["%i %%", "%i %%"]);
    let output = run(&["-n", "2", "sh", "-c", "echo $PCAP_DEF_GROUP"]);
    let groups: Vec<u8> = printed(&output).iter().map(|line| line.parse().unwrap()).collect();
    assert_eq!(groups[0], groups[1], "a group that is free, the same for both");
}

#[test]
fn the_library_comes_before_others() {
    let library = any_library();
    let output = run(&["-n", "1", "sh", "-c", "echo $LD_PRELOAD"]);
    assert_eq!(printed(&output), [library.to_str().unwrap()]);
    let mut command = command(&["-n", "1", "sh", "-c", "echo $LD_PRELOAD"]);
    let output = command.env("LD_PRELOAD", &library).run_in_time().unwrap();
    assert_eq!(printed(&output), [format!("{0}:{0}", library.display())]);
}

#[test]
fn each_stays_on_its_processor() {
    let list = |words: &[&str]| printed(&run(words));
    let script = "grep Cpus_allowed_list /proc/self/status";
    let all = list(&["-n", "1", "--no-pin", "sh", "-c", script]);
    let pinned = list(&["-n", "2", "sh", "-c", script]);
    let processors = thread::available_parallelism().unwrap().get();
    assert!(pinned.iter().all(|line| !line.contains(['-', ','])), "{pinned:?}");
    assert_eq!(pinned[0] != pinned[1], processors > 1, "{pinned:?} of {all:?}");
}

#[test]
fn the_first_failure_is_the_code() {
    let output = run(&["-n", "3", "sh", "-c", "sleep 0.%i; test %i = 0 || exit 4%i"]);
    assert_eq!(output.status.code(), Some(41), "{}", said(&output));
    assert!(said(&output).contains("instance 1 ended with code 41"), "{}", said(&output));
    let output = run(&["-n", "2", "sh", "-c", "test %i = 0 || kill -9 $$"]);
    assert_eq!(output.status.code(), Some(137));
    assert!(said(&output).contains("instance 1 was ended by signal 9"), "{}", said(&output));
    assert_eq!(run(&["-n", "2", "true"]).status.code(), Some(0));
}

#[test]
fn the_others_go_on_unless_all_are_to_end() {
    let place = tempfile::tempdir().unwrap();
    let script = format!("test %i = 0 && exit 3; sleep 0.5; echo done > {}/%i", place.path().display());
    let output = run(&["-n", "2", "sh", "-c", &script]);
    assert_eq!((output.status.code(), text(&place.path().join("1")).trim()), (Some(3), "done"));
    let started = Instant::now();
    let output = run(&["-n", "3", "--together", "sh", "-c", "test %i = 0 && exit 3; exec sleep 50"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(started.elapsed() < Duration::from_secs(40), "the others got a signal");
}

/// Instances that note each signal, and end at SIGTERM.
fn noting(folder: &Path, prefix: &[&str]) -> Child {
    let file = format!("{}/%i", folder.display());
    let script = format!(
        "for s in INT HUP USR1 USR2 WINCH CONT; do trap \"echo $s >> {file}\" $s; done; trap 'echo TERM >> {file}; exit 5' TERM; \
         echo ready >> {file}; while :; do sleep 0.05; done"
    );
    let mut command = command(&[prefix, &["-n", "2", "sh", "-c", &script]].concat());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the instances begin", || (0..2).all(|i| text(&folder.join(i.to_string())).contains("ready")));
    child
}

#[test]
fn every_signal_arrives_once() {
    let place = tempfile::tempdir().unwrap();
    let child = noting(place.path(), &[]);
    let process = Pid::from_child(&child);
    let notes = || [0, 1].map(|i| text(&place.path().join(i.to_string())));
    let mut expected = "ready\n".to_owned();
    for (name, signal) in
        [("USR1", Signal::USR1), ("USR2", Signal::USR2), ("HUP", Signal::HUP), ("WINCH", Signal::WINCH)]
    {
        kill_process(process, signal).unwrap();
        expected += &format!("{name}\n");
        wait_until(name, || notes().iter().all(|notes| *notes == expected));
    }
    // As a terminal sends it, to all of the group.
    kill_process_group(process, Signal::INT).unwrap();
    expected += "INT\n";
    wait_until("INT", || notes().iter().all(|notes| *notes == expected));
    let_pass(Duration::from_millis(300));
    assert_eq!(notes(), [expected.clone(), expected.clone()], "each signal once");
    kill_process(process, Signal::TERM).unwrap();
    let output = child.output_in_time("the command");
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    assert!(notes().iter().all(|notes| *notes == format!("{expected}TERM\n")), "{:?}", notes());
}

/// Processes whose command line holds this word.
fn processes(word: &str) -> usize {
    let has = |entry: fs::DirEntry| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let state = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(word) && !state.contains(") Z ")
    };
    fs::read_dir("/proc").unwrap().flatten().map(has).filter(|found| *found).count()
}

#[test]
fn no_instance_outlives_a_run_that_is_killed() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().to_str().unwrap();
    let mut plain = noting(place.path(), &[]);
    assert!(processes(folder) >= 3);
    plain.kill().unwrap();
    plain.wait_in_time("the process");
    wait_until("the instances go", || processes(folder) == 0);
    // A process that gives up its rights gets no signal of the kernel.
    // A number of seconds that no other process sleeps.
    let user = format!("6553{}.77", std::process::id());
    let drop = format!("exec setpriv --reuid=65534 --regid=65534 --clear-groups sleep {user}");
    let mut dropping =
        command(&["-n", "2", "sh", "-c", &drop]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let sleeping = || processes(&format!("sleep\0{user}")) == 2;
    wait_until("both sleep, or cannot", || sleeping() || dropping.try_wait().unwrap().is_some());
    if !sleeping() {
        println!("skipped: setpriv cannot change the user here");
    }
    let _ = dropping.kill();
    dropping.wait_in_time("the process");
    wait_until("the instances of another user go", || processes(&format!("sleep\0{user}")) == 0);
}

#[test]
fn boards_do_not_stay() {
    let place = tempfile::tempdir().unwrap();
    let stale = place.path().join(format!("tidewire-run-{:032x}", 7));
    fs::create_dir_all(stale.join("lib")).unwrap();
    fs::write(stale.join("counters"), "left by a run that was killed").unwrap();
    symlink("/nonexistent", stale.join("lib/libpcap.so.1")).unwrap();
    let mut command =
        command(&["-n", "1", "sh", "-c", "echo $TIDEWIRE_COUNTERS; ls -l $TIDEWIRE_COUNTERS | cut -c1-10"]);
    let output = command.env("XDG_RUNTIME_DIR", place.path()).run_in_time().unwrap();
    let lines = printed(&output);
    assert!(lines[1].starts_with(place.path().to_str().unwrap()) && lines[0] == "-rw-------", "{lines:?}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{}", said(&output));
}

/// In a folder that everybody may write to, whatever others put there under names of ours.
#[test]
fn nothing_of_others_is_removed_or_followed() {
    let [shared, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let victims = ["libpcap.so.0.8", "libpcap.so.1", "counters"].map(|name| elsewhere.path().join(name));
    victims.iter().for_each(|path| fs::write(path, "of another program").unwrap());
    let names = ["4294967295.lib", "4294967295", "0000000000000000000000000000000a"];
    for name in names {
        symlink(elsewhere.path(), shared.path().join(format!("tidewire-run-{name}"))).unwrap();
    }
    let real = shared.path().join("tidewire-run-0000000000000000000000000000000b");
    fs::create_dir(&real).unwrap();
    symlink(elsewhere.path(), real.join("lib")).unwrap();
    let kept = shared.path().join("tidewire-run-0000000000000000000000000000000c");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("mine"), "").unwrap();
    let run = || {
        let mut command = command(&["-n", "1", "sh", "-c", "echo $TIDEWIRE_COUNTERS"]);
        let output = command.env("XDG_RUNTIME_DIR", shared.path()).run_in_time().unwrap();
        printed(&output).concat()
    };
    let (first, second) = (run(), run());
    assert!(first.starts_with(shared.path().to_str().unwrap()), "{first}");
    assert_ne!(first, second, "the name can be foreseen");
    for path in &victims {
        assert!(path.exists(), "{} was removed through a link", path.display());
    }
    assert!(kept.join("mine").exists());
    // A folder whose entries others could replace is not used at all.
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let other = run();
    assert!(!other.starts_with(shared.path().to_str().unwrap()), "{other}");
}

#[test]
fn reports_are_written_where_they_are_wanted() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("report.json");
    let output = run(&["-n", "2", "--json", "--report", path.to_str().unwrap(), "sh", "-c", "exit %i"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_str(&text(&path)).unwrap();
    assert_eq!(report["code"], 1);
    assert_eq!(report["ended"], true);
    assert_eq!(report["instances"][1]["code"], 1);
    assert_eq!((&report["all"]["received"], &report["instances"][0]["handles"]), (&Value::from(0), &Value::from(0)));
    assert!(said(&output).contains("instances 0, 1 shared no packets: they opened"), "{}", said(&output));
    let often = run(&["-n", "1", "--every", "100ms", "sleep", "0.5"]);
    assert!(said(&often).matches("runs").count() >= 2, "{}", said(&often));
    let nowhere = run(&["-n", "1", "--report", "/nonexistent/report", "true"]);
    assert_eq!(nowhere.status.code(), Some(4), "{}", said(&nowhere));
}

#[test]
fn mistakes_are_found_before_anything_starts() {
    let place = tempfile::tempdir().unwrap();
    let began = place.path().join("began");
    let file = place.path().join("pcap.conf");
    fs::write(&file, "def_group = 3\n\n  fanuot = hash\ncaplen = 0\n").unwrap();
    let file = file.to_str().unwrap();
    for (words, why) in [
        (&["--fanout", "hashfoo"][..], "--fanout: unknown mode 'hashfoo'"),
        (&["--fanout", "ebpf"], "--fanout: the mode ebpf needs a steering program"),
        (&["--fanout", "hash", "--steer", "steer_flow"], "beside another way to share"),
        (&["--steer", "tcp >-> steer_flwo"], "--steer, column 9: `steer_flwo`"),
        (&["--steer", "steer_to 2"], "names worker 2, and there are 2"),
        (&["--steer", "@/nonexistent"], "/nonexistent"),
        (&["--group", "256"], "256"),
        (&["--engine", "dpdk"], "--engine: unknown engine 'dpdk'"),
        (&["--engine", "system"], "the engine system cannot have groups"),
        (&["--engine", "xdp"], "--engine: AF_XDP cannot share a group among processes"),
        (&["--locality", "prot"], "did you mean port?"),
        (&["--locality", "port,batch=1"], "locality_batch: '1' is out of range"),
        (&["--locality", "port,size=1"], "unknown setting 'size'"),
        (&["--config", file], "pcap.conf:3:3: unknown key 'fanuot'; did you mean fanout?"),
        (&["--config", file], "pcap.conf:4:10: caplen"),
        (&["--config", "/nonexistent"], "configuration file not found; correct --config"),
        (&["--config", "/dev"], "/dev: the configuration file is a directory; name a text file in --config"),
        (&["--fan", "hash"], "unknown option '--fan'"),
        (&["-n", "0"], "0"),
        (&["-n", "257"], "257"),
    ] {
        let words = [&["-n", "2"], words, &["touch", began.to_str().unwrap()]].concat();
        let words = if words[2] == "-n" { &words[2..] } else { &words[..] };
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(why), "{words:?}: {}", said(&output));
        assert!(!began.exists(), "{words:?}");
    }
}

#[test]
fn programs_that_cannot_be_helped_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, bytes: &[u8], mode: u32| {
        fs::write(path(name), bytes).unwrap();
        fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
        path(name)
    };
    let shell = fs::read(fs::canonicalize("/bin/sh").unwrap()).unwrap();
    // No loader is requested: PT_INTERP becomes PT_NULL.
    let mut fixed = shell.clone();
    let headers = u64::from_le_bytes(fixed[32..40].try_into().unwrap()) as usize;
    let interpreter = (0..).map(|index| headers + index * 56).find(|at| fixed[*at] == 3).unwrap();
    fixed[interpreter] = 0;
    let mut foreign = shell.clone();
    foreign[18] = 8;
    let mut cases = vec![
        (write("static", &fixed, 0o755), "is linked statically"),
        (write("foreign", &foreign, 0o755), "another kind of processor"),
        (write("text", b"hello", 0o755), "neither an ELF program nor a script"),
        (write("plain", &shell, 0o644), "is not executable"),
        (write("script", b"#!/nonexistent/sh\n", 0o755), "its interpreter /nonexistent/sh does not exist"),
        (write("of-static", format!("#!{}\n", path("static")).as_bytes(), 0o755), "static: is linked statically"),
        (path(""), "is a directory"),
        (path("nothing"), "cannot be run"),
        ("no-such-program".to_owned(), "program not found in PATH"),
    ];
    if rustix::process::getuid().is_root() {
        let owned = write("set-uid", &shell, 0o755);
        std::os::unix::fs::chown(&owned, Some(65_534), Some(65_534)).unwrap();
        fs::set_permissions(&owned, fs::Permissions::from_mode(0o4755)).unwrap();
        cases.push((owned, "is set-user-ID"));
        let owned = write("set-gid", &shell, 0o755);
        std::os::unix::fs::chown(&owned, Some(65_534), Some(65_534)).unwrap();
        fs::set_permissions(&owned, fs::Permissions::from_mode(0o2755)).unwrap();
        cases.push((owned, "is set-group-ID"));
    }
    for (program, why) in cases {
        let output = run(&["-n", "2", "--", &program, "-c", "echo began"]);
        assert_eq!((output.status.code(), printed(&output).len()), (Some(2), 0), "{program}: {}", said(&output));
        assert!(said(&output).contains(why), "{program}: {}", said(&output));
    }
    let fine = run(&["-n", "1", "--", &write("good", b"#!/bin/sh\necho $0\n", 0o755)]);
    assert_eq!(printed(&fine), [path("good")], "{}", said(&fine));
    let missing = command(&["true"]).env("TIDEWIRE_PCAP_LIBRARY", "/nonexistent").run_in_time().unwrap();
    assert!(said(&missing).contains("TIDEWIRE_PCAP_LIBRARY: /nonexistent"), "{}", said(&missing));
    let warned = run(&["-n", "2", "true", "-w", "out.pcap"]);
    assert!(said(&warned).contains("all 2 instances write to out.pcap; put %i"), "{}", said(&warned));
    assert!(said(&warned).contains("is not linked with libpcap"), "{}", said(&warned));
}

/// How long the drop-in library is built, at most: all tests wait for one, on a machine that may be slow and busy.
const BUILD: Duration = Duration::from_secs(1200);

/// The drop-in library as this build makes it.
fn drop_in() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_tidewire")).parent().unwrap();
    let profile = folder.file_name().and_then(|name| name.to_str()).unwrap();
    let profile = if profile == "debug" { "dev" } else { profile };
    let mut cargo = Command::new(env!("CARGO"));
    let libraries = ["-p", "tidewire-pcap", "-p", "tidewire-queue-c"];
    cargo.args(["build", "--locked", "--offline", "--lib", "--profile", profile]).args(libraries);
    cargo.arg("--target-dir").arg(folder.parent().unwrap());
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).run_within(BUILD).unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    folder.join("libtidewire_pcap.so")
}

fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).run_in_time().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A frame of UDP from one of 64 ports, with a number in it.
fn frame(number: u32) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    frame[14..34].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame[34..36].copy_from_slice(&(1000 + (number % 64) as u16).to_be_bytes());
    frame[36..42].copy_from_slice(&[0, 53, 0, 26, 0, 0]);
    frame[42..46].copy_from_slice(&number.to_be_bytes());
    frame[46..55].copy_from_slice(format!("tide{number:05}").as_bytes());
    frame
}

/// The numbers in the frames of a capture file, as far as it is written, and of how many ports they are.
fn numbers(path: &Path) -> (Vec<u32>, usize) {
    let bytes = fs::read(path).unwrap();
    let (mut at, mut found, mut ports) = (24, Vec::new(), std::collections::BTreeSet::new());
    while let Some(header) = bytes.get(at..at + 16) {
        let length = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
        let Some(frame) = bytes.get(at + 16..at + 16 + length) else { break };
        found.push(u32::from_be_bytes(frame[42..46].try_into().unwrap()));
        ports.insert(frame[34..36].to_vec());
        at += 16 + length;
    }
    (found, ports.len())
}

/// tcpdump three times over one interface: every packet in one of its files, a flow's packets in the same, and the report
/// says how many; of those between them that are not of UDP, which no instance is to get, it counts `steered_out`.
fn tcpdump_shares(words: &[&str], filter: &[&str], steered_out: u32) {
    const FRAMES: u32 = 3000;
    let library = drop_in();
    ip("link set lo up");
    ip("link add tw0 type veth peer name tw1");
    ip("link set tw0 addrgenmode none up");
    ip("link set tw1 addrgenmode none up");
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let (files, report) = (place.path().join("out-%i.pcap"), place.path().join("report"));
    let own = ["-n", "3", "--json", "--report", report.to_str().unwrap()];
    let program = ["--", "tcpdump", "-i", "tw1", "-w", files.to_str().unwrap(), "-U"];
    let mut command = command(&[&own, words, &program, filter].concat());
    let mut child =
        command.env("TIDEWIRE_PCAP_LIBRARY", library).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = Lines::new(child.stderr.take().unwrap());
    let mut listening = 0;
    let mut said = Vec::new();
    while listening < 3 {
        let Some(line) = lines.next("three listen") else { panic!("{words:?}: {said:?}") };
        // Two may begin to write at once, so that both are in one line.
        listening += line.matches("listening on").count();
        said.push(line);
    }
    let wire = tidewire_live::sys::net::PacketSocket::open("tw0").unwrap();
    for number in 0..FRAMES {
        if number % 4 == 0 {
            wire.send(&[&frame(number)[..12], &[0x88, 0xb5], &[0; 46]].concat()).unwrap();
        }
        wire.send(&frame(number)).unwrap();
    }
    let all = || (0..3).map(|i| numbers(&place.path().join(format!("out-{i}.pcap")))).collect::<Vec<_>>();
    wait_until("all packets are written", || {
        all().iter().map(|(numbers, _)| numbers.len()).sum::<usize>() >= FRAMES as usize
    });
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    said.extend(lines.rest());
    let status = child.wait_in_time("the process");
    assert_eq!((status.code(), status.signal()), (Some(0), None), "{said:?}");
    let shares = all();
    let mut numbers: Vec<u32> = shares.iter().flat_map(|(numbers, _)| numbers.clone()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..FRAMES).collect::<Vec<_>>(), "each packet once");
    assert_eq!(shares.iter().map(|(_, ports)| ports).sum::<usize>(), 64, "a flow is in one share");
    assert!(shares.iter().filter(|(numbers, _)| !numbers.is_empty()).count() >= 2);
    let report: Value = serde_json::from_str(&text(&report)).unwrap();
    for (instance, (numbers, _)) in report["instances"].as_array().unwrap().iter().zip(&shares) {
        assert_eq!(instance["received"], numbers.len(), "{report}");
        assert_eq!((&instance["handles"], &instance["dropped"]), (&Value::from(1), &Value::from(0)), "{report}");
    }
    assert_eq!((&report["all"]["received"], &report["all"]["steered_out"]), (&FRAMES.into(), &steered_out.into()));
    // Several write to the same line.
    let said = said.join("\n");
    let figures =
        said.split(" packets received by filter").map(|text| text.rsplit(|c: char| !c.is_ascii_digit()).next());
    let received = figures.take(3).map(|figure| figure.unwrap_or_default().parse::<u32>().unwrap_or(0));
    assert_eq!(received.sum::<u32>(), FRAMES, "pcap_stats: {said}");
}

#[test]
fn tcpdump_over_one_interface() {
    let steer = ["--steer", "main = do\n  udp\n  steer_flow"];
    for (words, filter, steered_out) in [
        (["--fanout", "hash"], &["udp"][..], 0),
        (steer, &["udp"], 0),
        // Dropped by the program, where no filter applied before.
        (steer, &[], 750),
        (["--locality", "port"], &["udp"], 0),
    ] {
        if let Some(reason) = tidewire_gen::net::missing() {
            return println!("skipped: {reason}");
        }
        if let Some(reason) = missing(&["tcpdump"]) {
            return println!("skipped: {reason}");
        }
        let inside = thread::spawn(move || {
            tidewire_live::sys::net::own_namespace().unwrap();
            tcpdump_shares(&words, filter, steered_out);
        });
        if let Err(panic) = inside.join() {
            std::panic::resume_unwind(panic);
        }
    }
}
