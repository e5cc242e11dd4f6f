use std::{thread, time::Duration};

use super::{QueueSettings, Server, ServerEvent};
use crate::{Attach, Ended, Geometry, Next, Publisher, Reader};

/// A member whose generation would soon be taken for a later one is detached, and told.
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
    assert_eq!(next, Next::Ended(Ended::Gone));
    assert_eq!(server.status()[0].readers.len(), 1);
}
