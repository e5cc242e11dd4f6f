//! Records of streams and transactions, written by the capture itself.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
};

use tidewire_testing::{InTime as _, Signal, skip, wait_until};

use crate::rig::{CAPTURE, Sensor, TIDEWIRE, cannot_capture, kill, part, process};

/// Formats with the name of their place.
const FORMATS: [(&str, &str); 6] = [
    ("json", "flows.json"),
    ("csv", "flows.csv"),
    ("eve", "eve.json"),
    ("zeek", "zeek"),
    ("zeek-json", "zeek-json"),
    ("ipfix", "flows.ipfix"),
];

/// Captures of protocols, tunnels, several subflows, and anomalies.
const CAPTURES: [&str; 6] =
    ["checksums", "smtp-two-mails", "dns-questions", "tcp-mptcp", "tunnel-gtp-fragments", "tcp-gap"];

fn captures() -> Vec<PathBuf> {
    let corpus = Path::new(CAPTURE).ancestors().nth(2).expect("the corpus");
    let of = |name: &str| corpus.join(name).join("capture.pcap");
    CAPTURES.iter().map(|name| of(name)).collect()
}

/// The files below a folder with their contents, by their names in it.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(contents(&path)),
            // One that gets its final name meanwhile is found the next time.
            path => found.extend(fs::read(&path).ok().map(|bytes| (path, bytes))),
        }
    }
    found.sort();
    found
}

fn in_folder(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let below = |(path, bytes): (PathBuf, Vec<u8>)| (path.strip_prefix(folder).expect("below").to_owned(), bytes);
    contents(folder).into_iter().map(below).collect()
}

/// The tables of all formats in a folder.
fn outputs(folder: &Path) -> String {
    let one = |(format, place): &(&str, &str)| {
        format!("[output.{format}]\nto = \"{format}:{}\"\n", folder.join(place).display())
    };
    FORMATS.iter().map(one).collect()
}

#[test]
fn files_give_the_records_of_flows() {
    for capture in captures() {
        let [alone, expected] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let mut command = Command::new(TIDEWIRE);
        command.arg("flows").arg(&capture);
        for (format, place) in FORMATS {
            command.arg("--to").arg(format!("{format}:{}", expected.path().join(place).display()));
        }
        let output = command.run_in_time().expect("tidewire");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let expected = in_folder(expected.path());
        assert!(expected.len() >= FORMATS.len());
        // Records alone, beside analyzers and queues of streams, and beside a queue of packets.
        for tables in [
            "[events]\nenabled = false\n",
            "",
            "[queue.a]\n",
            "[queue.a]\n[events]\nenabled = false\n",
            "[queue.a]\ncutoff = \"1K\"\n[queue.b]\nfilter = \"udp\"\n",
            "[queue.p]\nunit = \"packets\"\n",
        ] {
            let folder = alone.path();
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("removed");
            }
            let input = format!("[capture]\nfiles = [\"{}\"]\n{tables}", capture.display());
            let mut sensor = Sensor::start(&format!("{input}{}", outputs(folder)), &[]);
            let status = sensor.ended();
            assert_eq!(status.code(), Some(0), "{:#?}", sensor.log.rest());
            let found = in_folder(folder);
            let names = |all: &[(PathBuf, Vec<u8>)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            assert_eq!(names(&found), names(&expected), "{} {tables}", capture.display());
            for ((name, bytes), (_, expected)) in found.iter().zip(&expected) {
                let different = bytes.split(|byte| *byte == b'\n').zip(expected.split(|byte| *byte == b'\n'));
                let different = different.into_iter().find(|(one, other)| one != other);
                let lines = different.map(|(one, other)| [one, other].map(String::from_utf8_lossy));
                assert!(bytes == expected, "{} of {} {tables}: {lines:#?}", name.display(), capture.display());
            }
        }
    }
}

/// The figures alone need no reassembly: both run without.
#[test]
fn figures_alone_are_those_of_flows() {
    let folder = tempfile::tempdir().expect("a folder");
    for capture in captures() {
        let [expected, alone, beside] = ["flows", "alone", "beside"].map(|name| folder.path().join(name));
        let output = Command::new(TIDEWIRE)
            .arg("flows")
            .arg(&capture)
            .arg("--to")
            .arg(format!("ipfix:{}", expected.display()))
            .run_in_time()
            .expect("tidewire");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        for (path, tables) in [(&alone, "[events]\nenabled = false\n"), (&beside, "[queue.a]\n")] {
            let output = format!("[output.ipfix]\nto = \"ipfix:{}\"\n", path.display());
            let input = format!("[capture]\nfiles = [\"{}\"]\n{tables}", capture.display());
            let mut sensor = Sensor::start(&format!("{input}{output}"), &[]);
            let (status, log) = (sensor.ended(), sensor.log.rest().join("\n"));
            assert_eq!(status.code(), Some(0), "{log}");
            assert!(!log.contains("lack of memory"), "{log}");
        }
        let [expected, alone] = [expected, alone].map(|path| fs::read(path).expect("a file"));
        assert!(!expected.is_empty() && alone == expected, "{}", capture.display());
        assert_eq!(fs::metadata(&beside).expect("a file").len(), expected.len() as u64);
    }
}

