//! Outputs and recordings that fail while interfaces are captured, and what becomes of their records.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tidewire_testing::{InTime as _, StallingDisk, skip, wait_until};

use crate::rig::{Sensor, TIDEWIRE, cannot_capture};

/// A file system of a few pages, unmounted at the end.
struct Disk(PathBuf);

impl Disk {
    fn mount(folder: &Path, size: &str) -> Option<Self> {
        let path = folder.join("disk");
        fs::create_dir(&path).expect("a folder");
        let options = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(&path).status_in_time();
        mounted.is_ok_and(|status| status.success()).then_some(Self(path))
    }

    /// Fills it to the last byte.
    fn fill(&self) -> PathBuf {
        let filler = self.0.join("filler");
        let _ = fs::write(&filler, vec![0; 64 << 20]);
        filler
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status_in_time();
    }
}

/// Talks over `lo` to a server of this process.
fn talk(listener: &TcpListener, bytes: usize) {
    let mut client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (mut server, _) = listener.accept().expect("a connection");
    client.write_all(&vec![b'x'; bytes]).expect("written");
    server.read_exact(&mut vec![0; bytes]).expect("read");
    drop(server);
    client.read_to_end(&mut Vec::new()).expect("the end");
}

/// A server, and the beginning of a configuration that captures its packets alone.
fn captured() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let capture = format!(
        "[sensor]\nstop = \"2s\"\n[events]\nenabled = false\n[capture]\ninterfaces = [\"lo\"]\nfilter = \"tcp port {port}\"\n"
    );
    (listener, capture)
}

fn output<'a>(status: &'a Value, name: &str) -> &'a Value {
    let outputs = status["capture"]["records"]["outputs"].as_array().map_or(&[][..], Vec::as_slice);
    outputs.iter().find(|output| output["name"] == name).unwrap_or(&Value::Null)
}

/// Lines of the files of a folder, but for those that are hidden.
fn lines(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).expect("a folder").flatten();
    let files = files.filter(|entry| entry.file_name().to_string_lossy().starts_with("flows"));
    files.map(|entry| fs::read_to_string(entry.path()).expect("a file").lines().count() as u64).sum()
}

/// A full disk costs records while it is full, each of them counted, and nothing else.
#[test]
fn an_output_on_a_full_disk_is_written_again_when_there_is_room() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(disk) = Disk::mount(folder.path(), "1M") else { return skip("a full disk needs root") };
    let (listener, capture) = captured();
    let whole = folder.path().join("whole.json");
    let tables = format!(
        "{capture}[output.full]\nto = \"json:{}\"\n[output.whole]\nto = \"json:{}\"\n",
        disk.0.join("flows.json").display(),
        whole.display()
    );
    let sensor = Sensor::start(&tables, &[]);
    sensor.until("it runs", |status| status["state"] == "running" && output(status, "full").is_object());
    (0..5).for_each(|_| talk(&listener, 10));
    sensor.until("records are written", |status| output(status, "full")["written_records"] == 5);
    let filler = disk.fill();
    let failed = sensor.until("it fails", |status| {
        talk(&listener, 10);
        output(status, "full")["failed"] == true
    });
    let full = output(&failed, "full");
    assert!(full["retried"] == true && full["failed_since_ns"].as_u64() > Some(0), "{full}");
    let line = sensor.log.until("it is opened again after 1 s");
    assert!(line.contains("No space left on device"), "{line}");
    let directory = sensor.directory().display().to_string();
    let shown = Command::new(TIDEWIRE).args(["sensor", "status", "--directory", &directory]).run_in_time();
    let shown = String::from_utf8(shown.expect("a status").stdout).expect("text");
    assert!(shown.contains("failing") && shown.contains("failed since 20"), "{shown}");
    assert!(shown.contains("BRANCH") && shown.contains("output.full"), "{shown}");
    fs::remove_file(filler).expect("removed");
    let again = sensor.until("it is written again", |status| {
        talk(&listener, 10);
        output(status, "full")["failed"] == false
    });
    assert!(output(&again, "full")["written_again_ns"].as_u64() > Some(0), "{again}");
    let line = sensor.log.until("written again after ");
    assert!(line.contains("lost so far"), "{line}");
    let settled = |status: &Value| {
        let [full, whole] = ["full", "whole"].map(|name| output(status, name).clone());
        let sum = full["written_records"].as_u64().zip(full["lost_records"].as_u64()).map(|(one, other)| one + other);
        full["records"] == whole["records"] && sum == whole["written_records"].as_u64()
    };
    let end = sensor.until("all is written or lost", settled);
    let lost = output(&end, "full")["lost_records"].as_u64().expect("a count");
    assert!(lost > 0, "{end}");
    let log = sensor.end();
    assert!(log.iter().any(|line| line.contains("the end: output full: ") && line.contains(&format!(", {lost} lost"))));
    let all = fs::read_dir(folder.path()).expect("a folder").flatten();
    let all: u64 = all
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("whole"))
        .map(|entry| fs::read_to_string(entry.path()).expect("a file").lines().count() as u64)
        .sum();
    assert_eq!(lines(&disk.0) + lost, all, "{log:#?}");
}

