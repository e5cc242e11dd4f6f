//! Interfaces as the kernel describes them (rtnetlink), in the calling thread's network namespace, which `/sys` need not be
//! of.

use std::io;

use tidewire_capture::{Error, sys::netlink::LinkSocket};

use super::ALIAS;

/// Kinds of attributes (`IFLA_*`, include/uapi/linux/if_link.h).
mod attribute {
    pub(super) const ADDRESS: u16 = 1;
    pub(super) const IFNAME: u16 = 3;
    pub(super) const MTU: u16 = 4;
    pub(super) const LINKINFO: u16 = 18;
    pub(super) const IFALIAS: u16 = 20;
    pub(super) const STATS64: u16 = 23;
    pub(super) const NUM_TX_QUEUES: u16 = 31;
    pub(super) const NUM_RX_QUEUES: u16 = 32;
}

/// `IFF_UP`
const UP: u32 = 1;
/// `IFF_RUNNING`
const RUNNING: u32 = 1 << 6;

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its driver, as `ip -d link` names it (`veth`); empty for a card.
    pub kind: String,
    /// What somebody wrote to it (`ip link set … alias`).
    pub alias: String,
    /// Its address, 6 bytes for Ethernet.
    pub address: Vec<u8>,
    /// Largest packet, bytes, without the link's header.
    pub mtu: u32,
    /// Switched on.
    pub is_up: bool,
    /// On, and there is a carrier.
    pub is_running: bool,
    /// Queues to send and to receive with.
    pub queues: (u32, u32),
    /// What went through it.
    pub counts: LinkCounts,
}

/// What went through an interface since it was made (`struct rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Errors in receiving.
    pub rx_errors: u64,
    /// Errors in sending.
    pub tx_errors: u64,
    /// Packets that found no room when they came.
    pub rx_dropped: u64,
    /// Packets that found no room when they went.
    pub tx_dropped: u64,
}

/// All interfaces, by number.
///
/// # Errors
/// What the kernel says.
pub fn all() -> io::Result<Vec<Link>> {
    const RTM_GETLINK: u16 = 18;
    const DUMP: u16 = 0x301;
    let socket = LinkSocket::open(false)?;
    // A header of 16 bytes, and an `ifinfomsg` of 16 that asks for everything.
    let mut request = Vec::with_capacity(32);
    request.extend(32_u32.to_ne_bytes());
    request.extend(RTM_GETLINK.to_ne_bytes());
    request.extend(DUMP.to_ne_bytes());
    request.resize(32, 0);
    socket.send(&request)?;
    let mut links = Vec::new();
    let mut buffer = vec![0_u8; 1 << 18];
    loop {
        let got = socket.receive(&mut buffer)?;
        if messages(buffer.get(..got).unwrap_or_default(), &mut links)? {
            return Ok(links);
        }
    }
}

impl Link {
    /// The interface of this name.
    ///
    /// # Errors
    /// There is none; what the kernel says.
    pub fn find(name: &str) -> Result<Self, Error> {
        let failed = |source| Error::Kernel { what: "listing interfaces".into(), source, hint: String::new() };
        let links = all().map_err(failed)?;
        let known = || links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = links.iter().find(|link| link.name == name).cloned();
        found.ok_or_else(|| Error::NoInterface { interface: name.into(), known: known() })
    }

    /// Whether it has an IP address by which others reach this machine; those that IPv6 gives to every link do not count.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn has_address(&self) -> Result<bool, Error> {
        let failed = |source| Error::Kernel { what: "listing addresses".into(), source, hint: String::new() };
        addresses(self.index).map_err(failed)
    }

    /// Whether it was made here: a veth whose alias says so.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.kind == "veth" && self.alias.starts_with(ALIAS)
    }
}

impl LinkCounts {
    /// What was added since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            rx_packets: self.rx_packets.saturating_sub(before.rx_packets),
            tx_packets: self.tx_packets.saturating_sub(before.tx_packets),
            rx_bytes: self.rx_bytes.saturating_sub(before.rx_bytes),
            tx_bytes: self.tx_bytes.saturating_sub(before.tx_bytes),
            rx_errors: self.rx_errors.saturating_sub(before.rx_errors),
            tx_errors: self.tx_errors.saturating_sub(before.tx_errors),
            rx_dropped: self.rx_dropped.saturating_sub(before.rx_dropped),
            tx_dropped: self.tx_dropped.saturating_sub(before.tx_dropped),
        }
    }
}

