use std::io;

use tidewire_wire::LinkType;

use super::{
    InterfaceCounts,
    link_message::{self, Link, Message},
    xsk::Features,
};
use crate::{
    Error, KernelError, Operation, SettingError,
    sys::netlink::{DeviceSocket, LinkSocket},
};

/// `ARPHRD_ETHER` (include/uapi/linux/if_arp.h; the same in the next three).
const ETHER: u16 = 1;
/// `ARPHRD_LOOPBACK`: frames with an Ethernet header of zeroes.
const LOOPBACK: u16 = 772;
/// `ARPHRD_NONE`: tun, WireGuard.
const NONE: u16 = 0xfffe;
/// `ARPHRD_RAWIP`: modems.
const RAW_IP: u16 = 519;
/// `ARPHRD_PPP`, `ARPHRD_TUNNEL`, `ARPHRD_TUNNEL6`, `ARPHRD_SIT`, `ARPHRD_IPGRE`, `ARPHRD_IP6GRE`: these devices have no link-layer header that
/// packet sockets show (`dev_has_header` of include/linux/netdevice.h). A GRE device without a remote address shows the outer IP
/// header.
const PPP: u16 = 512;
const TUNNEL: u16 = 768;
const TUNNEL6: u16 = 769;
const SIT: u16 = 776;
const GRE: u16 = 778;
const GRE6: u16 = 823;

/// A network interface, as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// Its name, which may change.
    pub name: String,
    /// Its index, constant while it exists.
    pub index: u32,
    /// Whether it is switched on (`IFF_UP`).
    pub up: bool,
    /// Whether it is switched on and ready to carry frames (`IFF_RUNNING`): of a veth, its other end is, too.
    pub running: bool,
    /// Whether it is connected (`IFF_LOWER_UP`).
    pub carrier: bool,
    /// Its kind, as `ip -d link` names it (`veth`); empty for a network card.
    pub kind: String,
    /// Its alias (`ip link set … alias`); empty without one.
    pub alias: String,
    /// Its hardware's address: 6 bytes for Ethernet, none for interfaces of plain IP.
    pub address: Vec<u8>,
    /// Largest packet that it sends, without its link-layer header, bytes.
    pub mtu: u32,
    /// Kind of hardware, `ARPHRD_…`.
    pub hardware: u16,
    /// Transmit queues that the kernel has room for; 1 where it is not known.
    pub tx_queues: u32,
    /// Receive queues in use; 1 where it is not known.
    pub rx_queues: u32,
    /// Whether an XDP program is attached to it.
    pub has_xdp: bool,
    /// Its driver, if known.
    pub driver: Option<String>,
    /// The number of the interface that it belongs to, where that is in the same network namespace: of a veth its other end.
    pub peer: Option<u32>,
    /// Its counters so far.
    pub counts: InterfaceCounts,
}

impl Interface {
    /// All interfaces of the calling thread's network namespace, in the order of their numbers.
    ///
    /// # Errors
    /// The kernel refuses the request.
    pub fn all() -> Result<Vec<Self>, Error> {
        let links = links().map_err(|source| Error::kernel("listing the network interfaces", source))?;
        let device = DeviceSocket::open().ok();
        Ok(links.into_iter().map(|link| Self::new(link, device.as_ref())).collect())
    }

    /// Sets the number of receive and combined channels of an interface; `None` leaves a kind unchanged. The setting outlives
    /// the capture, as with ethtool(8).
    ///
    /// # Errors
    /// The driver has fewer, or cannot change them; the capability is missing.
    pub fn set_channels(name: &str, receive: Option<u32>, combined: Option<u32>) -> Result<(), Error> {
        let set = DeviceSocket::open().and_then(|device| device.set_channels(name, receive, combined));
        set.map_err(|source| {
            let operation = Operation::SetChannels { interface: name.to_owned() };
            KernelError::new(operation, format!("{name}: setting its channels"), source).into()
        })
    }

    /// Finds an interface by name.
    ///
    /// # Errors
    /// [`Error::NoInterface`] with the existing names; the kernel refuses the request.
    pub fn find(name: &str) -> Result<Self, Error> {
        let mut all = Self::all()?;
        match all.iter().position(|interface| interface.name == name) {
            Some(at) => Ok(all.swap_remove(at)),
            None => {
                let known: Vec<_> = all.into_iter().map(|interface| interface.name).collect();
                Err(Error::NoInterface { interface: name.into(), known })
            }
        }
    }

