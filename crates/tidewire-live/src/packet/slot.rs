//! Sockets that wait for interfaces that appear while all are captured.
//!
//! By then the process may have given up the capability to open sockets. A slot has its sockets from the beginning, without
//! memory; its rings begin when the slot is occupied, the way rings begin on an interface that has returned.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tidewire_wire::LinkType;

use crate::Interface;

/// The interface that a slot's rings capture.
#[derive(Clone, Debug)]
pub(super) struct Occupant {
    pub name: String,
    pub link: LinkType,
    pub hardware: u16,
    pub is_loopback: bool,
    /// See [`Frame::interface`](tidewire_wire::Frame::interface).
    pub number: u16,
}

/// A place for an interface that appears.
#[derive(Debug, Default)]
pub struct Slot {
    occupant: Mutex<Option<Occupant>>,
    is_occupied: AtomicBool,
    /// Link types whose frames it can capture.
    links: Vec<LinkType>,
}

impl Slot {
    pub(super) fn new(links: Vec<LinkType>) -> Arc<Self> {
        Arc::new(Self { links, ..Self::default() })
    }

    /// Whether it has, or had, an interface.
    pub(crate) fn is_occupied(&self) -> bool {
        self.is_occupied.load(Ordering::Acquire)
    }

    /// Whether frames of this link type can be captured.
    pub(crate) fn takes(&self, link: LinkType) -> bool {
        self.links.contains(&link)
    }

    /// Has the rings capture an interface, `number`th of the capture.
    pub(crate) fn occupy(&self, interface: &Interface, link: LinkType, number: u16) {
        let occupant = Occupant {
            name: interface.name.clone(),
            link,
            hardware: interface.hardware,
            is_loopback: interface.is_loopback(),
            number,
        };
        *self.occupant.lock().unwrap_or_else(PoisonError::into_inner) = Some(occupant);
        self.is_occupied.store(true, Ordering::Release);
    }

    pub(super) fn occupant(&self) -> Option<Occupant> {
        self.occupant.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
