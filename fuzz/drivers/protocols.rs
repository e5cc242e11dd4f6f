//! Any bytes as conversations: pieces of both directions, gaps, datagrams. Nothing panics, the fields do not depend on how the bytes
//! are cut, memory stays in its bound, and nothing stays charged. Used by the fuzz target and by the test that replays the seeds.

use tidewire_core::Direction::{ClientToServer, ServerToClient};
use tidewire_protocols::{Budget, Conversation, Piece, Ports, Report, Service, Transaction};
use tidewire_types::Timestamp;

/// Ports that decide where the content does not.
const PORTS: [u16; 8] = [0, 53, 5353, 5355, 123, 21, 25, 443];

/// Most that the conversation of one stream holds, whatever is sent.
const MEMORY_BYTES_MAX: u64 = 512 << 10;

/// What happens to a stream.
enum Event<'a> {
    Bytes(usize, &'a [u8]),
    Gap(usize, u64),
}

/// The first byte has port and kind; then each piece follows a byte of direction and kind, and two of its length. Returns which
/// protocols were found.
pub fn run(input: &[u8]) -> Vec<Service> {
    let Some((&first, rest)) = input.split_first() else { return Vec::new() };
    let (server, is_datagram) = (PORTS[usize::from(first & 3 | first >> 1 & 4)], first & 4 != 0);
    let events = events(rest);
    let whole = conversation(&events, server, is_datagram, usize::MAX);
    for transaction in &whole {
        let _ = (transaction.values(), transaction.name(), transaction.request(), transaction.response());
    }
    if !is_datagram {
        for piece_bytes in [1, 7] {
            assert_eq!(conversation(&events, server, false, piece_bytes), whole, "cut into {piece_bytes}");
        }
    }
    whole.iter().map(|transaction| transaction.service).collect()
}

fn events(mut rest: &[u8]) -> Vec<Event<'_>> {
    let mut events = Vec::new();
    while let Some((&[how, high, low], behind)) = rest.split_first_chunk() {
        let (side, length) = (usize::from(how & 1), usize::from(u16::from_be_bytes([high, low])));
        if how & 0x0e == 0x0e {
            events.push(Event::Gap(side, length as u64));
            rest = behind;
        } else {
            let (bytes, behind) = behind.split_at(length.min(behind.len()));
            events.push(Event::Bytes(side, bytes));
            rest = behind;
        }
    }
    events
}

fn conversation(events: &[Event<'_>], server: u16, is_datagram: bool, piece_bytes: usize) -> Vec<Transaction> {
    let (mut conversation, mut budget, mut found) = (Conversation::default(), Budget::default(), Vec::new());
    let ports = Ports { client: 40_000, server };
    for (time, event) in events.iter().enumerate() {
        let mut each = |transaction| found.push(transaction);
        let mut report = Report::Each(&mut each);
        match *event {
            Event::Bytes(side, bytes) => {
                let direction = [ClientToServer, ServerToClient][side];
                // An empty datagram is one, too.
                let pieces = if is_datagram { vec![bytes] } else { bytes.chunks(piece_bytes).collect() };
                for bytes in pieces {
                    let piece = Piece { direction, bytes, is_datagram, timestamp: Timestamp::from_nanos(time as u64) };
                    conversation.data(&piece, ports, &mut budget, &mut report);
                    assert!(budget.used_bytes() < MEMORY_BYTES_MAX, "{} bytes", budget.used_bytes());
                }
            }
            Event::Gap(side, bytes) => {
                conversation.gap([ClientToServer, ServerToClient][side], bytes, &mut budget, &mut report);
            }
        }
    }
    conversation.close(&mut budget, &mut Report::Each(&mut |transaction| found.push(transaction)));
    assert_eq!((budget.used_bytes(), budget.refused()), (0, 0));
    found
}
