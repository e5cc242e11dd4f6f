//! Packets that the capture itself records, beside everything else that is made of them.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tidewire_testing::{InTime as _, Signal, skip, wait_until};

use crate::rig::{CAPTURE, Sensor, TIDEWIRE, cannot_capture, kill, part, process};

/// Captures with comments, interfaces, losses, tunnels, cut frames and several links.
const CAPTURES: [&str; 6] =
    ["checksums", "smtp-two-mails", "dns-questions", "tcp-mptcp", "tunnel-gtp-fragments", "tcp-gap"];

fn tidewire(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(TIDEWIRE).args(arguments).run_in_time().expect("tidewire");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The segments of an archive, by name.
fn segments(archive: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(archive).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.contains(".pcapng") && !name.ends_with(".tidx") && !name.starts_with('.') {
            found.push((name, fs::read(entry.path()).expect("a segment")));
        }
    }
    found.sort();
    found
}

/// Packets of an archive, as its indexes find them.
fn recalled(archive: &Path) -> usize {
    if segments(archive).is_empty() {
        return 0;
    }
    let packets = tidewire(&["recall", &archive.display().to_string()]);
    let mut reader = tidewire_files::Reader::from_stream("recalled", std::io::Cursor::new(packets)).expect("pcapng");
    let (mut block, mut count) = (tidewire_files::Block::new(), 0);
    while tidewire_files::Source::fill(&mut reader, &mut block).expect("packets") {
        count += block.batch().frames.len();
    }
    count
}

#[test]
fn files_give_the_archive_of_record() {
    let corpus = Path::new(CAPTURE).ancestors().nth(2).expect("the corpus");
    for name in CAPTURES {
        let capture = corpus.join(name).join("capture.pcap").display().to_string();
        files_give_the_archive(&capture, name);
    }
    // A section's texts, an interface's name, and comments of packets.
    let folder = tempfile::tempdir().expect("a folder");
    let described = folder.path().join("described.pcapng");
    fs::write(&described, pcapng()).expect("written");
    files_give_the_archive(&described.display().to_string(), "described");
}

/// A capture with texts about all that it holds.
fn pcapng() -> Vec<u8> {
    fn option(code: u16, text: &[u8]) -> Vec<u8> {
        let mut option = [code.to_le_bytes(), (text.len() as u16).to_le_bytes()].concat();
        option.extend(text);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }
    fn block(kind: u32, body: &[u8], options: &[Vec<u8>]) -> Vec<u8> {
        let body = [body, &options.concat(), &[0; 4]].concat();
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &body, &length].concat()
    }
    let magic = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let mut file = block(0x0a0d_0d0a, &magic, &[option(1, b"of a test"), option(3, b"Another System 1.0")]);
    file.extend(block(1, &[1, 0, 0, 0, 0, 0, 4, 0], &[option(2, b"lan7"), option(3, b"the link")]));
    for number in 0..50_u8 {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 28, 0, number, 0, 0, 64, 17, 0, 0];
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0x40, 0x27, 0x0f, 0, 8, 0, 0, 0, 0]);
        let length = (frame.len() as u32).to_le_bytes();
        let head = [[0; 4], 0x0005_0000_u32.to_le_bytes(), [number, 0, 0, 0], length, length].concat();
        file.extend(block(6, &[head, frame].concat(), &[option(1, format!("packet {number}").as_bytes())]));
    }
    file
}

