//! Waiting: by the futex, by a descriptor, in place, and settings from the environment.

use std::{env, path::Path, thread, time::Duration};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tidewire_queue::{
    Attach, Error, Geometry, Hold, Next, Owners, QueueEnd, QueueSettings, Reader, Record, Server, records::RecordType,
};
use tidewire_testing::join_in_time;

use crate::common::{Folder, Serving, Steps};

fn publisher(folder: &Folder) -> (tidewire_queue::Publisher, Serving) {
    let publisher = tidewire_queue::Publisher::new(Geometry::new(1 << 12, 1 << 20), 1).unwrap();
    let mut server = Server::bind(&folder.socket()).unwrap();
    server.offer("main", publisher.offer(), QueueSettings::default()).unwrap();
    (publisher, Serving::begin(server))
}

/// Reads to the end by `poll`, with a descriptor that stays the same. Nothing is ever found by a time-out.
fn read_by_poll(mut reader: Reader) -> (u64, QueueEnd) {
    let mut out = Vec::new();
    loop {
        out.clear();
        match reader.next(&mut out).unwrap() {
            Next::Empty if reader.arm() => {
                let seconds = Timespec { tv_sec: 20, tv_nsec: 0 };
                let mut fds = [PollFd::from_borrowed_fd(reader.wake_fd().unwrap(), PollFlags::IN)];
                assert_eq!(poll(&mut fds, Some(&seconds)).unwrap(), 1, "no wake-up");
                reader.disarm();
            }
            Next::Empty => reader.disarm(),
            Next::Record(_) => {}
            Next::Ended(why) => return (reader.progress().read, why),
            next => panic!("{next:?}"),
        }
    }
}

/// Reads to the end by the futex, with waits that are longer than the test may take.
fn read_by_futex(mut reader: Reader) -> (u64, QueueEnd) {
    let mut out = Vec::new();
    loop {
        out.clear();
        match reader.next_timeout(&mut out, Duration::from_secs(20)).unwrap() {
            Next::Record(_) => {}
            Next::Ended(why) => return (reader.progress().read, why),
            next => panic!("{next:?}"),
        }
    }
}

#[test]
fn readers_are_woken_by_the_futex_and_by_a_descriptor() {
    let folder = Folder::new("woken");
    let (mut publisher, serving) = publisher(&folder);
    let attach = || Reader::attach(&folder.socket(), &Attach::new("main", "x")).unwrap();
    let ways: [fn(Reader) -> (u64, QueueEnd); 2] = [read_by_poll, read_by_futex];
    let readers: Vec<_> = (0..6)
        .map(|number| {
            let reader = attach();
            thread::spawn(move || ways[number % 2](reader))
        })
        .collect();
    for number in 0..300 {
        publisher.publish(&Record::new(RecordType::Conflict, number, 0), b"").unwrap();
        // Now and then so long that everybody sleeps.
        if number % 10 == 0 {
            thread::sleep(Duration::from_millis(number % 7));
        }
    }
    publisher.finish();
    for reader in readers {
        assert_eq!(join_in_time("a reader", reader), (300, QueueEnd::Finished));
    }
    serving.end();
}

/// A payload that is read in place is not overwritten by a publisher that holds, until the reader is done; without holding, the reader
/// learns of it.
#[test]
fn what_is_read_in_place_is_held_or_known_to_be_overwritten() {
    for hold in [Some(Hold::AtMost(Duration::from_nanos(1))), None] {
        let settings = QueueSettings::default().hold(hold);
        let mut steps = Steps::new("in-place", Geometry::new(1 << 10, 1 << 16), settings);
        let mut reader = steps.attach(&Attach::new("main", "x")).unwrap();
        let mut owners = Owners::default();
        let mut publish = |steps: &mut Steps| {
            steps.publisher.needs_open(&mut owners);
            steps.publisher.publish_stream(&mut owners, 0, &Record::new(RecordType::Packet, 1, 0), &[7; 1000]).unwrap();
        };
        publish(&mut steps);
        let Next::Record(record) = reader.next_in_place().unwrap() else { panic!() };
        assert_eq!(reader.progress().sequence, 0, "it is not done with it");
        (0..200).for_each(|_| publish(&mut steps));
        let word = reader.words(&record)[0].load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(reader.is_intact(&record), hold.is_some());
        assert_eq!(reader.confirm(), hold.is_some());
        assert_eq!(word, u64::from_ne_bytes([7; 8]));
        let progress = reader.progress();
        let expected = if hold.is_some() { (1, 0, 1) } else { (0, 1, 1) };
        assert_eq!((progress.read, progress.missed, progress.sequence), expected);
    }
}

