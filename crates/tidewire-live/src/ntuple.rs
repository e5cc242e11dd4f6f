//! Drop rules in the network card (n-tuple filters): a direction's packets cost the machine nothing at all.
//!
//! A card counts nothing for a rule, and drops SYN, FIN and RST as well, so that statistics end with the rule and the engine
//! learns of the end by its timeouts. Use it only where statistics matter less: it is never enabled by itself. The rules are
//! those of `ethtool -N`; they are removed on drop. (A process that is killed leaves them: `ethtool -n`.)

use std::{collections::HashMap, io, net::IpAddr};

use tidewire_core::{Direction, Endpoint, FlowKey};
use tidewire_wire::TunnelKind;

use crate::{
    Error, KernelError, Operation,
    sys::netlink::{DeviceSocket, RULE_BYTES},
};

/// Commands of ethtool (include/uapi/linux/ethtool.h).
const COUNT: u32 = 0x2e;
const GET: u32 = 0x2f;
const DELETE: u32 = 0x31;
const INSERT: u32 = 0x32;

/// Of `struct ethtool_rxnfc`: where things are, in bytes.
mod at {
    pub(super) const DATA: usize = 8;
    pub(super) const FLOW_TYPE: usize = 16;
    pub(super) const VALUES: usize = 20;
    pub(super) const VALUES_VLAN: usize = 82;
    pub(super) const MASKS: usize = 92;
    pub(super) const MASKS_VLAN: usize = 154;
    pub(super) const ACTION: usize = 168;
    pub(super) const LOCATION: usize = 176;
}

/// `FLOW_EXT`: the VLAN tag counts.
const WITH_TAG: u32 = 0x8000_0000;
/// `RX_CLS_FLOW_DISC`
const DISCARD: u64 = u64::MAX;
/// `RX_CLS_LOC_SPECIAL` in the table's size, and `RX_CLS_LOC_ANY`: the driver chooses a rule's place.
const CHOOSES: u64 = 0x8000_0000;
const ANY: u32 = u32::MAX;

/// `struct ethtool_rxnfc`.
type Request = [u8; RULE_BYTES];

/// A card's table of rules, accessed by `struct ethtool_rxnfc`.
pub trait RuleTable: Send {
    /// Makes one request; the answer takes its place.
    ///
    /// # Errors
    /// What the driver says.
    fn ask(&mut self, request: &mut [u8; RULE_BYTES]) -> io::Result<()>;
}

/// That of an interface.
#[derive(Debug)]
pub struct InterfaceRules {
    socket: DeviceSocket,
    interface: String,
}

impl InterfaceRules {
    /// Of the interface of this name, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new(interface: &str) -> io::Result<Self> {
        Ok(Self { socket: DeviceSocket::open()?, interface: interface.into() })
    }
}

impl RuleTable for InterfaceRules {
    fn ask(&mut self, request: &mut Request) -> io::Result<()> {
        self.socket.receive_rules(&self.interface, request)
    }
}

/// Directions that the card drops.
#[derive(Debug)]
pub struct NtupleRules<T: RuleTable> {
    table: T,
    /// Places that the table has.
    places: u32,
    driver_chooses: bool,
    /// Where the next rule goes, if it is free; from the end, where users' rules seldom are.
    next: u32,
    rules: HashMap<(FlowKey, Direction), u32>,
}

impl<T: RuleTable> NtupleRules<T> {
    /// Asks for the table's size.
    ///
    /// # Errors
    /// The driver offers no rules.
    pub fn new(mut table: T) -> Result<Self, Error> {
        let mut request = command(COUNT);
        let size = table.ask(&mut request).map(|()| u64::from_ne_bytes(field(&request, at::DATA)));
        let size = size
            .map_err(|source| KernelError::new(Operation::ReadRules, "asking for the card's table of rules", source))?;
        let places = (size & !CHOOSES) as u32;
        let driver_chooses = size & CHOOSES != 0;
        Ok(Self { table, places, driver_chooses, next: places.saturating_sub(1), rules: HashMap::new() })
    }

