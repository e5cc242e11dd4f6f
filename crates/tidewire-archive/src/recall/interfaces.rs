//! Interfaces of captures, as their descriptions have them, and of all captures together.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

use tidewire_files::{StatedLoss, Supplements, described, stated_loss, supplement};

use crate::block::Interface;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;

/// Interfaces of a recall at most, and those whose losses are summed up: frames have 16 bits for them.
pub(super) const INTERFACES_MAX: usize = 65_535;

/// Reads descriptions as they are met.
#[derive(Debug, Default)]
pub(crate) struct Descriptions {
    big_endian: bool,
    /// Interfaces that were described before the section.
    before: usize,
    pub found: Vec<Interface>,
    /// Texts of sections, secrets and names, until they are taken.
    pub supplements: Supplements,
}

impl Descriptions {
    /// Reads a section header, an interface description, secrets or names.
    pub fn add(&mut self, block: &[u8]) {
        if block.get(..4) == Some(&SECTION_HEADER.to_le_bytes()) {
            self.big_endian = block.get(8..12) == Some(&0x1a2b_3c4d_u32.to_be_bytes());
            self.before = self.found.len();
        }
        let (kind, body) = self.kind_and_body(block);
        if kind == INTERFACE_DESCRIPTION {
            self.found.extend(described(body, self.big_endian));
        } else if let Some(supplement) = supplement(kind, body, self.big_endian) {
            self.supplements.add(&supplement);
        }
    }

    /// The place of an interface among all of the capture, and its losses, if a block is of its statistics.
    pub fn stated(&self, block: &[u8]) -> Option<(usize, StatedLoss)> {
        let (kind, body) = self.kind_and_body(block);
        let loss = stated_loss(body, self.big_endian).filter(|_| kind == INTERFACE_STATISTICS)?;
        let place = self.before.checked_add(loss.interface as usize).filter(|place| *place < self.found.len())?;
        Some((place, loss))
    }

    fn kind_and_body<'b>(&self, block: &'b [u8]) -> (u32, &'b [u8]) {
        let bytes = block.first_chunk().copied().unwrap_or_default();
        let kind = if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        (kind, block.get(8..block.len().saturating_sub(4)).unwrap_or_default())
    }

    /// Whether options of packets can be copied as they are.
    pub fn is_little_endian(&self) -> bool {
        !self.big_endian
    }
}

/// The interfaces of all captures: equal ones are one, but for those of recordings at the same time.
#[derive(Debug, Default)]
pub(crate) struct Interfaces {
    pub all: Vec<Interface>,
    /// The layers of their recordings.
    layers: Vec<u16>,
    /// Their places by a hash: a capture may describe as many as there are numbers.
    places: HashMap<u64, Vec<u16>>,
    hasher: RandomState,
}

impl Interfaces {
    /// The number of an interface of recordings in this layer.
    pub fn number(&mut self, interface: &Interface, layer: u16) -> u16 {
        let Interface { link, name, description, filter, .. } = interface;
        let places = self.places.entry(self.hasher.hash_one((layer, link.0, name, description, filter))).or_default();
        let is_it = |place: usize| self.all.get(place) == Some(interface) && self.layers.get(place) == Some(&layer);
        let found = places.iter().find(|&&place| is_it(place.into()));
        if let Some(&place) = found {
            return place;
        }
        if self.all.len() < INTERFACES_MAX {
            places.push(self.all.len() as u16);
            self.all.push(interface.clone());
            self.layers.push(layer);
        }
        (self.all.len() - 1) as u16
    }
}
