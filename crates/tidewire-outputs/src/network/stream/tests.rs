use std::{io::Read as _, net::TcpListener};

use tidewire_testing::join_in_time;

use super::*;

/// Where the number of the first record stands.
const SEQUENCE: std::ops::Range<usize> = 8..12;

/// A message whose first record has this number.
fn message(number: u32, bytes: usize) -> Vec<u8> {
    let mut message = vec![7; bytes];
    message[SEQUENCE].copy_from_slice(&number.to_be_bytes());
    message
}

fn stream(listener: &TcpListener, is_live: bool) -> Stream {
    let mut stream = Stream::connect(
        "tcp".into(),
        vec![listener.local_addr().unwrap()],
        message(0, 20),
        is_live,
        std::sync::Arc::new(|_| {}),
    )
    .unwrap();
    if let Line::New(peer) = &mut stream.line {
        peer.away_max = Duration::from_millis(300);
    }
    stream
}

fn encoded(number: u32) -> Encoded {
    Encoded { bytes: message(number, 100), flow_records: 3 }
}

/// All bytes of the next connection.
fn second_collected(listener: TcpListener) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let (mut second, _) = listener.accept().unwrap();
        second.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut bytes = Vec::new();
        second.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

#[test]
fn a_connection_that_is_lost_is_made_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = stream(&listener, false);
    let (mut first, _) = listener.accept().unwrap();
    first.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.send(encoded(1));
    first.read_exact(&mut [0; 100]).unwrap();
    drop(first);
    let collector = second_collected(listener);
    stream.send(encoded(5));
    stream.send(encoded(9));
    // Everything was read of the connection that was closed.
    stream.finish().unwrap();
    // Templates come first, with the number of the message that they stand before.
    let expected = [message(5, 20), message(5, 100), message(9, 100)].concat();
    let bytes = join_in_time("the collector", collector);
    assert_eq!(bytes.len(), expected.len());
    assert_eq!(bytes[SEQUENCE], expected[SEQUENCE]);
    assert_eq!(bytes[20..], expected[20..]);
}

/// A collector that closes with something unread resets the connection: what was written to it is lost, and said to be.
#[test]
fn a_connection_that_is_reset_midway_is_made_again_and_its_records_are_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = stream(&listener, false);
    let (mut first, _) = listener.accept().unwrap();
    first.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.send(encoded(1));
    stream.send(encoded(4));
    // The second one has come, and is not read.
    first.read_exact(&mut [0; 100]).unwrap();
    first.peek(&mut [0; 1]).unwrap();
    drop(first);
    let collector = second_collected(listener);
    stream.send(encoded(7));
    let error = stream.finish().unwrap_err();
    assert!(error.contains("6 records were lost with connections, or fewer"), "{error}");
    assert_eq!((stream.unsent_records(), stream.has_failed()), (6, false));
    assert_eq!(stream.sent_records() + stream.unsent_records(), stream.records);
    let bytes = join_in_time("the collector", collector);
    assert_eq!(bytes.len(), 120);
    assert_eq!((&bytes[SEQUENCE], &bytes[20..]), (&message(7, 20)[SEQUENCE], &message(7, 100)[..]));
}

/// A collector that accepts and closes at once is away: pauses grow, and the run ends.
#[test]
fn a_collector_that_closes_at_once_is_away() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = stream(&listener, false);
    let collector = thread::spawn(move || {
        let mut accepted = 0;
        // The last connection is the test's.
        while let Ok((mut connection, _)) = listener.accept()
            && connection.peek(&mut [0; 1]).is_ok_and(|bytes| bytes > 0)
        {
            accepted += 1;
            let mut first = [0; 1];
            if connection.read_exact(&mut first).is_ok() && first == [255] {
                break;
            }
        }
        accepted
    });
    let address = match &stream.line {
        Line::New(peer) => peer.addresses[0],
        _ => unreachable!(),
    };
    let mut sent: u32 = 0;
    while !stream.has_failed() {
        stream.send(encoded(3 * sent));
        sent += 1;
    }
    let error = stream.finish().unwrap_err();
    assert!(error.contains("cannot be sent") && error.contains("lost with connections"), "{error}");
    // Nothing was read: whatever was not sent was lost.
    assert_eq!(stream.unsent_records(), u64::from(3 * sent));
    std::io::Write::write_all(&mut TcpStream::connect(address).unwrap(), &[255]).unwrap();
    // At once, then after 0.1 and 0.2 seconds: without the pauses there are hundreds.
    assert!(join_in_time("the collector", collector) <= 6);
}

#[test]
fn what_is_not_sent_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = stream(&listener, true);
    let (first, _) = listener.accept().unwrap();
    drop((first, listener));
    // Three records in each: more than may wait.
    let count = WAITING_MAX as u32 + 50;
    (0..count).for_each(|number| stream.send(encoded(3 * number)));
    assert!(stream.unsent_records() >= 3 * 40 && stream.unsent_records().is_multiple_of(3));
    assert!(stream.finish().unwrap_err().contains("cannot be sent"));
    assert_eq!((stream.has_failed(), stream.unsent_records()), (true, u64::from(3 * count)));
}
