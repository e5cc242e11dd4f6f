//! Lowering of steering functions: each sets the destination, or drops.

use std::net::IpAddr;

use super::field::{Destination, Masks, Side, Source};
use super::lowering::{Lowering, target};
use crate::ir::{Alu, Condition, Label, Meta, Operation, Slot};
use crate::language::{Argument, Id, Network, Term, key, mask};
use crate::settings::Fragments;
use crate::state::cell;
use crate::walk::slot::{self, FRAGMENT, L3, PORTS, PROTO, T0, T1, T2, T3, VLAN0, VLAN1};

/// Bits of a group address in a MAC of 48 bits: broadcast and multicast.
const GROUP_BIT: u64 = 1 << 40;

impl Lowering<'_> {
    /// Lowers a steering function; returns false if the term is not one.
    pub(super) fn steer(&mut self, term: &Term, dropped: Label) -> bool {
        use Argument::{Address, Key, Mac, Network as Net, Number as N};
        match (term.builtin.id, term.arguments.as_slice()) {
            (Id::SteerRrobin, _) => {
                self.builder.push(Operation::Next { to: slot::FIRST, cell: cell::RROBIN });
                self.builder.set(slot::TARGET, target::HASH);
            }
            (Id::SteerRss, _) => self.by_meta(Meta::RssHash, dropped),
            (Id::SteerRxQueue, _) => self.by_meta(Meta::RxQueue, dropped),
            (Id::SteerTo, [N(worker)]) => {
                self.builder.set(slot::FIRST, *worker);
                self.builder.set(slot::TARGET, target::WORKER);
            }
            (Id::SteerLink, _) => {
                self.mac(T0, Source, dropped);
                self.mac(T1, Destination, dropped);
                self.by_both();
            }
            (Id::DoubleSteerMac, _) => {
                self.mac(T0, Source, dropped);
                self.mac(T1, Destination, dropped);
                self.by_each();
            }
            (Id::SteerLocalLink, [Mac(mac)]) => self.local_link(*mac, dropped),
            (Id::SteerVlan, _) => self.by_vlan(dropped),
            (Id::SteerP2p, _) => self.p2p(dropped),
            (Id::DoubleSteerIp, _) => {
                self.address(T0, Source, Masks::ALL, dropped);
                self.address(T1, Destination, Masks::ALL, dropped);
                self.by_each();
            }
            (Id::SteerLocalIp, [Net(network)]) => self.local(*network, Masks::ALL, dropped),
            (Id::SteerLocalNet, [Address(address), N(prefix), N(sub)]) => {
                self.local_net(*address, *prefix, *sub, dropped)
            }
            (Id::SteerFlow, _) => self.steer_flow(dropped),
            (Id::SteerField, [N(offset), N(bytes)]) => {
                self.field(T0, *offset, *bytes, dropped);
                self.by_one(T0);
            }
            (Id::SteerFieldSymmetric, [N(first), N(second), N(bytes)]) => {
                self.field(T0, *first, *bytes, dropped);
                self.field(T1, *second, *bytes, dropped);
                self.by_both();
            }
            (Id::DoubleSteerField, [N(first), N(second), N(bytes)]) => {
                self.field(T0, *first, *bytes, dropped);
                self.field(T1, *second, *bytes, dropped);
                self.by_each();
            }
            (Id::SteerKey, [Key(fields)]) => self.by_key(*fields, dropped),
            _ => return false,
        }
        true
    }

    fn by_meta(&mut self, meta: Meta, dropped: Label) {
        self.builder.push(Operation::Meta { to: slot::FIRST, meta, missing: dropped });
        self.builder.set(slot::TARGET, target::HASH);
    }

    /// Steers to the worker of one value.
    fn by_one(&mut self, value: Slot) {
        self.hash(value, slot::FIRST);
        self.builder.set(slot::TARGET, target::HASH);
    }

    /// The hash of a value, 32 bits.
    fn hash(&mut self, value: Slot, to: Slot) {
        self.scramble(value);
        self.builder.copy(to, value);
        self.builder.alu(Alu::Shr, to, 32);
    }

    /// Steers to one worker, by `T0` and `T1` in either order.
    fn by_both(&mut self) {
        self.scramble(T0);
        self.scramble(T1);
        self.sum();
    }

    /// Steers to one worker, by the sum of `T0` and `T1`.
    fn sum(&mut self) {
        self.builder.alu_slot(Alu::Add, T0, T1);
        self.by_one(T0);
    }

    /// Steers to the worker of `T0` and to that of `T1`.
    fn by_each(&mut self) {
        self.hash(T0, slot::FIRST);
        self.hash(T1, slot::SECOND);
        self.builder.set(slot::TARGET, target::BOTH);
    }

    fn by_vlan(&mut self, dropped: Label) {
        let found = self.builder.label();
        self.builder.copy(T0, VLAN0);
        self.builder.jump(T0, Condition::Greater, 1, found);
        self.builder.copy(T0, VLAN1);
        self.builder.jump(T0, Condition::LessOrEqual, 1, dropped);
        self.builder.place(found);
        self.by_one(T0);
    }

    fn p2p(&mut self, dropped: Label) {
        self.address(T0, Source, Masks::ALL, dropped);
        self.address(T1, Destination, Masks::ALL, dropped);
        self.by_both();
    }

    /// Steers by addresses, ports and protocol; by addresses alone if there are no ports. Fragments: see
    /// `Settings::fragments`.
    pub(super) fn steer_flow(&mut self, dropped: Label) {
        let [addresses, done] = [(); 2].map(|()| self.builder.label());
        self.address(T0, Source, Masks::ALL, dropped);
        self.address(T1, Destination, Masks::ALL, dropped);
        match self.settings.fragments {
            Fragments::Addresses => self.builder.jump(FRAGMENT, Condition::NotEqual, 0, addresses),
            Fragments::FollowFirst => self.follow(addresses, done),
        }
        self.builder.jump(PORTS, Condition::Equal, 0, addresses);
        self.add_ports();
        self.scramble(T0);
        self.scramble(T1);
        self.builder.alu_slot(Alu::Add, T0, PROTO);
        self.sum();
        if self.settings.fragments == Fragments::FollowFirst {
            // For a first fragment: remembers what it was steered by.
            self.builder.jump(FRAGMENT, Condition::Equal, 0, done);
            self.builder.push(Operation::Remember { key: T3, value: slot::FIRST });
        }
        self.builder.goto(done);
        self.builder.place(addresses);
        self.by_both();
        self.builder.place(done);
    }

    /// Adds the ports to the upper bits of the addresses in `T0` and `T1`. Uses `T2`.
    fn add_ports(&mut self) {
        for (value, side) in [(T0, Source), (T1, Destination)] {
            self.builder.copy(T2, side.port());
            self.builder.alu(Alu::Shl, T2, 48);
            self.builder.alu_slot(Alu::Xor, value, T2);
        }
    }

    /// For fragments: the datagram's number into `T3`. A later fragment goes where its first one went, or by
    /// `addresses`.
    fn follow(&mut self, addresses: Label, done: Label) {
        let after = self.builder.label();
        self.builder.jump(FRAGMENT, Condition::Equal, 0, after);
        self.identification(T3, addresses);
        self.builder.alu(Alu::Shl, T3, 8);
        self.builder.alu_slot(Alu::Or, T3, PROTO);
        for address in [T0, T1] {
            self.builder.alu_slot(Alu::Add, T3, address);
            self.scramble(T3);
        }
        self.builder.jump(FRAGMENT, Condition::Equal, 1, after);
        self.builder.push(Operation::Recall { to: slot::FIRST, key: T3, missing: addresses });
        self.builder.set(slot::TARGET, target::HASH);
        self.builder.goto(done);
        self.builder.place(after);
    }

    fn local_link(&mut self, mac: [u8; 6], dropped: Label) {
        let [from_gateway, to_gateway, done] = [(); 3].map(|()| self.builder.label());
        let gateway = mac.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        self.mac(T0, Source, dropped);
        self.mac(T1, Destination, dropped);
        self.builder.jump(T1, Condition::Equal, gateway, to_gateway);
        // A group address belongs to no host: its frames go by their sender.
        self.builder.jump(T1, Condition::AnyBit, GROUP_BIT, to_gateway);
        self.builder.jump(T0, Condition::Equal, gateway, from_gateway);
        self.by_each();
        self.builder.goto(done);
        self.builder.place(from_gateway);
        self.by_one(T1);
        self.builder.goto(done);
        self.builder.place(to_gateway);
        self.by_one(T0);
        self.builder.place(done);
    }

    /// Steers by the address in the network, as far as the masks keep it.
    fn local(&mut self, network: Network, masks: Masks, dropped: Label) {
        let [source, not_source, both, source_only, destination, done] = [(); 6].map(|()| self.builder.label());
        self.in_network(network, Source, source, not_source);
        self.builder.place(source);
        self.in_network(network, Destination, both, source_only);
        self.builder.place(both);
        self.address(T0, Source, masks, dropped);
        self.address(T1, Destination, masks, dropped);
        self.by_each();
        self.builder.goto(done);
        self.builder.place(source_only);
        self.address(T0, Source, masks, dropped);
        self.by_one(T0);
        self.builder.goto(done);
        self.builder.place(not_source);
        self.in_network(network, Destination, destination, dropped);
        self.builder.place(destination);
        self.address(T0, Destination, masks, dropped);
        self.by_one(T0);
        self.builder.place(done);
    }

    fn local_net(&mut self, address: IpAddr, prefix: u64, sub: u64, dropped: Label) {
        let (prefix, sub) = (prefix.min(128) as u8, sub.min(128) as u8);
        let masks = Masks { v4: mask(sub.min(32), 32) as u64, v6: mask(sub, 128) };
        match Network::new(address, prefix) {
            Some(network) => self.local(network, masks, dropped),
            // The checker compared prefix and address.
            None => self.builder.goto(dropped),
        }
    }

    /// Steers by chosen fields. The fields of each end are scrambled together, and both ends are added, so that both
    /// directions have the same sum.
    /// directions are one.
    fn by_key(&mut self, fields: u16, dropped: Label) {
        let [fragment, done] = [(); 2].map(|()| self.builder.label());
        let ports = fields & (key::SRC_PORT | key::DST_PORT) != 0;
        if ports {
            self.builder.jump(FRAGMENT, Condition::NotEqual, 0, fragment);
            self.builder.jump(PORTS, Condition::Equal, 0, dropped);
        }
        let [source, destination, rest] = [(); 3].map(|()| self.builder.take());
        self.key_end(source, Source, [key::ETH_SRC, key::IP_SRC, key::SRC_PORT].map(|f| fields & f != 0), dropped);
        self.key_end(
            destination,
            Destination,
            [key::ETH_DST, key::IP_DST, key::DST_PORT].map(|f| fields & f != 0),
            dropped,
        );
        self.key_rest(rest, fields, dropped);
        self.builder.copy(T0, source);
        self.builder.alu_slot(Alu::Add, T0, destination);
        self.builder.copy(T1, rest);
        self.builder.free(3);
        self.sum();
        if ports {
            self.builder.goto(done);
            self.builder.place(fragment);
            self.p2p(dropped);
            self.builder.place(done);
        }
    }

    fn key_end(&mut self, to: Slot, side: Side, [mac, address, port]: [bool; 3], dropped: Label) {
        self.builder.set(to, 0);
        if mac {
            self.mac(T0, side, dropped);
            self.builder.alu_slot(Alu::Add, to, T0);
            self.scramble(to);
        }
        if address {
            self.address(T0, side, Masks::ALL, dropped);
            self.builder.alu_slot(Alu::Add, to, T0);
            self.scramble(to);
        }
        if port {
            self.builder.alu_slot(Alu::Add, to, side.port());
            self.scramble(to);
        }
    }

    /// The fields that belong to neither end.
    fn key_rest(&mut self, to: Slot, fields: u16, dropped: Label) {
        self.builder.set(to, 0);
        if fields & key::ETH_TYPE != 0 {
            self.builder.alu_slot(Alu::Add, to, L3);
            self.scramble(to);
        }
        if fields & key::IP_PROTO != 0 {
            self.builder.jump(slot::VERSION, Condition::Equal, 0, dropped);
            self.builder.alu_slot(Alu::Add, to, PROTO);
            self.scramble(to);
        }
        for (field, id, bits) in [
            (key::IP_ECN, Id::IpTos, 0x03),
            (key::IP_DSCP, Id::IpTos, 0xfc),
            (key::ICMP_TYPE, Id::IcmpType, 0xff),
            (key::ICMP_CODE, Id::IcmpCode, 0xff),
        ] {
            if fields & field != 0 {
                self.key_property(to, id, bits, dropped);
            }
        }
    }

    fn key_property(&mut self, to: Slot, id: Id, bits: u64, dropped: Label) {
        let Some(builtin) = crate::language::BUILTINS.iter().find(|builtin| builtin.id == id) else { return };
        self.property(&Term { builtin, arguments: Vec::new() }, T0, dropped);
        self.builder.alu(Alu::And, T0, bits);
        self.builder.alu_slot(Alu::Add, to, T0);
        self.scramble(to);
    }
}
