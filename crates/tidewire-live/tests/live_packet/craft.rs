//! Frames of conversations.

/// An Ethernet frame of this length and EtherType, with bytes that differ from place to place and frame to frame.
pub fn frame(length: usize, ethertype: u16, salt: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(ethertype.to_be_bytes());
    frame.extend((frame.len()..length).map(|at| (at * 31 + salt * 7) as u8));
    frame
}

/// Tags, outermost first, put in behind the addresses.
pub fn tagged(frame: &[u8], tags: &[(u16, u16)]) -> Vec<u8> {
    let tags = tags.iter().flat_map(|(tpid, tci)| [tpid.to_be_bytes(), tci.to_be_bytes()]).flatten();
    frame[..12].iter().copied().chain(tags).chain(frame[12..].iter().copied()).collect()
}

fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| u32::from(*b))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// A piece of an IPv4 datagram of this flow, in Ethernet: `offset` in bytes.
fn ipv4(flow: usize, back: bool, id: u16, offset: usize, more: bool, payload: &[u8]) -> Vec<u8> {
    let ends = [[10, 0, (flow >> 8) as u8, flow as u8], [10, 1, (flow >> 8) as u8, flow as u8]];
    let (from, to) = if back { (ends[1], ends[0]) } else { (ends[0], ends[1]) };
    let mut header = vec![0x45, 0];
    header.extend((20 + payload.len() as u16).to_be_bytes());
    header.extend(id.to_be_bytes());
    header.extend((u16::from(more) << 13 | (offset / 8) as u16).to_be_bytes());
    header.extend([64, 17, 0, 0]);
    header.extend(from);
    header.extend(to);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [&frame(14, 0x0800, 0)[..], &header, payload].concat()
}

/// A datagram of UDP between the two ends of a flow; `number` is in its last bytes.
fn udp(flow: usize, back: bool, length: usize, number: usize) -> Vec<u8> {
    let ports = [1024 + flow as u16, 9];
    let (from, to) = if back { (ports[1], ports[0]) } else { (ports[0], ports[1]) };
    let mut datagram = [from.to_be_bytes(), to.to_be_bytes(), (8 + length as u16).to_be_bytes(), [0, 0]].concat();
    datagram.extend((0..length - 4).map(|at| (at * 13 + number) as u8));
    datagram.extend((number as u32).to_be_bytes());
    datagram
}

/// A whole datagram over IPv4.
pub fn whole(flow: usize, back: bool, length: usize, number: usize) -> Vec<u8> {
    ipv4(flow, back, number as u16, 0, false, &udp(flow, back, length, number))
}

/// The same in pieces of this many bytes, a multiple of 8.
pub fn fragments(flow: usize, back: bool, length: usize, number: usize, piece: usize) -> Vec<Vec<u8>> {
    let datagram = udp(flow, back, length, number);
    let last = datagram.len().div_ceil(piece) - 1;
    let pieces = datagram.chunks(piece).enumerate();
    pieces.map(|(i, bytes)| ipv4(flow, back, number as u16, i * piece, i < last, bytes)).collect()
}

/// A datagram over IPv6.
pub fn whole6(flow: usize, back: bool, length: usize, number: usize) -> Vec<u8> {
    let datagram = udp(flow, back, length, number);
    let end = |side: u8| {
        let mut address = [0; 16];
        (address[0], address[1], address[14], address[15]) = (0xfd, side, (flow >> 8) as u8, flow as u8);
        address
    };
    let (from, to) = if back { (end(2), end(1)) } else { (end(1), end(2)) };
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((datagram.len() as u16).to_be_bytes());
    packet.extend([17, 64]);
    packet.extend(from);
    packet.extend(to);
    packet.extend(datagram);
    [&frame(14, 0x86dd, 0)[..], &packet].concat()
}

/// Conversations in turn: so many flows, each with so many frames in both directions over IPv4 or IPv6; some of the
/// datagrams in fragments. The flow's number is beside each frame.
pub fn conversations(flows: usize, rounds: usize) -> Vec<(usize, Vec<u8>)> {
    let mut frames = Vec::new();
    for round in 0..rounds {
        for flow in 0..flows {
            let (back, number) = (round % 2 == 1, round * flows + flow);
            match (flow % 4, round % 5) {
                (0, _) => frames.push((flow, whole6(flow, back, 20 + flow, number))),
                (1, 4) => frames.extend(fragments(flow, back, 600, number, 256).into_iter().map(|one| (flow, one))),
                _ => frames.push((flow, whole(flow, back, 20 + flow, number))),
            }
        }
    }
    frames
}
