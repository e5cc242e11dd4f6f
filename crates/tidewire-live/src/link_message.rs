//! The messages of rtnetlink(7) about links: `struct nlmsghdr`, `struct ifinfomsg`, attributes.

use super::InterfaceCounts;

/// Room for one answer of the kernel, which sends up to 32 KiB at once in a dump.
pub(super) const ROOM_BYTES: usize = 64 << 10;

const HEADER_BYTES: usize = 16;
const INFO_BYTES: usize = 16;
/// `NLMSG_ERROR`, `NLMSG_DONE`, `RTM_NEWLINK`, `RTM_DELLINK`, `RTM_GETLINK`
const ERROR: u16 = 2;
const DONE: u16 = 3;
const NEW_LINK: u16 = 16;
const DELETED_LINK: u16 = 17;
const GET_LINK: u16 = 18;
/// `NLM_F_REQUEST | NLM_F_DUMP`
const DUMP: u16 = 0x301;
/// `IFLA_ADDRESS`, `IFLA_IFNAME`, `IFLA_MTU`, `IFLA_IFALIAS`, `IFLA_NUM_TX_QUEUES`, `IFLA_NUM_RX_QUEUES`
const ADDRESS: u16 = 1;
const NAME: u16 = 3;
const MTU: u16 = 4;
const ALIAS: u16 = 20;
const TX_QUEUES: u16 = 31;
const RX_QUEUES: u16 = 32;
/// `IFLA_LINKINFO`, and in it `IFLA_INFO_KIND`
const INFO: u16 = 18;
const INFO_KIND: u16 = 1;
/// `IFLA_XDP`, and in it `IFLA_XDP_ATTACHED`
const XDP: u16 = 43;
const XDP_ATTACHED: u16 = 2;
/// `IFLA_LINK`, `IFLA_LINK_NETNSID`
const LINK: u16 = 5;
const LINK_NAMESPACE: u16 = 37;
/// `IFLA_STATS64`
const STATISTICS: u16 = 23;
/// The attribute's type without its flags (`NLA_TYPE_MASK`).
const TYPE_MASK: u16 = 0x3fff;
/// `IFF_UP`, `IFF_RUNNING`, `IFF_LOWER_UP`
const UP: u32 = 1;
const RUNNING: u32 = 1 << 6;
const LOWER_UP: u32 = 1 << 16;

/// A link as a message describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub index: u32,
    pub name: String,
    /// Its driver where it is made of software; empty for a card.
    pub kind: String,
    pub alias: String,
    pub address: Vec<u8>,
    pub hardware: u16,
    pub flags: u32,
    pub mtu: u32,
    /// Queues that the kernel has room for.
    pub tx_queues: Option<u32>,
    pub rx_queues: Option<u32>,
    /// Whether an XDP program is attached.
    pub has_xdp: bool,
    /// The interface that it belongs to: of a veth its other end. Its number may be one of another namespace.
    pub peer: Option<u32>,
    pub peer_is_elsewhere: bool,
    pub counts: InterfaceCounts,
}

impl Link {
    pub fn is_up(&self) -> bool {
        self.flags & UP != 0
    }

    pub fn is_running(&self) -> bool {
        self.is_up() && self.flags & RUNNING != 0
    }

    pub fn has_carrier(&self) -> bool {
        self.flags & LOWER_UP != 0
    }
}

/// A parsed message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one at a time is looked at, and nearly all are links")]
pub(super) enum Message {
    /// There is this link, new or changed.
    Link(Link),
    /// The link with this number is gone.
    Gone(u32),
    /// A list is complete.
    Done,
    /// The request failed with this error number.
    Failed(i32),
    /// Something else.
    Other,
}

/// Asks for all links.
pub(super) fn request() -> [u8; HEADER_BYTES + INFO_BYTES] {
    let mut request = [0; HEADER_BYTES + INFO_BYTES];
    let fields = [(0, (HEADER_BYTES + INFO_BYTES) as u16), (4, GET_LINK), (6, DUMP)];
    for (at, value) in fields {
        // The length has 32 bits, of which only the lower half is used: where it is depends on the byte order.
        let at = if at == 0 && cfg!(target_endian = "big") { 2 } else { at };
        if let Some(field) = request.get_mut(at..at + 2) {
            field.copy_from_slice(&value.to_ne_bytes());
        }
    }
    request
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_ne_bytes)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_ne_bytes)
}

