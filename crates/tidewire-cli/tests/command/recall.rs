//! `tidewire recall`, and archives as the input of other commands.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tidewire_types::Timestamp;

use tidewire_archive::{
    Compression, Directory, Folder, Identities, Recipients, SegmentWriter, Settings,
    block::{Interface, Packet as Block, Way, Writer, enhanced_packet, interface_description, section_header},
};
use tidewire_files::{Block as Filled, Reader, Source as _};
use tidewire_testing::{InTime as _, missing};

use crate::common::*;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap");

/// A packet: time, length on the wire, bytes.
type Packet = (u64, u32, Vec<u8>);

fn read(path: impl AsRef<Path>) -> Vec<Packet> {
    let mut reader = Reader::open(path).unwrap();
    let (mut block, mut packets) = (Filled::new(), Vec::new());
    while reader.fill(&mut block).unwrap() {
        let batch = block.batch();
        let packet =
            |frame: &tidewire::Frame| (frame.timestamp.as_nanos(), frame.wire_bytes, batch.bytes(frame).to_vec());
        packets.extend(batch.frames.iter().map(packet));
    }
    packets
}

/// Writes packets as the segments of an archive, so many each.
fn record(folder: &Path, packets: &[Packet], each: usize, settings: &Settings, identities: &Identities) {
    let mut now_ns = 1_700_000_000_000_000_000;
    let directory = Directory::open(folder, settings, now_ns).unwrap();
    for part in packets.chunks(each) {
        now_ns += 1_000_000_000;
        let mut bytes = Vec::new();
        section_header(&mut bytes, &Writer::default());
        let mut interface = Interface::new("eth7", tidewire::LinkType::ETHERNET);
        interface.speed_bits = 1_000_000_000;
        interface_description(&mut bytes, &interface);
        for (timestamp_ns, wire_bytes, packet) in part {
            enhanced_packet(
                &mut bytes,
                &Block { way: Way::In, ..Block::new(0, Timestamp::from_nanos(*timestamp_ns), packet, *wire_bytes) },
            );
        }
        let name = directory.begin(now_ns, 0);
        let storage: &Folder = directory.storage();
        let mut writer = SegmentWriter::create(storage, &name, settings.recipients.as_ref()).unwrap();
        writer.write(&bytes).unwrap();
        writer.finish().unwrap();
        drop(writer);
        directory.repair(identities, now_ns).unwrap();
    }
}

/// Frames that a packet broker cut are of their streams in the index that a recorder writes.
#[test]
fn a_recorder_knows_the_streams_of_cut_frames() {
    let bench = Bench::new();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/link-sliced/capture.pcap");
    let (archive, out) = (bench.path("archive"), bench.path("out.pcapng"));
    let (archive, out) = (archive.to_str().unwrap(), out.to_str().unwrap());
    assert_eq!(text(&["record", "-r", capture, "-o", archive]).1, 0);
    let flows = json(&["flows", "--json", archive]);
    assert_eq!(flows.len(), json(&["flows", "--json", capture]).len());
    for flow in &flows {
        assert_eq!(text(&["recall", archive, "--stream", &flow["id"].to_string(), "-w", out]).1, 0);
        let all = flow["packets_c2s"].as_u64().unwrap() + flow["packets_s2c"].as_u64().unwrap();
        assert_eq!(read(out).len() as u64, all, "{flow}");
    }
}

/// An archive of a capture, in four segments.
struct Recorded {
    bench: Bench,
    capture: String,
    packets: Vec<Packet>,
    archive: PathBuf,
}

impl Recorded {
    fn new(capture: &str) -> Self {
        let bench = Bench::new();
        let (packets, archive) = (read(capture), bench.path("archive"));
        record(&archive, &packets, packets.len().div_ceil(4), &Settings::default(), &Identities::default());
        Self { bench, capture: capture.into(), packets, archive }
    }

    fn archive(&self) -> &str {
        self.archive.to_str().unwrap()
    }

