use std::{fmt::Write, io};

use tidewire_wire::LinkType;

use super::{features::Features, plan::single_buffer_max};
use crate::{
    Interface,
    sys::{
        bpf::{Map, XSK_MAP},
        netlink::DeviceSocket,
        xsk::XskSocket,
    },
};

/// AF_XDP support of an interface, as the kernel and the driver report it, untested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Support {
    /// The driver runs XDP programs that redirect frames of the interface's size.
    pub native: bool,
    /// The kernel does it behind the driver.
    pub generic: bool,
    /// The driver writes into the ring's memory; else the kernel copies.
    pub zero_copy: bool,
    /// The card takes VLAN tags out of frames before XDP sees them (seen on a veth as well, in both modes): they are lost.
    pub tags_lost: bool,
    /// The obstacle, and its reason; empty if nothing is missing.
    pub reason: String,
}

/// Asks what AF_XDP can do on an interface. Nothing is changed, and nothing attached.
#[must_use]
pub fn probe(interface: &Interface) -> Support {
    let mut reason = Reason::default();
    let Some(()) = sockets(interface, &mut reason) else { return Support { reason: reason.0, ..Support::default() } };
    let (native, zero_copy) = match Features::of(interface.index) {
        Ok(features) => native(interface, features, &mut reason),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            reason.add("the kernel is older than 6.3 and does not say what the driver can: it has to be tried");
            (true, false)
        }
        Err(error) => {
            reason.add(&format!("the kernel does not say what the driver can: {error}"));
            (false, false)
        }
    };
    let device = DeviceSocket::open().ok();
    let tags_lost = device.and_then(|device| device.takes_tags_out(&interface.name)) == Some(true);
    if tags_lost {
        reason.add(&format!(
            "the card takes VLAN tags out of frames, and AF_XDP does not see them: ethtool -K {} rxvlan off",
            interface.name
        ));
    }
    Support { native, generic: true, zero_copy, tags_lost, reason: reason.0 }
}

/// Checks what native and generic mode both need.
fn sockets(interface: &Interface, reason: &mut Reason) -> Option<()> {
    if interface.link().ok() != Some(LinkType::ETHERNET) {
        reason.add("its frames are not Ethernet's");
        return None;
    }
    if interface.has_xdp {
        reason.add(&format!("another XDP program is attached (ip link set dev {} xdp off)", interface.name));
        return None;
    }
    if let Err(error) = XskSocket::open() {
        reason.add(&match error.raw_os_error() {
            Some(libc::EPERM) => "AF_XDP sockets need cap_net_raw".to_owned(),
            Some(libc::EAFNOSUPPORT) => "the kernel was built without AF_XDP".to_owned(),
            _ => format!("AF_XDP sockets cannot be opened: {error}"),
        });
        return None;
    }
    if let Err(error) = Map::new(XSK_MAP, 4, 4, 1) {
        reason.add(&match error.raw_os_error() {
            Some(libc::EPERM) => "XDP programs need cap_bpf and cap_net_admin".to_owned(),
            _ => format!("eBPF maps cannot be made: {error}"),
        });
        return None;
    }
    Some(())
}

fn native(interface: &Interface, features: Features, reason: &mut Reason) -> (bool, bool) {
    let driver = interface.driver.as_deref().unwrap_or("its driver");
    if !features.redirects() {
        reason.add(&format!("{driver} runs no XDP programs that redirect"));
        return (false, false);
    }
    if !features.takes_frags() && interface.mtu > single_buffer_max() {
        reason.add(&format!(
            "{driver} hands frames of one buffer only to XDP programs, and the MTU is {}: lower it to {}",
            interface.mtu,
            single_buffer_max()
        ));
        return (false, false);
    }
    if !features.is_zero_copy() {
        reason.add(&format!("{driver} cannot write into AF_XDP's memory: frames are copied"));
    }
    (true, features.is_zero_copy())
}

/// Reasons, joined by semicolons.
#[derive(Default)]
struct Reason(String);

impl Reason {
    fn add(&mut self, what: &str) {
        let between = if self.0.is_empty() { "" } else { "; " };
        let _ = write!(self.0, "{between}{what}");
    }
}
