use tidewire_wire::Settings as Wire;

/// Settings of the programs.
#[derive(Clone, Debug)]
#[non_exhaustive]
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

impl KernelSettings {
    /// Sets [`flows_v4`](Self::flows_v4), in a method chain.
    #[must_use]
    pub fn with_flows_v4(mut self, flows_v4: u32) -> Self {
        self.flows_v4 = flows_v4;
        self
    }

    /// Sets [`flows_v6`](Self::flows_v6), in a method chain.
    #[must_use]
    pub fn with_flows_v6(mut self, flows_v6: u32) -> Self {
        self.flows_v6 = flows_v6;
        self
    }

    /// Sets [`is_shared`](Self::is_shared), in a method chain.
    #[must_use]
    pub fn with_is_shared(mut self, is_shared: bool) -> Self {
        self.is_shared = is_shared;
        self
    }

    /// Sets [`is_auto`](Self::is_auto), in a method chain.
    #[must_use]
    pub fn with_is_auto(mut self, is_auto: bool) -> Self {
        self.is_auto = is_auto;
        self
    }

    /// Sets [`key_vlan`](Self::key_vlan), in a method chain.
    #[must_use]
    pub fn with_key_vlan(mut self, key_vlan: bool) -> Self {
        self.key_vlan = key_vlan;
        self
    }

    /// Sets [`wire`](Self::wire), in a method chain.
    #[must_use]
    pub fn with_wire(mut self, wire: Wire) -> Self {
        self.wire = wire;
        self
    }

    /// Sets [`has_filter`](Self::has_filter), in a method chain.
    #[must_use]
    pub fn with_has_filter(mut self, has_filter: bool) -> Self {
        self.has_filter = has_filter;
        self
    }

    /// Sets [`has_steering`](Self::has_steering), in a method chain.
    #[must_use]
    pub fn with_has_steering(mut self, has_steering: bool) -> Self {
        self.has_steering = has_steering;
        self
    }

    /// Sets [`sockets`](Self::sockets), in a method chain.
    #[must_use]
    pub fn with_sockets(mut self, sockets: u32) -> Self {
        self.sockets = sockets;
        self
    }

    /// Sets [`workers`](Self::workers), in a method chain.
    #[must_use]
    pub fn with_workers(mut self, workers: u32) -> Self {
        self.workers = workers;
        self
    }

    /// Sets [`passes_rest`](Self::passes_rest), in a method chain.
    #[must_use]
    pub fn with_passes_rest(mut self, passes_rest: bool) -> Self {
        self.passes_rest = passes_rest;
        self
    }

    /// Sets [`shed`](Self::shed), in a method chain.
    #[must_use]
    pub fn with_shed(mut self, shed: Option<Shed>) -> Self {
        self.shed = shed;
        self
    }
}

impl Shed {
    /// Shedding above this share of the memory, in thousandths, with so many priorities; no cutoff under overload, and no port has a
    /// priority.
    #[must_use]
    pub fn new(base_threshold_permille: u32, priorities: u8) -> Self {
        let (overload_cutoff_bytes, priority, ports) = (None, 0, Vec::new());
        Self { base_threshold_permille, priorities, overload_cutoff_bytes, priority, ports }
    }
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
#[non_exhaustive]
pub struct Shed {
    /// Share of the memory below which nothing is shed, in thousandths.
    pub base_threshold_permille: u32,
    /// Priorities, 1 to 8.
    pub priorities: u8,
    /// In the region below its watermark, packets beyond this many bytes of their direction are shed; `None`, or 2 GiB and more: no packet is shed
    /// for the length of its direction.
    pub overload_cutoff_bytes: Option<u64>,
    /// The initial priority of a direction.
    pub priority: u8,
    /// Priorities of ports, by which a direction's first packets go; the higher of its two ports' counts.
    pub ports: Vec<(u16, u8)>,
}
