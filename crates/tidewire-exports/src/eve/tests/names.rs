//! Names and types of members.

/// Types of members by the type of record, as Suricata 8.0.6 writes them: its own list, not a copy of its schema. `s` string, `i` integer,
/// `b` boolean, `t` time, `[s]` array of strings; members of objects have their path. What begins with `tidewire` is ours. `all`: of every
/// record but `stats`, which has its own.
pub(super) const NAMES: [(&str, &str); 13] = [
    (
        "all",
        "timestamp t, flow_id i, in_iface s, pcap_filename s, event_type s, vlan [i], src_ip s, src_port i, dest_ip s,
        dest_port i, proto s, community_id s",
    ),
    (
        "flow",
        "ip_v i, icmp_type i, icmp_code i, response_icmp_type i, response_icmp_code i, app_proto s,
        flow.pkts_toserver i, flow.pkts_toclient i, flow.bytes_toserver i, flow.bytes_toclient i, flow.start t,
        flow.end t, flow.age i, flow.state s, flow.reason s, flow.alerted b, flow.tx_cnt i,
        tcp.tcp_flags s, tcp.tcp_flags_ts s, tcp.tcp_flags_tc s, tcp.syn b, tcp.fin b, tcp.rst b, tcp.psh b, tcp.ack b,
        tcp.urg b, tcp.ecn b, tcp.cwr b, tcp.state s, tcp.ts_gap b, tcp.tc_gap b",
    ),
    (
        "netflow",
        "icmp_type i, icmp_code i, app_proto s, netflow.pkts i, netflow.bytes i, netflow.start t, netflow.end t,
        netflow.age i, netflow.tx_cnt i, tcp.tcp_flags s, tcp.syn b, tcp.fin b, tcp.rst b, tcp.psh b, tcp.ack b,
        tcp.urg b, tcp.ecn b, tcp.cwr b",
    ),
    (
        "anomaly",
        "pcap_cnt i, ip_v i, icmp_type i, icmp_code i, anomaly.app_proto s, anomaly.type s, anomaly.event s,
        anomaly.layer s",
    ),
    (
        "dns",
        "ip_v i, dns.version i, dns.type s, dns.tx_id i, dns.id i, dns.flags s, dns.qr b, dns.aa b, dns.tc b, dns.rd b,
        dns.ra b, dns.z b, dns.opcode i, dns.rcode s, dns.queries.rrname s, dns.queries.rrtype s, dns.answers.rrname s,
        dns.answers.rrtype s, dns.answers.ttl i, dns.answers.rdata s,
        dns.answers.srv.priority i, dns.answers.srv.weight i, dns.answers.srv.port i, dns.answers.srv.name s,
        dns.answers.sshfp.fingerprint s, dns.answers.sshfp.algo i, dns.answers.sshfp.type i, dns.answers.soa.mname s,
        dns.answers.soa.rname s, dns.answers.soa.serial i, dns.answers.soa.refresh i, dns.answers.soa.retry i,
        dns.answers.soa.expire i, dns.answers.soa.minimum i, dns.grouped.A [s], dns.grouped.AAAA [s],
        dns.grouped.TXT [s], dns.grouped.SRV.priority i, dns.grouped.SRV.weight i, dns.grouped.SRV.port i,
        dns.grouped.SRV.name s, dns.grouped.SSHFP.fingerprint s, dns.grouped.SSHFP.algo i, dns.grouped.SSHFP.type i,
        dns.grouped.SOA.mname s, dns.grouped.SOA.rname s, dns.grouped.SOA.serial i, dns.grouped.SOA.refresh i,
        dns.grouped.SOA.retry i, dns.grouped.SOA.expire i, dns.grouped.SOA.minimum i",
    ),
    (
        "mdns",
        "ip_v i, mdns.type s, mdns.id i, mdns.flags [s], mdns.opcode i, mdns.rcode i, mdns.queries.rrname s,
        mdns.queries.rrtype s, mdns.answers.rrname s, mdns.answers.a s, mdns.answers.aaaa s, mdns.answers.txt [s],
        mdns.answers.srv.priority i, mdns.answers.srv.weight i, mdns.answers.srv.port i, mdns.answers.srv.name s,
        mdns.answers.sshfp.fingerprint s, mdns.answers.sshfp.algo i, mdns.answers.sshfp.type i,
        mdns.answers.soa.mname s, mdns.answers.soa.rname s, mdns.answers.soa.serial i, mdns.answers.soa.refresh i,
        mdns.answers.soa.retry i, mdns.answers.soa.expire i, mdns.answers.soa.minimum i, mdns.answers.text s",
    ),
    (
        "http",
        "ip_v i, tx_id i, http.hostname s, http.http_port i, http.url s, http.http_user_agent s,
        http.http_content_type s, http.http_refer s, http.http_method s, http.protocol s, http.status i,
        http.redirect s, http.length i",
    ),
    (
        "fileinfo",
        "ip_v i, app_proto s, http.hostname s, http.http_port i, http.url s, http.http_user_agent s,
        http.http_content_type s, http.http_refer s, http.http_method s, http.protocol s, http.status i,
        http.redirect s, http.length i, fileinfo.filename s, fileinfo.gaps b, fileinfo.state s, fileinfo.stored b,
        fileinfo.size i, fileinfo.tx_id i",
    ),
    (
        "tls",
        "ip_v i, tls.subject s, tls.issuerdn s, tls.serial s, tls.fingerprint s, tls.notbefore s, tls.notafter s,
        tls.subjectaltname [s], tls.session_resumed b, tls.sni s, tls.version s, tls.client_alpns [s],
        tls.server_alpns [s], tls.ja3.hash s, tls.ja4 s",
    ),
    ("quic", "ip_v i, quic.version s, quic.sni s, quic.ja3.hash s, quic.ja4 s"),
    (
        "ssh",
        "ip_v i, ssh.client.proto_version s, ssh.client.software_version s, ssh.client.hassh.hash s,
        ssh.server.proto_version s, ssh.server.software_version s, ssh.server.hassh.hash s",
    ),
    (
        "alert",
        "ip_v i, direction s, alert.action s, alert.gid i, alert.signature_id i, alert.rev i, alert.signature s,
        alert.category s, alert.severity i",
    ),
    (
        "stats",
        "timestamp t, event_type s, stats.uptime i, stats.capture.kernel_packets i, stats.capture.kernel_drops i,
        stats.decoder.pkts i, stats.decoder.bytes i, stats.flow.total i",
    ),
];
