//! Names of IP protocols in the member `proto`.

use crate::json::{Object, member, pair};

/// By number: those of IANA's registry "Assigned Internet Protocol Numbers" as readers of EVE know them (61, 63, 68, 99 and 114 have no
/// protocol of their own).
#[rustfmt::skip]
const NAMES: [&str; 144] = [
    "HOPOPT", "ICMP", "IGMP", "GGP", "IP-in-IP", "ST", "TCP", "CBT", "EGP", "IGP", "BBN-RCC-MON", "NVP-II", "PUP",
    "ARGUS", "EMCON", "XNET", "CHAOS", "UDP", "MUX", "DCN-MEAS", "HMP", "PRM", "XNS-IDP", "TRUNK-1", "TRUNK-2",
    "LEAF-1", "LEAF-2", "RDP", "IRTP", "ISO-TP4", "NETBLT", "MFE-NSP", "MERIT-INP", "DCCP", "3PC", "IDPR", "XTP",
    "DDP", "IDPR-CMTP", "TP++", "IL", "IPv6", "SDRP", "IPv6-Route", "IPv6-Frag", "IDRP", "RSVP", "GRE", "DSR",
    "BNA", "ESP", "AH", "I-NLSP", "SwIPe", "NARP", "MOBILE", "TLSP", "SKIP", "IPv6-ICMP", "IPv6-NoNxt",
    "IPv6-Opts", "Any", "CFTP", "Any", "SAT-EXPAK", "KRYPTOLAN", "RVD", "IPPC", "Any", "SAT-MON", "VISA", "IPCU",
    "CPNX", "CPHB", "WSN", "PVP", "BR-SAT-MON", "SUN-ND", "WB-MON", "WB-EXPAK", "ISO-IP", "VMTP", "SECURE-VMTP",
    "VINES", "TTP", "NSFNET-IGP", "DGP", "TCF", "EIGRP", "OSPF", "Sprite-RPC", "LARP", "MTP", "AX.25", "OS",
    "MICP", "SCC-SP", "ETHERIP", "ENCAP", "Any", "GMTP", "IFMP", "PNNI", "PIM", "ARIS", "SCPS", "QNX", "A/N",
    "IPComp", "SNP", "Compaq-Peer", "IPX-in-IP", "VRRP", "PGM", "Any", "L2TP", "DDX", "IATP", "STP", "SRP", "UTI",
    "SMP", "SM", "PTP", "IS-IS", "FIRE", "CRTP", "CRUDP", "SSCOPMCE", "IPLT", "SPS", "PIPE", "SCTP", "FC",
    "RSVP-E2E-IGNORE", "Mobility", "UDPLite", "MPLS-in-IP", "manet", "HIP", "Shim6", "WESP", "ROHC", "Ethernet",
];

/// Appends the name of a protocol, or its number as text where it has none.
pub(super) fn push_proto(object: &mut Object<'_>, number: u8) {
    if let Some(name) = NAMES.get(usize::from(number)) {
        return object.plain(member!("proto"), name);
    }
    // Those without a name have three digits.
    let [tens, ones] = pair(number % 100);
    object.key(member!("proto")).extend_from_slice(&[b'"', b'0' + number / 100, tens, ones, b'"']);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_have_their_places() {
        let named = [
            (0, "HOPOPT"),
            (6, "TCP"),
            (58, "IPv6-ICMP"),
            (89, "OSPF"),
            (112, "VRRP"),
            (132, "SCTP"),
            (143, "Ethernet"),
        ];
        for (number, name) in named {
            assert_eq!(NAMES[number], name);
        }
        let text = |number| {
            let mut out = Vec::new();
            let mut object = Object::open(&mut out);
            push_proto(&mut object, number);
            object.close();
            String::from_utf8(out).unwrap()
        };
        assert_eq!((text(17), text(200)), (r#"{"proto":"UDP"}"#.into(), r#"{"proto":"200"}"#.into()));
    }
}