#[test]
fn the_last_output_that_fails_is_named_and_the_capture_goes_on() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let filter = format!("filter = \"tcp port {port}\"");
    let tables = format!(
        "[sensor]\nstop = \"500ms\"\n[capture]\ninterfaces = [\"lo\"]\n{filter}\n[output.full]\nto = \"eve:/dev/full\"\n"
    );
    let mut sensor = Sensor::start(&tables, &[]);
    sensor.until("it runs", |status| status["state"] == "running");
    talk(&listener, port);
    let line = sensor.log.until("cannot be written");
    assert!(line.contains("no output is left"), "{line}");
    let status = sensor.until("it is known", |status| status["capture"]["records"]["outputs"][0]["failed"] == true);
    assert_eq!(status["state"], "running");
    sensor.signal(Signal::TERM);
    assert_eq!(sensor.ended().code(), Some(0));
}

#[test]
fn an_output_that_fails_leaves_the_others_and_the_queues() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flows.json");
    let tables = format!(
        "[queue.streams]\n[output.full]\nto = \"json:/dev/full\"\n[output.whole]\nto = \"json:{}\"\n[analyzer.a]\ncommand = [\"sh\", \"-c\", \"'{TIDEWIRE}' attach streams --json --socket $TIDEWIRE_SOCKET | grep -c close\"]\n",
        path.display()
    );
    let mut sensor = Sensor::start(&format!("[capture]\nfiles = [\"{CAPTURE}\"]\n{tables}"), &[]);
    let (status, log, lines) = (sensor.ended(), sensor.log.rest().join("\n"), sensor.output.rest());
    assert_eq!(status.code(), Some(3), "{log}");
    assert!(log.contains("/dev/full: cannot be written"), "{log}");
    let flows = fs::read_to_string(path).expect("a file").lines().count();
    assert_eq!(lines, [format!("a: {flows}")], "{log}");
}

/// Talks over `lo` to a server of this process.
fn talk(listener: &TcpListener, port: u16) {
    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let (mut server, _) = listener.accept().expect("a connection");
    client.write_all(b"GET / HTTP/1.1\r\nHost: here.example\r\n\r\n").expect("written");
    let mut request = [0; 64];
    assert!(server.read(&mut request).expect("read") > 0);
    server.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("written");
    drop(server);
    client.read_to_end(&mut Vec::new()).expect("the end");
}

#[test]
fn interfaces_have_records_and_a_restart_keeps_them() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let folder = tempfile::tempdir().expect("a folder");
    let tables = format!(
        "[sensor]\nstop = \"500ms\"\n[capture]\ninterfaces = [\"lo\"]\nfilter = \"tcp port {port}\"\n[queue.streams]\nmemory = \"1M\"\n{}",
        outputs(folder.path())
    );
    let hosts = || {
        let files = contents(folder.path()).into_iter();
        let of_eve =
            files.filter(|(path, _)| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("eve.")));
        let text = |(_, bytes): (PathBuf, Vec<u8>)| {
            String::from_utf8_lossy(&bytes).matches("\"hostname\":\"here.example\"").count()
        };
        of_eve.map(text).sum::<usize>()
    };
    let sensor = Sensor::start(&tables, &[]);
    sensor.until("its outputs are known", |status| {
        let outputs = status["capture"]["records"]["outputs"].as_array().map(Vec::len);
        status["state"] == "running" && outputs == Some(FORMATS.len())
    });
    talk(&listener, port);
    wait_until("a record of HTTP", || hosts() == 1);
    sensor.until("it is counted", |status| status["capture"]["records"]["transactions"] == 1);
    // A capture that is killed is started again, and what was written stays.
    let before = sensor.until("it runs", |status| part(status, "capture")["process"].is_number());
    kill(process(&before, "capture"));
    sensor.until("it runs again", |status| status["state"] == "running" && part(status, "capture")["restarts"] == 1);
    talk(&listener, port);
    wait_until("both records", || hosts() == 2);
    let log = sensor.end();
    assert_eq!(hosts(), 2, "{log:#?}");
}
