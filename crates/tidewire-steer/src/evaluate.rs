//! The evaluator: runs a program in user space, by the same operations that kernel programs are made of.

use tidewire_wire::{Kind, LinkType};

use crate::ir::{Alu, Condition, HEADERS_BYTES_MAX, Label, Meta, Operand, Operation, SLOTS, Slot, mix};
use crate::lower::target;
use crate::settings::Settings;
use crate::state::State;
use crate::verdict::{Target, Verdict};
use crate::walk::slot;

/// A captured packet, with the metadata that a program can use.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Packet<'a> {
    /// Link type of the frame. The kernel's programs see Ethernet.
    pub link: LinkType,
    /// The captured bytes.
    pub frame: &'a [u8],
    /// The tag (16 bits) that the card or the kernel removed from the frame.
    pub vlan_tag: Option<u16>,
    /// The hash that the card computed.
    pub rss_hash: Option<u32>,
    /// The receive queue, counted from 0.
    pub rx_queue: Option<u32>,
}

impl<'a> Packet<'a> {
    /// A packet of a file, without metadata.
    #[must_use]
    pub fn new(link: LinkType, frame: &'a [u8]) -> Self {
        Self { link, frame, vlan_tag: None, rss_hash: None, rx_queue: None }
    }
}

/// Findings of a program's walk over a packet: for tests and diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// 4, 6, or 0 if there is no IP packet, or the program needs none.
    pub ip_version: u8,
    /// Offset of the innermost IP header, in bytes from the frame's beginning.
    pub ip_at: u32,
    /// IP protocol.
    pub proto: u8,
    /// Offset of the transport header.
    pub transport_at: u32,
    /// Whether it is a fragment.
    pub is_fragment: bool,
    /// Ids of the two outermost VLAN tags.
    pub vlan: [Option<u16>; 2],
    /// Source and destination port.
    pub ports: Option<(u16, u16)>,
}

/// Operations with their jumps resolved.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    operations: Vec<Operation>,
    /// The position of each label, as an index of `operations`.
    targets: Vec<u32>,
}

impl Resolved {
    pub(crate) fn new(operations: &[Operation]) -> Self {
        let mut targets = Vec::new();
        for (index, operation) in operations.iter().enumerate() {
            if let Operation::Label(Label(label)) = operation {
                let label = *label as usize;
                if targets.len() <= label {
                    targets.resize(label + 1, u32::MAX);
                }
                if let Some(target) = targets.get_mut(label) {
                    *target = index as u32;
                }
            }
        }
        Self { operations: operations.to_vec(), targets }
    }

    /// Runs the program over one packet.
    pub(crate) fn run(&self, packet: &Packet<'_>, settings: &Settings, state: &mut State) -> Verdict {
        self.ran(packet, settings, state).verdict()
    }

    /// Runs the program and returns what its walk found.
    pub(crate) fn found(&self, packet: &Packet<'_>, settings: &Settings) -> Found {
        let mut state = State::default();
        let machine = self.ran(packet, settings, &mut state);
        let ports = (machine.slot(slot::PORTS) != 0)
            .then(|| (machine.slot(slot::SOURCE_PORT) as u16, machine.slot(slot::DESTINATION_PORT) as u16));
        Found {
            ip_version: machine.slot(slot::VERSION) as u8,
            ip_at: machine.slot(slot::IP_AT) as u32,
            proto: machine.slot(slot::PROTO) as u8,
            transport_at: machine.slot(slot::L4_AT) as u32,
            is_fragment: machine.slot(slot::FRAGMENT) != 0,
            vlan: [slot::VLAN0, slot::VLAN1].map(|slot| (machine.slot(slot) as u16).checked_sub(1)),
            ports,
        }
    }

    fn ran<'a, 'b>(&self, packet: &'a Packet<'a>, settings: &Settings, state: &'b mut State) -> Machine<'a, 'b> {
        let mut machine = Machine { slots: [0; SLOTS as usize], packet, state };
        machine.begin(settings);
        let mut next = 0;
        // Jumps lead forwards only, so this ends.
        while let Some(operation) = self.operations.get(next) {
            next = match machine.step(operation) {
                Some(Label(label)) => self.targets.get(label as usize).map_or(usize::MAX, |target| *target as usize),
                None => next + 1,
            };
        }
        machine
    }
}

struct Machine<'a, 'b> {
    slots: [u64; SLOTS as usize],
    packet: &'a Packet<'a>,
    state: &'b mut State,
}

impl Machine<'_, '_> {
    /// Sets what the caller of a program knows: whether there is an Ethernet header, and if not, where IP begins.
    fn begin(&mut self, settings: &Settings) {
        if self.packet.link == LinkType::ETHERNET {
            self.put(slot::LINK, 1);
            return;
        }
        let outermost = settings.wire.clone().with_tunnel_depth(0);
        let frame = self.packet.frame;
        let found = tidewire_wire::decode(self.packet.link, frame, frame.len() as u32, &outermost);
        let ether_type = match (found.kind, found.ip_version) {
            (Kind::Arp, _) => 0x0806,
            (_, 4) => 0x0800,
            (_, 6) => 0x86dd,
            _ => 0,
        };
        self.put(slot::AT, found.ip_at.into());
        self.put(slot::ETHER_TYPE, ether_type);
        for (to, id) in [slot::VLAN0, slot::VLAN1].into_iter().zip(found.vlans.iter()) {
            self.put(to, u64::from(id) + 1);
        }
    }

