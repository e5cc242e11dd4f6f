//! `tidewire record` of interfaces where directories and disks fail, and recall while it records.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use tidewire_testing::{InTime as _, missing};

use crate::rig::{self, HERE, Rig, THERE_ADDRESS, wait_for};

fn get(page: &str) {
    let url = format!("http://{THERE_ADDRESS}/{page}");
    let status = Command::new("curl").args(["-s", "-o", "/dev/null", &url]).status_in_time().expect("curl runs");
    assert!(status.success());
}

fn started(rig: &Rig, words: &[&str]) -> rig::Running {
    let recorder = rig.tidewire(&[&["record", "-i", HERE, "--durable", "50ms", "--json"], words].concat());
    recorder.wait_for_said("packet socket");
    recorder
}

fn summary(ended: &rig::FinishedProgram) -> serde_json::Value {
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {} {}", ended.out, ended.said))
}

/// How many packets an archive has that match, or none of it can be read.
fn recalled(rig: &Rig, folder: &Path, words: &[&str]) -> u64 {
    let out = rig.directory.path().join("recalled.pcapng");
    let place = folder.to_str().expect("text");
    let command = ["recall", place, "--json", "-w", out.to_str().expect("text")];
    let output = Command::new(env!("CARGO_BIN_EXE_tidewire")).args(command).args(words).run_in_time().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last: serde_json::Value = text.lines().last().map_or_else(Default::default, |line| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    });
    last["recall"]["packets"].as_u64().unwrap_or(0)
}

/// Packets that a recorder has captured are found while it records, long before the segment is complete.
#[test]
fn what_was_recorded_is_found_before_the_segment_is_complete() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let archive = rig.directory.path().join("archive");
        let recorder = started(rig, &["-o", archive.to_str().expect("text"), "--segment-time", "1h"]);
        let mut before = 0;
        for _ in 0..3 {
            get("big");
            // Within a second: what --durable says, and what a buffer waits.
            wait_for("packets of this page", || recalled(rig, &archive, &["tcp", "port", "80"]) > before + 30);
            before = recalled(rig, &archive, &["tcp", "port", "80"]);
        }
        let complete = |name: &fs::DirEntry| name.path().extension().is_some_and(|ending| ending == "pcapng");
        assert_eq!(fs::read_dir(&archive).expect("an archive").flatten().filter(complete).count(), 0);
        let ended = recorder.interrupt();
        let written = summary(&ended)["written_packets"].as_u64().expect("a number");
        assert_eq!(recalled(rig, &archive, &[]), written);
        assert!(before <= written && before > 90, "{before} of {written}");
    });
}

#[test]
fn a_directory_that_was_removed_and_came_back_is_used_again() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let archive = rig.directory.path().join("archive");
        let place = archive.to_str().expect("text");
        let recorder = started(rig, &["-o", place, "--segment-size", "256K", "--no-sandbox"]);
        get("big");
        wait_for("a segment", || fs::read_dir(&archive).is_ok_and(|all| all.count() > 4));
        rig::settle();
        // The recorder makes files meanwhile.
        wait_for("an empty directory", || fs::remove_dir_all(&archive).is_ok());
        get("big");
        recorder.wait_for_said("No such file or directory");
        let said = recorder.said();
        assert!(said.contains(place) && said.contains("recording goes on in memory"), "{said}");
        get("big");
        fs::create_dir(&archive).expect("made again");
        recorder.wait_for_said("recording goes on\n");
        get("big");
        rig::settle();
        let ended = recorder.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        assert_eq!(summary(&ended)["shed_packets"], 0, "{}", ended.out);
        // Packets captured since it was removed are there: three times a megabyte.
        let out = rig.here(&[env!("CARGO_BIN_EXE_tidewire"), "record", "--verify", place]);
        assert!(out.contains("as they were written"), "{out}");
        assert!(recalled(rig, &archive, &["dst", "host", rig::HERE_ADDRESS]) > 3 * 20, "{out}");
        let bytes: u64 =
            fs::read_dir(&archive).expect("it").flatten().map(|one| one.metadata().expect("it").len()).sum();
        assert!(bytes > 3 << 20, "{bytes}");
    });
}

