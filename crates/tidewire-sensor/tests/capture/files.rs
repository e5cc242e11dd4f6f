//! Files: nothing is lost, with any readers, and all ends in order.

use std::{
    env,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{DumpableBehavior, dumpable_behavior};
use tidewire_queue::{QueueEnd, Reader};
use tidewire_sensor::{
    config::{AnalyzerConfig, ClassConfig, Distribution, Restart, SensorConfig, SlowReaders},
    report::{CaptureEvent, ReaderReport},
};
use tidewire_testing::{Ends as _, Signal, signal};

use crate::rig::{Rig, Seen, SeenStream, SeenStreams, attach, corpus, hostile, queue};

/// Names the socket to a test that is run again as a process of its own.
const SOCKET: &str = "TIDEWIRE_TEST_QUEUES";
/// Names a directory to a capture that is a process of its own.
const CAPTURE: &str = "TIDEWIRE_TEST_CAPTURE";

/// Streams that one undisturbed analyzer sees.
fn alone(files: &[PathBuf]) -> SeenStreams {
    let mut streams = queue("streams");
    streams.wait_for = 1;
    let rig = Rig::new(files, vec![streams]);
    let mut running = rig.start();
    running.ready();
    let seen = rig.analyzer("streams", None).join().unwrap();
    assert_eq!(seen.first(), 0, "it was waited for");
    let (status, _) = running.finish();
    assert_eq!(seen.ended, Some(QueueEnd::Finished));
    assert_eq!(seen.progress().read, status.queues[0].records);
    assert!(status.packets > 0 && !rig.socket().exists());
    seen.streams
}

#[test]
fn an_analyzer_sees_a_file() {
    let streams = alone(&[corpus("demo")]);
    assert!(streams.len() > 3 && streams.values().all(|stream| stream.open.is_some() && stream.close.is_some()));
}

/// With a queue alone the engine knows one priority only; its classes come first all the same.
#[test]
fn streams_have_the_priority_of_their_class_or_queue() {
    let mut streams = queue("streams");
    (streams.priority, streams.wait_for) = (3, 1);
    for (port, priority) in [(80, 5), (53, 0)] {
        let class = ClassConfig { filter: format!("port {port}"), cutoff_bytes: None, priority: Some(priority) };
        streams.classes.push(class);
        let rig = Rig::new(&[corpus("demo")], vec![streams.clone()]);
        let mut running = rig.start();
        running.ready();
        let seen = rig.analyzer("streams", None).join().unwrap();
        running.finish();
        let classes: Vec<_> = streams.classes.iter().map(|class| (class.filter.as_str(), class.priority)).collect();
        for stream in seen.streams.values() {
            let open = stream.open.unwrap();
            let is = |port: u16| [open.key.client.port, open.key.server.port].contains(&port);
            let class = classes.iter().find(|(filter, _)| is(filter[5..].parse().unwrap()));
            assert_eq!(open.priority, class.map_or(3, |(_, priority)| priority.unwrap()), "{open:?}");
        }
    }
}

#[test]
fn many_analyzers_see_the_same_from_several_workers() {
    let files = hostile();
    let expected = alone(&files);
    for (readers, workers) in [(8, 3), (32, 1)] {
        let mut streams = queue("streams");
        streams.wait_for = readers;
        let rig = Rig::new(&files, vec![streams]).workers(workers);
        let mut running = rig.start();
        running.ready();
        let analyzers: Vec<_> = (0..readers).map(|_| rig.analyzer("streams", None)).collect();
        for analyzer in analyzers {
            assert_same(&analyzer.join().unwrap().streams, &expected);
        }
        let (status, _) = running.finish();
        assert!(status.queues[0].readers.iter().all(|reader| (reader.lost, reader.lag) == (Some(0), Some(0))));
    }
}

/// Ordinals depend on which worker came first.
fn assert_same(seen: &SeenStreams, expected: &SeenStreams) {
    assert!(seen.keys().eq(expected.keys()), "{} streams of {}", seen.len(), expected.len());
    for (id, stream) in seen {
        assert_eq!(stream.without_ordinal(), expected[id].without_ordinal(), "stream {id}");
    }
}

#[test]
fn a_set_divides_streams_among_its_queues() {
    let files = hostile();
    let expected = alone(&files);
    for (distribution, workers) in [(Distribution::FlowHash, 1), (Distribution::RoundRobin, 3)] {
        let mut set = queue("set");
        (set.count, set.distribution, set.wait_for) = (3, distribution, 1);
        let rig = Rig::new(&files, vec![set]).workers(workers);
        let mut running = rig.start();
        running.ready();
        let analyzers: Vec<_> = (0..3).map(|index| rig.analyzer(&format!("set.{index}"), None)).collect();
        let seen: Vec<SeenStreams> = analyzers.into_iter().map(|analyzer| analyzer.join().unwrap().streams).collect();
        running.finish();
        let counts: Vec<usize> = seen.iter().map(SeenStreams::len).collect();
        assert_eq!(counts.iter().sum::<usize>(), expected.len(), "each stream is in one queue");
        if distribution == Distribution::RoundRobin {
            assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
        } else {
            // Both directions, and every connection between the same ports, are together.
            let ends = |stream: &SeenStream| {
                let key = stream.open.unwrap().key;
                let ends = [key.client, key.server].map(|end| (end.address, end.port));
                (ends.iter().min().copied(), ends.iter().max().copied(), key.protocol)
            };
            let of = |seen: &SeenStreams| seen.values().map(ends).collect::<std::collections::HashSet<_>>();
            let [first, second, third] = [0, 1, 2].map(|index: usize| of(&seen[index]));
            assert!(first.is_disjoint(&second) && second.is_disjoint(&third) && first.is_disjoint(&third));
        }
        let mut union = SeenStreams::new();
        seen.into_iter().for_each(|streams| union.extend(streams));
        assert_same(&union, &expected);
    }
}

/// Each queue of a set is waited for: readers of one do not count for another.
#[test]
fn a_set_waits_for_the_readers_of_each_queue() {
    let files = [corpus("demo")];
    let expected = alone(&files);
    let mut set = queue("set");
    (set.count, set.distribution, set.wait_for) = (2, Distribution::RoundRobin, 1);
    let rig = Rig::new(&files, vec![set]);
    let mut running = rig.start();
    running.ready();
    let first: Vec<_> = (0..2).map(|_| rig.analyzer("set.0", None)).collect();
    // Two readers are there, and one queue has none. Figures come later than both.
    let figures = |event: &CaptureEvent| {
        let CaptureEvent::Status(status) = event else { return false };
        let readers: Vec<usize> = status.queues.iter().map(|queue| queue.readers.len()).collect();
        assert_eq!(status.queues[1].awaited, 1);
        assert!(status.packets == 0 || readers[1] != 0, "it began without the second queue's reader");
        readers == [2, 0]
    };
    running.wait_for("figures of both readers", figures);
    let says = |event: &CaptureEvent| {
        let CaptureEvent::Reader { text } = event else { return false };
        text.contains("waits for 1 reader of set.1 (0 attached)")
    };
    if !running.seen.iter().any(says) {
        running.wait_for("a line", says);
    }
    running.wait_for("figures", |event| matches!(event, CaptureEvent::Status(status) if status.packets == 0));
    let late = rig.analyzer("set.1", None).join().unwrap();
    assert_eq!(late.first(), 0, "nothing was published before it came");
    let [one, other] = <[_; 2]>::try_from(first).ok().unwrap().map(|analyzer| analyzer.join().unwrap().streams);
    running.finish();
    assert_same(&one, &other);
    let mut union = late.streams;
    union.extend(one);
    assert_same(&union, &expected);
}

/// Analyzers that the configuration starts are waited for, each at its queue, and no more: the third queue has none.
#[test]
fn analyzers_of_the_configuration_are_awaited_at_their_queues() {
    let mut set = queue("set");
    set.count = 3;
    let mut config = Rig::new(&[corpus("demo")], vec![set, queue("others")]).config;
    let analyzer = |name: &str, queue: &str, instances| AnalyzerConfig {
        name: name.into(),
        command: vec!["true".into()],
        queue: queue.into(),
        group: None,
        instances,
        user: None,
        nice: 0,
        restart: Restart::Never,
    };
    config.analyzers = vec![analyzer("all", "set", 2), analyzer("one", "set.0", 1)];
    let awaited = |config: &SensorConfig| {
        let names = [(0, "set.0"), (0, "set.1"), (0, "set.2"), (1, "others")];
        names.map(|(place, name)| config.readers_awaited(place, name))
    };
    assert_eq!(awaited(&config), [2, 1, 0, 0]);
    config.queues[0].wait_for = 1;
    config.queues[1].wait_for = usize::MAX;
    assert_eq!(awaited(&config), [2, 1, 1, tidewire_queue::READERS_MAX]);
}

#[test]
fn several_queues_have_settings_of_their_own() {
    let (mut all, mut first, mut web) = (queue("all"), queue("first"), queue("web"));
    first.cutoff_bytes = Some(100);
    web.filter = Some("tcp port 80".into());
    (web.chunk_bytes, web.priority) = (1000, 3);
    for queue in [&mut all, &mut first, &mut web] {
        queue.wait_for = 1;
    }
    let rig = Rig::new(&[corpus("demo")], vec![all, first, web]);
    let mut running = rig.start();
    running.ready();
    let analyzers = ["all", "first", "web"].map(|name| rig.analyzer(name, None));
    let [all, first, web] = analyzers.map(|analyzer| analyzer.join().unwrap().streams);
    running.finish();
    assert_same(&all, &alone(&[corpus("demo")]));
    assert!(first.keys().eq(all.keys()));
    for (id, stream) in &first {
        for at in 0..2 {
            let whole = &all[id].bytes[at];
            assert_eq!(stream.bytes[at], whole[..whole.len().min(100)]);
            assert_eq!(stream.next[at], all[id].next[at], "a gap says what the cutoff withheld");
        }
    }
    let is_web = |stream: &&SeenStream| {
        let key = stream.open.unwrap().key;
        key.protocol == 6 && [key.client.port, key.server.port].contains(&80)
    };
    assert_eq!(web.len(), all.values().filter(is_web).count());
    for (id, stream) in &web {
        assert_eq!((&stream.bytes, stream.open.unwrap().priority), (&all[id].bytes, 3));
        assert!(stream.longest <= 1000 && stream.longest >= all[id].longest.min(1000));
    }
}

/// Who comes later gets new streams only: each stream is one member's, from its beginning to its end.
#[test]
fn members_of_a_group_share_streams_while_others_come() {
    share_streams(false);
}

/// Who goes leaves to others what was not yet published: each byte is one member's, or was the one's that went.
#[test]
fn members_of_a_group_share_streams_while_they_come_and_go() {
    share_streams(true);
}

fn share_streams(one_goes: bool) {
    let files = hostile();
    let expected = alone(&files);
    let mut streams = queue("streams");
    streams.wait_for = 2;
    let rig = Rig::new(&files, vec![streams]);
    let mut running = rig.start();
    running.ready();
    let attached = |name| Seen::new(Reader::attach(&rig.socket(), &attach("streams", Some(name))).unwrap());
    // The producer waits for all of them: it is as far as they let it come.
    let (mut goes, mut stays) = (attached("group"), attached("group"));
    for _ in 0..60 {
        assert!(goes.step_briefly() && stays.step_briefly());
    }
    let mut comes = attached("group");
    for _ in 0..60 {
        assert!(goes.step_briefly() && stays.step_briefly() && comes.step_briefly());
    }
    let mut members = vec![stays, comes, attached("group")];
    let mut seen = Vec::new();
    if one_goes {
        seen.push(goes.leave());
    } else {
        members.push(goes)
    }
    let members = members.into_iter().map(|mut member| {
        thread::spawn(move || {
            while member.step() {}
            member.streams
        })
    });
    let members: Vec<_> = members.collect();
    seen.extend(members.into_iter().map(|member| member.join().unwrap()));
    let (status, _) = running.finish();
    let members = seen;
    assert!(members.iter().filter(|streams| !streams.is_empty()).count() >= 2, "they had something to do");
    let (mut bytes, mut given_up) = (0, 0);
    for (id, stream) in &expected {
        let mut parts: Vec<_> = members.iter().filter_map(|streams| streams.get(id)).collect();
        for at in 0..2 {
            parts.sort_by_key(|part| (part.begin[at], part.next[at]));
            for (one, next) in parts.iter().zip(parts.iter().skip(1)) {
                assert!(one.next[at] <= next.begin[at], "stream {id}: two members had the same bytes");
                given_up += next.begin[at] - one.next[at];
            }
            bytes += parts.iter().map(|part| part.bytes[at].len()).sum::<usize>();
        }
        // The stream of a reader that went, and had not read it, has no member.
        assert!(!parts.is_empty() || one_goes, "stream {id} has no member");
        let closes = parts.iter().filter(|part| part.close.is_some()).count();
        assert!(parts.len() == 1 || one_goes, "stream {id} has {} members", parts.len());
        assert!(closes <= 1 && (closes == 1 || one_goes), "stream {id}: {closes} closes");
        // Which end is the client may be known by then.
        let ends = |stream: &SeenStream| stream.open.map(|open| (open.key.client, open.key.server));
        assert!(parts.iter().all(|part| ends(part) == ends(stream)));
    }
    let whole: usize = expected.values().map(|stream| stream.bytes[0].len() + stream.bytes[1].len()).sum();
    assert!(bytes <= whole, "{bytes} of {whole}");
    assert!(whole == bytes || one_goes, "{bytes} of {whole}, {given_up} given up; {status:?}");
}

/// Produced = read + missed + lost + waiting, whenever one looks.
#[test]
fn a_slow_reader_that_loses_knows_how_much() {
    let mut streams = queue("streams");
    (streams.slow, streams.wait_for) = (SlowReaders::Lose, 2);
    let mut kept = queue("kept");
    kept.wait_for = 1;
    let rig = Rig::new(&hostile(), vec![streams, kept]);
    let mut running = rig.start();
    running.ready();
    // This one keeps the producer busy long enough for the slow one to be overtaken.
    let kept = rig.analyzer("kept", None);
    let slow = |pause: Duration| {
        let mut seen = Seen::new(Reader::attach(&rig.socket(), &attach("streams", None)).unwrap());
        thread::spawn(move || {
            let mut steps = 0_u64;
            while seen.step_lossy() {
                let progress = seen.progress();
                let known = seen.first() + progress.read + progress.missed + progress.lost;
                assert!(known == progress.sequence && progress.sequence <= seen.published());
                steps += 1;
                if steps.is_multiple_of(16) {
                    thread::sleep(pause);
                }
            }
            seen
        })
    };
    let readers = [slow(Duration::from_millis(5)), slow(Duration::ZERO)];
    let [slow, quick] = readers.map(|reader| reader.join().unwrap());
    let kept = kept.join().unwrap();
    let (status, _) = running.finish();
    for seen in [&slow, &quick] {
        let progress = seen.progress();
        assert_eq!(progress.read + progress.missed + progress.lost, status.queues[0].records);
        assert_eq!(seen.ended, Some(QueueEnd::Finished));
        // Both kinds of bytes are in the figures: with heads that are known, and without.
        let bytes = progress.missed_bytes + progress.lost_bytes;
        let reported = |reader: &ReaderReport| {
            (reader.first, reader.read, reader.lost_bytes) == (seen.first(), Some(progress.read), Some(bytes))
        };
        assert!(status.queues[0].readers.iter().any(reported), "{progress:?} {status:?}");
    }
    assert!(slow.progress().lost + slow.progress().missed > 0, "it was overtaken");
    assert_eq!(kept.progress().read, status.queues[1].records, "a reader that holds loses nothing beside it");
}

/// A chunk that is longer than a record may be is several, which follow one another; only a whole datagram is called one.
#[test]
fn a_long_chunk_is_several_records() {
    let lengths = [100, 8192, 8193, 20_000, 65_507];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("datagrams.pcap");
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 101] {
        file.extend(word.to_le_bytes());
    }
    let mut sent = Vec::new();
    for (second, length) in (0..).zip(lengths) {
        let payload: Vec<u8> = (0..length).map(|at: usize| (at * 7 + length) as u8).collect();
        let mut packet = Vec::new();
        let builder = etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5000, 6000);
        builder.write(&mut packet, &payload).unwrap();
        for word in [second, 0, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
        sent.extend(payload);
    }
    std::fs::write(&path, file).unwrap();
    // 64 KiB of memory: records of 8 KiB.
    let streams = alone(&[path]);
    let [stream] = &streams.values().collect::<Vec<_>>()[..] else { panic!("{} streams", streams.len()) };
    assert_eq!(stream.longest, 8192);
    assert_eq!(stream.datagrams, [2, 0], "those of at most 8,192 bytes are whole");
    assert!(stream.bytes[0] == sent && stream.gaps.is_empty(), "{} of {} bytes", stream.bytes[0].len(), sent.len());
}

