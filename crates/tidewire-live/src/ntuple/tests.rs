use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tidewire_core::Vlans;
use tidewire_wire::Tunnel;

use super::*;

/// A card with so many places, as drivers do it. Rules lie in the order of their places.
#[derive(Clone, Default)]
struct Fake {
    rules: Arc<Mutex<BTreeMap<u32, Request>>>,
    places: u32,
    chooses: bool,
}

impl Fake {
    fn rules(&self) -> Vec<(u32, Request)> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.iter().map(|(place, rule)| (*place, *rule)).collect()
    }
}

fn error(number: i32) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(number))
}

impl RuleTable for Fake {
    fn ask(&mut self, request: &mut Request) -> io::Result<()> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = u32::from_ne_bytes(field(request, 176));
        match u32::from_ne_bytes(field(request, 0)) {
            0x2e if self.places == 0 => return error(libc::EOPNOTSUPP),
            0x2e => {
                let special = if self.chooses { 0x8000_0000 } else { 0 };
                set(request, 8, &(u64::from(self.places) | special).to_ne_bytes());
            }
            0x2f => *request = *rules.get(&place).ok_or(io::Error::from_raw_os_error(libc::EINVAL))?,
            0x31 => drop(rules.remove(&place).ok_or(io::Error::from_raw_os_error(libc::ENOENT))?),
            0x32 => {
                if place == u32::MAX && self.chooses {
                    let Some(free) = (0..self.places).find(|place| !rules.contains_key(place)) else {
                        return error(libc::ENOSPC);
                    };
                    place = free;
                    set(request, 176, &place.to_ne_bytes());
                }
                if place >= self.places {
                    return error(libc::EINVAL);
                }
                rules.insert(place, *request);
            }
            _ => return error(libc::EOPNOTSUPP),
        }
        Ok(())
    }
}

fn key(proto: u8, client: &str, ports: [u16; 2], server: &str, vlan: u16) -> FlowKey {
    let client = Endpoint { address: client.parse().unwrap(), port: ports[0] };
    let server = Endpoint { address: server.parse().unwrap(), port: ports[1] };
    let mut key = FlowKey::new(client, server, proto);
    key.vlans = Vlans::new([vlan]);
    key
}

fn web() -> FlowKey {
    key(6, "10.0.0.1", [1000, 80], "10.0.0.2", 0)
}

/// Bytes at their offsets, zeroes elsewhere.
fn request(parts: &[(usize, Vec<u8>)]) -> Request {
    let mut request = [0; RULE_BYTES];
    parts.iter().for_each(|(at, bytes)| set(&mut request, *at, bytes));
    request
}

/// As a C compiler lays it out with linux/ethtool.h, on a machine that stores the low byte first.
#[test]
#[cfg(target_endian = "little")]
fn rules_are_what_the_header_says() {
    let fake = Fake { places: 8, ..Fake::default() };
    let mut rules = NtupleRules::new(fake.clone()).unwrap();
    assert!(rules.drop_direction(&web(), Direction::ClientToServer).unwrap());
    let expected = request(&[
        (0, vec![50]),
        (16, vec![1]),
        (20, vec![10]),
        (23, vec![1, 10]),
        (27, vec![2, 3, 232]),
        (31, vec![80]),
        (92, vec![0xff; 12]),
        (168, vec![255, 255, 255, 255, 255, 255, 255, 255, 7]),
    ]);
    assert_eq!(fake.rules(), [(7, expected)]);

    let fake = Fake { places: 8, chooses: true, ..Fake::default() };
    let mut rules = NtupleRules::new(fake.clone()).unwrap();
    // The server's packets: they come from its port.
    let names = key(17, "fd77::2", [4000, 53], "fd77::1", 5);
    assert!(rules.drop_direction(&names, Direction::ServerToClient).unwrap());
    let mut expected = request(&[
        (0, vec![50]),
        (16, vec![6]),
        (19, vec![128, 253, 119]),
        (35, vec![1, 253, 119]),
        (51, vec![2]),
        (53, vec![53, 15, 160]),
        (83, vec![5]),
        (92, vec![0xff; 36]),
        (154, vec![15, 255]),
        (168, vec![0xff; 12]),
    ]);
    set(&mut expected, 176, &0_u32.to_ne_bytes());
    assert_eq!(fake.rules(), [(0, expected)]);
}

#[test]
fn rules_of_others_stay_and_ours_are_taken_back() {
    let fake = Fake { places: 4, ..Fake::default() };
    let others = request(&[(176, vec![3])]);
    fake.rules.lock().unwrap().insert(3, others);
    let mut rules = NtupleRules::new(fake.clone()).unwrap();
    let both = [Direction::ClientToServer, Direction::ServerToClient];
    for direction in both {
        assert!(rules.drop_direction(&web(), direction).unwrap());
        assert!(rules.drop_direction(&web(), direction).unwrap(), "it is dropped already");
    }
    assert_eq!((rules.count(), fake.rules().len()), (2, 3));
    let third = key(132, "10.0.0.1", [1, 2], "10.0.0.2", 9);
    assert!(rules.drop_direction(&third, both[0]).unwrap());
    assert!(!rules.drop_direction(&third, both[1]).unwrap(), "there is no room");
    assert!(rules.restore(&web(), both[0]).unwrap());
    assert!(!rules.restore(&web(), both[0]).unwrap());
    assert!(rules.drop_direction(&third, both[1]).unwrap(), "there is room again");
    drop(rules);
    assert_eq!(fake.rules(), [(3, others)]);
}

#[test]
fn what_no_rule_can_name_is_not_dropped() {
    let fake = Fake { places: 4, ..Fake::default() };
    let mut rules = NtupleRules::new(fake.clone()).unwrap();
    let mut tunnelled = web();
    tunnelled.tunnel = Tunnel { kind: TunnelKind::Vxlan, id: 1 };
    let mut tagged = web();
    tagged.vlans = Vlans::new([1, 2]);
    let mut icmp = web();
    icmp.proto = 1;
    for key in [tunnelled, tagged, icmp] {
        assert!(!rules.drop_direction(&key, Direction::ClientToServer).unwrap());
    }
    assert_eq!(fake.rules(), []);
    assert!(NtupleRules::new(Fake::default()).is_err_and(|error| error.with_hint().to_string().contains("ntuple on")));
}

#[test]
fn an_interface_without_rules_says_so() {
    let rules = InterfaceRules::new("lo").unwrap();
    let error = NtupleRules::new(rules).expect_err("the loopback interface has none");
    assert!(error.with_hint().to_string().contains("the driver may have none"), "{error}");
}