fn files_give_the_archive(capture: &str, name: &str) {
    for (options, keys) in [
        (&[][..], ""),
        (
            &["--cutoff", "100", "--snaplen-class", "udp=60", "--segment-size", "64K", "--compress", "zstd"][..],
            "cutoff = 100\nclasses = [{ filter = \"udp\", snaplen = 60 }]\nsegment-size = \"64K\"\ncompress = \"zstd\"\n",
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let alone = folder.path().join("alone");
        tidewire(&[&["record", "-r", capture, "-o", &alone.display().to_string()], options].concat());
        let expected = segments(&alone);
        assert!(!expected.is_empty());
        let flows = folder.path().join("flows.json").display().to_string();
        tidewire(&["flows", capture, "--to", &format!("json:{flows}")]);
        for (at, tables) in [
            "[events]\nenabled = false\n".to_owned(),
            "[queue.a]\ncutoff = \"1K\"\n[queue.b]\nunit = \"packets\"\n".to_owned(),
            format!("[output.flows]\nto = \"json:{flows}-2\"\n"),
        ]
        .iter()
        .enumerate()
        {
            let archive = folder.path().join(format!("beside-{at}"));
            let record = format!("[record]\ndirectory = \"{}\"\n{keys}", archive.display());
            let workers = if at == 2 { 2 } else { 1 };
            let input = format!("[capture]\nfiles = [\"{capture}\"]\nworkers = {workers}\n{record}{tables}");
            let mut sensor = Sensor::start(&input, &[]);
            let (status, log) = (sensor.ended(), sensor.log.rest().join("\n"));
            assert_eq!(status.code(), Some(0), "{log}");
            assert!(log.contains("the end: record: "), "{log}");
            assert!(segments(&archive) == expected, "{name} {tables}");
            tidewire(&["record", "--verify", &archive.display().to_string()]);
            let [found, expected] = [&archive, &alone].map(|path| recalled(path));
            assert!(found > 0 && found == expected, "{name}: {found}, {expected}");
        }
        // Two workers have the same records in another order.
        let [one, other] = ["", "-2"].map(|end| {
            let text = fs::read_to_string(format!("{flows}{end}")).expect("records");
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        });
        assert!(one == other && !one.is_empty(), "{name}");
    }
}

/// Talks over `lo` to a server of this process.
fn talk(listener: &TcpListener, says: &[u8]) {
    let mut client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (mut server, _) = listener.accept().expect("a connection");
    client.write_all(says).expect("written");
    let mut heard = vec![0; says.len()];
    server.read_exact(&mut heard).expect("read");
    drop(server);
    client.read_to_end(&mut Vec::new()).expect("the end");
}

struct Live {
    _folder: tempfile::TempDir,
    archive: PathBuf,
    listener: TcpListener,
    tables: String,
}

fn live(keys: &str, more: &str) -> Live {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let archive = folder.path().join("packets");
    let tables = format!(
        "[sensor]\nstop = \"500ms\"\n[capture]\ninterfaces = [\"lo\"]\nfilter = \"tcp port {port}\"\n[record]\ndirectory = \"{}\"\n{keys}{more}",
        archive.display()
    );
    Live { _folder: folder, archive, listener, tables }
}

fn written(status: &Value) -> u64 {
    let priorities = status["capture"]["record"]["priorities"].as_array().cloned().unwrap_or_default();
    priorities.iter().filter_map(|one| one["written_packets"].as_u64()).sum()
}

/// All packets of an interface, those beyond a queue's cutoff included, and across a capture that is killed.
#[test]
fn interfaces_are_recorded_and_a_restart_loses_no_segment() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let Live { archive, listener, tables, _folder } =
        live("durable = \"100ms\"\n", "[queue.streams]\nmemory = \"1M\"\ncutoff = 10\n");
    let sensor = Sensor::start(&tables, &[]);
    sensor.until("it runs", |status| status["state"] == "running" && status["capture"]["record"].is_object());
    let says = vec![b'x'; 100_000];
    talk(&listener, &says);
    let status = sensor.until("packets are written", |status| {
        written(status) > 0 && written(status) == status["capture"]["packets"].as_u64().unwrap_or(0)
    });
    assert!(written(&status) >= 8, "{status}");
    // Packets that reached the file are there after a kill, and the next capture completes it.
    let status = sensor.until("they are in the file", |status| {
        let record = &status["capture"]["record"];
        record["stored_bytes"].as_u64()
            >= record["priorities"][0]["written_bytes"].as_u64().map(|bytes| bytes + 32 * written(status))
    });
    kill(process(&status, "capture"));
    sensor.until("it runs again", |status| status["state"] == "running" && part(status, "capture")["restarts"] == 1);
    wait_until("the segment is completed", || recalled(&archive) as u64 == written(&status));
    talk(&listener, &says);
    let again = sensor.until("packets are written again", |status| {
        written(status) > 0 && written(status) == status["capture"]["packets"].as_u64().unwrap_or(0)
    });
    let log = sensor.end();
    assert_eq!(recalled(&archive) as u64, written(&status) + written(&again), "{log:#?}");
    tidewire(&["record", "--verify", &archive.display().to_string()]);
}

