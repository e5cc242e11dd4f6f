//! Streams in segments that are not complete: while they are written, and after `kill -9`.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Child, ChildStdin, Stdio},
};

use serde_json::Value;
use tidewire_testing::{Ends as _, wait_until};

use crate::common::*;

/// A recorder of standard input, and directories that it writes to in turn.
struct Recording {
    bench: Bench,
    folders: Vec<PathBuf>,
    identity: Vec<String>,
    out: PathBuf,
}

impl Recording {
    fn new() -> Self {
        let bench = Bench::new();
        let folders = ["one", "two"].map(|name| bench.path(name)).to_vec();
        let out = bench.path("out.pcapng");
        Self { bench, folders, identity: Vec::new(), out }
    }

    /// Makes an identity, and returns its recipient.
    fn recipient(&mut self) -> String {
        let path = self.bench.path("identity.txt").to_str().unwrap().to_owned();
        let made = run(&["keys", "identity", "-o", &path]);
        self.identity = vec!["--identity".into(), path];
        String::from_utf8(made.stdout).unwrap().trim().into()
    }

    /// Records what is written to it, in segments that are synced at once.
    fn record(&self, options: &[&str]) -> (Child, ChildStdin) {
        let settings = ["-r", "-", "--durable", "5ms", "--segment-size", "64K"];
        let mut command = command(&self.words_to("record", &[&settings[..], options].concat()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        (child, input)
    }

    fn words<'a>(&'a self, command: &'a str, options: &[&'a str]) -> Vec<&'a str> {
        let mut words = vec![command];
        words.extend(self.folders.iter().map(|folder| folder.to_str().unwrap()));
        words.extend(self.identity.iter().map(String::as_str));
        words.extend(options);
        words
    }

    fn words_to<'a>(&'a self, command: &'a str, options: &[&'a str]) -> Vec<&'a str> {
        let mut words = vec![command];
        self.folders.iter().for_each(|folder| words.extend(["-o", folder.to_str().unwrap()]));
        words.extend(self.identity.iter().map(String::as_str));
        words.extend(options);
        words
    }

    /// Packets that a search finds.
    fn found(&self, options: &[&str]) -> u64 {
        let _ = fs::remove_file(&self.out);
        let options = [options, &["-w", self.out.to_str().unwrap(), "--json"]].concat();
        let output = run(&self.words("recall", &options));
        lines(&output.stdout).last().map_or(0, |line| line["recall"]["packets"].as_u64().unwrap())
    }

    /// The streams: id, Community ID, packets.
    fn streams(&self) -> BTreeMap<u64, (String, u64)> {
        let said = json(&self.words("flows", &["--json"]));
        let frames = |flow: &Value| flow["frames_c2s"].as_u64().unwrap() + flow["frames_s2c"].as_u64().unwrap();
        let stream = |flow: &Value| {
            let id = flow["id"].as_u64()?;
            Some((id, (flow["community_id"].as_str().unwrap().to_owned(), frames(flow))))
        };
        said.iter().filter_map(stream).collect()
    }

    /// Each stream is found by its id, and by its Community ID.
    fn check(&self, said: &str) -> BTreeMap<u64, (String, u64)> {
        let streams = self.streams();
        let mut by_community: BTreeMap<&str, u64> = BTreeMap::new();
        for (id, (community_id, packets)) in &streams {
            assert_eq!(self.found(&["--stream", &id.to_string()]), *packets, "{said}: stream {id} of {streams:?}");
            *by_community.entry(community_id).or_default() += packets;
        }
        for (id, packets) in by_community {
            assert_eq!(self.found(&["--community-id", id]), packets, "{said}: {id} of {streams:?}");
        }
        streams
    }

    fn open_segments(&self) -> usize {
        let names = self.folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        names.filter(|entry| entry.file_name().to_string_lossy().ends_with(".part")).count()
    }
}

/// A capture in which connections follow each other at the same ports, and one goes on all the time.
fn capture() -> (Vec<u8>, u64) {
    let mut pcap = Pcap::new();
    let mut long = Talk::new(40_000);
    long.handshake(&mut pcap);
    for round in 0..6_u8 {
        conversation(&mut pcap, 50_000, &[(false, &[round; 900][..]), (true, &[round; 1200])]);
        conversation(&mut pcap, 50_001 + u16::from(round), &[(false, &[round; 1400][..]), (true, &[round; 9000])]);
        long.say(&mut pcap, round % 2 == 0, &[round; 1000]);
    }
    long.goodbye(&mut pcap);
    let bytes = pcap.bytes().to_vec();
    let bench = Bench::new();
    let flows = json(&["flows", &bench.file("all.pcap", &bytes), "--json"]);
    let frames = flows.iter().filter_map(|flow| Some(flow["frames_c2s"].as_u64()? + flow["frames_s2c"].as_u64()?));
    (bytes, frames.sum())
}

/// A capture of one packet.
fn one() -> Vec<u8> {
    let mut pcap = Pcap::new();
    pcap.frame(&[0xff; 60]);
    pcap.bytes().to_vec()
}

