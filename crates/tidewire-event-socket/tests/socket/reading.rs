//! When clients are read, and when not: turn by turn.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use tidewire_event_socket::{Control, Events, Received, Server, ServerSettings};
use tidewire_events::Severity;
use tidewire_testing::{PATIENCE, wait_until};

use crate::common::{Rig, event, raw};

const HELLO: &[u8] = b"tidewire-events 1\nname a\nanalyzer slow\nsession 1\nfirst 1\n";

fn packet(analyzer: &str, numbers: std::ops::Range<u64>) -> Vec<u8> {
    let mut packet = [&[1][..], &numbers.start.to_le_bytes()].concat();
    numbers.for_each(|number| event(analyzer, number).encode(&mut packet).unwrap());
    packet
}

/// A turn; how many events came.
fn turn(server: &mut Server) -> u64 {
    let mut events = 0;
    let happened = server.turn(Duration::from_millis(1), &mut |received| {
        events += u64::from(matches!(received, Received::Event(_)));
    });
    happened.unwrap();
    events
}

fn next(socket: &OwnedFd) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 4096];
    let (count, _) = recv(socket, bytes.as_mut_slice(), RecvFlags::DONTWAIT).ok()?;
    bytes.truncate(count);
    Some(bytes)
}

/// A client with a pending acknowledgment gets it, and is not read from for that.
#[test]
fn nothing_is_read_while_nothing_can_be_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.sock");
    let mut server = Server::bind(&path, ServerSettings::default()).unwrap();
    let client = raw(&path);
    send(&client, HELLO, SendFlags::NOSIGNAL).unwrap();
    let begun = Instant::now();
    while next(&client).is_none() {
        assert!(begun.elapsed() < PATIENCE);
        turn(&mut server);
    }
    // It does not read acknowledgments, until there is no room for more.
    for number in 1..3000 {
        send(&client, &packet("a", number..number + 1), SendFlags::NOSIGNAL).unwrap();
        while turn(&mut server) == 0 {
            assert!(begun.elapsed() < PATIENCE);
        }
        let taken = server.take();
        server.acknowledge(&taken);
    }
    server.pause(true);
    for number in 3000..3003 {
        send(&client, &packet("a", number..number + 1), SendFlags::NOSIGNAL).unwrap();
    }
    let mut last = 0;
    while last < 2999 {
        assert!(begun.elapsed() < PATIENCE, "only {last} is acknowledged");
        while let Some(said) = next(&client) {
            last = said[9..].first_chunk::<8>().map_or(0, |number| u64::from_le_bytes(*number));
        }
        assert_eq!(turn(&mut server), 0, "it is paused");
    }
    server.pause(false);
    let mut events = 0;
    while events < 3 {
        assert!(begun.elapsed() < PATIENCE);
        events += turn(&mut server);
    }
}

/// The capture's socket has no room when a new event processor comes: the request for its first packet is repeated.
#[test]
fn the_other_end_of_a_pair_gets_requests_until_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    let mut junk = 0;
    while send(&theirs, &[9; 1000], SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_ok() {
        junk += 1;
    }
    let mut server = Server::bind(&folder.path().join("events.sock"), ServerSettings::default()).unwrap();
    server.adopt(theirs).unwrap();
    for _ in 0..junk {
        assert_eq!(next(&ours).unwrap(), [9; 1000]);
    }
    assert_eq!(next(&ours), None, "there was no room for a request");
    let begun = Instant::now();
    // It goes on where it was with the one before.
    for number in 7.. {
        send(&ours, &packet("a", number..number + 1), SendFlags::NOSIGNAL).unwrap();
        assert_eq!(turn(&mut server), 0);
        if let Some(request) = next(&ours) {
            assert_eq!(request, b"again\n");
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "no request comes");
        std::thread::sleep(Duration::from_millis(5));
    }
    send(&ours, HELLO, SendFlags::NOSIGNAL).unwrap();
    send(&ours, &packet("a", 1..4), SendFlags::NOSIGNAL).unwrap();
    let mut events = 0;
    while events < 3 {
        assert!(begun.elapsed() < PATIENCE);
        events += turn(&mut server);
    }
}