/// The pieces of a list whose elements state their length and are padded to multiples of 4 bytes.
pub(super) fn pieces(
    mut bytes: &[u8],
    length: impl Fn(&[u8]) -> Option<usize>,
    least: usize,
) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let stated = length(bytes).filter(|stated| *stated >= least)?;
        let piece = bytes.get(..stated)?;
        bytes = bytes.get(stated.next_multiple_of(4)..).unwrap_or_default();
        Some(piece)
    })
}

/// The messages in what was received.
pub(super) fn messages(bytes: &[u8]) -> impl Iterator<Item = Message> {
    pieces(bytes, |bytes| Some(u32_at(bytes, 0)? as usize), HEADER_BYTES)
        .map(|message| parsed(message).unwrap_or(Message::Other))
}

fn parsed(message: &[u8]) -> Option<Message> {
    let body = message.get(HEADER_BYTES..)?;
    match u16_at(message, 4)? {
        DONE => Some(Message::Done),
        ERROR => Some(Message::Failed(-(u32_at(body, 0)?.cast_signed()))),
        kind @ (NEW_LINK | DELETED_LINK) => {
            // Other families speak of a link as a port of a bridge, which comes and goes without the link.
            if *body.first()? != 0 {
                return Some(Message::Other);
            }
            let index = u32_at(body, 4)?;
            if kind == DELETED_LINK {
                return Some(Message::Gone(index));
            }
            let mut link = Link { index, hardware: u16_at(body, 2)?, flags: u32_at(body, 8)?, ..Link::default() };
            describe(&mut link, body.get(INFO_BYTES..)?);
            Some(Message::Link(link))
        }
        _ => Some(Message::Other),
    }
}

/// Attributes: their types, without flags, and values.
pub(super) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    pieces(bytes, |bytes| Some(u16_at(bytes, 0)?.into()), 4)
        .filter_map(|attribute| Some((u16_at(attribute, 2)? & TYPE_MASK, attribute.get(4..)?)))
}

/// Characters up to a zero.
fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

