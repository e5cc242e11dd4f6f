//! Packets that `etherparse` builds are read as it reads them; and where bytes are then changed and both still find a
//! transport, both find the same.

use ::etherparse::{NetSlice, PacketBuilder, SlicedPacket, TcpOptionElement, TransportSlice};
use proptest::prelude::*;
use tidewire_wire::{
    Checksum, Decoded, Headers, Kind, LinkType, Settings, TcpHeader, UdpHeader, addresses, decode,
    ipv4_header_checksum, ports, transport_checksum,
};

/// Parts of a generated packet.
#[derive(Clone, Debug)]
struct Recipe {
    vlans: u8,
    ipv6: bool,
    transport: u8,
    options: bool,
    numbers: [u32; 2],
    addresses: [u8; 32],
    ports: [u16; 2],
    ttl: u8,
    payload: Vec<u8>,
    padding: usize,
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let payload = prop::collection::vec(any::<u8>(), 0..100);
    (any::<[u8; 4]>(), any::<bool>(), any::<[u32; 2]>(), any::<[u8; 32]>(), any::<[u16; 2]>(), payload, 0_usize..20)
        .prop_map(|([vlans, transport, ttl, ipv6], options, numbers, addresses, ports, payload, padding)| Recipe {
            vlans: vlans % 3,
            ipv6: ipv6 & 1 == 1,
            transport: transport % 3,
            options,
            numbers,
            addresses,
            ports,
            ttl,
            payload,
            padding,
        })
}

/// The frame, as etherparse writes it.
fn build(recipe: &Recipe) -> Vec<u8> {
    let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let (source, destination) = recipe.addresses.split_at(16);
    let net = if recipe.ipv6 {
        let header = etherparse::Ipv6Header {
            source: source.try_into().unwrap(),
            destination: destination.try_into().unwrap(),
            hop_limit: recipe.ttl,
            ..etherparse::Ipv6Header::default()
        };
        etherparse::IpHeaders::Ipv6(header, etherparse::Ipv6Extensions::default())
    } else {
        let mut header = etherparse::Ipv4Header::new(
            0,
            recipe.ttl,
            etherparse::IpNumber(0),
            source[..4].try_into().unwrap(),
            destination[..4].try_into().unwrap(),
        )
        .unwrap();
        if recipe.options {
            header.options = [1, 1, 1, 0].into();
        }
        etherparse::IpHeaders::Ipv4(header, etherparse::Ipv4Extensions::default())
    };
    let step = match recipe.vlans {
        0 => link.ip(net),
        1 => link.single_vlan(etherparse::VlanId::try_new(5).unwrap()).ip(net),
        _ => link.double_vlan(etherparse::VlanId::try_new(5).unwrap(), etherparse::VlanId::try_new(6).unwrap()).ip(net),
    };
    let [source_port, destination_port] = recipe.ports;
    let mut frame = Vec::new();
    match recipe.transport {
        0 => {
            let mut tcp = step.tcp(source_port, destination_port, recipe.numbers[0], 1000).ack(recipe.numbers[1]).psh();
            if recipe.options {
                let options = [TcpOptionElement::Timestamp(7, 9), TcpOptionElement::MaximumSegmentSize(1460)];
                tcp = tcp.options(&options).unwrap();
            }
            tcp.write(&mut frame, &recipe.payload).unwrap();
        }
        1 => step.udp(source_port, destination_port).write(&mut frame, &recipe.payload).unwrap(),
        _ if recipe.ipv6 => step.icmpv6_echo_request(1, 2).write(&mut frame, &recipe.payload).unwrap(),
        _ => step.icmpv4_echo_request(1, 2).write(&mut frame, &recipe.payload).unwrap(),
    }
    frame.resize(frame.len() + recipe.padding, 0xee);
    frame
}

fn settings() -> Settings {
    Settings::default().with_tunnel_depth(0)
}

/// The part of the frame that we call captured payload.
fn payload<'a>(frame: &'a [u8], decoded: &Decoded) -> &'a [u8] {
    &frame[decoded.payload_at as usize..][..decoded.payload_captured_bytes as usize]
}