/// The part of a process of its own: a capture.
#[test]
fn a_capture_that_is_a_process() {
    let Some(directory) = env::var_os(CAPTURE) else { return };
    let mut config = Rig::new(&[corpus("demo")], vec![queue("streams")]).config;
    (config.directory, config.capture.sandbox) = (directory.into(), false);
    let (_here, there) = std::os::unix::net::UnixStream::pair().unwrap();
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
    assert_eq!(tidewire_sensor::capture::main(config, there.into()), 0);
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
}

/// Analyzers of the same user find no packets in a core dump, and take no descriptor.
#[test]
fn a_capture_cannot_be_traced_by_its_user() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "files::a_capture_that_is_a_process", "--nocapture"])
        .env(CAPTURE, directory.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert!(child.wait_in_time("the capture").success());
}

/// The part of a process of its own: it attaches, and never reads.
#[test]
fn a_reader_that_sleeps() {
    let Some(socket) = env::var_os(SOCKET) else { return };
    let _reader = Reader::attach(&PathBuf::from(socket), &attach("streams", None)).unwrap();
    println!("attached");
    thread::sleep(Duration::from_secs(600));
}

fn sleeper(rig: &Rig) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "files::a_reader_that_sleeps", "--nocapture"])
        .env(SOCKET, rig.socket())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_reader_that_is_killed_delays_no_other() {
    let expected = alone(&hostile());
    let mut streams = queue("streams");
    streams.wait_for = 2;
    let rig = Rig::new(&hostile(), vec![streams]);
    let mut running = rig.start();
    running.ready();
    let mut child = sleeper(&rig);
    let analyzer = rig.analyzer("streams", None);
    // The queue is full of what the sleeper has not read.
    let mut before = 0;
    running.wait_for("a producer that waits", |event| {
        let CaptureEvent::Status(status) = event else { return false };
        let records = status.queues[0].records;
        records != 0 && std::mem::replace(&mut before, records) == records
    });
    signal(&child, Signal::KILL);
    child.wait_in_time("the reader");
    assert_same(&analyzer.join().unwrap().streams, &expected);
    let (_, events) = running.finish();
    let left = |event: &CaptureEvent| matches!(event, CaptureEvent::Reader { text } if text.contains(" left "));
    assert!(events.iter().any(left), "{events:?}");
}

