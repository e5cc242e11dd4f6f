//! Keys of messages: what has the same key is in one partition, in order.

use tidewire_events::Event;

/// The key of an event's message: the 20 bytes whose base64 is the flow's Community ID (version 1, seed 0), so that both directions of a
/// conversation, and all sensors that see it, agree. Without a flow: `ANALYZER/KIND`.
pub(super) fn of_event(event: &Event) -> Vec<u8> {
    match &event.key {
        Some(key) => key.community_digest().to_vec(),
        None => format!("{}/{}", event.analyzer, event.kind).into_bytes(),
    }
}

/// The key of a record's message: the number of its fold, big-endian, so that the parts of a fold stay in order.
pub(super) fn of_fold(fold: u64) -> Vec<u8> {
    fold.to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use base64::{Engine as _, prelude::BASE64_STANDARD};
    use proptest::prelude::*;
    use tidewire_events::FlowKey;
    use tidewire_types::ip_protocol::{ICMP, ICMP6, SCTP, TCP, UDP};

    fn endpoint(address: IpAddr, port: u16) -> tidewire::Endpoint {
        tidewire::Endpoint { address, port }
    }

    proptest! {
        /// As `flows` prints it, in both directions.
        #[test]
        fn both_directions_have_the_community_id(
            addrs in prop_oneof![
                any::<(u32, u32)>().prop_map(|(a, b)| (IpAddr::V4(a.into()), IpAddr::V4(b.into()))),
                any::<(u128, u128)>().prop_map(|(a, b)| (IpAddr::V6(a.into()), IpAddr::V6(b.into()))),
                any::<u32>().prop_map(|a| (IpAddr::V4(a.into()), IpAddr::V4(a.into()))),
            ],
            ports in any::<(u16, u16)>(),
            protocol in prop_oneof![Just(ICMP), Just(TCP), Just(UDP), Just(ICMP6), Just(SCTP), any::<u8>()],
        ) {
            let key = FlowKey {
                protocol,
                client_addr: addrs.0,
                client_port: ports.0,
                server_addr: addrs.1,
                server_port: ports.1,
            };
            let mut flow = tidewire::FlowKey::new(endpoint(addrs.0, ports.0), endpoint(addrs.1, ports.1), protocol);
            flow.icmp = if protocol == ICMP6 { [128, 0] } else { [8, 0] };
            let expected = tidewire::community_id(&flow, 0);
            prop_assert_eq!(format!("1:{}", BASE64_STANDARD.encode(key.community_digest())), expected);
            let back = FlowKey {
                client_addr: addrs.1,
                client_port: ports.1,
                server_addr: addrs.0,
                server_port: ports.0,
                ..key
            };
            if protocol != ICMP && protocol != ICMP6 {
                prop_assert_eq!(key.community_digest(), back.community_digest());
            }
        }
    }
}
