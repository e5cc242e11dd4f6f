//! Messages, and which answer belongs to which request.

use std::{net::Ipv4Addr, time::Duration};
use tidewire_types::Timestamp;

use crate::{
    fields::Ntp,
    input::Input,
    text::text,
    transaction::{Fields, Transaction},
    value::Service,
    work,
};

/// The shortest message (RFC 5905 section 7.3).
const MESSAGE_BYTES: usize = 48;

/// Whether a datagram on the port of NTP is a message of modes 1 to 5.
pub(crate) fn is_message(bytes: &[u8]) -> bool {
    bytes.len() >= MESSAGE_BYTES && matches!(bytes[0] >> 3 & 7, 1..=4) && matches!(bytes[0] & 7, 1..=5)
}

/// The request that waits for its answer.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    /// With its transmit timestamp, which the answer repeats.
    pending: Option<(u64, [u8; 8], Box<Ntp>)>,
}

type Out<'a> = &'a mut dyn FnMut(Transaction);

impl Exchange {
    pub(crate) fn data(&mut self, input: Input<'_>, out: Out<'_>) {
        let Some(message) = input.bytes.first_chunk::<MESSAGE_BYTES>().filter(|bytes| is_message(&bytes[..])) else {
            return;
        };
        work::add(MESSAGE_BYTES);
        let field = |at: usize| -> [u8; 8] { std::array::from_fn(|index| message[at + index]) };
        let mut ntp = Box::new(read(message));
        if ntp.mode == 3 {
            self.finish(out);
            self.pending = Some((input.ns, field(40), ntp));
            return;
        }
        let mut start_ns = input.ns;
        if ntp.mode == 4
            && let Some((request_ns, _, _)) = self.pending.take_if(|pending| pending.1 == field(24))
        {
            start_ns = request_ns;
            ntp.latency = Some(Duration::from_nanos(input.ns.saturating_sub(request_ns)));
        }
        out(transaction(start_ns, input.ns, ntp));
    }

    pub(crate) fn finish(&mut self, out: Out<'_>) {
        if let Some((start_ns, _, ntp)) = self.pending.take() {
            out(transaction(start_ns, start_ns, ntp));
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.2.memory_bytes())
    }
}

fn transaction(start_ns: u64, end_ns: u64, ntp: Box<Ntp>) -> Transaction {
    Transaction {
        start: Timestamp::from_nanos(start_ns),
        end: Timestamp::from_nanos(end_ns),
        service: Service::Ntp,
        fields: Fields::Ntp(ntp),
    }
}

fn read(message: &[u8; MESSAGE_BYTES]) -> Ntp {
    let [first, stratum, ..] = *message;
    let reference: [u8; 4] = std::array::from_fn(|index| message[12 + index]);
    let mode = first & 7;
    Ntp {
        version: first >> 3 & 7,
        mode,
        stratum,
        reference: match stratum {
            _ if mode == 3 => None,
            0 | 1 => Some(text(reference.split(|&byte| byte == 0).next().unwrap_or_default())),
            _ => Some(Ipv4Addr::from(reference).to_string().into()),
        },
        latency: None,
    }
}

#[cfg(test)]
mod tests {
    use tidewire_core::Direction::{ClientToServer, ServerToClient};

    use super::*;
    use crate::testing::{STEP_NS, Sent, transactions};

    #[test]
    fn an_answer_finds_its_request() {
        let message = |first: u8, stratum: u8, origin: u8, transmit: u8| {
            let mut bytes = vec![0; MESSAGE_BYTES];
            (bytes[0], bytes[1], bytes[24], bytes[40]) = (first, stratum, origin, transmit);
            bytes[12..15].copy_from_slice(b"GPS");
            bytes
        };
        let sent = [
            (ClientToServer, message(0x23, 0, 0, 7)),
            (ServerToClient, message(0x24, 1, 7, 9)),
            (ClientToServer, message(0x23, 0, 0, 8)),
            (ServerToClient, message(0x24, 2, 1, 9)),
            (ClientToServer, message(0x1e, 0, 0, 0)),
        ];
        let found = transactions(&Sent::datagrams(&sent), 123);
        let of = |one: &Transaction| match &one.fields {
            Fields::Ntp(ntp) => (ntp.mode, ntp.stratum, ntp.reference.clone(), ntp.latency),
            other => panic!("{other:?}"),
        };
        let expected = [
            (4, 1, Some("GPS".into()), Some(Duration::from_nanos(STEP_NS))),
            (4, 2, Some("71.80.83.0".into()), None),
            (3, 0, None, None),
        ];
        assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!(transactions(&Sent::datagrams(&sent), 124), []);
    }
}