    pub(super) fn new(link: Link, device: Option<&DeviceSocket>) -> Self {
        let queues = device.and_then(|device| device.receive_queues(&link.name)).or(link.rx_queues);
        Self {
            index: link.index,
            up: link.is_up(),
            running: link.is_running(),
            carrier: link.has_carrier(),
            kind: link.kind,
            alias: link.alias,
            address: link.address,
            mtu: link.mtu,
            hardware: link.hardware,
            has_xdp: link.has_xdp,
            peer: link.peer.filter(|_| !link.peer_is_elsewhere),
            tx_queues: link.tx_queues.unwrap_or(1).max(1),
            rx_queues: queues.unwrap_or(1).max(1),
            driver: device.and_then(|device| device.driver(&link.name)),
            name: link.name,
            counts: link.counts,
        }
    }

    /// Its counters now, or as of its lookup if it is gone.
    pub(super) fn counts_now(&self) -> InterfaceCounts {
        Self::find(&self.name).map_or(self.counts, |now| now.counts)
    }

    /// Why its driver would lose frames that XDP programs redirect to it, and what to do; `None` where it sends them, or where
    /// the kernel does not say (before Linux 6.3).
    ///
    /// A veth takes such frames only while its other end has GRO or an XDP program (`veth_xdp_xmit` in drivers/net/veth.c),
    /// and most cards only while they have an XDP program themselves. The frames are dropped in silence otherwise.
    #[must_use]
    pub fn loses_redirected(&self) -> Option<String> {
        let is_lost = Features::of(self.index).is_ok_and(|features| !features.transmits());
        is_lost.then(|| self.redirect_hint())
    }

    /// Whether it is an end of a virtual cable.
    #[must_use]
    pub fn is_veth(&self) -> bool {
        self.kind == "veth"
    }

    fn redirect_hint(&self) -> String {
        let name = &self.name;
        if !self.is_veth() {
            return format!(
                "the driver of {name} sends no frames that XDP programs redirect; many do while {name} has an XDP program itself"
            );
        }
        let all = Self::all().unwrap_or_default();
        let peer = all.iter().find(|other| Some(other.index) == self.peer).map(|other| other.name.as_str());
        let place = if peer.is_some() { "" } else { ", in its namespace" };
        format!(
            "the other end of {name} has neither GRO nor an XDP program, so that it drops redirected frames: ethtool -K {} gro \
             on{place}",
            peer.unwrap_or("PEER")
        )
    }

    /// Whether this is a loopback interface, on which every frame is seen twice: as it leaves and as it arrives.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.hardware == LOOPBACK
    }

    /// The link type of its frames.
    ///
    /// # Errors
    /// [`Error::Setting`] where frames of this kind of hardware cannot be captured.
    pub fn link(&self) -> Result<LinkType, Error> {
        match self.hardware {
            ETHER | LOOPBACK => Ok(LinkType::ETHERNET),
            NONE | RAW_IP | TUNNEL | TUNNEL6 | SIT | GRE | GRE6 | PPP => Ok(LinkType::RAW),
            other => Err(SettingError::UnsupportedHardware { interface: self.name.clone(), hardware: other }.into()),
        }
    }
}

/// All links.
pub(super) fn links() -> io::Result<Vec<Link>> {
    let socket = LinkSocket::open(false)?;
    socket.send(&link_message::request())?;
    let mut room = vec![0; link_message::ROOM_BYTES];
    let mut links = Vec::new();
    loop {
        let got = socket.receive(&mut room)?;
        for message in link_message::messages(room.get(..got).unwrap_or_default()) {
            match message {
                Message::Link(link) => links.push(link),
                Message::Done => {
                    links.sort_by_key(|link| link.index);
                    return Ok(links);
                }
                Message::Failed(number) => return Err(io::Error::from_raw_os_error(number)),
                Message::Gone(_) | Message::Other => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_known() {
        let all = Interface::all().unwrap();
        let found = all.iter().find(|interface| interface.is_loopback()).unwrap();
        assert_eq!((found.index, found.link().unwrap()), (1, LinkType::ETHERNET));
        assert!(found.mtu >= 1500 && found.rx_queues >= 1, "{found:?}");
        let again = Interface::find(&found.name).unwrap();
        assert_eq!(&Interface { counts: found.counts, ..again }, found);
    }

    #[test]
    fn names_that_there_are_not_come_with_those_that_there_are() {
        let error = Interface::find("no-such0").unwrap_err().with_hint().to_string();
        assert!(error.contains("no-such0") && error.contains("lo"), "{error}");
    }

    #[test]
    fn other_kinds_of_hardware_are_refused_by_name() {
        let mut interface = Interface::find("lo").unwrap();
        interface.hardware = 801;
        let error = interface.link().unwrap_err().with_hint().to_string();
        assert!(error.contains("lo") && error.contains("801"), "{error}");
        for hardware in [NONE, PPP, TUNNEL, TUNNEL6, SIT, GRE, GRE6] {
            interface.hardware = hardware;
            assert_eq!(interface.link().unwrap(), LinkType::RAW);
        }
    }
}
