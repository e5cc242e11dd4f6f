//! The server of queues: who may attach, how many, what hostile clients can do, and what readers learn of its end.

use std::{
    env,
    io::Write as _,
    os::fd::OwnedFd,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with};
use tidewire_queue::{
    Attach, Error, Geometry, Next, Publisher, QueueEnd, QueueSettings, READERS_MAX, Reader, Record, Refusal, Server,
    ServerEvent,
};
use tidewire_testing::{Ends as _, Lines, Signal, join_in_time, signal, skip, wait_until};

use crate::common::{Folder, Serving};

fn publisher() -> Publisher {
    Publisher::new(Geometry::new(1 << 12, 1 << 22), 1).unwrap()
}

fn serve(path: &Path, publisher: &Publisher) -> Server {
    let mut server = Server::bind(path).unwrap();
    server.offer("main", publisher.offer(), QueueSettings::default()).unwrap();
    server
}

fn read_to_end(mut reader: Reader) -> (u64, QueueEnd) {
    let mut out = Vec::new();
    loop {
        out.clear();
        match reader.next_timeout(&mut out, Duration::from_millis(20)).unwrap() {
            Next::Record(record) => assert_eq!(out, record.stream.to_ne_bytes()),
            Next::Empty => {}
            Next::Ended(why) => return (reader.progress().read, why),
            next => panic!("{next:?}"),
        }
    }
}

fn publish(publisher: &mut Publisher, records: u64) {
    for stream in 0..records {
        publisher.publish(&Record { stream, ..Record::default() }, &stream.to_ne_bytes()).unwrap();
        if stream % 100 == 0 {
            thread::sleep(Duration::from_micros(200));
        }
    }
}

#[test]
fn as_many_readers_as_may_be_read_all_and_the_next_is_refused() {
    let folder = Folder::new("many");
    let mut publisher = publisher();
    let serving = Serving::begin(serve(&folder.socket(), &publisher));
    let attach = |name: &str| Reader::attach(&folder.socket(), &Attach::new("main", name));
    let readers: Vec<Reader> = (0..READERS_MAX).map(|number| attach(&format!("reader-{number}")).unwrap()).collect();
    let refused = attach("one-more").unwrap_err();
    assert!(matches!(refused, Error::Refused(Refusal::Full { max: READERS_MAX })), "{refused}");
    let threads: Vec<_> = readers.into_iter().map(|reader| thread::spawn(move || read_to_end(reader))).collect();
    publish(&mut publisher, 2000);
    publisher.finish();
    for thread in threads {
        assert_eq!(join_in_time("a reader", thread), (2000, QueueEnd::Finished));
    }
    // Their places are free again.
    serving.until(
        "readers that end are noticed",
        READERS_MAX,
        |event| matches!(event, ServerEvent::Detached(status) if status.progress.read == 2000),
    );
    let is_full = |event: &ServerEvent| matches!(event, ServerEvent::Refused { why: Refusal::Full { .. }, .. });
    serving.until("one was refused", 1, is_full);
    serving.end();
}

#[test]
fn mistakes_are_answered() {
    let folder = Folder::new("mistakes");
    let publisher = publisher();
    let path = folder.socket();
    assert!(
        matches!(Reader::attach(&path, &Attach::new("main", "x")).unwrap_err(), Error::Server { .. }),
        "no server listens"
    );
    let serving = Serving::begin(serve(&path, &publisher));
    let error = Reader::attach(&path, &Attach::new("other", "x")).unwrap_err().to_string();
    assert_eq!(error, "no queue is called 'other'; there are: main");
    assert!(matches!(
        Reader::attach(&path, &Attach::new("a b", "x")).unwrap_err(),
        Error::Refused(Refusal::Request(_))
    ));
    assert!(Server::bind(&path).is_err(), "another server listens there");
    serving.end();
    assert!(!path.exists(), "the socket stays behind");
    std::fs::write(&path, "a file").unwrap();
    assert!(Server::bind(&path).is_err(), "it is no socket");
}

fn connected(path: &Path) -> OwnedFd {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}