    /// How many directions are dropped.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rules.len()
    }

    /// Drops a direction's packets from now on. False: there is no room, or no rule can name it (tunnels, two tags, other
    /// protocols than TCP, UDP and SCTP).
    ///
    /// # Errors
    /// What the driver says.
    pub fn drop_direction(&mut self, key: &FlowKey, direction: Direction) -> io::Result<bool> {
        if self.rules.contains_key(&(*key, direction)) {
            return Ok(true);
        }
        let Some(mut request) = rule(key, direction) else { return Ok(false) };
        let Some(place) = self.free_place() else { return Ok(false) };
        set(&mut request, at::LOCATION, &place.to_ne_bytes());
        match self.table.ask(&mut request) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => return Ok(false),
            Err(error) => return Err(error),
        }
        self.rules.insert((*key, direction), u32::from_ne_bytes(field(&request, at::LOCATION)));
        Ok(true)
    }

    /// Lets them through again; false where they were not dropped.
    ///
    /// # Errors
    /// What the driver says.
    pub fn restore(&mut self, key: &FlowKey, direction: Direction) -> io::Result<bool> {
        let Some(place) = self.rules.remove(&(*key, direction)) else { return Ok(false) };
        let mut request = command(DELETE);
        set(&mut request, at::LOCATION, &place.to_ne_bytes());
        self.table.ask(&mut request)?;
        self.next = place;
        Ok(true)
    }

    /// Finds a free place: an existing rule belongs to another user and would be overwritten.
    fn free_place(&mut self) -> Option<u32> {
        if self.driver_chooses {
            return Some(ANY);
        }
        if self.rules.len() >= self.places as usize {
            return None;
        }
        for _ in 0..self.places {
            let place = self.next;
            self.next = place.checked_sub(1).unwrap_or(self.places - 1);
            let mut request = command(GET);
            set(&mut request, at::LOCATION, &place.to_ne_bytes());
            if self.table.ask(&mut request).is_err() {
                return Some(place);
            }
        }
        None
    }
}

impl<T: RuleTable> Drop for NtupleRules<T> {
    fn drop(&mut self) {
        for place in std::mem::take(&mut self.rules).into_values() {
            let mut request = command(DELETE);
            set(&mut request, at::LOCATION, &place.to_ne_bytes());
            // An error cannot be reported on drop.
            let _ = self.table.ask(&mut request);
        }
    }
}

fn command(number: u32) -> Request {
    let mut request = [0; RULE_BYTES];
    set(&mut request, 0, &number.to_ne_bytes());
    request
}

/// The request that drops a direction.
fn rule(key: &FlowKey, direction: Direction) -> Option<Request> {
    if key.tunnel.kind != TunnelKind::None || key.vlans.inner().is_some() {
        return None;
    }
    // `TCP_V4_FLOW`, `UDP_V4_FLOW`, `SCTP_V4_FLOW`; those for IPv6 are 4 higher.
    let kind = 1 + [6, 17, 132].iter().position(|proto| *proto == key.proto)? as u32;
    let (source, destination) = match direction {
        Direction::ClientToServer => (key.client, key.server),
        Direction::ServerToClient => (key.server, key.client),
    };
    let mut values = Vec::with_capacity(36);
    for Endpoint { address, .. } in [source, destination] {
        match address {
            IpAddr::V4(address) => values.extend(address.octets()),
            IpAddr::V6(address) => values.extend(address.octets()),
        }
    }
    values.extend([source, destination].iter().flat_map(|end| end.port.to_be_bytes()));
    let version = if source.address.is_ipv6() { 4 } else { 0 };
    let tag = key.vlans.outer();
    let with_tag = if tag.is_some() { WITH_TAG } else { 0 };
    let mut request = command(INSERT);
    set(&mut request, at::FLOW_TYPE, &((kind + version) | with_tag).to_ne_bytes());
    set(&mut request, at::VALUES, &values);
    set(&mut request, at::MASKS, &vec![0xff; values.len()]);
    if let Some(id) = tag {
        set(&mut request, at::VALUES_VLAN, &id.to_be_bytes());
        set(&mut request, at::MASKS_VLAN, &0x0fff_u16.to_be_bytes());
    }
    set(&mut request, at::ACTION, &DISCARD.to_ne_bytes());
    Some(request)
}

fn set(request: &mut Request, at: usize, bytes: &[u8]) {
    if let Some(place) = request.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn field<const BYTES: usize>(request: &Request, at: usize) -> [u8; BYTES] {
    request.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; BYTES])
}

#[cfg(test)]
mod tests;
