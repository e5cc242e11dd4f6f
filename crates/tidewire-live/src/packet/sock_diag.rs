//! The packet sockets of this network namespace, as sock_diag(7) shows them (include/uapi/linux/packet_diag.h).

use std::io;

use crate::{
    link_message::{ROOM_BYTES, attributes, pieces, u16_at, u32_at},
    sys::netlink::LinkSocket,
};

/// `struct nlmsghdr`, and `struct packet_diag_req` and `…_msg` behind it.
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = 20;
const MESSAGE_BYTES: usize = 16;
/// `SOCK_DIAG_BY_FAMILY`, `NLM_F_REQUEST | NLM_F_DUMP`
const BY_FAMILY: u16 = 20;
const DUMP: u16 = 0x301;
/// `NLMSG_ERROR`, `NLMSG_DONE`
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `PACKET_SHOW_INFO | PACKET_SHOW_FANOUT`
const SHOW: u32 = 1 | 8;
/// `PACKET_DIAG_INFO`, `PACKET_DIAG_FANOUT`
const INFO: u16 = 0;
const FANOUT: u16 = 4;

/// A packet socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacketSocketInfo {
    /// The interface that it is bound to; 0: none.
    pub interface: u32,
    /// Its group, where it is in one.
    pub group: Option<u16>,
    /// That group's mode.
    pub mode: u8,
}

/// All packet sockets.
///
/// # Errors
/// What the kernel says: it may be built without (`CONFIG_PACKET_DIAG`).
pub(super) fn packet_sockets(socket: &LinkSocket) -> io::Result<Vec<PacketSocketInfo>> {
    socket.send(&request())?;
    let (mut found, mut room) = (Vec::new(), vec![0; ROOM_BYTES]);
    loop {
        let got = socket.receive(&mut room)?;
        let received = room.get(..got).unwrap_or_default();
        for message in pieces(received, |bytes| Some(u32_at(bytes, 0)? as usize), HEADER_BYTES) {
            match u16_at(message, 4) {
                Some(DONE) => return Ok(found),
                Some(ERROR) => {
                    let number = u32_at(message, HEADER_BYTES).map_or(0, |number| -number.cast_signed());
                    return Err(io::Error::from_raw_os_error(number));
                }
                _ => found.extend(parsed(message)),
            }
        }
        if got == 0 {
            return Ok(found);
        }
    }
}

fn request() -> Vec<u8> {
    let mut request = Vec::new();
    request.extend(((HEADER_BYTES + REQUEST_BYTES) as u32).to_ne_bytes());
    request.extend([BY_FAMILY, DUMP].into_iter().flat_map(u16::to_ne_bytes));
    request.extend([1_u32, 0].into_iter().flat_map(u32::to_ne_bytes));
    request.extend([libc::AF_PACKET as u8, 0, 0, 0]);
    // Socket, what to show, cookie.
    request.extend([0, SHOW, 0, 0].into_iter().flat_map(u32::to_ne_bytes));
    request
}

fn parsed(message: &[u8]) -> Option<PacketSocketInfo> {
    let list = message.get(HEADER_BYTES + MESSAGE_BYTES..)?;
    let mut found = PacketSocketInfo { interface: 0, group: None, mode: 0 };
    for (kind, value) in attributes(list) {
        match kind {
            INFO => found.interface = u32_at(value, 0)?,
            FANOUT => {
                let [a, b, mode, _] = u32_at(value, 0)?.to_le_bytes();
                (found.group, found.mode) = (Some(u16::from_le_bytes([a, b])), mode);
            }
            _ => {}
        }
    }
    Some(found)
}