/// Clients that say nothing, say nonsense, attach and go without end: others are served meanwhile.
#[test]
fn hostile_clients_disturb_no_other() {
    let folder = Folder::new("hostile");
    let mut publisher = publisher();
    let path = folder.socket();
    let serving = Serving::begin(serve(&path, &publisher));
    let reader = Reader::attach(&path, &Attach::new("main", "honest")).unwrap();
    let honest = thread::spawn(move || read_to_end(reader));
    let silent: Vec<OwnedFd> = (0..50).map(|_| connected(&path)).collect();
    for message in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &[0xff; 1024], &[b'a'; 4000]] {
        let socket = connected(&path);
        let _ = send(&socket, message, SendFlags::NOSIGNAL);
    }
    for number in 0..200 {
        let reader = Reader::attach(&path, &Attach::new("main", "restless")).unwrap();
        assert_eq!(reader.published(), 0, "{number}");
    }
    publish(&mut publisher, 1000);
    publisher.finish();
    assert_eq!(join_in_time("the honest reader", honest), (1000, QueueEnd::Finished));
    drop(silent);
    serving.until(
        "200 were attached",
        200,
        |event| matches!(event, ServerEvent::Attached(status) if status.name == "restless"),
    );
    serving.until(
        "200 have ended",
        200,
        |event| matches!(event, ServerEvent::Detached(status) if status.name == "restless"),
    );
    serving.until("nonsense was refused", 3, |event| {
        matches!(event, ServerEvent::Refused { why: Refusal::Request(_), .. })
    });
    serving.end();
}

const PATH: &str = "TIDEWIRE_QUEUE_SERVER_OF_TEST";

/// No test by itself: a server in a process of its own, which publishes until it is killed.
#[test]
fn server_process() {
    let Some(path) = env::var_os(PATH) else { return };
    let mut publisher = publisher();
    let _serving = Serving::begin(serve(Path::new(&path), &publisher));
    println!("listening");
    std::io::stdout().flush().unwrap();
    for stream in 0.. {
        publisher.publish(&Record { stream, ..Record::default() }, &u64::to_ne_bytes(stream)).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
}

fn server_process_at(path: &Path) -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "server::server_process", "--nocapture", "--test-threads=1"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    Lines::new(child.stdout.take().unwrap()).until("listening");
    child
}

/// A reader outside of the server's namespace of processes attaches as others do; its process is not known.
#[test]
fn readers_outside_of_the_namespace_of_processes_attach() {
    if !rustix::process::geteuid().is_root() {
        skip("needs root, to make a namespace of processes");
        return;
    }
    let folder = Folder::new("namespace");
    let mut child = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", "server::server_process", "--nocapture", "--test-threads=1"])
        .env(PATH, folder.socket())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    Lines::new(child.stdout.take().unwrap()).until("listening");
    let attached = Reader::attach(&folder.socket(), &Attach::new("main", "outside"));
    child.kill().unwrap();
    child.wait_in_time("the server");
    let mut reader = attached.unwrap();
    while !matches!(reader.next_timeout(&mut Vec::new(), Duration::from_secs(5)).unwrap(), Next::Ended(_)) {}
}

/// A burst of connections that ask for nothing does not make one that asks wait for a turn for each.
#[test]
fn a_step_takes_all_who_have_connected() {
    let folder = Folder::new("burst");
    let publisher = publisher();
    let mut server = serve(&folder.socket(), &publisher);
    let silent: Vec<OwnedFd> = (0..20).map(|_| connected(&folder.socket())).collect();
    let asking = connected(&folder.socket());
    send(&asking, b"tidewire-queue 1\nqueue other\nname x\n", SendFlags::NOSIGNAL).unwrap();
    // One step takes them, the next one answers.
    let events: Vec<ServerEvent> = (0..2).flat_map(|_| server.turn(Duration::ZERO).unwrap()).collect();
    assert!(matches!(events[..], [ServerEvent::Refused { why: Refusal::NoQueue { .. }, .. }]), "{events:?}");
    drop(silent);
}

/// A publisher that is killed leaves its readers what it had published, and a clear end; its successor takes its place.
#[test]
fn a_killed_publisher_is_an_end_and_has_a_successor() {
    let folder = Folder::new("killed");
    let path = folder.socket();
    for _ in 0..2 {
        let mut child = server_process_at(&path);
        let mut reader = Reader::attach(&path, &Attach::new("main", "x")).unwrap();
        let mut out = Vec::new();
        let mut killed = false;
        let ended = loop {
            match reader.next_timeout(&mut out, Duration::from_millis(20)).unwrap() {
                Next::Ended(why) => break why,
                Next::Record(_) if reader.progress().read >= 5 && !killed => {
                    killed = true;
                    signal(&child, Signal::KILL);
                    child.wait_in_time("the killed server");
                }
                _ => {}
            }
        };
        assert_eq!(ended, QueueEnd::Gone);
        assert_eq!(reader.sequence(), reader.published(), "what was published was read");
        wait_until("the socket stays behind a killed server", || path.exists());
    }
}