    /// The packets that `recall` writes to a file, its code, and its messages.
    fn recalled(&self, words: &[&str]) -> (Vec<Packet>, i32, String) {
        let path = self.bench.path("out.pcapng");
        let _ = fs::remove_file(&path);
        let output = run(&[&["recall", self.archive(), "-w", path.to_str().unwrap()], words].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        let found = if path.exists() { read(&path) } else { Vec::new() };
        (found, output.status.code().unwrap(), said)
    }

    /// Packets of the capture that an expression matches.
    fn matching(&self, expression: &str) -> Vec<Packet> {
        let mut filter = tidewire_filter::Filter::new(expression).unwrap();
        let matches = |packet: &&Packet| filter.matches(tidewire::LinkType::ETHERNET, &packet.2, packet.1).unwrap();
        self.packets.iter().filter(matches).cloned().collect()
    }
}

#[test]
fn recall_finds_what_its_options_say() {
    let recorded = Recorded::new(DEMO);
    let all = &recorded.packets;
    let (found, code, said) = recorded.recalled(&[]);
    assert!(found == *all && code == 0, "{} of {}: {said}", found.len(), all.len());
    assert!(said.contains(&format!("{} packets, ", all.len())) && said.contains(" of 4 out of 4 segments ("), "{said}");
    let middle = all[all.len() / 2].0;
    let (seconds, nanoseconds) = (middle / 1_000_000_000, middle % 1_000_000_000);
    let time = format!(
        "{}.{nanoseconds:09}Z",
        jiff::Timestamp::from_second(seconds as i64).unwrap().strftime("%Y-%m-%dT%H:%M:%S")
    );
    for (words, expression) in [
        (&["tcp", "port", "80"][..], "tcp port 80"),
        (&["--port", "53"], "port 53"),
        (&["--protocol", "udp"], "udp"),
        (&["--port", "53", "--port", "80"], "port 53 or port 80"),
        (&["--host", "192.0.2.10", "--host", "2001:db8:1::10"], "host 192.0.2.10 or host 2001:db8:1::10"),
        (&["--protocol", "6", "--", "port", "80"], "tcp port 80"),
        (&["--protocol", "icmp"], "icmp"),
        (&["--net", "10.0.0.0/8"], "ip net 10.0.0.0/8"),
        (&["--net", "192.168.0.0/16", "udp"], "ip net 192.168.0.0/16 and udp"),
    ] {
        let (found, code, said) = recorded.recalled(words);
        let expected = recorded.matching(expression);
        assert!(found == expected, "{words:?}: {} of {}: {said}", found.len(), expected.len());
        assert_eq!(code, i32::from(expected.is_empty()), "{words:?}: {said}");
    }
    let host = json(&["flows", &recorded.capture, "--json"])[0]["client"]["addr"].as_str().unwrap().to_owned();
    assert_eq!(recorded.recalled(&["--host", &host]).0, recorded.matching(&format!("(ip or ip6) and host {host}")));
    let from = recorded.recalled(&["--from", &time]).0;
    assert_eq!(from, all.iter().filter(|packet| packet.0 >= middle).cloned().collect::<Vec<_>>());
    let to = recorded.recalled(&["--to", &time]).0;
    assert_eq!(to, all.iter().filter(|packet| packet.0 < middle).cloned().collect::<Vec<_>>());
    // Nothing is an answer, too.
    let (found, code, said) = recorded.recalled(&["--from", "1h ago"]);
    assert!(
        found.is_empty() && code == 1 && said.contains("0 packets") && said.contains("read 0 B of 0 out of 4"),
        "{said}"
    );
    // Standard output has the same, with interfaces and options.
    let output = run(&["recall", recorded.archive(), "tcp", "port", "80", "--json"]);
    let piped = recorded.bench.path("piped.pcapng");
    fs::write(&piped, &output.stdout).unwrap();
    assert_eq!(read(&piped), recorded.matching("tcp port 80"));
    assert!(output.stdout.windows(4).any(|bytes| bytes == b"eth7"), "the interface's name");
    let flags = [2_u16.to_le_bytes(), 4_u16.to_le_bytes(), [1, 0], [0, 0]].concat();
    assert!(output.stdout.windows(8).any(|bytes| bytes == flags), "which way packets went");
    let said = &lines(&output.stderr)[0]["recall"];
    assert_eq!(said["segments"], 4);
    assert_eq!(said["packets"].as_u64().unwrap() as usize, read(&piped).len());
    assert!(said["bytes_read"].as_u64().unwrap() > 0 && said["notes"].as_array().unwrap().is_empty());
}

#[test]
fn ids_that_flows_prints_of_an_archive_recall_their_streams() {
    let bench = Bench::new();
    let (capture, folder) = (PathBuf::from(DEMO), bench.path("one"));
    let packets = read(&capture);
    record(&folder, &packets, packets.len(), &Settings::default(), &Identities::default());
    let archive = folder.to_str().unwrap();
    // With one segment, ids are those of the file, whatever is looked for.
    let of_file = json(&["flows", DEMO, "--json"]);
    assert_eq!(json(&["flows", archive, "--json"]), of_file);
    assert_eq!(json(&["streams", archive, "--json"]), json(&["streams", DEMO, "--json"]));
    let tcp = json(&["flows", DEMO, "--json", "tcp"]);
    assert!(tcp.len() > 2);
    assert_eq!(json(&["flows", archive, "--json", "tcp"]), tcp);
    assert_eq!(json(&["flows", archive, "--json", "tcp", "-j", "3"]), tcp);
    for flow in &of_file {
        let (id, path) = (flow["id"].to_string(), bench.path("stream.pcapng"));
        let path = path.to_str().unwrap();
        let written = |command: &[&str]| {
            let output = run(&[command, &["-w", path]].concat());
            assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
            read(path)
        };
        let of_stream = written(&["follow", DEMO, &id]);
        assert_eq!(written(&["recall", archive, "--stream", &id]), of_stream, "{flow}");
        assert_eq!(written(&["follow", archive, &id]), of_stream, "{flow}");
        let followed = text(&["recall", archive, "--stream", &id, "--follow"]);
        assert_eq!(followed, text(&["follow", DEMO, &id]), "{flow}");
        let listed = json(&["recall", archive, "--stream", &id, "--flows", "--json"]);
        assert_eq!(listed[0], *flow);
        assert_eq!(listed[1]["recall"]["packets"].as_u64().unwrap() as usize, of_stream.len());
        let community = flow["community_id"].as_str().unwrap();
        let found = written(&["recall", archive, "--community-id", community]);
        assert!(of_stream.iter().all(|packet| found.contains(packet)), "{flow}");
    }
}

#[test]
fn commands_read_archives_as_they_read_files() {
    let recorded = Recorded::new(DEMO);
    let (file, archive) = (recorded.capture.as_str(), recorded.archive());
    let out = |name: &str| recorded.bench.path(name).to_str().unwrap().to_owned();
    for words in [
        &["datagrams", "--json"][..],
        &["transactions", "--json"],
        &["match", "-e", "HTTP/1.1 404", "--json"],
        &["match", "-e", "gauge.tidewire", "--count", "udp"],
        &["flows", "--top", "bytes", "--limit", "3", "--json"],
        &["flows", "--csv", "net", "10.0.0.0/8"],
        &["streams", "--digest", "sha256", "--json", "tcp"],
    ] {
        let at = words.iter().position(|word| ["udp", "net", "tcp"].contains(word)).unwrap_or(words.len());
        let with = |input: &str| text(&[&words[..at], &[input], &words[at..]].concat());
        assert_eq!(with(archive), with(file), "{words:?}");
    }
    for words in [
        &["flows"][..],
        &["streams"],
        &["match", "-e", "HTTP"],
        &["datagrams"],
        &["flows", "--top", "bytes", "--limit", "2"],
    ] {
        let written = |input: &str, path: &str| {
            assert!(run(&[words, &[input, "-w", path]].concat()).status.success(), "{words:?} {input}");
            (read(path), fs::read(path).unwrap().windows(15).filter(|bytes| bytes == b"community_id 1:").count())
        };
        assert_eq!(written(archive, &out("a.pcapng")), written(file, &out("b.pcapng")), "{words:?}");
    }
    assert_eq!(run(&["extract", file, "-o", &out("x")]).status.code(), Some(0));
    assert_eq!(run(&["extract", archive, "-o", &out("y")]).status.code(), Some(0));
    assert_eq!(run(&["recall", archive, "--extract", &out("z")]).status.code(), Some(0));
    let mut names: Vec<_> = fs::read_dir(out("x")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(names.len() > 4);
    for name in names {
        let content = |folder: &str| fs::read(Path::new(&out(folder)).join(&name)).unwrap();
        assert!(content("x") == content("y") && content("x") == content("z"), "{}", name.display());
    }
}

#[test]
fn several_archives_are_merged_by_time() {
    let recorded = Recorded::new(DEMO);
    let (even, uneven): (Vec<_>, Vec<_>) =
        recorded.packets.iter().cloned().enumerate().partition(|(number, _)| number % 2 == 0);
    let folders = [("even", even), ("uneven", uneven)].map(|(name, packets)| {
        let folder = recorded.bench.path(name);
        let packets: Vec<Packet> = packets.into_iter().map(|(_, packet)| packet).collect();
        record(&folder, &packets, 100, &Settings::default(), &Identities::default());
        folder.to_str().unwrap().to_owned()
    });
    let path = recorded.bench.path("merged.pcapng");
    let [even, uneven] = &folders;
    let output = run(&["recall", even, uneven, "-w", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    let mut expected = recorded.packets.clone();
    expected.sort_by_key(|packet| packet.0);
    let mut found = read(&path);
    assert!(found.is_sorted_by_key(|packet| packet.0));
    // Packets of one time have no order.
    expected.sort();
    found.sort();
    assert!(found == expected);
    let flows = json(&["flows", even, uneven, "--json"]);
    let most = flows.iter().max_by_key(|flow| flow["packets_c2s"].as_u64()).unwrap();
    let id = most["id"].to_string();
    let listed = run(&["recall", even, uneven, "--stream", &id, "--flows", "--json"]);
    assert!(listed.status.success());
    assert_eq!(lines(&listed.stdout)[0]["community_id"], most["community_id"]);
}

#[test]
fn every_compression_and_encryption_is_recalled_exactly() {
    let bench = Bench::new();
    let mut packets = read(DEMO);
    // More than a compressed frame, part of which cannot be compressed.
    let (mut state, last) = (1_u64, packets.last().unwrap().0);
    for number in 0..2000 {
        let random = (0..1400).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if number % 3 == 0 { b'a' } else { (state >> 33) as u8 }
        });
        packets.push((last + number, 1400, random.collect()));
    }
    let identity = bench.path("identity.txt");
    let made = run(&["keys", "identity", "-o", identity.to_str().unwrap()]);
    let recipient = String::from_utf8(made.stdout).unwrap();
    let recipient = recipient.split_whitespace().find(|word| word.starts_with("age1")).expect("a recipient").to_owned();
    let identities = Identities::from_files(std::slice::from_ref(&identity)).unwrap();
    for &compression in Compression::ALL {
        for is_sealed in [false, true] {
            let recipients = is_sealed.then(|| Recipients::parse(&[&recipient]).unwrap());
            let settings = Settings { compression, recipients, ..Settings::default() };
            let folder = bench.path(&format!("{compression:?}{is_sealed}"));
            record(&folder, &packets, packets.len().div_ceil(2), &settings, &identities);
            let (archive, out) = (folder.to_str().unwrap(), bench.path("out.pcapng"));
            let mut words = vec!["recall", archive, "-w", out.to_str().unwrap()];
            if is_sealed {
                let (said, code) = complaint(&words);
                assert!(code == 3 && said.contains("--identity FILE"), "{said}");
                let (said, code) = complaint(&["flows", archive]);
                assert!(code == 3 && said.contains("--identity FILE"), "{said}");
                words.extend(["--identity", identity.to_str().unwrap()]);
                let flows = text(&["flows", archive, "--identity", identity.to_str().unwrap(), "tcp"]);
                assert_eq!(flows, text(&["flows", DEMO, "tcp"]));
            }
            let output = run(&words);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(read(&out) == packets, "{compression:?} {is_sealed}");
            // Other programs read them as they lie there.
            let program = match compression {
                Compression::Zstd => "zstd",
                Compression::Lz4 => "lz4",
                _ => continue,
            };
            if is_sealed || missing(&[program]).is_some() {
                continue;
            }
            for segment in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                if segment.extension().is_some_and(|ending| ending == &compression.ending()[1..]) {
                    let plain = Command::new(program).arg("-dc").arg(&segment).run_in_time().unwrap();
                    assert!(plain.status.success(), "{program}: {}", String::from_utf8_lossy(&plain.stderr));
                    let path = bench.path("plain.pcapng");
                    fs::write(&path, plain.stdout).unwrap();
                    assert_eq!(read(&path), read(&segment), "{}", segment.display());
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_recalled_is_said() {
    let recorded = Recorded::new(DEMO);
    let archive = recorded.archive();
    let empty = recorded.bench.path("empty");
    fs::create_dir(&empty).unwrap();
    let empty = empty.to_str().unwrap();
    let file = recorded.capture.as_str();
    let link = recorded.bench.path("link");
    std::os::unix::fs::symlink(archive, &link).unwrap();
    let same = link.to_str().unwrap().to_owned();
    for (words, expected, said) in [
        (&["recall", "/nonexistent-archive"][..], 3, "no such directory"),
        (&["recall", empty], 3, "holds no archive"),
        (&["flows", empty], 3, "holds no archive"),
        (&["recall", file], 2, "tidewire flows reads files"),
        (&["flows", file, archive], 2, "name one kind"),
        (&["flows", file, "--identity", file], 2, "no directory is named"),
        (&["recall", archive, "--identity", "/nonexistent"], 2, "/nonexistent"),
        (&["recall", archive, "--identity", file], 2, "identity"),
        (&["recall", archive, "--from", "yesterday"], 2, "--from: invalid time 'yesterday'"),
        (&["recall", archive, "--from", "1h", "--to", "2h"], 2, "not after"),
        (&["recall", archive, &same], 2, "are the same directory, named twice"),
        (&["flows", archive, archive], 2, "are the same directory, named twice"),
        (&["streams", &same, archive, "tcp"], 2, "are the same directory, named twice"),
        (&["recall", archive, "--from", "1700000000.x"], 2, "--from: invalid time '1700000000.x'"),
        (&["record", "-r", archive, "-o", empty], 3, "is an archive; record its packets again with: tidewire recall"),
        (&["recall", archive, "--host", "example"], 2, "--host"),
        (&["recall", archive, "--net", "10.0.0.0/33"], 2, "0 to 32"),
        (&["recall", archive, "--vlan", "4095"], 2, "1 to 4094"),
        (&["recall", archive, "--protocol", "none"], 2, "expected tcp"),
        (&["recall", archive, "--community-id", "x"], 2, "Community ID"),
        (&["recall", archive, "--stream", "0"], 1, "no stream with id 0"),
        (&["recall", archive, "--stream", "0", "--follow"], 1, "no such stream"),
        (&["recall", archive, "--stream", "99999"], 1, "no stream with id 99999"),
        (&["recall", archive, "--stream", "99999999999999999"], 1, "no stream with id 99999999999999999"),
        (&["follow", archive, "--stream", "0"], 1, "no stream with id 0"),
        (&["recall", archive, "--stream", "99999", "--follow"], 1, "no such stream"),
        (&["recall", archive, "--follow"], 2, "--stream ID"),
        (&["recall", archive, "--from", "1h", "--to", "2h"], 2, "--to is not after --from"),
        (&["recall", archive, "--port", "4"], 1, "nothing found"),
        (&["recall", archive, "--wide"], 2, "tidewire recall DIR --from TIME | tidewire flows - --wide"),
        (&["recall", archive, "--where", "bytes > 1"], 2, "| tidewire flows - --where"),
        (&["recall", archive, "--flows", "--follow"], 2, "cannot be used with"),
        (&["recall", archive, "tcp", "prot", "80"], 2, "prot"),
        (&["recall", archive, "ip.addr == 10.0.0.1"], 2, "display filter"),
        (&["recall", archive, "-w", "/nonexistent/out.pcapng"], 4, "cannot be written"),
        (&["recall"], 2, "<DIR>"),
    ] {
        let output = run(words);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(expected) && text.contains(said), "{words:?}: {:?} {text}", output.status);
    }
}

#[test]
fn segments_without_an_index_are_read_whole_and_named() {
    let recorded = Recorded::new(DEMO);
    let index = fs::read_dir(&recorded.archive).unwrap().map(|entry| entry.unwrap().path());
    let mut indexes: Vec<_> = index.filter(|path| path.extension().is_some_and(|ending| ending == "tidx")).collect();
    indexes.sort();
    fs::remove_file(&indexes[1]).unwrap();
    let mut damaged = fs::read(&indexes[2]).unwrap();
    damaged[30] ^= 1;
    fs::write(&indexes[2], damaged).unwrap();
    let (found, code, said) = recorded.recalled(&["tcp", "port", "80"]);
    assert!(found == recorded.matching("tcp port 80") && code == 0, "{said}");
    assert!(said.contains("has no index and is read whole") && said.contains("was changed"), "{said}");
    let output = run(&["recall", recorded.archive(), "--stream", "1", "--flows", "--json"]);
    let notes = lines(&output.stdout).pop().unwrap()["recall"]["notes"].clone();
    assert!(notes.as_array().unwrap().len() == 1 && notes[0].as_str().unwrap().contains(", "), "{notes}");
    // A segment that is damaged: what can be read of the others is found.
    let name = indexes[3].to_str().unwrap().strip_suffix(".tidx").unwrap();
    let mut segment = fs::read(name).unwrap();
    let half = segment.len() / 2;
    segment[half..].fill(0xff);
    fs::write(name, segment).unwrap();
    let (found, code, said) = recorded.recalled(&[]);
    assert!(code == 3 && said.contains("damaged: at byte"), "{said}");
    assert!(found.len() > recorded.packets.len() * 3 / 4 && recorded.packets.starts_with(&found));
    // The one that is being written.
    let part = recorded.bench.path("part");
    fs::create_dir(&part).unwrap();
    let first = indexes[0].to_str().unwrap().strip_suffix(".tidx").unwrap();
    let hidden = format!(".{}.part", Path::new(first).file_name().unwrap().to_str().unwrap());
    let mut written = fs::read(first).unwrap();
    written.truncate(written.len() - 10);
    written.extend([0; 4096]);
    fs::write(part.join(hidden), written).unwrap();
    let flows = run(&["recall", part.to_str().unwrap(), "tcp", "-w", recorded.bench.path("out").to_str().unwrap()]);
    assert_eq!(flows.status.code(), Some(0), "{}", String::from_utf8_lossy(&flows.stderr));
}

/// `vlan` has no meaning for IP packets without a link header.
#[test]
fn packets_of_a_link_type_without_meaning_do_not_match_and_the_others_are_searched() {
    let (bench, mut bytes) = (Bench::new(), Vec::new());
    section_header(&mut bytes, &Writer::default());
    for (name, link) in [("tun0", tidewire::LinkType::RAW), ("eth0", tidewire::LinkType::ETHERNET)] {
        interface_description(&mut bytes, &Interface::new(name, link));
    }
    let datagram =
        [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &[0, 53, 0, 53, 0, 8, 0, 0]];
    let bare = datagram.concat();
    let framed = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &bare].concat();
    for number in 0..10 {
        let (interface, packet) = if number % 2 == 0 { (0, &bare) } else { (1, &framed) };
        let time = 1_700_000_000_000_000_000 + number * 1_000_000_000;
        enhanced_packet(&mut bytes, &Block::new(interface, Timestamp::from_nanos(time), packet, packet.len() as u32));
    }
    let capture = bench.file("two.pcapng", &bytes);
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    let (said, code) = complaint(&["record", "-r", &capture, "-o", place]);
    assert_eq!(code, 0, "{said}");
    for input in [&*capture, place] {
        let out = bench.path("out.pcapng");
        let words: &[&str] =
            if input == place { &["recall", place, "not vlan", "-w"] } else { &["flows", input, "not vlan", "-w"] };
        let (said, code) = complaint(&[words, &[out.to_str().unwrap()]].concat());
        assert_eq!((read(&out).len(), code), (5, 3), "{said}");
        assert_eq!(said.matches("no VLAN support").count(), 1, "{said}");
    }
}

#[test]
fn other_directories_of_a_recording_are_named() {
    let bench = Bench::new();
    let (one, two) = (bench.path("d1"), bench.path("d2"));
    let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
    let words = ["record", "-r", DEMO, "-o", one, "-o", two, "--segment-size", "64K"];
    assert_eq!(text(&words).1, 0);
    let note = format!("its recording wrote to {two} as well, which is not searched");
    for (words, is_named) in [
        (&["recall", one, "--flows"][..], true),
        (&["flows", one], true),
        (&["recall", one, two, "--flows"], false),
        (&["recall", two, one, "--flows"], false),
    ] {
        let (said, code) = complaint(words);
        assert!(code == 0 && said.contains(&note) == is_named, "{words:?}: {said}");
    }
    // Where it was moved to it is known by its recording.
    let moved = bench.path("moved");
    fs::rename(two, &moved).unwrap();
    let (said, code) = complaint(&["recall", one, moved.to_str().unwrap(), "--flows"]);
    assert!(code == 0 && !said.contains("not searched"), "{said}");
}

#[test]
fn denied_permission_is_one_line() {
    use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};
    let recorded = Recorded::new(DEMO);
    for entry in fs::read_dir(&recorded.archive).unwrap() {
        fs::set_permissions(entry.unwrap().path(), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let program = recorded.bench.path("tidewire");
    fs::copy(env!("CARGO_BIN_EXE_tidewire"), &program).unwrap();
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(recorded.bench.directory.path(), 0o755);
    open(&recorded.archive, 0o755);
    let said = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(words).current_dir("/");
        if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
            command.uid(65_534).gid(65_534);
        }
        let output = command.run_in_time().unwrap();
        (String::from_utf8(output.stderr).unwrap(), output.status.code())
    };
    let place = recorded.archive();
    if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) != 0) {
        for entry in fs::read_dir(&recorded.archive).unwrap() {
            open(&entry.unwrap().path(), 0);
        }
    }
    let line = format!("{place}: permission denied (4 of 4 captures cannot be read); run as root or in its group");
    let (text, code) = said(&["recall", place, "--flows"]);
    assert!(code == Some(3) && text.contains(&line), "{code:?} {text}");
    assert_eq!(text.matches("denied").count(), 1, "{text}");
    assert!(!text.contains("--index-only"), "{text}");
    open(&recorded.archive, 0o700);
    if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
        let (text, code) = said(&["recall", place, "--flows"]);
        let line = format!("{place}: permission denied (the directory cannot be listed); run as root or in its group");
        assert!(code == Some(3) && text.contains(&line), "{code:?} {text}");
    }
}

