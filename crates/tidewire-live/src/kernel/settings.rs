use tidewire_wire::Settings as Wire;

/// Settings of the programs.
#[derive(Clone, Debug)]
pub struct KernelSettings {
    /// Directions of flows over IPv4 that the table holds; two slots are made for each, 64 bytes a slot. 0: no tables.
    /// Default 262,144 (32 MiB).
    pub flows_v4: u32,
    /// The same for IPv6, 128 bytes a slot. Default 65,536 (16 MiB).
    pub flows_v6: u32,
    /// Whether packets of one direction may be looked at on two processors at once: counting then takes more atomic
    /// operations. Default: yes. XDP on an interface with one receive queue needs it not; with several, a card
    /// usually keeps a direction on one of them, but nothing promises it.
    pub is_shared: bool,
    /// Cut every direction after its first packet that is no SYN, without a request (cutoff 0).
    pub is_auto: bool,
    /// Whether VLAN ids are part of a flow's key, as in the engine.
    pub key_vlan: bool,
    /// Where the engine looks for tunnels: what may be one is left to it.
    pub wire: Wire,
    /// Whether there will be a filter in [`Jump::Filter`](super::Jump::Filter). Without one there, nothing passes.
    pub has_filter: bool,
    /// Whether there will be a steering program in [`Jump::Steer`](super::Jump::Steer).
    pub has_steering: bool,
    /// XDP: places for AF_XDP sockets, queues × `workers`; 0: what is delivered goes to the stack.
    pub sockets: u32,
    /// XDP: a queue's first socket is at queue × this.
    pub workers: u32,
    /// XDP: what is not delivered goes to the stack instead of being dropped. Default: no.
    pub passes_rest: bool,
    /// Prioritized loss before user space; `None`: off.
    pub shed: Option<Shed>,
}

impl Default for KernelSettings {
    fn default() -> Self {
        Self {
            flows_v4: 1 << 18,
            flows_v6: 1 << 16,
            is_shared: true,
            is_auto: false,
            key_vlan: true,
            wire: Wire::default(),
            has_filter: false,
            has_steering: false,
            sockets: 0,
            workers: 1,
            passes_rest: false,
            shed: None,
        }
    }
}

/// Prioritized packet loss by the level that user space publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shed {
    /// Share of the memory below which nothing is shed, in thousandths.
    pub base_threshold_permille: u32,
    /// Priorities, 1 to 8.
    pub priorities: u8,
    /// In the region below its watermark, packets beyond this many bytes of their direction are shed; 2 GiB and more: none.
    pub overload_cutoff_bytes: u64,
    /// The initial priority of a direction.
    pub priority: u8,
    /// Priorities of ports, by which a direction's first packets go; the higher of its two ports' counts.
    pub ports: Vec<(u16, u8)>,
}