#[test]
fn streams_are_found_in_the_segment_that_is_being_written_and_after_a_kill() {
    let (capture, packets) = capture();
    for (form, is_sealed, is_killed) in [
        (&[][..], false, false),
        (&[], false, true),
        (&["--compress", "zstd"], false, true),
        (&["--compress", "lz4"], true, true),
        (&[], true, false),
    ] {
        let mut recording = Recording::new();
        let recipient = if is_sealed { recording.recipient() } else { String::new() };
        let sealed = ["--encrypt-to", &recipient];
        let options = [form, if is_sealed { &sealed[..] } else { &[] }].concat();
        let said = format!("{options:?}, killed: {is_killed}");
        let (mut recorder, mut input) = recording.record(&options);
        input.write_all(&capture).unwrap();
        wait_until("all packets", || recording.folders.iter().all(|it| it.exists()) && recording.found(&[]) == packets);
        wait_until("the last segment", || recording.open_segments() == 1);
        let streams = recording.check(&said);
        // Several streams have the same addresses and ports.
        assert!(streams.len() > 12, "{said}: {streams:?}");
        if is_killed {
            recorder.kill().unwrap();
            recorder.wait_in_time("a killed recorder");
            assert_eq!(recording.open_segments(), 1, "{said}");
        } else {
            // They keep their ids when it is complete.
            drop(input);
            assert!(recorder.wait_in_time("a recorder").success());
            assert_eq!(recording.open_segments(), 0, "{said}");
        }
        assert_eq!(recording.check(&said), streams, "{said}");
        if is_killed {
            // The next recorder repairs it: its packets keep their numbers.
            let one = recording.bench.file("one.pcap", &one());
            let output = run(&recording.words_to("record", &[&["-r", &one], &options[..]].concat()));
            assert!(output.status.success(), "{said}: {}", String::from_utf8_lossy(&output.stderr));
            let repaired = recording.streams();
            assert!(streams.iter().all(|(id, stream)| repaired.get(id) == Some(stream)), "{said}: {repaired:?}");
        }
    }
}

/// Before the first index there is: no zeros stand for what is not known yet.
#[test]
fn an_overview_says_that_the_first_segment_is_being_written() {
    let (capture, packets) = capture();
    let bench = Bench::new();
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    let mut command = command(&["record", "-r", "-", "-o", place, "--durable", "5ms"]);
    let mut recorder = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = recorder.stdin.take().unwrap();
    input.write_all(&capture).unwrap();
    let found = || run(&["recall", place, "--flows", "--json"]);
    let count = || lines(&found().stdout).last().map_or(0, |line| line["recall"]["packets"].as_u64().unwrap());
    wait_until("all packets", || archive.exists() && count() == packets);
    assert!(found().status.success() && lines(&found().stdout).len() > 12);
    let overview = &json(&["recall", place, "--overview", "--json"])[0]["overview"];
    assert_eq!((&overview["segments_growing"], &overview["segments"]), (&Value::from(1), &Value::from(1)));
    assert!(overview["growing_bytes"].as_u64().unwrap() > packets * 60, "{overview}");
    let (said, code) = text(&["recall", place, "--overview"]);
    assert!(code == 0 && said.contains("\nwriting     1 segment, ") && said.contains(" so far"), "{said}");
    assert!(!said.contains("0 packets") && !said.contains("0 flow records"), "{said}");
    drop(input);
    assert!(recorder.wait_in_time("a recorder").success());
    let said = text(&["recall", place, "--overview"]).0;
    assert!(said.contains(&format!("\npackets     {packets} packets, ")) && !said.contains("writing"), "{said}");
    assert!(said.contains(&format!("\nnext\n  tidewire flows {place}\n  tidewire recall {place} host ")), "{said}");
}

#[test]
fn a_segment_that_lost_its_power_is_read_as_far_as_its_checksums_hold() {
    let bench = Bench::new();
    let (archive, mut pcap) = (bench.path("archive"), Pcap::new());
    let place = archive.to_str().unwrap();
    for round in 0..400_u32 {
        conversation(&mut pcap, 50_000 + round as u16, &[(true, &[round as u8; 9000][..])]);
    }
    let words = ["record", "-r", "-", "-o", place, "--durable", "1h"];
    let mut command = command(&words);
    let mut recorder = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = recorder.stdin.take().unwrap();
    input.write_all(pcap.bytes()).unwrap();
    let hidden = |ending: &str| {
        let names = fs::read_dir(&archive).into_iter().flatten().flatten().map(|entry| entry.path());
        names.into_iter().find(|path| path.to_string_lossy().ends_with(ending))
    };
    // Nothing of it is synced.
    wait_until("a segment", || hidden(".part").is_some_and(|path| fs::metadata(path).unwrap().len() > 2 << 20));
    recorder.kill().unwrap();
    recorder.wait_in_time("a killed recorder");
    let found = || {
        let out = bench.path("out.pcapng");
        let output = run(&["recall", place, "-w", out.to_str().unwrap(), "--json"]);
        let said = String::from_utf8(output.stderr.clone()).unwrap();
        (lines(&output.stdout)[0]["recall"]["packets"].as_u64().unwrap(), output.status.code().unwrap(), said)
    };
    let (all, code, said) = found();
    assert!(code == 0 && all > 1000, "{all} packets: {said}");
    // Zeros within a packet's payload: no header shows that they do not belong to it.
    let (part, sums) = (hidden(".part").unwrap(), hidden(".sums").unwrap());
    let (mut bytes, mut known) = (fs::read(&part).unwrap(), fs::read(&sums).unwrap());
    let middle = (1 << 20) + (1..).find(|at| bytes[(1 << 20) + at..][..600].iter().all(|byte| *byte > 0)).unwrap();
    bytes[middle..middle + 512].fill(0);
    fs::write(&part, bytes).unwrap();
    // The machine was started again since.
    known[72] ^= 1;
    fs::write(&sums, known).unwrap();
    let (kept, code, said) = found();
    assert!(code == 0 && kept < all && kept > 300, "{kept} of {all} packets: {said}");
    // The repair keeps the same.
    assert_eq!(text(&["record", "-r", &bench.file("one.pcap", &one()), "-o", place]).1, 0);
    assert_eq!(found().0, kept + 1);
    assert_eq!(text(&["record", "--verify", place]).1, 0);
}