#[test]
fn an_overview_has_the_sums_of_the_archive() {
    let recorded = Recorded::new(DEMO);
    let said = json(&["recall", recorded.archive(), "--overview", "--json"]);
    let overview = &said[0]["overview"];
    let times = recorded.packets.iter().map(|packet| packet.0);
    assert_eq!(overview["packets"], recorded.packets.len());
    assert_eq!(overview["segments"], 4);
    assert_eq!(overview["first_ns"], times.clone().min().unwrap());
    assert_eq!(overview["last_ns"], times.max().unwrap());
    assert_eq!(overview["segments_encrypted"], 0);
    let shown = text(&["recall", recorded.archive(), "--overview"]).0;
    assert!(shown.contains("\npackets     155 packets, "), "{shown}");
    let search = run(&["recall", recorded.archive(), "--overview", "host", "192.0.2.7"]);
    assert_eq!(search.status.code(), Some(2));
}

/// Without its identity, names and sizes are all that is known, and the message does not speak of others.
#[test]
fn an_encrypted_archive_asks_for_its_identity() {
    let bench = Bench::new();
    let file = bench.path("identity.txt");
    assert!(run(&["keys", "identity", "-o", file.to_str().unwrap()]).status.success());
    let recipient = fs::read_to_string(&file).unwrap();
    let recipient = recipient.split_whitespace().find(|word| word.starts_with("age1")).unwrap();
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    assert!(run(&["record", "-r", DEMO, "-o", place, "--encrypt-to", recipient]).status.success());
    let sealed = json(&["recall", place, "--overview", "--json"]);
    assert_eq!(sealed[0]["overview"]["segments_unreadable"], 1);
    assert_eq!(sealed[0]["overview"]["packets"], 0);
    let opened = json(&["recall", place, "--overview", "--json", "--identity", file.to_str().unwrap()]);
    assert_eq!(opened[0]["overview"]["segments_unreadable"], 0);
    assert_eq!(opened[0]["overview"]["packets"], 155);
    let refused = run(&["recall", place, "-w", bench.path("out").to_str().unwrap()]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("is encrypted; name the identity that can read it (--identity FILE)"), "{said}");
}