/// No test by itself: a process that attaches as its environment says.
#[test]
fn attaches_by_the_environment() {
    if env::var_os("TIDEWIRE_QUEUE_WAITS").is_none() {
        return;
    }
    match Reader::from_environment() {
        Ok(reader) => println!("said: {:?}", reader.request().unwrap().1),
        Err(error) => println!("said: {error}"),
    }
}

#[test]
fn the_environment_says_where_to_attach() {
    let folder = Folder::new("environment");
    let (_publisher, serving) = publisher(&folder);
    let said = |variables: &[(&str, &Path)]| {
        use tidewire_testing::Ends as _;
        let child = std::process::Command::new(env::current_exe().unwrap())
            .args(["--exact", "waits::attaches_by_the_environment", "--nocapture", "--test-threads=1"])
            .env("TIDEWIRE_QUEUE_WAITS", "1")
            .envs(variables.iter().copied())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let text = String::from_utf8(child.output_in_time("a reader").stdout).unwrap();
        text.lines().find_map(|line| line.split_once("said: ").map(|(_, said)| said.to_owned())).expect(&text)
    };
    let socket = folder.socket();
    let [at, queue, name] = [
        ("TIDEWIRE_SOCKET", socket.as_path()),
        ("TIDEWIRE_QUEUE", Path::new("main")),
        ("TIDEWIRE_NAME", Path::new("n")),
    ];
    let group = ("TIDEWIRE_GROUP", Path::new("g"));
    assert_eq!(said(&[at, queue, name]), r#"Attach { queue: "main", name: "n", group: None }"#);
    assert_eq!(said(&[at, queue, name, group]), r#"Attach { queue: "main", name: "n", group: Some("g") }"#);
    assert!(said(&[queue, name]).starts_with("the environment variable TIDEWIRE_SOCKET must be set"));
    assert!(said(&[at, ("TIDEWIRE_QUEUE", Path::new("a b")), name]).contains("TIDEWIRE_QUEUE must be set to a name"));
    serving.end();
}

/// Attaching again to a publisher that is still there finds the same queue; to none, it is an error and the reader stays.
#[test]
fn a_reader_attaches_again() {
    let folder = Folder::new("again");
    let (publisher, serving) = publisher(&folder);
    let mut reader = Reader::attach(&folder.socket(), &Attach::new("main", "x")).unwrap();
    reader.reattach().unwrap();
    assert_eq!(reader.epoch(), 1);
    publisher.finish();
    serving.end();
    assert!(matches!(reader.reattach(), Err(Error::Server { .. })));
    assert_eq!(reader.next(&mut Vec::new()).unwrap(), Next::Ended(QueueEnd::Finished));
}

/// The server's figures of a reader close at every moment, while the reader reads, loses and is stopped anywhere.
#[test]
fn figures_of_readers_close_at_every_moment() {
    let settings = QueueSettings::default();
    let mut steps = Steps::new("figures", Geometry::new(1 << 10, 1 << 16), settings);
    let mut reader = steps.attach(&Attach::new("main", "x")).unwrap();
    let reading = thread::spawn(move || {
        let mut out = Vec::new();
        loop {
            out.clear();
            if let Next::Ended(_) = reader.next(&mut out).unwrap() {
                return reader.progress();
            }
        }
    });
    let (mut last, mut lost) = (0, 0);
    for number in 0..3000 {
        for _ in 0..50 {
            steps.publisher.publish(&Record::new(RecordType::Packet, number, 0), &[1; 300]).unwrap();
        }
        let status = &steps.server.status()[0];
        let progress = status.readers[0].progress;
        let sum = progress.read + progress.passed + progress.missed + progress.lost;
        assert_eq!(sum, progress.sequence, "{status:?}");
        assert!(progress.sequence >= last && progress.sequence <= steps.publisher.published());
        (last, lost) = (progress.sequence, progress.missed + progress.lost);
    }
    let published = steps.publisher.published();
    let Steps { publisher, server, .. } = steps;
    publisher.finish();
    let progress = join_in_time("a reader", reading);
    assert_eq!(progress.read + progress.missed + progress.lost, published);
    assert!(progress.missed + progress.lost >= lost);
    drop(server);
}
