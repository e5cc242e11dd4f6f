//! Why a group refuses a member.

use crate::{FanoutMode, Interface, sys::netlink::LinkSocket};

use super::sock_diag::{PacketSocketInfo, packet_sockets};

/// Why a group refuses a socket of this mode and these flags, as far as sock_diag(7) shows its members, and what to do.
pub(crate) fn join_conflict(group: u16, kind: u16, index: u32) -> String {
    let advice = "use the same settings, or another number";
    let interfaces = Interface::all().unwrap_or_default();
    if interfaces.iter().any(|interface| interface.index == index && !interface.up) {
        return "the interface is down: switch it on".into();
    }
    let found = LinkSocket::sockets().and_then(|socket| packet_sockets(&socket));
    let members: Vec<PacketSocketInfo> =
        found.unwrap_or_default().into_iter().filter(|member| member.group == Some(group)).collect();
    let Some(member) = members.first() else {
        return format!(
            "the group exists with another mode, other flags, another direction or on another interface, or the interface \
             is down: {advice}"
        );
    };
    let count = members.len();
    if member.interface != index {
        let name = interfaces.into_iter().find(|interface| interface.index == member.interface);
        let name = name.map_or_else(|| format!("number {}", member.interface), |interface| interface.name);
        return format!("the group exists on another interface, {name}, with {count} members: {advice}");
    }
    let mode = kind & 0xff;
    if u16::from(member.mode) != mode {
        let [theirs, ours] = [u16::from(member.mode), mode].map(name);
        return format!(
            "the group exists with another mode, {theirs} instead of {ours}, and {count} members: {advice}"
        );
    }
    // Which flags, the kernel does not show, and trying would take frames from the members.
    format!(
        "the group exists in this mode, {}, but with other flags (fragments put together, rollover, incoming frames only), \
         and {count} members: {advice}",
        name(mode)
    )
}

fn name(mode: u16) -> String {
    let known = FanoutMode::ALL.iter().find(|entry| entry.1.number() == mode);
    known.map_or_else(|| format!("number {mode}"), |entry| entry.0.to_owned())
}