/// The recorder tries again by itself, and packets wait in its buffers until then.
#[test]
fn a_recording_on_a_full_disk_goes_on_when_there_is_room() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(disk) = Disk::mount(folder.path(), "32M") else { return skip("a full disk needs root") };
    let (listener, capture) = captured();
    let archive = disk.0.join("packets");
    let tables = format!(
        "{capture}[record]\ndirectory = \"{}\"\nsegment-size = \"1M\"\nbuffer = \"8M\"\ndurable = \"100ms\"\n",
        archive.display()
    );
    let sensor = Sensor::start(&tables, &[]);
    sensor.until("it runs", |status| status["state"] == "running" && status["capture"]["record"].is_object());
    talk(&listener, 1 << 20);
    sensor.until("packets are stored", |status| status["capture"]["record"]["stored_bytes"].as_u64() > Some(0));
    let filler = disk.fill();
    sensor.until("it is failing", |status| {
        talk(&listener, 1 << 20);
        status["capture"]["record"]["failing"].is_string()
    });
    fs::remove_file(filler).expect("removed");
    sensor.until("it goes on", |status| status["capture"]["record"]["failing"].is_null());
    let before = sensor.answer().expect("a status")["capture"]["record"]["stored_bytes"].as_u64();
    talk(&listener, 1 << 20);
    sensor.until("packets are stored again", |status| status["capture"]["record"]["stored_bytes"].as_u64() > before);
    let status = sensor.until("all have a fate", |status| {
        let record = &status["capture"]["record"]["priorities"][0];
        record["received_packets"] == status["capture"]["packets"]
    });
    assert_eq!(status["capture"]["record"]["failed"], false);
    let log = sensor.end();
    assert!(log.iter().any(|line| line.contains("recording goes on")), "{log:#?}");
    let verified = Command::new(TIDEWIRE).args(["record", "--verify"]).arg(&archive).run_in_time().expect("tidewire");
    assert_eq!(verified.status.code(), Some(0), "{}", String::from_utf8_lossy(&verified.stderr));
}

/// A collector that goes away is connected to again, and the records of that time are counted.
#[test]
fn a_collector_that_returns_gets_records_again() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let (listener, capture) = captured();
    let collector = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = collector.local_addr().expect("an address");
    let tables = format!("{capture}[output.far]\nto = \"ipfix:tcp://{address}\"\n");
    let sensor = Sensor::start(&tables, &[]);
    let (mut first, _) = collector.accept().expect("a connection");
    sensor.until("it runs", |status| status["state"] == "running" && output(status, "far").is_object());
    talk(&listener, 10);
    first.read_exact(&mut [0; 16]).expect("a message");
    sensor.until("it is written", |status| output(status, "far")["written_records"].as_u64() > Some(0));
    // Nothing listens from now on.
    drop((first, collector));
    sensor.until("it is away", |status| {
        talk(&listener, 10);
        output(status, "far")["failed"] == true && output(status, "far")["retried"] == true
    });
    sensor.log.until("connecting again");
    let collector = TcpListener::bind(address).expect("the port");
    let (mut again, _) = collector.accept().expect("a connection");
    again.read_exact(&mut [0; 16]).expect("templates");
    let status = sensor.until("it is written again", |status| output(status, "far")["failed"] == false);
    assert!(output(&status, "far")["written_again_ns"].is_number(), "{status}");
    sensor.log.until("connected again after");
    drop(again);
    sensor.end();
}

