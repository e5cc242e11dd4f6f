use std::{io, sync::atomic::Ordering::Relaxed};

use aya::EbpfLoader;
use tidewire_types::random::random_bytes;

use super::KernelSettings;
use crate::sys::mmap_array::MmapArray;

/// The largest table, in slots: array maps are indexed by 32 bits.
const SLOTS_MAX: u32 = 1 << 30;

/// Ports of tunnels that the programs have room for, of each kind (`bpf/layout.h`).
pub(super) const TUNNEL_PORTS: usize = 8;

/// The programs' constants (`bpf/layout.h`).
pub(super) struct Constants {
    pub(super) has_flows: u32,
    numbers: Vec<(&'static str, u32)>,
    pub(super) tunnel_destinations: [u16; TUNNEL_PORTS],
    pub(super) tunnel_ports: [u16; TUNNEL_PORTS],
}

impl Constants {
    pub(super) fn new(settings: &KernelSettings, slots: [u32; 2]) -> Self {
        let has_flows = u32::from(settings.flows_v4 > 0 || settings.flows_v6 > 0);
        let shed = settings.shed.as_ref();
        let wire = &settings.wire;
        let deep = wire.tunnel_depth > 0;
        /// `XDP_DROP`, `XDP_PASS`
        const ACTIONS: [u32; 2] = [1, 2];
        let numbers = vec![
            ("has_filter", settings.has_filter.into()),
            ("has_steering", settings.has_steering.into()),
            ("has_sockets", (settings.sockets > 0).into()),
            ("workers", settings.workers),
            ("drop_action", ACTIONS[usize::from(settings.passes_rest)]),
            ("has_flows", has_flows),
            ("is_shared", settings.is_shared.into()),
            ("is_weak", (!cfg!(target_arch = "x86_64")).into()),
            ("is_auto", settings.is_auto.into()),
            ("key_vlan", settings.key_vlan.into()),
            ("slots4_mask", slots[0] - 1),
            ("slots6_mask", slots[1] - 1),
            ("has_shed", shed.is_some().into()),
            ("base_permille", shed.map_or(1000, |shed| shed.base_threshold_permille.min(1000))),
            ("priorities", shed.map_or(1, |shed| u32::from(shed.priorities.clamp(1, 8)))),
            (
                "overload_cutoff_bytes",
                shed.map_or(u32::MAX, |shed| {
                    shed.overload_cutoff_bytes
                        .and_then(|bytes| u32::try_from(bytes).ok())
                        .filter(|bytes| *bytes < 1 << 31)
                        .unwrap_or(u32::MAX)
                }),
            ),
            ("priority_default", shed.map_or(0, |shed| u32::from(shed.priority & 7))),
            ("has_classes", shed.is_some_and(|shed| !shed.ports.is_empty()).into()),
        ];
        Self {
            has_flows,
            numbers,
            tunnel_destinations: tunnel_ports(deep, wire.destination_ports()),
            tunnel_ports: tunnel_ports(deep, wire.either_ports()),
        }
    }

    pub(super) fn write<'a>(&'a self, loader: &mut EbpfLoader<'a>) {
        for (name, number) in &self.numbers {
            loader.override_global(name, number, true);
        }
        loader.override_global("tunnel_destinations", &self.tunnel_destinations, true);
        loader.override_global("tunnel_ports", &self.tunnel_ports, true);
    }
}

/// Ports as on the wire, and zeros; all zeros where tunnels are not looked into. That there is room is checked when this
/// is compiled.
fn tunnel_ports<const N: usize>(deep: bool, ports: [u16; N]) -> [u16; TUNNEL_PORTS] {
    const { assert!(N <= TUNNEL_PORTS, "the programs have room for fewer ports: bpf/layout.h") };
    let mut all = [0; TUNNEL_PORTS];
    if deep {
        for (slot, port) in all.iter_mut().zip(ports) {
            *slot = port.to_be();
        }
    }
    all
}

/// Slots for so many entries: half of them stay free, so that searches are short.
pub(super) fn slots(entries: u32) -> u32 {
    entries.saturating_mul(2).clamp(1, SLOTS_MAX).next_power_of_two()
}

/// Ports' priorities, eight a word.
pub(super) fn set_classes(settings: &KernelSettings, memory: &MmapArray) {
    for (port, priority) in settings.shed.iter().flat_map(|shed| &shed.ports) {
        let at = u32::from(port & 7) * 8;
        if let Some(word) = memory.words().get(usize::from(port >> 3)) {
            let others = word.load(Relaxed) & !(0xff << at);
            word.store(others | u64::from(priority & 7) << at, Relaxed);
        }
    }
}

/// Random numbers, unknown to senders.
pub(super) fn random_key() -> io::Result<[u64; 11]> {
    let bytes = random_bytes::<88>()?;
    let mut key = [0; 11];
    for (number, bytes) in key.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *number = u64::from_ne_bytes(*bytes);
    }
    Ok(key)
}