/// A stop ends a run although a reader holds it without limit; what was published is there to be read.
#[test]
fn a_stop_ends_a_run_that_waits() {
    let mut streams = queue("streams");
    streams.wait_for = 1;
    let mut rig = Rig::new(&hostile(), vec![streams]);
    rig.config.stop = Duration::from_millis(400);
    let mut running = rig.start();
    running.ready();
    let mut sleeper = Seen::new(Reader::attach(&rig.socket(), &attach("streams", None)).unwrap());
    running.wait_for("figures", |event| matches!(event, CaptureEvent::Status(status) if status.queues[0].records > 0));
    running.stop.stop();
    let (status, _) = running.finish();
    while sleeper.step_lossy() {}
    let progress = sleeper.progress();
    assert_eq!(sleeper.ended, Some(QueueEnd::Finished));
    assert_eq!(progress.read + progress.missed + progress.lost, status.queues[0].records);
    assert!(sleeper.streams.values().any(|stream| stream.close.is_some()), "streams were ended");
}

#[test]
fn a_supervisor_that_is_gone_ends_the_capture() {
    let mut streams = queue("streams");
    streams.wait_for = 1;
    let rig = Rig::new(&[corpus("demo")], vec![streams]);
    let mut running = rig.start();
    running.ready();
    assert_eq!(running.leave().join().unwrap(), 0);
}

