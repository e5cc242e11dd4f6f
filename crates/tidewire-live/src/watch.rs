//! Changes of interfaces during a capture.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

use super::{
    Interface,
    interface::links,
    link_message::{self, Link, Message},
};
use crate::{Error, sys::netlink::LinkSocket};

/// A change of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// It was switched off, or lost its carrier: no frame arrives.
    Down,
    /// It is switched on and has a carrier.
    Up,
    /// It was removed, or moved to another network namespace.
    Gone,
    /// An interface of its name exists again; [`Change::Up`] follows if it is up.
    Back,
    /// It was renamed to this.
    Renamed(String),
    /// It appeared or was switched on while every interface is captured, and is captured from now on.
    Joined,
    /// It appeared, and cannot be captured: the reason.
    LeftOut(String),
}

/// A change of one of the watched interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterfaceEvent {
    /// The interface's index, in the order given.
    pub interface: usize,
    /// Its name when the watch began.
    pub name: String,
    /// The change.
    pub change: Change,
}

/// Watches interfaces: the kernel reports each change (rtnetlink(7), `RTMGRP_LINK`).
#[derive(Debug)]
pub struct Watch {
    socket: LinkSocket,
    room: Vec<u8>,
    known: Vec<Known>,
    events: Vec<InterfaceEvent>,
    /// Whether other interfaces are noticed, too.
    follows: bool,
    appeared: Vec<Link>,
}

/// An interface as of the last message.
#[derive(Debug)]
struct Known {
    /// When the watch began.
    name: String,
    now: String,
    /// `None` while it is gone.
    index: Option<u32>,
    works: bool,
}

impl Watch {
    /// Begins to watch. Changes since `interfaces` were looked up are reported first.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(interfaces: &[Interface]) -> Result<Self, Error> {
        let socket = LinkSocket::open(true).map_err(failed)?;
        let known = |interface: &Interface| Known {
            name: interface.name.clone(),
            now: interface.name.clone(),
            index: Some(interface.index),
            works: interface.up && interface.carrier,
        };
        let room = vec![0; link_message::ROOM_BYTES];
        let mut watch = Self {
            socket,
            room,
            known: interfaces.iter().map(known).collect(),
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
        self.known.push(Known {
            name: link.name.clone(),
            now: link.name.clone(),
            index: Some(link.index),
            works: link.is_up() && link.has_carrier(),
        });
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
        let gone: Vec<_> = self.known.iter().filter_map(|known| known.index).filter(|at| !is_there(at)).collect();
        for index in gone {
            self.apply(&Message::Gone(index));
        }
        for link in links {
            self.apply(&Message::Link(link.clone()));
        }
    }

    fn apply(&mut self, message: &Message) {
        for (interface, known) in self.known.iter_mut().enumerate() {
            let mut tell = |change| {
                self.events.push(InterfaceEvent { interface, name: known.name.clone(), change });
            };
            match message {
                Message::Gone(index) if known.index == Some(*index) => {
                    (known.index, known.works) = (None, false);
                    tell(Change::Gone);
                }
                Message::Link(link) if known.index.is_none() && link.name == known.name => {
                    known.index = Some(link.index);
                    known.now.clone_from(&link.name);
                    tell(Change::Back);
                    known.works = link.is_up() && link.has_carrier();
                    if known.works {
                        tell(Change::Up);
                    }
                }
                Message::Link(link) if known.index == Some(link.index) => {
                    if link.name != known.now {
                        known.now.clone_from(&link.name);
                        tell(Change::Renamed(link.name.clone()));
                    }
                    let works = link.is_up() && link.has_carrier();
                    if works != known.works {
                        known.works = works;
                        tell(if works { Change::Up } else { Change::Down });
                    }
                }
                _ => {}
            }
        }
        if let (true, Message::Link(link)) = (self.follows, message) {
            self.notice(link);
        }
    }

    /// Notices an interface that is not watched, once it is switched on.
    fn notice(&mut self, link: &Link) {
        let is_known = self.known.iter().any(|known| known.index == Some(link.index));
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

    fn link(index: u32, name: &str, works: bool) -> Link {
        let flags = if works { 1 | 1 << 16 } else { 1 };
        Link { index, name: name.into(), flags, ..Link::default() }
    }

    fn watch(names: &[(u32, &str)]) -> Watch {
        let known = |(index, name): &(u32, &str)| Known {
            name: (*name).into(),
            now: (*name).into(),
            index: Some(*index),
            works: true,
        };
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

    fn told(watch: &mut Watch) -> Vec<(usize, Change)> {
        std::mem::take(&mut watch.events).into_iter().map(|event| (event.interface, event.change)).collect()
    }

    #[test]
    fn each_change_is_told_once() {
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
        assert_eq!(told(&mut watch), wanted);
    }

    #[test]
    fn what_was_missed_is_found_by_looking() {
        let mut watch = watch(&[(3, "a0"), (4, "b0"), (5, "c0")]);
        watch.compare(&[link(7, "a0", true), link(4, "b0", false), link(5, "c0", true)]);
        let wanted = [(0, Change::Gone), (0, Change::Back), (0, Change::Up), (1, Change::Down)];
        assert_eq!(told(&mut watch), wanted);
    }
}
