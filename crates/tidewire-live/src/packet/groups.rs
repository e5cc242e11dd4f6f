//! Which fan-out groups there are.

use std::{collections::BTreeSet, io};

use super::sock_diag::packet_sockets;
use crate::sys::netlink::LinkSocket;

/// The numbers of the fan-out groups that packet sockets of this network namespace are in, everybody's.
///
/// # Errors
/// What the kernel says; it may have been built without `CONFIG_PACKET_DIAG`.
pub fn groups_in_use() -> io::Result<BTreeSet<u16>> {
    let all = packet_sockets(&LinkSocket::sockets()?)?;
    Ok(all.into_iter().filter_map(|found| found.group).collect())
}