/// The oldest files go, and no file of a neighbour.
#[test]
fn files_of_an_output_are_kept_within_bounds() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (listener, capture) = captured();
    let path = folder.path().join("flows.json");
    let neighbours = ["flows.20200101T000000Z.000001.json.gz", "flows.old.json", "other.20200101T000000Z.000001.json"];
    neighbours.iter().for_each(|name| fs::write(folder.path().join(name), "precious").expect("written"));
    let own = folder.path().join("flows.20200101T000000Z.000001.json");
    fs::write(&own, "{}\n").expect("written");
    let tables =
        format!("{capture}[output.a]\nto = \"json:{}\"\nrotate = \"1s\"\nkeep = \"files=2\"\n", path.display());
    let sensor = Sensor::start(&tables, &[]);
    sensor.until("it runs", |status| status["state"] == "running" && output(status, "a").is_object());
    let status = sensor.until("files were removed", |status| {
        talk(&listener, 10);
        output(status, "a")["removed_files"].as_u64() >= Some(2)
    });
    assert!(output(&status, "a")["removed_bytes"].as_u64() > Some(0) && !own.exists(), "{status}");
    sensor.end();
    assert!(neighbours.iter().all(|name| folder.path().join(name).exists()));
    let numbered = || {
        let names = fs::read_dir(folder.path()).expect("a folder").flatten();
        names
            .filter(|entry| {
                entry.file_name().to_string_lossy().starts_with("flows.20")
                    && !entry.file_name().to_string_lossy().ends_with(".gz")
            })
            .count()
    };
    wait_until("two are left", || numbered() <= 2);
}

/// Each branch loses for itself: neither a reader of a pipe that stalls nor a reader of a queue costs the others anything, or the capture a
/// packet.
#[test]
fn what_is_slow_loses_alone() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").arg(at("stalled")).status_in_time();
    assert!(made.is_ok_and(|status| status.success()));
    // It is open for reading, and never read.
    let stalled = fs::OpenOptions::new().read(true).write(true).open(at("stalled")).expect("a pipe");
    let (listener, capture) = captured();
    let tables = format!(
        "{capture}[queue.streams]\nmemory = \"512K\"\n[record]\ndirectory = \"{}\"\n\
         [output.stalled]\nto = \"json:{}\"\nbuffer = \"64K\"\n[output.whole]\nto = \"json:{}\"\n",
        at("archive").display(),
        at("stalled").display(),
        at("whole.json").display()
    );
    let sensor = Sensor::start(&tables, &[]);
    sensor.until("it runs", |status| status["state"] == "running" && output(status, "whole").is_object());
    // A reader that stops after its first record.
    let socket = sensor.directory().join("queues.sock");
    let mut reader = Command::new(TIDEWIRE);
    reader.args(["attach", "streams", "--exec", "sleep 600", "--socket"]).arg(socket);
    let mut reader = reader.spawn().expect("a reader");
    sensor.until("it is attached", |status| status["capture"]["queues"][0]["readers"][0].is_object());
    let status = sensor.until("the pipe's records are lost", |status| {
        (0..50).for_each(|_| talk(&listener, 4000));
        output(status, "stalled")["slow_records"].as_u64() > Some(0)
            && status["capture"]["queues"][0]["bytes"].as_u64() > Some(2 << 20)
    });
    assert_eq!(output(&status, "whole")["lost_records"], 0, "{status}");
    let status = sensor.until("all packets have a fate", |status| {
        let record = &status["capture"]["record"]["priorities"][0];
        let whole = output(status, "whole");
        record["received_packets"] == status["capture"]["packets"]
            && whole["records"] == whole["written_records"]
            && record["shed_packets"] == 0
    });
    assert_eq!(status["capture"]["dropped"], 0, "{status}");
    let branches = status["capture"]["ledger"]["branches"].as_array().expect("branches");
    let lost = |name: &str| branches.iter().find(|branch| branch["name"] == name).expect("a branch")["lost"].clone();
    assert!(lost("output.stalled")["slow"].as_u64() > Some(0), "{branches:?}");
    for whole in ["output.whole", "record", "queue.streams"] {
        assert_eq!(lost(whole), serde_json::json!({}), "{branches:?}");
    }
    let _ = reader.kill();
    let _ = reader.wait();
    drop(stalled);
    sensor.end();
}

