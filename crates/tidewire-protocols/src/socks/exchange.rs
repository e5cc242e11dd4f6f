//! The negotiation with a proxy.

use std::net::{Ipv4Addr, Ipv6Addr};
use tidewire_types::Timestamp;

use crate::{
    early::Early,
    fields::Socks,
    input::{Input, Progress},
    reader::Reader,
    text::text,
    transaction::{Fields, Transaction},
    value::Service,
    work,
};

/// The command that has the server listen for a connection.
const BIND: u8 = 2;

/// Most bytes of a direction that wait for the rest of a message; the longest has a user's name and password.
const KEPT_BYTES_MAX: usize = 1024;

/// Bytes of a request of version 4 before the user.
const HEAD_BYTES: usize = 8;

/// Whether bytes begin a client's first message: `Some(true)`, or may: `Some(false)`.
pub(crate) fn begins(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [] => Some(false),
        // Version 5: a few methods of RFC 1928 and IANA's registry.
        [5, rest @ ..] => {
            let Some((&count, methods)) = rest.split_first() else { return Some(false) };
            let methods = &methods[..methods.len().min(count.into())];
            let are_known = (1..=10).contains(&count) && methods.iter().all(|method| *method <= 9);
            are_known.then_some(methods.len() == usize::from(count))
        }
        // Version 4: connect or bind to a port of an address.
        [4, rest @ ..] => {
            let is_command = rest.first().is_none_or(|command| matches!(command, 1 | 2));
            let has_port = rest.get(1..3).is_none_or(|port| port != [0, 0]);
            let user = rest.get(7..).unwrap_or_default();
            let user_bytes = user.iter().position(|&byte| byte == 0);
            // Version 4a: the name follows.
            let is_named = matches!(rest.get(3..7), Some([0, 0, 0, 1..=255]));
            let is_whole = user_bytes.is_some_and(|end| !is_named || user[end + 1..].contains(&0));
            let is_text = user[..user_bytes.unwrap_or(user.len())].iter().all(|&byte| byte >= b' ');
            (is_command && has_port && is_text).then_some(is_whole)
        }
        _ => None,
    }
}

/// The next message of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Greeting,
    Credentials,
    Request,
    Nothing,
}

#[derive(Debug, Default)]
pub(crate) struct Exchange {
    socks: Box<Socks>,
    next: [Next; 2],
    kept: [Vec<u8>; 2],
    /// Bytes that the client sent behind its request, before the reply.
    early: Option<Box<Early>>,
    /// Whether a server that listens has said where: another reply comes with the connection (RFC 1928 section 6).
    is_listening: bool,
    /// Whether the name and the password were refused.
    is_refused_name: bool,
    start_ns: Option<u64>,
    end_ns: u64,
}

type Out<'a> = &'a mut dyn FnMut(Transaction);

/// Length of a message that was read; `None`: it is not whole. `Err`: it is invalid.
type Read = Result<Option<usize>, ()>;

impl Exchange {
    pub(crate) fn data(&mut self, input: Input<'_>, out: Out<'_>) -> Progress {
        self.end_ns = input.ns;
        let side = input.side;
        let mut rest = input.bytes;
        while !rest.is_empty() {
            self.start_ns.get_or_insert(input.ns);
            if self.next[side] == Next::Nothing {
                // A server has replied by then.
                self.early.get_or_insert_default().keep(rest, input.ns);
                break;
            }
            let mut kept = std::mem::take(&mut self.kept[side]);
            let before = kept.len();
            let part = &rest[..rest.len().min(KEPT_BYTES_MAX - before)];
            kept.extend_from_slice(part);
            work::pass(part.len());
            let read = match side {
                0 if is_within_text(&kept, part) => Ok(None),
                0 => self.client(&kept),
                _ => self.server(&kept),
            };
            match read {
                Err(()) => return self.give_up(out),
                Ok(None) if kept.len() >= KEPT_BYTES_MAX => return self.give_up(out),
                Ok(None) => {
                    self.kept[side] = kept;
                    break;
                }
                // It was not whole before these bytes.
                Ok(Some(bytes)) => rest = rest.get(bytes.saturating_sub(before)..).unwrap_or_default(),
            }
            if side == 1 && self.next[1] == Next::Nothing {
                let is_granted = matches!((self.socks.version, self.socks.reply), (5, Some(0)) | (4, Some(90)));
                if is_granted && self.socks.command == Some(BIND) && !self.is_listening {
                    self.is_listening = true;
                    self.next[1] = Next::Request;
                    continue;
                }
                self.finish(out);
                if is_granted {
                    return Progress::Switch(input.bytes.len() - rest.len());
                }
                // The client may ask again.
                *self = Self::default();
            } else if side == 1 && self.is_refused_name {
                self.finish(out);
                self.is_refused_name = false;
                self.socks.version = 5;
            }
        }
        Progress::More
    }

    /// Bytes that were sent early to the host behind the proxy.
    pub(crate) fn take_early(&mut self) -> Option<Box<Early>> {
        self.early.take()
    }

    pub(crate) fn gap(&mut self, side: usize, bytes: u64, out: Out<'_>) -> Progress {
        if side == 0 && self.next[0] == Next::Nothing {
            self.early.get_or_insert_default().gap(bytes);
            return Progress::More;
        }
        self.finish(out);
        Progress::Done
    }