#[test]
fn damage_is_a_warning() {
    let whole = std::fs::read(corpus("demo")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.pcap");
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let (status, events) = Rig::new(&[path], vec![queue("streams")]).start().finish_with(3);
    assert!(status.packets > 0);
    let warnings = events.iter().filter_map(|event| match event {
        CaptureEvent::Warning { text } if text.contains("cut.pcap") => Some(text.as_str()),
        _ => None,
    });
    let warnings: Vec<&str> = warnings.collect();
    assert!(matches!(warnings[..], [text] if text.matches("processed").count() == 1), "{warnings:?}");
}

#[test]
fn what_cannot_be_captured_is_said() {
    let missing = PathBuf::from("/no/such/file.pcap");
    let (code, text) = Rig::new(&[missing], vec![queue("streams")]).start().failure();
    assert!(code == 3 && text.contains("/no/such/file.pcap: No such file"), "{code} {text}");
    let twice = Rig::new(&[corpus("demo")], vec![queue("streams"), queue("streams")]);
    let (code, text) = twice.start().failure();
    assert!(code == 2 && text.contains("queue streams") && text.contains("and differ"), "{code} {text}");
    let mut wrong = queue("streams");
    wrong.filter = Some("tcp prot 80".into());
    let (code, text) = Rig::new(&[corpus("demo")], vec![wrong]).start().failure();
    assert!(code == 2 && text.contains("tcp prot 80"), "{code} {text}");
}