fn describe(link: &mut Link, bytes: &[u8]) {
    for (kind, value) in attributes(bytes) {
        match kind {
            ADDRESS => link.address = value.to_vec(),
            NAME => link.name = text(value),
            ALIAS => link.alias = text(value),
            INFO => {
                let name = attributes(value).find(|(kind, _)| *kind == INFO_KIND);
                link.kind = name.map_or_else(String::new, |(_, name)| text(name));
            }
            MTU => link.mtu = u32_at(value, 0).unwrap_or(0),
            // `struct rtnl_link_stats64`: words of 64 bits.
            STATISTICS => {
                let word = |at: usize| u64_at(value, at * 8).unwrap_or(0);
                link.counts = InterfaceCounts {
                    rx_packets: word(0),
                    tx_packets: word(1),
                    rx_bytes: word(2),
                    tx_bytes: word(3),
                    rx_errors: word(4),
                    tx_errors: word(5),
                    rx_dropped: word(6),
                    tx_dropped: word(7),
                    rx_missed: word(15),
                };
            }
            TX_QUEUES => link.tx_queues = u32_at(value, 0),
            LINK => link.peer = u32_at(value, 0),
            LINK_NAMESPACE => link.peer_is_elsewhere = true,
            RX_QUEUES => link.rx_queues = u32_at(value, 0),
            XDP => {
                let mode = attributes(value).find(|(kind, _)| *kind == XDP_ATTACHED);
                link.has_xdp = mode.is_some_and(|(_, mode)| mode.first().is_some_and(|mode| *mode != 0));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut message = vec![0; HEADER_BYTES];
        message[..4].copy_from_slice(&((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
        message[4..6].copy_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(body);
        message.resize(message.len().next_multiple_of(4), 0);
        message
    }

    fn link(family: u8, index: u32) -> Vec<u8> {
        let mut body = vec![family, 0];
        body.extend(1_u16.to_ne_bytes());
        body.extend([index, UP | RUNNING | LOWER_UP, 0].into_iter().flat_map(u32::to_ne_bytes));
        // A length that is padded; then the MTU.
        body.extend([9_u16, NAME].into_iter().flat_map(u16::to_ne_bytes));
        body.extend(b"eth7\0\0\0\0");
        body.extend([8_u16, MTU].into_iter().flat_map(u16::to_ne_bytes));
        body.extend(1500_u32.to_ne_bytes());
        body
    }

    #[test]
    fn links_come_and_go() {
        let bytes =
            [message(NEW_LINK, &link(0, 5)), message(DELETED_LINK, &link(0, 6)), message(DONE, &[0; 4])].concat();
        let found: Vec<_> = messages(&bytes).collect();
        let [Message::Link(link), Message::Gone(6), Message::Done] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((link.index, link.name.as_str(), link.mtu, link.rx_queues), (5, "eth7", 1500, None));
        assert!(link.is_up() && link.has_carrier());
    }

    #[test]
    fn attributes_are_read_each_to_its_place() {
        let attribute = |kind: u16, value: &[u8]| {
            let mut bytes = [(4 + value.len()) as u16, kind].into_iter().flat_map(u16::to_ne_bytes).collect::<Vec<_>>();
            bytes.extend_from_slice(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        /// `NLA_F_NESTED`, which is not part of the kind.
        const NESTED: u16 = 1 << 15;
        let mut body = link(0, 5);
        body.extend(attribute(ADDRESS, &[2, 0, 0, 0, 0, 9]));
        body.extend(attribute(ALIAS, b"made here"));
        body.extend(attribute(INFO | NESTED, &[attribute(7, &[1; 5]), attribute(INFO_KIND, b"veth\0")].concat()));
        body.extend(attribute(TX_QUEUES, &3_u32.to_ne_bytes()));
        body.extend(attribute(RX_QUEUES, &4_u32.to_ne_bytes()));
        body.extend(attribute(STATISTICS, &(0..24_u64).flat_map(u64::to_ne_bytes).collect::<Vec<_>>()));
        let bytes = message(NEW_LINK, &body);
        let Some(Message::Link(link)) = messages(&bytes).next() else { panic!("no link") };
        assert_eq!(
            (link.kind.as_str(), link.alias.as_str(), link.address),
            ("veth", "made here", vec![2, 0, 0, 0, 0, 9])
        );
        assert_eq!((link.tx_queues, link.rx_queues), (Some(3), Some(4)));
        let counts = InterfaceCounts {
            rx_packets: 0,
            tx_packets: 1,
            rx_bytes: 2,
            tx_bytes: 3,
            rx_errors: 4,
            tx_errors: 5,
            rx_dropped: 6,
            tx_dropped: 7,
            rx_missed: 15,
        };
        assert_eq!(link.counts, counts);
    }

    #[test]
    fn running_needs_an_interface_that_is_on() {
        let link = |flags| Link { flags, ..Link::default() };
        assert!(link(UP | RUNNING).is_running());
        assert!(!link(UP | LOWER_UP).is_running() && !link(RUNNING).is_running());
    }

    #[test]
    fn ports_of_bridges_are_not_links() {
        let bytes = message(DELETED_LINK, &link(libc::AF_BRIDGE as u8, 5));
        assert_eq!(messages(&bytes).collect::<Vec<_>>(), [Message::Other]);
    }

    #[test]
    fn damaged_messages_end_the_list() {
        let whole = message(NEW_LINK, &link(0, 5));
        for length in 0..whole.len() {
            let found: Vec<_> = messages(&whole[..length]).collect();
            assert!(found.is_empty(), "{length}: {found:?}");
        }
        let mut endless = whole.clone();
        endless[..4].fill(0);
        assert_eq!(messages(&endless).count(), 0, "a length of 0 goes nowhere");
        assert_eq!(messages(&message(ERROR, &(-13_i32).to_ne_bytes())).next(), Some(Message::Failed(13)));
    }
}
