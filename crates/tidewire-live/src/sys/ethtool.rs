//! Switches of interfaces (`ethtool -K`).
//!
//! JUSTIFICATION: `ioctl(2)` has no wrapper in the standard library, and its argument is an address.

use std::{io, os::fd::AsRawFd as _};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// A switch of an interface (`ethtool -K`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Generic receive offload: `gro`.
    Gro,
    /// Checksums of what is sent are left to the receiver: `tx`.
    TxChecksum,
    /// Segmentation of TCP by the interface: `tso`.
    Tso,
    /// Segmentation just before the driver: `gso`.
    Gso,
}

/// Turns a switch.
///
/// # Errors
/// What the kernel says: CAP_NET_ADMIN is needed, and not every driver has every switch.
pub fn set_feature(interface: &str, feature: Feature, on: bool) -> io::Result<()> {
    /// `struct ethtool_value`
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    /// `struct ifreq` with a pointer.
    #[repr(C)]
    struct Request {
        name: [u8; libc::IFNAMSIZ],
        value: *mut Value,
        rest: [u64; 2],
    }
    let command = match feature {
        Feature::TxChecksum => 0x17,
        Feature::Tso => 0x1f,
        Feature::Gso => 0x24,
        Feature::Gro => 0x2c,
    };
    let mut value = Value { command, data: on.into() };
    let mut request = Request { name: [0; libc::IFNAMSIZ], value: &raw mut value, rest: [0; 2] };
    let place = request.name.get_mut(..interface.len()).filter(|place| place.len() < libc::IFNAMSIZ);
    place.ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(interface.as_bytes());
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: the request is a whole `struct ifreq`, and the value it points to is what these commands take; both live
    // throughout the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