/// Two recordings of an archive that saw the same time are merged by time, and what both have counts once.
#[test]
fn recordings_of_the_same_time_are_merged() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let recorded = |archive: &str, more: &[&str]| {
        let ended = command(&[&["record", "-r", DEMO, "-o", &path(archive)], more].concat()).run_in_time().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    };
    // Without the ids of streams.
    let transactions = |input: &str| {
        let rows = text(&["transactions", "--csv", input]).0;
        rows.lines().filter_map(|row| Some(row.split_once(',')?.1.to_owned())).collect::<Vec<_>>()
    };
    for filter in ["dst portrange 1-1023", "not dst portrange 1-1023"] {
        recorded("parts", &["-F", filter]);
    }
    assert_eq!(transactions(&path("parts")), transactions(DEMO));
    let file = path("all.pcapng");
    text(&["recall", &path("parts"), "-w", &file]);
    let times: Vec<u64> = read(&file).iter().map(|packet| packet.0).collect();
    assert!(times.is_sorted() && times.len() == read(DEMO).len());
    for _ in 0..2 {
        recorded("twice", &[]);
    }
    let figures = |input: &str| {
        let flows = json(&["flows", "--json", input]);
        flows.iter().map(|flow| (flow["packets_c2s"].clone(), flow["packets_s2c"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(figures(&path("twice")), figures(DEMO));
    let (said, _) = complaint(&["flows", &path("twice")]);
    assert!(said.contains("packets left out as copies"), "{said}");
}
