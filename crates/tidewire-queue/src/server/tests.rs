use std::{fs, thread, time::Duration};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{QueueSettings, Server, ServerEvent};
use crate::{Attach, Geometry, Next, Publisher, QueueEnd, Reader, Record};

/// A member whose generation would soon be taken for a later one is detached, and notified.
#[test]
fn members_do_not_outlive_their_generation() {
    let path = std::env::temp_dir().join(format!("tidewire-queue-outdated-{}", std::process::id()));
    let publisher = Publisher::new(Geometry::new(1, 1), 1).unwrap();
    let mut server = Server::bind(&path).unwrap();
    server.offer("main", publisher.offer(), QueueSettings::default()).unwrap();
    let mut readers = Vec::new();
    for request in [Attach::new("main", "all"), Attach::new("main", "member").in_group("group")] {
        let path = path.clone();
        let thread = thread::spawn(move || Reader::attach(&path, &request).unwrap());
        while !thread.is_finished() {
            server.turn(Duration::from_millis(1)).unwrap();
        }
        readers.push(thread.join().unwrap());
    }
    assert_eq!(server.turn(Duration::from_millis(1)).unwrap(), []);
    publisher.offer().members().update(|table| table.change += 1 << 30);
    let events = server.turn(Duration::from_millis(1)).unwrap();
    assert!(matches!(&events[..], [ServerEvent::Detached(status)] if status.name == "member"), "{events:?}");
    let next = readers[1].next_timeout(&mut Vec::new(), Duration::from_secs(5)).unwrap();
    assert_eq!(next, Next::Ended(QueueEnd::Gone));
    assert_eq!(server.status()[0].readers.len(), 1);
}

/// A server with a queue and a reader of it.
fn serving(name: &str) -> (Publisher, Server, Reader) {
    let path = std::env::temp_dir().join(format!("tidewire-queue-{name}-{}", std::process::id()));
    let publisher = Publisher::new(Geometry::new(1, 1), 1).unwrap();
    let mut server = Server::bind(&path).unwrap();
    server.offer("main", publisher.offer(), QueueSettings::default()).unwrap();
    let thread = thread::spawn(move || Reader::attach(&path, &Attach::new("main", "all")).unwrap());
    while !thread.is_finished() {
        server.turn(Duration::from_millis(1)).unwrap();
    }
    (publisher, server, thread.join().unwrap())
}

/// The progress of a reader since it wrote its page last is known when it ends; of one that never wrote it, nothing is.
#[test]
fn what_a_reader_read_is_known_when_it_ends() {
    let (mut publisher, mut server, mut reader) = serving("ending");
    for _ in 0..2 {
        publisher.publish(&Record::default(), b"some").unwrap();
        assert!(matches!(reader.next(&mut Vec::new()).unwrap(), Next::Record(_)));
    }
    drop(reader);
    let events = server.turn(Duration::from_secs(5)).unwrap();
    let [ServerEvent::Detached(status)] = &events[..] else { panic!("{events:?}") };
    assert!(status.has_said && status.progress.read == 2 && status.progress.sequence == 2, "{status:?}");
    let path = std::env::temp_dir().join(format!("tidewire-queue-ending-{}", std::process::id()));
    let silent = thread::spawn(move || drop(crate::attach::attach(&path, &Attach::new("main", "silent")).unwrap()));
    let mut events = Vec::new();
    while !events.iter().any(|event| matches!(event, ServerEvent::Detached(status) if !status.has_said)) {
        assert!(events.len() < 10, "{events:?}");
        events.extend(server.turn(Duration::from_secs(5)).unwrap());
    }
    silent.join().unwrap();
}

/// How often this thread has slept.
fn sleeps() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

/// A server whose queues are quiet sleeps, readers or not.
#[test]
fn a_quiet_server_sleeps() {
    let (mut publisher, mut server, mut reader) = serving("quiet");
    publisher.publish(&Record::default(), b"first").unwrap();
    assert!(matches!(reader.next(&mut Vec::new()).unwrap(), Next::Record(_)));
    assert!(reader.arm());
    server.turn(Duration::from_millis(300)).unwrap();
    let before = sleeps();
    server.turn(Duration::from_millis(500)).unwrap();
    let slept = sleeps() - before;
    assert!(slept < 20, "it woke {slept} times in half a second");
}

/// The first record after a quiet time wakes it, and it wakes the reader.
#[test]
fn the_first_record_wakes_a_quiet_server() {
    let (mut publisher, mut server, mut reader) = serving("bell");
    for round in 0..2 {
        assert!(reader.arm());
        server.turn(Duration::from_millis(200)).unwrap();
        let woken = thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                // The server sleeps by then, and longer than the reader waits.
                thread::sleep(Duration::from_millis(20));
                publisher.publish(&Record::default(), b"next").unwrap();
                let mut fds = [PollFd::from_borrowed_fd(reader.wake_fd().unwrap(), PollFlags::IN)];
                poll(&mut fds, Some(&Timespec { tv_sec: 1, tv_nsec: 0 })).unwrap()
            });
            server.turn(Duration::from_millis(1500)).unwrap();
            waiting.join().unwrap()
        });
        assert_eq!(woken, 1, "no wake-up in round {round}");
        reader.disarm();
        assert!(matches!(reader.next(&mut Vec::new()).unwrap(), Next::Record(_)));
    }
}
