//! Changes of interfaces during a capture.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

use super::{
    Interface, InterfaceEvent,
    interface::links,
    link_message::{self, Link, Message},
    state::Followed,
};
use crate::{Error, sys::netlink::LinkSocket};

/// Watches interfaces: the kernel reports each change (rtnetlink(7), `RTMGRP_LINK`).
#[derive(Debug)]
pub struct Watch {
    socket: LinkSocket,
    room: Vec<u8>,
    known: Vec<Followed>,
    events: Vec<InterfaceEvent>,
    /// Whether other interfaces are noticed, too.
    follows: bool,
    appeared: Vec<Link>,
}

impl Watch {
    /// Begins to watch. Changes since `interfaces` were looked up are reported first.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(interfaces: &[Interface]) -> Result<Self, Error> {
        let socket = LinkSocket::open(true).map_err(failed)?;
        let room = vec![0; link_message::ROOM_BYTES];
        let mut watch = Self {
            socket,
            room,
            known: interfaces.iter().map(Followed::new).collect(),
            events: Vec::new(),
            follows: false,
            appeared: Vec::new(),
        };
        watch.look()?;
        Ok(watch)
    }

    /// Notices other interfaces as well from now on, beginning with those that exist.
    pub(super) fn follow(&mut self) -> Result<(), Error> {
        self.follows = true;
        self.look()
    }

    /// Interfaces that are switched on and not watched, as of the last [`events`](Self::events).
    pub(super) fn appeared(&mut self) -> Vec<Link> {
        std::mem::take(&mut self.appeared)
    }

    /// Watches one more interface, which is switched on.
    pub(super) fn add(&mut self, link: &Link) {
        self.known.push(Followed::new(link));
    }

    /// A descriptor that is readable when changes are pending.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns the changes since the last call. Never waits.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn events(&mut self) -> Result<Vec<InterfaceEvent>, Error> {
        loop {
            match self.socket.receive(&mut self.room) {
                Ok(0) => break,
                Ok(got) => {
                    let messages = link_message::messages(self.room.get(..got).unwrap_or_default());
                    for message in messages.collect::<Vec<_>>() {
                        self.apply(&message);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The socket's buffer overflowed: compare with all interfaces instead.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => self.look()?,
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(std::mem::take(&mut self.events))
    }

    /// Compares the known state with the current interfaces.
    fn look(&mut self) -> Result<(), Error> {
        let links = links().map_err(failed)?;
        self.compare(&links);
        Ok(())
    }

    fn compare(&mut self, links: &[Link]) {
        let is_there = |index: &u32| links.iter().any(|link| link.index == *index);
        let gone: Vec<_> = self.known.iter().filter_map(Followed::index).filter(|at| !is_there(at)).collect();
        for index in gone {
            self.apply(&Message::Gone(index));
        }
        for link in links {
            self.apply(&Message::Link(link.clone()));
        }
    }

    fn apply(&mut self, message: &Message) {
        for (interface, known) in self.known.iter_mut().enumerate() {
            let changes = match message {
                Message::Gone(index) => known.removed(*index).into_iter().collect(),
                Message::Link(link) => known.see(link),
                _ => Vec::new(),
            };
            let event = |change| InterfaceEvent { interface, name: known.name().to_owned(), change };
            self.events.extend(changes.into_iter().map(event));
        }
        if let (true, Message::Link(link)) = (self.follows, message) {
            self.notice(link);
        }
    }

    /// Notices an interface that is not watched, once it is switched on.
    fn notice(&mut self, link: &Link) {
        let is_known = self.known.iter().any(|known| known.index() == Some(link.index));
        self.appeared.retain(|other| other.index != link.index);
        if link.is_up() && !is_known {
            self.appeared.push(link.clone());
        }
    }
}

fn failed(source: io::Error) -> Error {
    Error::kernel("watching the network interfaces", source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Change;

    fn link(index: u32, name: &str, works: bool) -> Link {
        let flags = if works { 1 | 1 << 16 } else { 1 };
        Link { index, name: name.into(), flags, ..Link::default() }
    }

    fn watch(names: &[(u32, &str)]) -> Watch {
        let known = |(index, name): &(u32, &str)| Followed::new(&link(*index, name, true));
        let socket = LinkSocket::open(true).unwrap();
        Watch {
            socket,
            room: Vec::new(),
            known: names.iter().map(known).collect(),
            events: Vec::new(),
            follows: false,
            appeared: Vec::new(),
        }
    }

    fn taken(watch: &mut Watch) -> Vec<(usize, Change)> {
        std::mem::take(&mut watch.events).into_iter().map(|event| (event.interface, event.change)).collect()
    }

    #[test]
    fn each_change_is_reported_once() {
        let mut watch = watch(&[(3, "a0"), (4, "b0")]);
        for message in [
            Message::Link(link(4, "b0", true)),
            Message::Link(link(4, "b0", false)),
            Message::Link(link(4, "b0", false)),
            Message::Link(link(9, "b0", true)),
            Message::Link(link(4, "c0", true)),
            Message::Gone(3),
            Message::Gone(3),
            Message::Link(link(3, "z0", true)),
            Message::Link(link(12, "a0", true)),
        ] {
            watch.apply(&message);
        }
        let wanted = [
            (1, Change::Down),
            (1, Change::Renamed("c0".into())),
            (1, Change::Up),
            (0, Change::Gone),
            (0, Change::Back),
            (0, Change::Up),
        ];
        assert_eq!(taken(&mut watch), wanted);
    }

    #[test]
    fn what_was_missed_is_found_by_looking() {
        let mut watch = watch(&[(3, "a0"), (4, "b0"), (5, "c0")]);
        watch.compare(&[link(7, "a0", true), link(4, "b0", false), link(5, "c0", true)]);
        let wanted = [(0, Change::Gone), (0, Change::Back), (0, Change::Up), (1, Change::Down)];
        assert_eq!(taken(&mut watch), wanted);
    }
}
