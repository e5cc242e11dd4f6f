//! Slots of the walk: its findings, and its working values. The caller sets the first three.

use crate::ir::Slot;

/// 1 where the frame begins with an Ethernet header.
pub(crate) const LINK: Slot = 0;
/// Where the next header is.
pub(crate) const AT: Slot = 1;
/// Its EtherType, once known.
pub(crate) const ETHER_TYPE: Slot = 2;
/// EtherType of the innermost IP packet, or of what stands behind the tags.
pub(crate) const L3: Slot = 3;
/// Ids of the two outermost VLAN tags, plus 1; 0 where there is none.
pub(crate) const VLAN0: Slot = 4;
pub(crate) const VLAN1: Slot = 5;
/// 4 where the outermost tag is still in the frame.
pub(crate) const TAG_BYTES: Slot = 6;
/// 4, 6, or 0 where no IP header was found.
pub(crate) const VERSION: Slot = 7;
/// Where the IP header is.
pub(crate) const IP_AT: Slot = 8;
/// IP protocol.
pub(crate) const PROTO: Slot = 9;
/// Where the transport header is.
pub(crate) const L4_AT: Slot = 10;
/// 0: whole; 1: first fragment; 2: a later one.
pub(crate) const FRAGMENT: Slot = 11;
/// Flags and offset as IPv4 has them.
pub(crate) const FRAGMENT_FIELD: Slot = 12;
/// IPv6: where the fragment header is, or 0.
pub(crate) const FRAGMENT_AT: Slot = 13;
/// 1 where there are ports.
pub(crate) const PORTS: Slot = 14;
pub(crate) const SOURCE_PORT: Slot = 15;
pub(crate) const DESTINATION_PORT: Slot = 16;

/// 0: passed, 1: by one hash, 2: to a worker, 3: by two hashes, 4: dropped.
pub(crate) const TARGET: Slot = 17;
/// The hash, or the worker.
pub(crate) const FIRST: Slot = 18;
/// The second hash.
pub(crate) const SECOND: Slot = 19;
pub(crate) const CLASS: Slot = 20;
pub(crate) const MARK: Slot = 21;
pub(crate) const STATE: Slot = 22;

/// Scratch: the value is undefined after use.
pub(crate) const T0: Slot = 23;
pub(crate) const T1: Slot = 24;
pub(crate) const T2: Slot = 25;
pub(crate) const T3: Slot = 26;
pub(crate) const T4: Slot = 27;
pub(crate) const T5: Slot = 28;
pub(crate) const T6: Slot = 29;

/// IPv4's addresses.
pub(crate) const SOURCE4: Slot = 30;
pub(crate) const DESTINATION4: Slot = 31;

/// The first that is free.
pub(crate) const FREE: Slot = 32;
