use std::io;

use crate::Error;
use tidewire_live::{Interface, sys::netlink::LinkSocket};

/// Whether an interface has an IP address by which other hosts reach this machine. Link-local addresses of IPv6 do not
/// count.
///
/// # Errors
/// The error of the kernel.
pub fn has_address(interface: &Interface) -> Result<bool, Error> {
    let failed = |source| Error::System { what: "listing addresses".into(), source, hint: String::new() };
    addresses(interface.index).map_err(failed)
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

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}