    #[inline]
    fn slot(&self, slot: Slot) -> u64 {
        self.slots.get(usize::from(slot)).copied().unwrap_or(0)
    }

    #[inline]
    fn put(&mut self, slot: Slot, value: u64) {
        if let Some(place) = self.slots.get_mut(usize::from(slot)) {
            *place = value;
        }
    }

    #[inline]
    fn operand(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Slot(slot) => self.slot(slot),
            Operand::Number(number) => number,
        }
    }

    /// Runs one operation. Returns the label that it jumps to, if it does.
    #[inline]
    fn step(&mut self, operation: &Operation) -> Option<Label> {
        match *operation {
            Operation::Label(_) => None,
            Operation::Set { to, from } => self.write(to, self.operand(from)),
            Operation::Load { to, at, offset, bytes, missing } => {
                let found = self.load(self.slot(at), offset, bytes);
                self.write_or(to, found, missing)
            }
            Operation::Bound { slot, beyond } => (self.slot(slot) > HEADERS_BYTES_MAX).then_some(beyond),
            Operation::Alu { alu, to, by } => self.write(to, arithmetic(alu, self.slot(to), self.operand(by))),
            Operation::Mix { slot } => self.write(slot, mix(self.slot(slot))),
            Operation::Jump { condition, left, right, to } => {
                holds(condition, self.slot(left), self.operand(right)).then_some(to)
            }
            Operation::Goto(label) => Some(label),
            Operation::Meta { to, meta, missing } => {
                let found = match meta {
                    Meta::VlanTag => self.packet.vlan_tag.map(u64::from),
                    Meta::RssHash => self.packet.rss_hash.filter(|hash| *hash != 0).map(u64::from),
                    Meta::RxQueue => self.packet.rx_queue.map(u64::from),
                };
                self.write_or(to, found, missing)
            }
            Operation::Next { to, cell } => {
                let number = self.state.next(cell);
                self.write(to, number)
            }
            Operation::Count { cell, up } => {
                self.state.change(cell, if up { 1 } else { u64::MAX });
                None
            }
            Operation::Recall { to, key, missing } => {
                let found = self.state.recall(self.slot(key));
                self.write_or(to, found, missing)
            }
            Operation::Remember { key, value } => {
                let (key, value) = (self.slot(key), self.slot(value));
                self.state.remember(key, value);
                None
            }
        }
    }

    #[inline]
    fn write(&mut self, to: Slot, value: u64) -> Option<Label> {
        self.put(to, value);
        None
    }

    #[inline]
    fn write_or(&mut self, to: Slot, value: Option<u64>, missing: Label) -> Option<Label> {
        match value {
            Some(value) => self.write(to, value),
            None => Some(missing),
        }
    }

    /// Loads bytes in network order; `None` if the frame ends before them.
    #[inline]
    fn load(&self, at: u64, offset: u16, bytes: u8) -> Option<u64> {
        let from = usize::try_from(at).ok()?.checked_add(usize::from(offset))?;
        let bytes = self.packet.frame.get(from..)?.get(..usize::from(bytes))?;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn verdict(&self) -> Verdict {
        let (first, second) = (self.slot(slot::FIRST) as u32, self.slot(slot::SECOND) as u32);
        let target = match self.slot(slot::TARGET) {
            target::PASS => Target::Pass,
            target::HASH => Target::Hash(first),
            target::WORKER => Target::Worker(first),
            target::BOTH => Target::Both(first, second),
            _ => Target::Drop,
        };
        let [class, mark, state] = [slot::CLASS, slot::MARK, slot::STATE].map(|slot| self.slot(slot));
        Verdict { target, class: class as u8, mark: mark as u32, state: state as u32 }
    }
}

#[inline]
fn arithmetic(alu: Alu, left: u64, right: u64) -> u64 {
    match alu {
        Alu::Add => left.wrapping_add(right),
        Alu::Sub => left.wrapping_sub(right),
        Alu::And => left & right,
        Alu::Or => left | right,
        Alu::Xor => left ^ right,
        Alu::Shl => left.wrapping_shl(right as u32),
        Alu::Shr => left.wrapping_shr(right as u32),
        // As in eBPF: modulo 0 keeps the number.
        Alu::Mod => left.checked_rem(right).unwrap_or(left),
    }
}

#[inline]
fn holds(condition: Condition, left: u64, right: u64) -> bool {
    match condition {
        Condition::Equal => left == right,
        Condition::NotEqual => left != right,
        Condition::Less => left < right,
        Condition::LessOrEqual => left <= right,
        Condition::Greater => left > right,
        Condition::GreaterOrEqual => left >= right,
        Condition::AnyBit => left & right != 0,
    }
}