/// A disk that stalls under each format costs the records of its outputs alone, each of them counted.
#[test]
fn a_disk_that_stalls_under_any_format_costs_nothing_else() {
    if let Some(reason) = cannot_capture() {
        return skip(&reason);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut disk) = StallingDisk::mount(folder.path(), 64 << 20) else {
        return skip("a disk that stalls needs root and a loop device");
    };
    let (listener, capture) = captured();
    let mut tables = format!(
        "{capture}[queue.streams]\n[record]\ndirectory = \"{0}/archive\"\n[output.whole]\nto = \"json:{0}/whole.json\"\n",
        folder.path().display()
    );
    let known = Command::new(TIDEWIRE).args(["flows", "--help"]).run_in_time().expect("a help");
    let known = String::from_utf8(known.stdout).expect("text");
    let mut stalling = vec![("eve", "eve.json"), ("csv", "flows.csv"), ("zeek", "zeek"), ("ipfix", "flows.ipfix")];
    let columns = [("sqlite", "flows.db"), ("parquet", "parquet"), ("arrow", "flows.arrow")];
    stalling.extend(columns.into_iter().filter(|(format, _)| known.contains(format)));
    for (format, name) in &stalling {
        let to = disk.path().join(name);
        // Files of columns reach the disk when they are complete.
        tables +=
            &format!("[output.{format}]\nto = \"{format}:{}\"\nbuffer = \"64K\"\nrotate = \"1s\"\n", to.display());
    }
    let sensor = Sensor::start(&tables, &[]);
    sensor.until("it runs", |status| status["state"] == "running" && output(status, "whole").is_object());
    (0..5).for_each(|_| talk(&listener, 100));
    sensor.until("records are written", |status| output(status, "eve")["written_records"].as_u64() > Some(0));
    disk.freeze();
    let status = sensor.until("records of each are lost", |status| {
        (0..50).for_each(|_| talk(&listener, 100));
        stalling.iter().all(|(format, _)| output(status, format)["slow_records"].as_u64() > Some(0))
    });
    let branch = |status: &Value, name: &str| {
        let branches = status["capture"]["ledger"]["branches"].as_array().expect("branches");
        branches.iter().find(|branch| branch["name"] == name).expect("a branch").clone()
    };
    assert_eq!(status["capture"]["dropped"], 0, "{status}");
    for whole in ["output.whole", "record", "queue.streams"] {
        assert_eq!(branch(&status, whole)["lost"], serde_json::json!({}), "{status}");
    }
    disk.thaw();
    let status = sensor.until("each record has a fate", |status| {
        stalling.iter().all(|(format, _)| branch(status, &format!("output.{format}"))["waiting"] == 0)
    });
    for (format, _) in &stalling {
        let branch = branch(&status, &format!("output.{format}"));
        let slow = branch["lost"]["slow"].as_u64();
        assert_eq!(branch["lost"], serde_json::json!({ "slow": slow }), "{branch}");
        let sum = branch["delivered"].as_u64().zip(slow).map(|(delivered, slow)| delivered + slow);
        assert_eq!(branch["offered"].as_u64(), sum, "{branch}");
    }
    assert_eq!(output(&status, "whole")["lost_records"], 0, "{status}");
    sensor.end();
}
