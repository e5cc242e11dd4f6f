//! XDP features that a driver reports (Documentation/netlink/specs/netdev.yaml, Linux 6.3).

use std::io;

use crate::{
    link_message::{ROOM_BYTES, attributes, pieces, u16_at, u32_at, u64_at},
    sys::netlink::LinkSocket,
};

/// `struct nlmsghdr` and `struct genlmsghdr`.
const HEADER_BYTES: usize = 16;
const HEADERS_BYTES: usize = HEADER_BYTES + 4;
/// `NLM_F_REQUEST`
const REQUEST: u16 = 1;
/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID`, `CTRL_ATTR_FAMILY_NAME`
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// `NETDEV_CMD_DEV_GET`, `NETDEV_A_DEV_IFINDEX`, `NETDEV_A_DEV_XDP_FEATURES`
const GET_DEVICE: u8 = 1;
const INDEX: u16 = 1;
const FEATURES: u16 = 3;
/// `NLMSG_ERROR`
const ERROR: u16 = 2;

/// Features of a driver (`enum netdev_xdp_act`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features(u64);

impl Features {
    /// Reads the features that the driver of the interface with this number reports.
    ///
    /// # Errors
    /// What the kernel says: `NotFound` before Linux 6.3.
    pub(crate) fn of(index: u32) -> io::Result<Self> {
        let socket = LinkSocket::generic()?;
        let family = ask(&socket, &request(CONTROL, GET_FAMILY, FAMILY_NAME, b"netdev\0"))?;
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let family = value(&family, FAMILY_ID).and_then(|id| u16_at(&id, 0)).ok_or_else(missing)?;
        let device = ask(&socket, &request(family, GET_DEVICE, INDEX, &index.to_ne_bytes()))?;
        value(&device, FEATURES).and_then(|features| u64_at(&features, 0)).map(Self).ok_or_else(missing)
    }

    /// It runs programs, and redirects frames.
    pub(super) fn redirects(self) -> bool {
        self.0 & 0b11 == 0b11
    }

    /// It sends frames that programs of other interfaces redirect to it (`NETDEV_XDP_ACT_NDO_XMIT`).
    pub(crate) fn transmits(self) -> bool {
        self.0 & 1 << 2 != 0
    }

    /// It writes into AF_XDP sockets' memory.
    pub(super) fn is_zero_copy(self) -> bool {
        self.0 & 1 << 3 != 0
    }

    /// It hands frames of several buffers to programs.
    pub(super) fn takes_frags(self) -> bool {
        self.0 & 1 << 5 != 0
    }
}

/// A request with one attribute.
fn request(family: u16, command: u8, attribute: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut request = Vec::new();
    request.extend(((HEADERS_BYTES + length.next_multiple_of(4)) as u32).to_ne_bytes());
    request.extend([family, REQUEST].into_iter().flat_map(u16::to_ne_bytes));
    // A number of its own, and the kernel's choice of a sender.
    request.extend([1_u32, 0].into_iter().flat_map(u32::to_ne_bytes));
    request.extend([command, 1, 0, 0]);
    request.extend([length as u16, attribute].into_iter().flat_map(u16::to_ne_bytes));
    request.extend(value);
    request.resize(request.len().next_multiple_of(4), 0);
    request
}

/// Sends a request and returns the first message of the answer.
fn ask(socket: &LinkSocket, request: &[u8]) -> io::Result<Vec<u8>> {
    socket.send(request)?;
    let mut room = vec![0; ROOM_BYTES];
    let got = socket.receive(&mut room)?;
    room.truncate(got);
    let first = pieces(&room, |bytes| Some(u32_at(bytes, 0)? as usize), HEADER_BYTES).next();
    let message = first.ok_or(io::ErrorKind::InvalidData)?;
    if u16_at(message, 4) == Some(ERROR) {
        let number = u32_at(message, HEADER_BYTES).map_or(0, |number| -number.cast_signed());
        return Err(io::Error::from_raw_os_error(number));
    }
    Ok(message.to_vec())
}

fn value(message: &[u8], kind: u16) -> Option<Vec<u8>> {
    attributes(message.get(HEADERS_BYTES..)?).find(|entry| entry.0 == kind).map(|entry| entry.1.to_vec())
}