/// A filter of the recording holds for the recording alone, over interfaces, too.
#[test]
fn a_filter_leaves_queues_all_packets() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let Live { archive, listener, tables, _folder } = live("", "[queue.packets]\nunit = \"packets\"\n");
    let port = listener.local_addr().expect("an address").port();
    let tables = tables.replace("[record]\n", &format!("[record]\nfilter = \"dst port {port}\"\n"));
    let sensor = Sensor::start(&tables, &[]);
    sensor.until("it runs", |status| status["state"] == "running" && status["capture"]["record"].is_object());
    talk(&listener, b"hello");
    let filtered = |status: &Value| status["capture"]["record"]["priorities"][0]["filtered_packets"].as_u64();
    let status = sensor.until("both directions are counted", |status| {
        written(status) >= 3
            && filtered(status) >= Some(3)
            && status["capture"]["queues"][0]["records"].as_u64() >= Some(7)
    });
    assert!(written(&status) < status["capture"]["packets"].as_u64().unwrap_or(0), "{status}");
    let log = sensor.end();
    assert_eq!(recalled(&archive) as u64, written(&status), "{log:#?}");
    let recalled = tidewire(&["recall", &archive.display().to_string()]);
    let described = format!("(tcp port {port}) and (dst port {port})");
    assert!(String::from_utf8_lossy(&recalled).contains(&described));
}

/// Packets wait in memory for an event, or for who asks at the socket.
#[test]
fn events_and_other_processes_trigger_look_back() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let patterns = tempfile::NamedTempFile::new().expect("a file");
    fs::write(patterns.path(), "secret-word\n").expect("written");
    let inline = format!("[inline.match]\nfiles = [\"{}\"]\n", patterns.path().display());
    let keys = "keep-last = \"1m\"\nkeep-after = \"1ms\"\nkeep-memory = \"4M\"\ntrigger-events = [\"match\"]\n";
    let Live { archive, listener, tables, _folder } = live(keys, &inline);
    let sensor = Sensor::start(&tables, &[]);
    let triggers = |status: &Value| status["capture"]["record"]["waiting"]["triggers"].as_u64();
    sensor.until("it runs", |status| status["state"] == "running" && triggers(status) == Some(0));
    talk(&listener, b"nothing of interest");
    let waits = |status: &Value| status["capture"]["record"]["waiting"]["bytes"].as_u64() > Some(0);
    let status = sensor.until("packets wait", waits);
    assert_eq!((written(&status), recalled(&archive)), (0, 0));
    talk(&listener, b"the secret-word is said");
    sensor.until("an event triggers", |status| triggers(status) == Some(1) && written(status) > 0);
    let socket = sensor.directory().join("record.sock");
    let said = tidewire(&["record", "trigger", &socket.display().to_string()]);
    assert_eq!(String::from_utf8_lossy(&said), "recording\n");
    sensor.until("who asks triggers", |status| triggers(status) == Some(2));
    let log = sensor.end();
    // Both conversations, with handshakes and ends.
    assert!(recalled(&archive) >= 14, "{log:#?}");
}

/// A disk that refuses ends neither the records nor the streams.
#[test]
fn a_recording_that_fails_leaves_outputs_and_queues() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flows.json");
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).expect("a folder");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&disk).status_in_time();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("a full disk needs root");
    }
    let large = folder.path().join("large.pcap");
    fs::write(&large, many(4000)).expect("written");
    let tables = format!(
        "[record]\ndirectory = \"{}\"\n[output.whole]\nto = \"json:{}\"\n",
        disk.join("packets").display(),
        path.display()
    );
    let mut sensor = Sensor::start(&format!("[capture]\nfiles = [\"{}\"]\n{tables}", large.display()), &[]);
    let (status, log) = (sensor.ended(), sensor.log.rest().join("\n"));
    let unmounted = Command::new("umount").arg(&disk).status_in_time();
    assert!(unmounted.is_ok_and(|status| status.success()));
    assert_eq!(status.code(), Some(3), "{log}");
    assert!(log.contains("No space left on device"), "{log}");
    assert!(log.contains("the end: 4000 packets, 0 dropped"), "{log}");
    let flows = fs::read_to_string(path).expect("a file");
    assert_eq!(flows.lines().count(), 1, "{log}");
}

