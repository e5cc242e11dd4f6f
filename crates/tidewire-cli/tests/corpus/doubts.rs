//! Where an oracle and we differ and ours stands: capture, stream, what differs, and why. Everything else must match,
//! and an entry that explains nothing any more fails the test, too.

/// A capture whose name ends with this, the oracle's number of the stream, how the difference begins, and why ours stands.
type Doubt = (&'static str, u64, &'static str, &'static str);

const CUT_HEADER: &str = "cut by the snap length in its transport header: counted for the addresses and ports there are; tshark wants all of it";
const TOTAL_LENGTH: &str =
    "an IPv4 total length beyond the frame: hosts drop the packet (Linux: InTruncatedPkts); tshark reads on";
const DATA_OFFSET: &str = "a TCP data offset beyond the segment: hosts drop the packet";
const SNAPPED_TWICE: &str = "the oracle counts repetitions of captured bytes only";
const UDP_LENGTH: &str = "a UDP length beyond the IP packet: hosts drop it";
const FIRST_FRAGMENT: &str =
    "the first fragment of a datagram that never ends: tshark takes it for a packet of its flow";
const FUZZED: &str =
    "fuzzed: sequence numbers jump by gigabytes, and the oracle sets such segments aside by a distance of its own";

const BEHIND_INSIDE: &str = "fuzzed: 31 bytes lie behind the packet that a GTP-U message carries: it belongs to its own flow, with all its bytes";

const AFTER_RESET: &str = "unacknowledged bytes after a reset: no receiver had a connection for them";
const CHALLENGED: &str =
    "acknowledges what was not sent, right after the receiver answered such a segment: its silence confirms nothing";
const NETWORKS: &str =
    "the same addresses and ports under several VLAN ids, VNIs or TEIDs: a flow for each; tshark compares no ids";
const MIRRORED: &str =
    "a mirror of two VLANs that copies packets, which are kept here: the copies are in a flow of their VLAN";
const FINAL_DESTINATION: &str =
    "a routing header with segments left: the host is its last one (RFC 8200 section 4.4); tshark has the next hop";
const PPPOE_LENGTH: &str = "the packet is longer than PPPoE's length, or that is longer than the frame: malformed";
const ON_SYN: &str = "unacknowledged data on a SYN: a host without Fast Open drops it (RFC 7413)";

const STREAMS: &[Doubt] = &[
    // Packets that a host drops before it looks at TCP.
    ("ah/17_ah_invalid_payload_length_too_small.pcap", 0, "", "an AH header shorter than its fixed part is malformed"),
    (
        "geneve/06_geneve_invalid_version.pcap",
        0,
        "",
        "GENEVE version 1: to be dropped (RFC 8926 section 3.4), not a tunnel",
    ),
    ("bug-76/input.pcap", 2, "", TOTAL_LENGTH),
    ("bug-76/input.pcap", 6, "", TOTAL_LENGTH),
    ("bug-76/input.pcap", 0, "", DATA_OFFSET),
    ("bug-76/input.pcap", 8, "", DATA_OFFSET),
    ("telnet/telnet-01/telnet.pcap", 0, "c2s packets 43", TOTAL_LENGTH),
    ("transform-base64-7296/input.pcap", 1, "", DATA_OFFSET),
    ("transform-base64-7296/input.pcap", 0, "c2s", CHALLENGED),
    (
        "appneta+tcpreplay/test/test.rewrite_layer2",
        2,
        "",
        "IPv6 under the EtherType of IPv4: hosts drop it; tshark goes by the version",
    ),
    ("PacketExamples/tcp-malformed.pcap", 0, "", DATA_OFFSET),
    ("tests/kday4.pcap", 3, "c2s packets 1", TOTAL_LENGTH),
    ("tests/kday7.pcap", 3, "c2s packets 1", TOTAL_LENGTH),
    (
        "mac-eve-multiple-disabled/multi_mac.pcap",
        0,
        "s2c sha256",
        "made to have many MAC addresses and two versions of its bytes: what came to the direction's first address wins",
    ),
    ("pcap/tls_invalid_reads.pcap", 0, "s2c packets 3", TOTAL_LENGTH),
    ("pcap/tls_invalid_reads.pcap", 2, "c2s", BEHIND_INSIDE),
    (
        "firewall/tcp-session-decode-malformed-ipv4/input.pcap",
        0,
        "",
        "a security option of two bytes: Linux does not look into it and takes the packet; tshark stops there",
    ),
    // Payload that was snapped twice: sent twice, whatever of it was captured.
    ("tests/functional/inputs/tls.pcap", 12, "s2c retransmitted_bytes", SNAPPED_TWICE),
    ("tests/of10_inv_OFPST_FLOW.pcap", 0, "c2s retransmitted_bytes", SNAPPED_TWICE),
    // Networks and hosts by what the packets say of them.
    ("showcase/pcap_flow_lab_showcase.pcap", 9, "", NETWORKS),
    ("showcase/pcap_flow_lab_showcase.pcap", 12, "", NETWORKS),
    ("showcase/pcap_flow_lab_showcase.pcap", 8, "", NETWORKS),
    ("geneve/19_geneve_same_inner_tuple_different_vni.pcap", 0, "", NETWORKS),
    ("geneve/22_geneve_identity_outer_and_inner_vlan_splits.pcap", 0, "", NETWORKS),
    ("geneve/30_geneve_vni_byte_order_distinct_values.pcap", 0, "", NETWORKS),
    ("gtpu/21_gtpu_same_inner_tuple_different_teid.pcap", 0, "", NETWORKS),
    ("gtpu/25_gtpu_outer_tagged_contexts.pcap", 0, "", NETWORKS),
    ("vxlan/10_vxlan_same_inner_tuple_different_vni.pcap", 0, "", NETWORKS),
    ("Traces/vlan-collisions.pcap", 0, "", NETWORKS),
    ("Traces/vlan-pcp-dei.pcapng", 0, "", NETWORKS),
    ("tests/pcap/mongo.pcap", 0, "", MIRRORED),
    ("tests/pcap/mongo.pcap", 1, "", MIRRORED),
    ("tests/pcap/mongo.pcap", 4, "", MIRRORED),
    ("chksums/ip6-route0-tcp-good-chksum.pcap", 0, "", FINAL_DESTINATION),
    (
        "bug-76/input.pcap",
        1,
        "s2c",
        "the client acknowledged 1,391 bytes before the first captured one: a gap, where the oracle begins behind it",
    ),
    // Packets deeper than those of the wire.
    (
        "filter/AH-IPcomp-IPv4.pcap",
        0,
        "",
        "tshark inflates IPComp (RFC 3173); to us compressed packets are flows of protocol 108",
    ),
    ("tests/sflow_expanded.pcap", 0, "", "the header that an sFlow sample quotes is no packet of this link"),
    // Another answer to a question with two.
    (
        "tests/test5-lines-randomized.pcap",
        0,
        "",
        "shuffled packets: the SYN comes after both FINs and joins its connection; tshark starts another",
    ),
    ("tests/test5-lines-randomized.pcap", 1, "", "the same"),
    (
        "testdata/cip.pcap",
        5,
        "",
        "after a reset and data the client connects again, three times, with its old number: four connections",
    ),
    (
        "tcp-fastopen-10-syn-data-ignore/input.pcap",
        0,
        "s2c",
        "two SYN-ACKs with different numbers: the client acknowledges the second, and all data counts from it",
    ),
    (
        "tls_multiple_synack_different_seq.pcapng",
        0,
        "s2c",
        "the same: the oracle counts from the first SYN-ACK and reaches no byte",
    ),
    (
        "firewall/tcp-session-stream-out-of-window/input.pcap",
        0,
        "c2s",
        "100,000 bytes beyond a window of 256: no receiver takes it, so it is neither delivered nor a gap",
    ),
    (
        "pcap/heuristic_tcp_ack_payload.pcap",
        0,
        "s2c sha256_with_gaps",
        "a byte beyond the FIN is no byte of the stream (RFC 9293 section 3.10.7.4)",
    ),
    ("pcap/heuristic_tcp_ack_payload.pcap", 1, "c2s", "the same"),
    ("pcap/heuristic_tcp_ack_payload.pcap", 2, "c2s", "the same"),
    ("pcap/heuristic_tcp_ack_payload.pcap", 2, "s2c", "the same"),
    ("pcap/heuristic_tcp_ack_payload.pcap", 4, "c2s", "the same"),
    (
        "functional/inputs/tls.pcap",
        4,
        "s2c retransmitted_bytes",
        "four of the repeated bytes were snapped: stated lengths count for us, captured ones for the oracle",
    ),
    (
        "http/byteranges.pcap",
        0,
        "s2c",
        "packet 65 has its 1,301 bytes whole; the oracle lost them (they end a response its dissector gave up on)",
    ),
    (
        "ftp/bigtransfer.pcap",
        2,
        "s2c",
        "the capture lost megabytes that the receiver acknowledged: gaps, where the oracle sets the rest aside as far away",
    ),
    ("issue-3341-tcphdr-01/urgent11_cve_2019_12260.pcap", 1, "c2s", AFTER_RESET),
    ("security-4710-02/input.pcap", 0, "s2c", AFTER_RESET),
    ("tests/pcap/metadata.pcap", 3, "s2c", AFTER_RESET),
    ("default/pcap/ethereum.pcap", 39, "s2c", AFTER_RESET),
    ("default/pcap/ethereum.pcap", 40, "s2c", AFTER_RESET),
    ("modbus/modbus-and-non-modbus-p502.pcap", 4, "c2s", AFTER_RESET),
    ("tls/heartbleed-encrypted-success.pcap", 0, "s2c", AFTER_RESET),
    ("tls/tls13draft16-ff52.a01.pcap", 0, "s2c", AFTER_RESET),
    ("util-action-tests/util-action-04/input.pcap", 0, "s2c", ON_SYN),
    ("util-action-tests/util-action-05/input.pcap", 0, "s2c", ON_SYN),
    ("200-BMP-HUAWEI-locrib_instance/traffic-00.pcap", 0, "c2s sha256", ON_SYN),
    ("201-BMP-CISCO-rd_instance/traffic-00.pcap", 0, "c2s sha256", ON_SYN),
    ("202-BMP-CISCO-HUAWEI-multiple-sources/traffic-00.pcap", 0, "c2s sha256", ON_SYN),
    ("202-BMP-CISCO-HUAWEI-multiple-sources/traffic-01.pcap", 0, "c2s sha256", ON_SYN),
    ("202-BMP-CISCO-HUAWEI-multiple-sources/traffic-02.pcap", 0, "c2s sha256", ON_SYN),
    ("206-BMP-high-availability/traffic-00.pcap", 0, "c2s sha256", ON_SYN),
    ("301-BGP-CISCO-pretag/traffic-00.pcap", 0, "c2s sha256", ON_SYN),
    ("302-BGP-IPv6-multiple-sources/traffic-00.pcap", 0, "c2s sha256", ON_SYN),
    ("302-BGP-IPv6-multiple-sources/traffic-01.pcap", 0, "c2s sha256", ON_SYN),
    ("302-BGP-IPv6-multiple-sources/traffic-02.pcap", 0, "c2s sha256", ON_SYN),
    ("302-BGP-IPv6-multiple-sources/traffic-03.pcap", 0, "c2s sha256", ON_SYN),
    ("400-IPFIXv10-BMP-CISCO-SRv6-multiple-sources/traffic-01.pcap", 0, "c2s sha256", ON_SYN),
    ("500-IPFIXv10-BGP-CISCO-SRv6/traffic-00.pcap", 0, "c2s sha256", ON_SYN),
    ("502-IPFIXv10-BGP-IPv6-CISCO-SRv6-lcomms/traffic-00.pcap", 0, "c2s sha256", ON_SYN),
    ("util-action-tests/util-action-04/input.pcap", 0, "c2s", ON_SYN),
    ("util-action-tests/util-action-05/input.pcap", 0, "c2s", ON_SYN),
    ("assets/frag_tcp_80_ipv4.pcap", 0, "c2s", ON_SYN),
    ("assets/frag_tcp_80_ipv4.pcap", 1, "c2s", ON_SYN),
    // Fuzzed packets, of no host.
    ("pcaps/ip_fragmented_garbage.pcap", 2, "s2c", "SYN and FIN together with payload: no receiver takes it"),
    ("default/pcap/ip_fragmented_garbage.pcap", 2, "s2c", "the same"),
    ("pcap/tcpseq_synthetic.pcap", 0, "c2s gaps", FUZZED),
    ("ndpi_match_string_subprotocol__error.pcapng", 0, "", FUZZED),
    ("pcap/reasm_crash_anon.pcapng", 0, "", FUZZED),
    ("modbus/fuzz-72.pcap", 0, "", FUZZED),
    (
        "clusterfuzz-testcase-minimized-FuzzTarget-5755755617189888",
        0,
        "c2s payload_bytes_on_wire",
        "a length beyond 2^31 that tshark cuts there",
    ),
];

/// The entry of [`STREAMS`] that explains a stream's difference.
pub fn find(capture: &str, stream: u64, difference: &str) -> Option<usize> {
    STREAMS.iter().position(|(name, number, begins, _)| {
        capture.ends_with(name) && *number == stream && difference.starts_with(begins)
    })
}

/// An entry that explains nothing any more must go.
pub fn assert_used(used: &[usize]) {
    let all = std::env::var_os("TIDEWIRE_CORPUS_ONLY").is_none();
    let unused = STREAMS.iter().enumerate().filter(|(index, _)| all && !used.contains(index));
    let unused: Vec<_> = unused.map(|(_, doubt)| (doubt.0, doubt.1, doubt.2)).collect();
    assert!(unused.is_empty(), "these doubts explain nothing: {unused:#?}");
}

/// With the defaults: capture, the oracle's number of the stream, the checksum mode (empty: both), and why ours stands.
const DEFAULTS: &[Doubt] = &[
    ("chksums/ip6-route0-tcp-good-chksum.pcap", 0, "", FINAL_DESTINATION),
    ("pcap/tls_invalid_reads.pcap", 2, "", BEHIND_INSIDE),
    (
        "geneve/06_geneve_invalid_version.pcap",
        0,
        "",
        "GENEVE version 1: to be dropped (RFC 8926 section 3.4), not a tunnel",
    ),
    ("bug-76/input.pcap", 2, "", TOTAL_LENGTH),
    ("bug-76/input.pcap", 6, "", TOTAL_LENGTH),
    ("PacketExamples/tcp-malformed.pcap", 0, "", DATA_OFFSET),
    (
        "firewall/tcp-session-decode-malformed-ipv4/input.pcap",
        0,
        "",
        "a security option of two bytes: Linux does not look into it and accepts the packet; tshark stops there",
    ),
    (
        "appneta+tcpreplay/test/test.rewrite_layer2",
        2,
        "",
        "IPv6 under the EtherType of IPv4: hosts drop it; tshark goes by the version",
    ),
    (
        "filter/AH-IPcomp-IPv4.pcap",
        0,
        "",
        "tshark inflates IPComp (RFC 3173); to us compressed packets are flows of protocol 108",
    ),
    ("tests/sflow_expanded.pcap", 0, "", "the header that an sFlow sample quotes is no packet of this link"),
    (
        "tests/test5-lines-randomized.pcap",
        1,
        "",
        "shuffled packets: the SYN comes after both FINs and joins its connection; tshark starts another",
    ),
];

/// The entry of [`DEFAULTS`] that explains a stream that the defaults do not deliver as the oracle has it.
pub fn find_default(capture: &str, stream: u64, mode: &str) -> Option<usize> {
    DEFAULTS.iter().position(|(name, number, only, _)| {
        capture.ends_with(name) && *number == stream && (only.is_empty() || *only == mode)
    })
}

/// An entry that explains nothing any more must go.
pub fn assert_defaults_used(mode: &str, used: &[usize]) {
    let all = std::env::var_os("TIDEWIRE_CORPUS_ONLY").is_none();
    for (index, (capture, number, only, _)) in DEFAULTS.iter().enumerate() {
        let applies = all && (only.is_empty() || *only == mode);
        assert!(!applies || used.contains(&index), "this explains no difference any more: {capture}, stream {number}");
    }
}

/// Streams that the oracle does not have, by capture and the first packet's number.
pub const OURS_ALONE: &[(&str, u64, &str)] = &[
    ("chksums/ip6-route0-tcp-good-chksum.pcap", 1, FINAL_DESTINATION),
    (
        "showcase/pcap_flow_lab_showcase.pcap",
        1327,
        "a pseudowire without control word, which tshark takes for one with",
    ),
    (
        "vxlan/24_vxlan_outer_ipv4_fragmentation.pcap",
        3,
        "VXLAN in a datagram that we rebuild, and tshark does not (see datagrams)",
    ),
];

/// Datagrams: capture, and why the difference is not an error of ours.
pub const DATAGRAMS: &[(&str, &str)] = &[
    (
        "showcase/pcap_flow_lab_showcase.pcap",
        "tshark does not rebuild where the IPv4 header checksum is wrong; the oracle ignores checksums",
    ),
    ("vxlan/24_vxlan_outer_ipv4_fragmentation.pcap", "the same"),
    ("chrissanders+packets/ip_frag_source.pcapng", "the same"),
    ("ipv6-reassembly-state-leak.pcap", "65,536 bytes of payload, one more than IPv6 has (RFC 8200 section 4.5)"),
];

/// tshark's conversations: a capture's end, and why ours stands where they differ.
const CONVERSATIONS: &[(&str, &str)] = &[
    ("eoip/08_same_inner_tuple_different_tunnel_ids.pcap", NETWORKS),
    ("eoip/27_same_tunnel_same_inner_tuple_different_outer_vlan_metadata.pcap", NETWORKS),
    ("gre/21_gre_same_inner_tuple_different_keys.pcap", NETWORKS),
    ("geneve/19_geneve_same_inner_tuple_different_vni.pcap", NETWORKS),
    ("geneve/22_geneve_identity_outer_and_inner_vlan_splits.pcap", NETWORKS),
    ("geneve/30_geneve_vni_byte_order_distinct_values.pcap", NETWORKS),
    ("gtpu/21_gtpu_same_inner_tuple_different_teid.pcap", NETWORKS),
    ("gtpu/25_gtpu_outer_tagged_contexts.pcap", NETWORKS),
    ("vxlan/10_vxlan_same_inner_tuple_different_vni.pcap", NETWORKS),
    ("Traces/vlan-collisions.pcap", NETWORKS),
    ("Traces/vlan-pcp-dei.pcapng", NETWORKS),
    ("tests/pcap/mongo.pcap", MIRRORED),
    ("pppoe/19_pppoe_bad_length_short_payload.pcap", PPPOE_LENGTH),
    ("pppoe/20_pppoe_bad_length_extra_payload.pcap", PPPOE_LENGTH),
    ("PacketExamples/ipv6_options.pcap", FINAL_DESTINATION),
    ("tests/ipv6-routing-header.pcap", FINAL_DESTINATION),
    ("tests/ipv6-srh-insert-cksum.pcap", FINAL_DESTINATION),
    ("chksums/ip6-route0-tcp-good-chksum.pcap", FINAL_DESTINATION),
    ("chksums/ip6-route0-udp-bad-chksum.pcap", FINAL_DESTINATION),
    ("Traces/ipv6-hbh-routing0.pcap", FINAL_DESTINATION),
    ("mobile-ipv6/ipv6-mobile-routing.pcap", FINAL_DESTINATION),
    (
        "tests/pcap/gtp-iphone.pcap",
        "a datagram with the same ports under another TEID a minute later: nothing shows that it is the same host",
    ),
    (
        "tunnels/teredo_bubble_with_payload.pcap",
        "four bytes that are no trailer behind a Teredo packet: the datagram belongs to its own flow, with all its bytes",
    ),
    ("showcase/pcap_flow_lab_showcase.pcap", "a pseudowire without control word, which tshark takes for one with"),
    ("ah/17_ah_invalid_payload_length_too_small.pcap", "an AH header shorter than its fixed part is malformed"),
    (
        "eoip/14_eoip_payload_length_smaller_than_inner_frame.pcap",
        "EoIP whose inner frame is cut by EoIP's own length; tshark reads beyond it",
    ),
    (
        "eoip/25_ipv4_gre_v1_checksum_key_6400_not_eoip.pcap",
        "GRE version 1 with a checksum is no EoIP; tshark goes by the protocol number",
    ),
    ("geneve/06_geneve_invalid_version.pcap", "GENEVE version 1: to be dropped (RFC 8926 section 3.4), not a tunnel"),
    (
        "ip_options/07_ipv4_loose_source_route_udp.pcap",
        "source routing: the addresses are those of the header; tshark puts the route's in their place",
    ),
    (
        "ip_options/08_ipv4_strict_source_route_udp.pcap",
        "source routing: the addresses are those of the header; tshark puts the route's in their place",
    ),
    (
        "ip_options/16_ipv4_option_length_past_ihl_malformed.pcap",
        "an IPv4 option beyond the header: hosts drop the packet",
    ),
    ("mpls_pw/03_mpls_pw_eth_ipv6_tcp_cw.pcap", "a pseudowire that tshark does not recognise behind its control word"),
    (
        "mpls_pw/07_mpls_pw_eth_qinq_ipv4_udp_cw.pcap",
        "a pseudowire that tshark does not recognise behind its control word",
    ),
    (
        "mpls_pw/16_mpls_pw_outer_vlan_inner_qinq_ipv4_udp_cw.pcap",
        "a pseudowire that tshark does not recognise behind its control word",
    ),
    (
        "mpls_pw/18_mpls_pw_outer_legacy_vlan_ipv4_tcp_cw.pcap",
        "a pseudowire that tshark does not recognise behind its control word",
    ),
    (
        "mpls_pw/20_mpls_pw_ambiguous_no_cw_mac_starts_with_6.pcap",
        "a pseudowire that tshark does not recognise behind its control word",
    ),
    ("pbb/08_pbb_inner_llc_snap_ipv4_udp.pcap", "tshark does not look into LLC behind 802.1ah"),
    ("pppoe/28_pppoe_session_unsupported_version_with_ipv4_trailer.pcap", "a PPPoE version that does not exist"),
    (
        "vxlan/06_vxlan_invalid_flags_or_reserved_bits.pcap",
        "VXLAN without a valid VNI is to be dropped (RFC 7348 section 5): the outer flow is what there is",
    ),
    (
        "vxlan/28_vxlan_unsupported_and_nested_matrix.pcap",
        "VXLAN without a valid VNI is to be dropped (RFC 7348 section 5): the outer flow is what there is",
    ),
    (
        "vxlan/25_vxlan_outer_ipv6_fragmentation.pcap",
        "the rebuilt UDP datagram is longer than its IP packet; a conversation for tshark, malformed for a host",
    ),
    ("bug-76/input.pcap", TOTAL_LENGTH),
    ("ipv4-truncated/truncated.pcap", TOTAL_LENGTH),
    ("telnet/telnet-01/telnet.pcap", TOTAL_LENGTH),
    ("pcap/invalid_or_unsupported.pcap", TOTAL_LENGTH),
    ("pcap/tls_invalid_reads.pcap", TOTAL_LENGTH),
    ("regression_samples/clusterfuzz-testcase-FuzzTarget-5188876846235648", TOTAL_LENGTH),
    ("clusterfuzz-testcase-minimized-FuzzTarget-5654053026791424", TOTAL_LENGTH),
    ("tests/hoobr_bfd_print.pcap", TOTAL_LENGTH),
    ("tests/ipv4_invalid_total_length.pcap", TOTAL_LENGTH),
    ("tests/kday4.pcap", TOTAL_LENGTH),
    ("tests/kday7.pcap", TOTAL_LENGTH),
    ("tests/kh-timed-001-oobr.pcap", TOTAL_LENGTH),
    ("quic/383379789-decrypt-crash.pcap", TOTAL_LENGTH),
    ("tests/ipv6_invalid_length_2.pcap", "an IPv6 payload length beyond the frame: hosts drop the packet"),
    ("Traces/dns-edns-ecs-bad.pcap", "an IPv6 payload length beyond the frame: hosts drop the packet"),
    ("Traces/ipv6-mobility-dst-opts.pcap", "an IPv6 extension header beyond the packet: hosts drop it"),
    ("transform-base64-7296/input.pcap", DATA_OFFSET),
    ("PacketExamples/tcp-malformed.pcap", DATA_OFFSET),
    ("regression_samples/crash-81dba690a3f67ee41a41390a625db732fa1413a1", UDP_LENGTH),
    ("tests/babel_update_oobr.pcap", UDP_LENGTH),
    ("tests/hncp_dhcpv6data-oobr.pcap", UDP_LENGTH),
    ("tests/hoobr_nfs_xid_map_enter.pcap", UDP_LENGTH),
    ("tests/hoobr_zephyr_parse_field.pcap", UDP_LENGTH),
    ("tests/isakmp-delete-segfault.pcap", UDP_LENGTH),
    ("tests/l2tp-avp-overflow.pcap", UDP_LENGTH),
    ("tests/lwres-pointer-arithmetic-ub.pcap", UDP_LENGTH),
    ("tests/rtp-seg-fault-1.pcapng", UDP_LENGTH),
    ("tests/snmp-heapoverflow-2.pcap", UDP_LENGTH),
    ("tests/bootp_asan.pcap", FIRST_FRAGMENT),
    ("tests/bootp_asan-2.pcap", FIRST_FRAGMENT),
    ("tests/dhcp6_reconf_asan.pcap", FIRST_FRAGMENT),
    ("tests/isakmp-ikev1_n_print-oobr.pcap", FIRST_FRAGMENT),
    ("tests/ldp-ldp_tlv_print-oobr.pcap", FIRST_FRAGMENT),
    ("tests/lmp-lmp_print_data_link_subobjs-oobr.pcap", FIRST_FRAGMENT),
    ("tests/rip_error_hexdump.pcap", FIRST_FRAGMENT),
    ("tests/rsvp_uni-oobr-3.pcap", FIRST_FRAGMENT),
    ("tests/vqp-oobr.pcap", FIRST_FRAGMENT),
    ("ipv6-reassembly-state-leak.pcap", "65,536 bytes of payload, one more than IPv6 has (RFC 8200 section 4.5)"),
    ("filestore-5408/input.pcap", "tshark reads the packets that sFlow samples quote as packets of the link"),
    ("tests/sflow-print-v6.pcap", "tshark reads the packets that sFlow samples quote as packets of the link"),
    ("tests/sflow_expanded.pcap", "tshark reads the packets that sFlow samples quote as packets of the link"),
    (
        "tcp-session-decode-malformed-ipv4/input.pcap",
        "a security option of two bytes: Linux does not look into it and takes the packet; tshark stops there",
    ),
    (
        "appneta+tcpreplay/test/test.rewrite_layer2",
        "another version under the EtherType or link type of IPv4: hosts drop it; tshark goes by the version",
    ),
    (
        "tests/LINKTYPE_IPV4_invalid.pcap",
        "another version under the EtherType or link type of IPv4: hosts drop it; tshark goes by the version",
    ),
    (
        "testdata/cip.pcap",
        "after a reset and data the client connects again, three times, with its old number: four connections",
    ),
    ("pcap/fuzz-2020-02-16-11740.pcap", FUZZED),
    ("ndpi_match_string_subprotocol__error.pcapng", FUZZED),
    ("pcap/reasm_crash_anon.pcapng", FUZZED),
    ("modbus/fuzz-72.pcap", FUZZED),
    ("clusterfuzz-testcase-minimized-FuzzTarget-5755755617189888", "a frame length beyond 2^31 that tshark cuts there"),
    ("clusterfuzz-testcase-minimized-FuzzTarget-5758569646653440", "a frame length beyond 2^31 that tshark cuts there"),
    ("pcap_examples/ipv6.dmp", "LISP packets carry packets; tshark counts those of the inside with the outer address"),
    ("PacketExamples/NullLoopback.pcap", "the address family 0x000f is unknown; tshark takes anything for IPv4"),
    (
        "tests/test5-lines-randomized.pcap",
        "shuffled packets: the SYN comes after both FINs and joins its connection; tshark starts another",
    ),
    (
        "filter/AH-IPcomp-IPv4.pcap",
        "tshark inflates IPComp (RFC 3173); to us compressed packets are flows of protocol 108",
    ),
    ("ip_options/20_ipv4_snaplen_truncated_before_next_header.pcap", CUT_HEADER),
    ("mpls/21_mpls_snaplen_truncated_inner_tcp.pcap", CUT_HEADER),
    ("pppoe/27_pppoe_session_capture_truncated_ipv4_udp_caplen_lt_origlen.pcap", CUT_HEADER),
    ("tcp_options/19_tcp_syn_tcp_header_snaplen_truncated.pcap", CUT_HEADER),
    ("tests/tcp_header_heapoverflow.pcap", CUT_HEADER),
    ("tests/udp-length-heapoverflow.pcap", CUT_HEADER),
    (
        "tests/bigtcp-ipv4-geneve-ipv6.pcap",
        "BIG TCP in a tunnel: UDP over IPv4 with length 0, as Linux shows it to captures; tshark looks no further",
    ),
    (
        "tests/bigtcp-ipv4-vxlan-ipv6.pcap",
        "BIG TCP in a tunnel: UDP over IPv4 with length 0, as Linux shows it to captures; tshark looks no further",
    ),
    (
        "tests/bigtcp-ipv6.pcap",
        "BIG TCP: an IPv6 payload length of 0 without a jumbo option, as Linux shows it to captures; tshark sees no TCP",
    ),
    (
        "tests/bigtcp-ipv6-vxlan-ipv6.pcap",
        "BIG TCP: an IPv6 payload length of 0 without a jumbo option, as Linux shows it to captures; tshark sees no TCP",
    ),
    (
        "Traces/cisco-fabric-path.pcap",
        "half of the frames are under FabricPath, where tshark's fields have no stream number",
    ),
];

/// The entry of [`CONVERSATIONS`] that explains a difference.
pub fn find_conversation(capture: &str) -> Option<usize> {
    CONVERSATIONS.iter().position(|(name, _)| capture.ends_with(name))
}

/// An entry that explains nothing any more must go.
pub fn assert_conversations_used(used: &[usize]) {
    let all = std::env::var_os("TIDEWIRE_CORPUS_ONLY").is_none();
    for (index, (capture, _)) in CONVERSATIONS.iter().enumerate().filter(|_| all) {
        assert!(used.contains(&index), "this explains no conversation any more: {capture}");
    }
}