/// The rate of an analyzer holds for all clients that send its events.
#[test]
fn a_rate_holds_for_further_names_of_a_client() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.sock");
    let rates = [("slow".to_owned(), 10)].into();
    let mut server = Server::bind(&path, ServerSettings { rates, ..ServerSettings::default() }).unwrap();
    let client = raw(&path);
    send(&client, HELLO, SendFlags::NOSIGNAL).unwrap();
    send(&client, &packet("a", 1..1001), SendFlags::NOSIGNAL).unwrap();
    send(&client, &packet("slow", 1001..1031), SendFlags::NOSIGNAL).unwrap();
    send(&client, &packet("slow", 1031..1032), SendFlags::NOSIGNAL).unwrap();
    let begun = Instant::now();
    let mut events = 0;
    while events < 1030 {
        assert!(begun.elapsed() < PATIENCE);
        events += turn(&mut server);
    }
    let waits = Instant::now();
    while events < 1031 {
        assert!(begun.elapsed() < PATIENCE);
        events += turn(&mut server);
    }
    assert!(waits.elapsed() > Duration::from_secs(1), "30 events at 10 a second: {:?}", waits.elapsed());
    let slow = server.counts().into_iter().find(|counts| counts.name == "slow").unwrap();
    assert!(slow.waits > 0 && slow.events == 31);
}

/// Only the spooler is heard while everything ends.
#[test]
fn at_the_end_only_the_spooler_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.sock");
    let mut server = Server::bind(&path, ServerSettings::default()).unwrap();
    let client = raw(&path);
    send(&client, HELLO, SendFlags::NOSIGNAL).unwrap();
    let mut control = Control::connect(&path).unwrap();
    control.register(&["tidewire".to_owned()]).unwrap();
    control.severity("tidewire", Severity::High).unwrap();
    let begun = Instant::now();
    let mut said = Vec::new();
    let hear = |server: &mut Server, said: &mut Vec<String>| {
        let happened = server.turn(Duration::from_millis(1), &mut |received| said.push(format!("{received:?}")));
        happened.unwrap();
    };
    while said.len() < 2 || next(&client).is_none() {
        assert!(begun.elapsed() < PATIENCE, "{said:?}");
        hear(&mut server, &mut said);
    }
    assert!(said[0].contains("tidewire") && said[1].contains("High"), "{said:?}");
    server.close();
    server.only_control();
    send(&client, &packet("a", 1..3), SendFlags::NOSIGNAL).unwrap();
    control.delivered("tidewire", 7).unwrap();
    while said.len() < 3 {
        assert!(begun.elapsed() < PATIENCE, "{said:?}");
        hear(&mut server, &mut said);
    }
    for _ in 0..20 {
        hear(&mut server, &mut said);
    }
    assert!(said.len() == 3 && said[2].contains("Delivered"), "{said:?}");
}

/// In a thread of another user, where there may be such a thread.
#[test]
fn a_user_leaves_places_for_others() {
    const STRANGER: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return tidewire_testing::skip("threads of another user need root");
    }
    let rig = Rig::new();
    std::fs::set_permissions(rig.folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let settings = ServerSettings { users: vec![STRANGER], clients_max: 32, ..ServerSettings::default() };
    let _server = rig.start_with(settings, None);
    let path = rig.path();
    let clients = std::thread::spawn(move || {
        // Of this thread alone.
        rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(STRANGER)).unwrap();
        let all: Vec<OwnedFd> = (0..31).map(|_| raw(&path)).collect();
        for client in &all {
            // Who was refused may be gone.
            let _ = send(client, HELLO, SendFlags::NOSIGNAL);
        }
        all
    });
    let clients = clients.join().unwrap();
    let refused = || -> usize {
        let disk = rig.disk.lock().unwrap();
        disk.happened.iter().filter(|one| format!("{one:?}").contains("UserFull")).count()
    };
    wait_until("it is refused beyond its half", || refused() == 16);
    let good = Events::connect(&rig.path(), "good").unwrap();
    good.emit(&event("good", 1)).unwrap();
    good.flush(PATIENCE).unwrap();
    drop(clients);
}