/// A capture of many datagrams of 1,000 bytes between two hosts.
fn many(packets: u32) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4_u32.to_le_bytes(), [2, 0, 4, 0], [0; 4], [0; 4], [0, 0, 1, 0], [1, 0, 0, 0]].concat();
    for number in 0..packets {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        frame.extend([0x45, 0, 0x04, 0x04, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x9c, 0x40, 0x27, 0x0f, 0x03, 0xf0, 0, 0]);
        // Bytes that do not compress, and differ.
        frame.extend((0..1000_u32).map(|at| (at.wrapping_mul(number.wrapping_mul(2_654_435_761)) >> 13) as u8));
        let length = frame.len() as u32;
        for word in [number / 1000, number % 1000 * 1000, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

#[test]
fn what_was_recorded_is_in_the_status_and_the_metrics() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let Live { archive, listener, tables, _folder } = live("", "");
    let sensor = Sensor::start(&tables, &[]);
    sensor.until("it runs", |status| status["state"] == "running" && status["capture"]["record"].is_object());
    talk(&listener, b"hello");
    sensor.until("packets are written", |status| written(status) >= 7);
    let directory = sensor.directory().display().to_string();
    let said = String::from_utf8(tidewire(&["sensor", "status", "--directory", &directory])).expect("text");
    assert!(said.contains("packets written, 0 lost") && said.contains(&archive.display().to_string()), "{said}");
    sensor.signal(Signal::TERM);
    let log = sensor.end();
    assert!(log.iter().any(|line| line.contains("the end: record: ")), "{log:#?}");
}

/// Outputs are completed before a disk that refuses is waited for, and what it lost is in the log and in the status.
#[test]
fn a_disk_that_refuses_keeps_no_output_from_its_end() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).expect("a folder");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&disk).status_in_time();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("a full disk needs root");
    }
    let [eve, ipfix] = ["eve.json", "flows.ipfix"].map(|name| folder.path().join(name));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let tables = format!(
        "[sensor]\nstop = \"2s\"\n[capture]\ninterfaces = [\"lo\"]\nfilter = \"tcp port {port}\"\n\
         [record]\ndirectory = \"{}\"\nsegment-size = \"64K\"\nbuffer = \"8M\"\n\
         [output.eve]\nto = \"eve:{}\"\n[output.ipfix]\nto = \"ipfix:{}\"\n",
        disk.join("packets").display(),
        eve.display(),
        ipfix.display()
    );
    let sensor = Sensor::start(&tables, &[]);
    sensor.until("it runs", |status| status["state"] == "running");
    (0..40).for_each(|_| talk(&listener, &vec![b'x'; 1 << 20]));
    sensor.until("it is said", |status| status["capture"]["record"]["failing"].is_string());
    let log = sensor.end();
    let unmounted = Command::new("umount").arg(&disk).status_in_time();
    assert!(unmounted.is_ok_and(|status| status.success()));
    assert!(!log.iter().any(|line| line.contains("killed")), "{log:#?}");
    assert!(log.iter().any(|line| line.contains("record: packets are shed: ")), "{log:#?}");
    assert!(log.iter().any(|line| line.contains("the end: record: ") && !line.contains("; 0 shed")), "{log:#?}");
    let whole = |start: &str| {
        let names = fs::read_dir(folder.path()).expect("a folder").flatten();
        let names: Vec<String> = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.iter().any(|name| name.starts_with(start) && !name.ends_with(".part"))
    };
    assert!(whole("eve.") && whole("flows."), "{log:#?}");
}