/// Asserts that we see what etherparse sees; returns whether it saw a transport at all.
fn compare(frame: &[u8]) -> bool {
    let Ok(theirs) = SlicedPacket::from_ethernet(frame) else { return false };
    let Some(transport) = &theirs.transport else { return false };
    let ours = decode(LinkType::ETHERNET, frame, frame.len() as u32, &settings());
    // Hosts drop what these find, etherparse does not look.
    if ours.kind == Kind::Malformed {
        return false;
    }
    let (source, destination) = addresses(frame, &ours);
    match theirs.net.as_ref().unwrap() {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            assert_eq!((source, destination), (header.source_addr().into(), header.destination_addr().into()));
            assert_eq!((ours.ttl, ours.ip_bytes), (header.ttl(), header.total_len().into()));
            let view = Headers::new(LinkType::ETHERNET, frame, &ours).ipv4().unwrap();
            assert_eq!((view.source(), view.destination()), (header.source_addr(), header.destination_addr()));
            assert_eq!((view.ttl(), view.protocol()), (header.ttl(), header.protocol().0));
            assert_eq!((view.total_bytes(), view.identification()), (header.total_len(), header.identification()));
            assert_eq!(
                (view.dont_fragment(), view.more_fragments()),
                (header.dont_fragment(), header.more_fragments())
            );
            assert_eq!(view.fragment_offset_bytes(), u32::from(header.fragments_offset().byte_offset()));
            assert_eq!((view.dscp(), view.ecn()), (header.dcp().value(), header.ecn().value()));
            assert_eq!((view.checksum(), view.option_bytes()), (header.header_checksum(), header.options()));
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            assert_eq!((source, destination), (header.source_addr().into(), header.destination_addr().into()));
            assert_eq!((ours.ttl, ours.ip_bytes), (header.hop_limit(), 40 + u32::from(header.payload_length())));
            let view = Headers::new(LinkType::ETHERNET, frame, &ours).ipv6().unwrap();
            assert_eq!((view.source(), view.destination()), (header.source_addr(), header.destination_addr()));
            assert_eq!((view.hop_limit(), view.next_header()), (header.hop_limit(), header.next_header().0));
            assert_eq!(
                (view.payload_bytes(), view.flow_label()),
                (header.payload_length(), header.flow_label().value())
            );
            assert_eq!(view.dscp() << 2 | view.ecn(), header.traffic_class());
        }
        NetSlice::Arp(_) => unreachable!("no transport over ARP"),
    }
    match transport {
        TransportSlice::Tcp(tcp) => {
            assert_eq!(ours.kind, Kind::Tcp);
            assert_eq!(payload(frame, &ours), tcp.payload());
            let header = TcpHeader::new(frame, &ours).unwrap();
            assert_eq!(ports(frame, &ours), (tcp.source_port(), tcp.destination_port()));
            assert_eq!(header.sequence(), tcp.sequence_number());
            assert_eq!(header.acknowledgment(), tcp.acknowledgment_number());
            assert_eq!(header.window(), tcp.window_size());
            assert_eq!(header.urgent_pointer(), tcp.urgent_pointer());
            assert_eq!(header.flags() & 1 != 0, tcp.fin());
            assert_eq!(header.flags() & 2 != 0, tcp.syn());
            assert_eq!(header.flags() & 0x80 != 0, tcp.cwr());
            assert_eq!(header.option_bytes(), tcp.options());
            assert_eq!((header.checksum(), header.header_bytes()), (tcp.checksum(), tcp.header_len()));
        }
        TransportSlice::Udp(udp) => {
            assert_eq!(ours.kind, Kind::Udp);
            assert_eq!(payload(frame, &ours), udp.payload());
            assert_eq!(ports(frame, &ours), (udp.source_port(), udp.destination_port()));
            let header = UdpHeader::new(frame, &ours).unwrap();
            assert_eq!((header.length(), header.checksum()), (udp.length(), udp.checksum()));
        }
        TransportSlice::Icmpv4(icmp) => {
            assert!(matches!(ours.kind, Kind::Icmp | Kind::OtherIp));
            assert_eq!(frame[ours.transport_at as usize], icmp.type_u8());
        }
        TransportSlice::Icmpv6(icmp) => {
            assert!(matches!(ours.kind, Kind::Icmp6 | Kind::OtherIp));
            assert_eq!(frame[ours.transport_at as usize], icmp.type_u8());
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn what_etherparse_builds(recipe in recipes()) {
        let frame = build(&recipe);
        prop_assert!(compare(&frame));
        let ours = decode(LinkType::ETHERNET, &frame, frame.len() as u32, &settings());
        prop_assert_eq!(ours.payload_bytes as usize, recipe.payload.len());
        prop_assert_eq!(ours.vlans.len(), usize::from(recipe.vlans));
        prop_assert_eq!(transport_checksum(&frame, &ours), Checksum::Good);
        if !recipe.ipv6 {
            prop_assert_eq!(ipv4_header_checksum(&frame, &ours), Checksum::Good);
        }
        if recipe.transport == 0 && recipe.options {
            let header = TcpHeader::new(&frame, &ours).unwrap();
            prop_assert_eq!((header.timestamps(), header.maximum_segment_size()), (Some((7, 9)), Some(1460)));
        }
    }

    #[test]
    fn what_is_left_after_changes(
        recipe in recipes(),
        changes in prop::collection::vec((0_usize..80, any::<u8>()), 1..4),
        cut in 0_usize..30,
    ) {
        let mut frame = build(&recipe);
        for (at, byte) in changes {
            if let Some(old) = frame.get_mut(at) {
                *old = byte;
            }
        }
        frame.truncate(frame.len() - cut.min(frame.len()));
        compare(&frame);
    }
}