/// In its sandbox the recorder cannot write to the new directory, and says why.
#[test]
fn in_the_sandbox_a_directory_that_came_back_is_named() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let archive = rig.directory.path().join("archive");
        let place = archive.to_str().expect("text");
        let recorder = started(rig, &["-o", place, "--segment-size", "256K"]);
        get("big");
        wait_for("a segment", || fs::read_dir(&archive).is_ok_and(|all| all.count() > 4));
        // The recorder makes files meanwhile.
        wait_for("an empty directory", || fs::remove_dir_all(&archive).is_ok());
        fs::create_dir(&archive).expect("made again");
        get("big");
        // Where the kernel has no Landlock there is no such sandbox. (What it did to the files that it had open may be said first.)
        wait_for("what forbids it", || {
            let said = recorder.said();
            said.contains("--no-sandbox") || said.contains("recording goes on\n")
        });
        rig::settle();
        let ended = recorder.interrupt();
        let summary = summary(&ended);
        let number = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("{name}: {summary}"));
        assert_eq!(number("received_packets"), number("written_packets") + number("shed_packets"), "{summary}");
    });
}

/// A file system in a file, which can be frozen: a disk that stalls.
struct Disk {
    place: PathBuf,
}

impl Disk {
    fn new(folder: &Path) -> Result<Self, String> {
        let (image, place) = (folder.join("disk.img"), folder.join("disk"));
        fs::File::create(&image).and_then(|file| file.set_len(96 << 20)).expect("a file");
        fs::create_dir(&place).expect("a directory");
        for words in [
            &["mkfs.ext4", "-q", image.to_str().expect("text")][..],
            &["mount", "-o", "loop", image.to_str().expect("text"), place.to_str().expect("text")],
        ] {
            let output = Command::new(words[0]).args(&words[1..]).run_in_time().map_err(|error| error.to_string())?;
            if !output.status.success() {
                return Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)));
            }
        }
        Ok(Self { place })
    }

    fn freeze(&self, how: &str) {
        let status = Command::new("fsfreeze").args([how, self.place.to_str().expect("text")]).status_in_time();
        assert!(status.expect("fsfreeze runs").success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let place = self.place.to_str().expect("text");
        let _ = Command::new("fsfreeze").args(["-u", place]).run_in_time();
        let _ = Command::new("umount").args(["-l", place]).status_in_time();
    }
}

#[test]
fn a_disk_that_stalls_is_borne_by_memory_and_then_low_priorities_are_shed() {
    if let Some(reason) = missing(&["mkfs.ext4", "mount", "umount", "fsfreeze"]) {
        return println!("skipped: {reason}");
    }
    rig::run(&["nginx", "curl", "ping"], |rig| {
        rig.nginx();
        let disk = match Disk::new(rig.directory.path()) {
            Ok(disk) => disk,
            Err(reason) => return println!("skipped: no file system of our own: {reason}"),
        };
        let archive = disk.place.join("archive");
        let place = archive.to_str().expect("text");
        let words = ["-o", place, "--buffer", "8M", "--segment-size", "4M", "--priority-class", "icmp=3"];
        let recorder = started(rig, &words);
        get("big");
        wait_for("a segment", || fs::read_dir(&archive).is_ok_and(|all| all.count() > 1));
        disk.freeze("-f");
        for _ in 0..3 {
            get("big");
        }
        rig::settle();
        // Nothing is lost of what memory holds, and then the lowest priority goes first.
        for _ in 0..12 {
            get("big");
        }
        let pinged = rig.here(&["ping", "-c", "3", "-i", "0.2", THERE_ADDRESS]);
        assert!(pinged.contains(" 0% packet loss"), "{pinged}");
        disk.freeze("-u");
        thread::sleep(Duration::from_millis(500));
        get("big");
        rig::settle();
        let ended = recorder.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        let summary = summary(&ended);
        let of = |number: usize, name: &str| {
            summary["priorities"][number][name].as_u64().unwrap_or_else(|| panic!("{name}: {summary}"))
        };
        assert!(of(0, "shed_packets") > 0 && of(1, "shed_packets") == 0 && of(1, "written_packets") == 6, "{summary}");
        for number in 0..2 {
            let sum: u64 = ["written", "cut_off", "shed", "filtered"]
                .iter()
                .map(|fate| of(number, &format!("{fate}_packets")))
                .sum();
            assert_eq!(of(number, "received_packets"), sum, "{summary}");
        }
        // The packets before, and those that memory held: more than half of the buffers is for higher priorities.
        assert!(of(0, "written_bytes") > 3 << 19, "{summary}");
        assert_eq!(recalled(rig, &archive, &[]), of(0, "written_packets") + of(1, "written_packets"));
        let out = rig.here(&[env!("CARGO_BIN_EXE_tidewire"), "record", "--verify", place]);
        assert!(out.contains("as they were written"), "{out}");
    });
}