    pub(crate) fn finish(&mut self, out: Out<'_>) {
        let Some(start_ns) = self.start_ns.take() else { return };
        let socks = std::mem::take(&mut self.socks);
        // Who was refused said nothing else than a name.
        if socks.command.is_some() || socks.user.is_some() {
            out(Transaction {
                start: Timestamp::from_nanos(start_ns),
                end: Timestamp::from_nanos(self.end_ns),
                service: Service::Socks,
                fields: Fields::Socks(socks),
            });
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let early = self.early.as_ref().map_or(0, |early| early.memory_bytes());
        early + self.kept[0].capacity() + self.kept[1].capacity() + self.socks.memory_bytes()
    }

    fn give_up(&mut self, out: Out<'_>) -> Progress {
        if self.socks.command.is_none() {
            return Progress::Mistaken;
        }
        self.finish(out);
        Progress::Done
    }

    /// Reads the message that bytes of the client begin with.
    fn client(&mut self, bytes: &[u8]) -> Read {
        work::add(1);
        let version = bytes[0];
        match self.next[0] {
            Next::Greeting if version == 4 => self.request_of_4(bytes),
            Next::Greeting if version == 5 => {
                let mut reader = Reader::new(&bytes[1..]);
                if reader.block8().is_none() {
                    return Ok(None);
                }
                self.socks.version = 5;
                self.next[0] = Next::Request;
                Ok(Some(bytes.len() - reader.rest().len()))
            }
            // RFC 1929.
            Next::Request if version == 1 => {
                let mut reader = Reader::new(&bytes[1..]);
                let (Some(user), Some(_)) = (reader.block8(), reader.block8()) else { return Ok(None) };
                self.socks.user = Some(text(user.rest()));
                Ok(Some(bytes.len() - reader.rest().len()))
            }
            Next::Request if version == 5 => {
                let Some(address) = address(bytes)? else { return Ok(None) };
                (self.socks.command, self.socks.port) = (Some(address.code), Some(address.port));
                self.socks.host = Some(address.host);
                self.next[0] = Next::Nothing;
                Ok(Some(address.bytes))
            }
            _ => Err(()),
        }
    }

    fn request_of_4(&mut self, bytes: &[u8]) -> Read {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        work::pass(rest.len());
        let Some(end) = memchr::memchr(0, rest) else { return Ok(None) };
        let mut bytes = head.len() + end + 1;
        let [_, command, port @ .., a, b, c, d] = *head;
        let host = match [a, b, c, d] {
            // Version 4a: the name follows.
            [0, 0, 0, last] if last != 0 => {
                let behind = &rest[end + 1..];
                let Some(name_bytes) = memchr::memchr(0, behind) else { return Ok(None) };
                bytes += name_bytes + 1;
                text(&behind[..name_bytes])
            }
            address => Ipv4Addr::from(address).to_string().into(),
        };
        *self.socks = Socks {
            version: 4,
            command: Some(command),
            host: Some(host),
            port: Some(u16::from_be_bytes(port)),
            user: Some(text(&rest[..end])).filter(|user| !user.is_empty()),
            reply: None,
        };
        self.next = [Next::Nothing, Next::Request];
        Ok(Some(bytes))
    }

    /// Reads the message that bytes of the server begin with.
    fn server(&mut self, bytes: &[u8]) -> Read {
        work::add(1);
        match (self.next[1], self.socks.version) {
            (Next::Greeting, 5) => {
                let &[version, method, ..] = bytes else { return Ok(None) };
                self.next[1] = if method == 2 { Next::Credentials } else { Next::Request };
                if version == 5 { Ok(Some(2)) } else { Err(()) }
            }
            (Next::Credentials, _) => {
                let &[version, status, ..] = bytes else { return Ok(None) };
                // Other credentials may follow those that were refused.
                self.is_refused_name = status != 0 && self.next[0] == Next::Request;
                self.next[1] = if self.is_refused_name { Next::Credentials } else { Next::Request };
                if version == 1 { Ok(Some(2)) } else { Err(()) }
            }
            (Next::Request, 4) => {
                let &[zero, reply, ..] = bytes else { return Ok(None) };
                if zero != 0 {
                    return Err(());
                }
                if bytes.len() < 8 {
                    return Ok(None);
                }
                self.socks.reply = Some(reply);
                self.next[1] = Next::Nothing;
                Ok(Some(8))
            }
            (Next::Request, 5) => {
                let Some(address) = address(bytes)? else { return Ok(None) };
                self.socks.reply = Some(address.code);
                self.next[1] = Next::Nothing;
                Ok(Some(address.bytes))
            }
            _ => Err(()),
        }
    }
}

/// Whether all of the new bytes are within a user or a name of version 4, which a zero ends, as some before them were.
fn is_within_text(kept: &[u8], new: &[u8]) -> bool {
    kept[0] == 4 && kept.len() - new.len() >= HEAD_BYTES && memchr::memchr(0, new).is_none()
}

/// A request or a reply of version 5.
struct Address {
    /// Its command or code.
    code: u8,
    host: Box<str>,
    port: u16,
    /// How long the message is.
    bytes: usize,
}

/// The request or the reply that bytes begin with. `None`: not complete.
fn address(bytes: &[u8]) -> Result<Option<Address>, ()> {
    let &[version, code, _, kind, ref rest @ ..] = bytes else { return Ok(None) };
    let mut reader = Reader::new(rest);
    let host = match kind {
        _ if version != 5 => return Err(()),
        1 => reader.u32().map(|address| Ipv4Addr::from(address).to_string().into()),
        3 => reader.block8().map(|name| text(name.rest())),
        4 => reader
            .take(16)
            .and_then(|bytes| <[u8; 16]>::try_from(bytes).ok())
            .map(|bytes| Ipv6Addr::from(bytes).to_string().into()),
        _ => return Err(()),
    };
    Ok(host.and_then(|host| {
        let port = reader.u16()?;
        Some(Address { code, host, port, bytes: bytes.len() - reader.rest().len() })
    }))
}