/// Whether an interface has an address that reaches beyond its link.
fn addresses(index: u32) -> io::Result<bool> {
    const RTM_NEWADDR: u16 = 20;
    const RTM_GETADDR: u16 = 22;
    /// `RT_SCOPE_LINK`, `NLMSG_DONE`
    const LINK_SCOPE: u8 = 253;
    const DONE: u16 = 3;
    let socket = LinkSocket::open(false)?;
    // A header of 16 bytes, and an `ifaddrmsg` of 8: family, prefix, flags, scope, index.
    let mut request = Vec::with_capacity(24);
    request.extend(24_u32.to_ne_bytes());
    request.extend(RTM_GETADDR.to_ne_bytes());
    request.extend(0x301_u16.to_ne_bytes());
    request.resize(24, 0);
    socket.send(&request)?;
    let mut buffer = vec![0_u8; 1 << 16];
    let mut found = false;
    loop {
        let got = socket.receive(&mut buffer)?;
        let mut bytes = buffer.get(..got).unwrap_or_default();
        while let (Some(length), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
            let Some(body) = bytes.get(16..length as usize) else { return Ok(found) };
            if kind == DONE {
                return Ok(found);
            }
            let reaches = body.get(3).is_some_and(|scope| *scope < LINK_SCOPE);
            found |= kind == RTM_NEWADDR && u32_at(body, 4) == Some(index) && reaches;
            bytes = bytes.get((length as usize).next_multiple_of(4)..).unwrap_or_default();
        }
        if got == 0 {
            return Ok(found);
        }
    }
}

/// Reads netlink messages; whether they end here.
fn messages(mut bytes: &[u8], links: &mut Vec<Link>) -> io::Result<bool> {
    const ERROR: u16 = 2;
    const DONE: u16 = 3;
    const NEW_LINK: u16 = 16;
    while let (Some(length), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let length = length as usize;
        let Some(body) = bytes.get(16..length) else { break };
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let number = u32_at(body, 0).unwrap_or(0).cast_signed();
                return Err(io::Error::from_raw_os_error(number.wrapping_neg()));
            }
            NEW_LINK => links.extend(link(body)),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// Reads an `ifinfomsg` and its attributes.
fn link(body: &[u8]) -> Option<Link> {
    let flags = u32_at(body, 8)?;
    let mut link = Link { index: u32_at(body, 4)?, ..Link::default() };
    link.is_up = flags & UP != 0;
    link.is_running = link.is_up && flags & RUNNING != 0;
    for (kind, value) in Attributes(body.get(16..)?) {
        match kind {
            attribute::ADDRESS => link.address = value.to_vec(),
            attribute::IFNAME => link.name = text(value),
            attribute::MTU => link.mtu = u32_at(value, 0)?,
            attribute::IFALIAS => link.alias = text(value),
            attribute::NUM_TX_QUEUES => link.queues.0 = u32_at(value, 0)?,
            attribute::NUM_RX_QUEUES => link.queues.1 = u32_at(value, 0)?,
            attribute::STATS64 => link.counts = counts(value),
            attribute::LINKINFO => {
                const INFO_KIND: u16 = 1;
                let name = Attributes(value).find(|(kind, _)| *kind == INFO_KIND);
                link.kind = name.map_or_else(String::new, |(_, value)| text(value));
            }
            _ => {}
        }
    }
    Some(link)
}

fn counts(value: &[u8]) -> LinkCounts {
    let field = |index: usize| {
        let bytes = value.get(8 * index..8 * index + 8).and_then(|bytes| bytes.try_into().ok());
        u64::from_ne_bytes(bytes.unwrap_or_default())
    };
    LinkCounts {
        rx_packets: field(0),
        tx_packets: field(1),
        rx_bytes: field(2),
        tx_bytes: field(3),
        rx_errors: field(4),
        tx_errors: field(5),
        rx_dropped: field(6),
        tx_dropped: field(7),
    }
}

/// Netlink attributes: kind and value.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        /// `NLA_TYPE_MASK`: the upper bits say how it is encoded.
        const KIND: u16 = 0x3fff;
        let length = usize::from(u16_at(self.0, 0)?);
        let kind = u16_at(self.0, 2)? & KIND;
        let value = self.0.get(4..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}
