//! Settings of the decoder: tunnels and their ports.

/// Which frames are taken as cut before they reached the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Slicing {
    /// Frames of one length, where the beginning of the input shows that frames of its interface were cut to it.
    #[default]
    Auto,
    /// None: a packet that is longer than its frame is malformed.
    Never,
    /// Frames of this length, in bytes.
    At(u32),
}

/// Settings of the decoder: how deep it follows tunnels, and which ports identify them. 0 disables a port.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Encapsulations (GRE, IP in IP, VXLAN, ...) that are decapsulated, at most; 0: the flow is that of the outermost
    /// IP header.
    pub tunnel_depth: u8,
    /// Whether the checksums of headers that carry a tunnel are verified: see
    /// [`Doubts::OUTER_CHECKSUM`](crate::Doubts::OUTER_CHECKSUM). An engine that ignores checksums verifies none of these
    /// either.
    pub verify_outer: bool,
    /// Whether options of IPv6 are read for what hosts drop a packet for ([`Doubts::HEADER`](crate::Doubts::HEADER),
    /// [`Doubts::UNCONFIGURED`](crate::Doubts::UNCONFIGURED)), and for home addresses.
    pub judge_options: bool,
    /// Which frames are taken as cut before the capture. The decoder alone judges by the frame; the engine applies this to
    /// its input ([`Slices`](crate::Slices)).
    pub slicing: Slicing,
    /// UDP destination ports taken as VXLAN (RFC 7348: 4789; Linux's older default: 8472).
    pub vxlan_ports: [u16; 2],
    /// UDP destination port taken as VXLAN-GPE (4790).
    pub vxlan_gpe_port: u16,
    /// UDP destination port taken as GENEVE (RFC 8926: 6081).
    pub geneve_port: u16,
    /// UDP destination port taken as GRE (RFC 8086: 4754).
    pub gre_port: u16,
    /// UDP destination port taken as MPLS (RFC 7510: 6635).
    pub mpls_port: u16,
    /// UDP destination port taken as LISP data (RFC 9300: 4341).
    pub lisp_port: u16,
    /// UDP destination port taken as TZSP (37008).
    pub tzsp_port: u16,
    /// UDP port taken as GTP-U (3GPP TS 29.281: 2152).
    pub gtpu_port: u16,
    /// UDP port taken as Teredo (RFC 4380: 3544).
    pub teredo_port: u16,
    /// UDP port taken as L2TP (RFC 2661, RFC 3931: 1701).
    pub l2tp_port: u16,
    /// UDP port taken as CAPWAP data (RFC 5415: 5247).
    pub capwap_port: u16,
    /// UDP port taken as AYIYA (5072).
    pub ayiya_port: u16,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tunnel_depth: 8,
            verify_outer: true,
            judge_options: true,
            slicing: Slicing::Auto,
            vxlan_ports: [4789, 8472],
            vxlan_gpe_port: 4790,
            geneve_port: 6081,
            gre_port: 4754,
            mpls_port: 6635,
            lisp_port: 4341,
            tzsp_port: 37_008,
            gtpu_port: 2152,
            teredo_port: 3544,
            l2tp_port: 1701,
            capwap_port: 5247,
            ayiya_port: 5072,
        }
    }
}

impl Settings {
    /// Sets [`tunnel_depth`](Self::tunnel_depth), in a method chain.
    #[must_use]
    pub fn with_tunnel_depth(mut self, tunnel_depth: u8) -> Self {
        self.tunnel_depth = tunnel_depth;
        self
    }

    /// Sets [`slicing`](Self::slicing), in a method chain.
    #[must_use]
    pub fn with_slicing(mut self, slicing: Slicing) -> Self {
        self.slicing = slicing;
        self
    }

    /// These settings with all UDP ports disabled: no datagram is decapsulated.
    #[must_use]
    pub fn without_udp_tunnels(self) -> Self {
        Self {
            tunnel_depth: self.tunnel_depth,
            verify_outer: self.verify_outer,
            judge_options: self.judge_options,
            slicing: self.slicing,
            vxlan_ports: [0; 2],
            vxlan_gpe_port: 0,
            geneve_port: 0,
            gre_port: 0,
            mpls_port: 0,
            lisp_port: 0,
            tzsp_port: 0,
            gtpu_port: 0,
            teredo_port: 0,
            l2tp_port: 0,
            capwap_port: 0,
            ayiya_port: 0,
        }
    }

    /// Ports that identify a tunnel as a datagram's destination; 0: none.
    #[inline]
    #[must_use]
    pub fn destination_ports(&self) -> [u16; 8] {
        let [vxlan, vxlan_old] = self.vxlan_ports;
        let [geneve, gpe, gre, mpls] = [self.geneve_port, self.vxlan_gpe_port, self.gre_port, self.mpls_port];
        [vxlan, vxlan_old, geneve, gpe, gre, mpls, self.lisp_port, self.tzsp_port]
    }

    /// Ports that identify a tunnel on either side; 0: none.
    #[inline]
    #[must_use]
    pub fn either_ports(&self) -> [u16; 5] {
        [self.gtpu_port, self.teredo_port, self.l2tp_port, self.capwap_port, self.ayiya_port]
    }

    /// Whether a datagram between these ports may carry a tunnel.
    #[inline]
    #[must_use]
    pub fn udp_tunnel(&self, source: u16, destination: u16) -> bool {
        let to = self.destination_ports().iter().fold(false, |found, port| found | (*port == destination));
        self.either_ports().iter().fold(to, |found, port| found | (*port == destination) | (*port == source))
    }
}
