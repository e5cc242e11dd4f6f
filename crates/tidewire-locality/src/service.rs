/// Ports below this are assigned by IETF review (RFC 6335, 6): system ports, known one and all.
const SYSTEM_PORTS: u16 = 1024;

/// Ranges of known ports above the system ports: services that are met with on networks, from IANA's registry and from what is
/// customary. Not the whole registry: nearly half of the user ports are registered, mostly for unused services, and clients
/// take their own ports from the same range.
const KNOWN: &[(u16, u16)] = &[
    (1080, 1080),   // SOCKS
    (1194, 1194),   // OpenVPN
    (1433, 1434),   // Microsoft SQL Server
    (1521, 1521),   // Oracle
    (1645, 1646),   // RADIUS, formerly
    (1701, 1701),   // L2TP
    (1718, 1720),   // H.323
    (1723, 1723),   // PPTP
    (1812, 1813),   // RADIUS
    (1883, 1883),   // MQTT
    (1900, 1900),   // SSDP
    (1935, 1935),   // RTMP
    (2049, 2049),   // NFS
    (2055, 2055),   // NetFlow
    (2123, 2123),   // GTP-C
    (2152, 2152),   // GTP-U
    (2181, 2181),   // ZooKeeper
    (2375, 2376),   // Docker
    (2379, 2380),   // etcd
    (2404, 2404),   // IEC 60870-5-104
    (3128, 3128),   // Squid
    (3260, 3260),   // iSCSI
    (3268, 3269),   // Microsoft global catalog
    (3306, 3306),   // MySQL
    (3389, 3389),   // Remote Desktop
    (3478, 3478),   // STUN
    (3544, 3544),   // Teredo
    (3690, 3690),   // Subversion
    (4222, 4222),   // NATS
    (4500, 4500),   // IPsec through NAT
    (4789, 4789),   // VXLAN
    (4791, 4791),   // RoCE
    (5004, 5005),   // RTP
    (5060, 5061),   // SIP
    (5222, 5222),   // XMPP
    (5269, 5269),   // XMPP between servers
    (5353, 5353),   // mDNS
    (5355, 5355),   // LLMNR
    (5432, 5432),   // PostgreSQL
    (5671, 5672),   // AMQP
    (5683, 5684),   // CoAP
    (5900, 5903),   // VNC
    (5985, 5986),   // WinRM
    (6000, 6007),   // X11
    (6081, 6081),   // GENEVE
    (6343, 6343),   // sFlow
    (6379, 6379),   // Redis
    (6443, 6443),   // Kubernetes
    (6514, 6514),   // syslog over TLS
    (6653, 6653),   // OpenFlow
    (6660, 6669),   // IRC
    (6697, 6697),   // IRC over TLS
    (6881, 6889),   // BitTorrent
    (7000, 7001),   // Cassandra
    (8000, 8000),   // HTTP
    (8008, 8008),   // HTTP
    (8080, 8081),   // HTTP
    (8086, 8086),   // InfluxDB
    (8088, 8088),   // HTTP
    (8333, 8333),   // Bitcoin
    (8443, 8443),   // HTTPS
    (8472, 8472),   // VXLAN on older Linux
    (8883, 8883),   // MQTT over TLS
    (8888, 8888),   // HTTP
    (9000, 9000),   // HTTP
    (9042, 9042),   // Cassandra
    (9090, 9090),   // Prometheus
    (9092, 9092),   // Kafka
    (9100, 9100),   // printers
    (9200, 9200),   // Elasticsearch
    (9300, 9300),   // Elasticsearch
    (9418, 9418),   // git
    (10050, 10051), // Zabbix
    (10250, 10250), // kubelet
    (11211, 11211), // memcached
    (20000, 20000), // DNP3
    (25565, 25565), // Minecraft
    (27015, 27015), // Source engine
    (27017, 27019), // MongoDB
    (44818, 44818), // EtherNet/IP
    (47808, 47808), // BACnet
    (51820, 51820), // WireGuard
];

/// [`KNOWN`] as a set of bits.
static BITS: [u64; 1024] = bits();

const fn bits() -> [u64; 1024] {
    let mut bits = [0; 1024];
    let mut range = 0;
    while range < KNOWN.len() {
        let mut port = KNOWN[range].0;
        while port <= KNOWN[range].1 {
            bits[port as usize / 64] |= 1 << (port % 64);
            port += 1;
        }
        range += 1;
    }
    bits
}

/// Whether a port is taken for a service's: the system ports (below 1,024), and the customary ones above.
#[must_use]
#[inline]
pub fn is_known_port(port: u16) -> bool {
    port < SYSTEM_PORTS || BITS.get(usize::from(port) / 64).is_some_and(|word| word >> (port % 64) & 1 == 1)
}

/// The port that stands for a conversation's service: the lower one of those two that are known; the lower one of the two
/// where neither is. The same for both directions.
#[must_use]
#[inline]
pub fn service_port(a: u16, b: u16) -> u16 {
    let (low, high) = if a <= b { (a, b) } else { (b, a) };
    // The usual case, without a look at the table: it would cost a cache line a client's port.
    if low < SYSTEM_PORTS || is_known_port(low) || !is_known_port(high) { low } else { high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_known_port_is_the_service() {
        for (ports, service) in [
            ((443, 51_000), 443),
            ((51_000, 443), 443),
            ((2000, 3306), 3306),
            ((3306, 2000), 3306),
            ((8080, 3306), 3306),
            ((53, 53), 53),
            ((40_000, 50_000), 40_000),
            ((50_000, 51_820), 51_820),
            ((0, 65_535), 0),
        ] {
            assert_eq!(service_port(ports.0, ports.1), service, "{ports:?}");
        }
    }

    #[test]
    fn the_list_is_in_order_and_above_the_system_ports() {
        assert!(KNOWN.iter().all(|&(first, last)| SYSTEM_PORTS <= first && first <= last));
        assert!(KNOWN.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }
}