/// A file system that its driver stopped after an error: writes fail for good, and what waited is lost with the disk or goes elsewhere.
#[test]
fn a_disk_that_fails_is_named_and_another_one_takes_its_place() {
    if let Some(reason) = missing(&["mkfs.ext4", "mount", "umount", "fsfreeze"]) {
        return println!("skipped: {reason}");
    }
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let disk = match Disk::new(rig.directory.path()) {
            Ok(disk) => disk,
            Err(reason) => return println!("skipped: no file system of our own: {reason}"),
        };
        let (failing, working) = (disk.place.join("archive"), rig.directory.path().join("other"));
        let (first, second) = (failing.to_str().expect("text"), working.to_str().expect("text"));
        let recorder = started(rig, &["-o", first, "-o", second, "--segment-size", "512K"]);
        get("big");
        get("big");
        rig::settle();
        let words = ["-o", "remount,abort", disk.place.to_str().expect("text")];
        assert!(Command::new("mount").args(words).status_in_time().expect("mount runs").success());
        for _ in 0..3 {
            get("big");
            thread::sleep(Duration::from_millis(100));
        }
        wait_for("an error", || {
            ["Read-only file system", "Input/output error"].iter().any(|what| recorder.said().contains(what))
        });
        assert!(recorder.said().contains(first), "{}", recorder.said());
        let before = recalled(rig, &working, &[]);
        for _ in 0..3 {
            get("big");
            thread::sleep(Duration::from_millis(100));
        }
        wait_for("more in the other directory", || recalled(rig, &working, &[]) > before);
        let ended = recorder.interrupt();
        // Something could not be written.
        assert_eq!(ended.code(), 4, "{}", ended.said);
        let summary = summary(&ended);
        let number = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("{name}: {summary}"));
        assert_eq!(number("received_packets"), number("written_packets") + number("shed_packets"), "{summary}");
        let out = rig.here(&[env!("CARGO_BIN_EXE_tidewire"), "record", "--verify", second]);
        assert!(out.contains("as they were written"), "{out}");
    });
}

#[test]
fn a_second_recorder_of_a_directory_is_refused_and_the_first_goes_on() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let archive = rig.directory.path().join("archive");
        let place = archive.to_str().expect("text");
        let recorder = started(rig, &["-o", place]);
        get("");
        let mut second = Command::new(env!("CARGO_BIN_EXE_tidewire"));
        let output = second.args(["record", "-i", HERE, "-o", place]).run_in_time().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains(place) && said.contains("another recorder"), "{said}");
        get("");
        rig::settle();
        let ended = recorder.interrupt();
        assert_eq!(recalled(rig, &archive, &[]), summary(&ended)["written_packets"].as_u64().expect("a number"));
    });
}
