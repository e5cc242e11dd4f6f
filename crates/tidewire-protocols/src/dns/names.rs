//! Mnemonics of types and response codes: IANA's registry "Domain Name System (DNS) Parameters".

use std::borrow::Cow;

use crate::text::push_number;

/// The mnemonic of a type, else `TYPE123` (RFC 3597 section 5).
pub(super) fn kind(kind: u16) -> Cow<'static, str> {
    match TYPES.binary_search_by_key(&kind, |entry| entry.0) {
        Ok(place) => TYPES[place].1.into(),
        Err(_) => format!("TYPE{kind}").into(),
    }
}

/// Appends the same.
pub(super) fn push_kind(text: &mut String, kind: u16) {
    match TYPES.binary_search_by_key(&kind, |entry| entry.0) {
        Ok(place) => text.push_str(TYPES[place].1),
        Err(_) => {
            text.push_str("TYPE");
            push_number(text, kind.into());
        }
    }
}

/// The number of a type whose mnemonic, or `TYPE123`, is in [`Dns::kind`](crate::Dns::kind).
#[must_use]
pub fn dns_type_number(name: &str) -> Option<u16> {
    let known = TYPES.iter().find(|entry| entry.1 == name).map(|entry| entry.0);
    known.or_else(|| name.strip_prefix("TYPE")?.parse().ok())
}

/// The number of a response code whose mnemonic, or `RCODE12`, is in [`Dns::rcode`](crate::Dns::rcode).
#[must_use]
pub fn dns_rcode_number(name: &str) -> Option<u16> {
    let known = RCODES.iter().find(|entry| entry.1 == name).map(|entry| entry.0);
    known.or_else(|| name.strip_prefix("RCODE")?.parse().ok())
}

/// The mnemonic of a response code.
pub(super) fn rcode(code: u16) -> Cow<'static, str> {
    match RCODES.iter().find(|entry| entry.0 == code) {
        Some(entry) => entry.1.into(),
        None => format!("RCODE{code}").into(),
    }
}

#[rustfmt::skip]
const RCODES: &[(u16, &str)] = &[
    (0, "NOERROR"), (1, "FORMERR"), (2, "SERVFAIL"), (3, "NXDOMAIN"), (4, "NOTIMP"), (5, "REFUSED"), (6, "YXDOMAIN"),
    (7, "YXRRSET"), (8, "NXRRSET"), (9, "NOTAUTH"), (10, "NOTZONE"), (11, "DSOTYPENI"), (16, "BADVERS"), (17, "BADKEY"),
    (18, "BADTIME"), (19, "BADMODE"), (20, "BADNAME"), (21, "BADALG"), (22, "BADTRUNC"), (23, "BADCOOKIE"),
];

/// Sorted by number.
#[rustfmt::skip]
const TYPES: &[(u16, &str)] = &[
    (1, "A"), (2, "NS"), (3, "MD"), (4, "MF"), (5, "CNAME"), (6, "SOA"), (7, "MB"), (8, "MG"), (9, "MR"), (10, "NULL"),
    (11, "WKS"), (12, "PTR"), (13, "HINFO"), (14, "MINFO"), (15, "MX"), (16, "TXT"), (17, "RP"), (18, "AFSDB"),
    (19, "X25"), (20, "ISDN"), (21, "RT"), (22, "NSAP"), (23, "NSAP-PTR"), (24, "SIG"), (25, "KEY"), (26, "PX"),
    (27, "GPOS"), (28, "AAAA"), (29, "LOC"), (30, "NXT"), (31, "EID"), (32, "NIMLOC"), (33, "SRV"), (34, "ATMA"),
    (35, "NAPTR"), (36, "KX"), (37, "CERT"), (38, "A6"), (39, "DNAME"), (40, "SINK"), (41, "OPT"), (42, "APL"),
    (43, "DS"), (44, "SSHFP"), (45, "IPSECKEY"), (46, "RRSIG"), (47, "NSEC"), (48, "DNSKEY"), (49, "DHCID"),
    (50, "NSEC3"), (51, "NSEC3PARAM"), (52, "TLSA"), (53, "SMIMEA"), (55, "HIP"), (56, "NINFO"), (57, "RKEY"),
    (58, "TALINK"), (59, "CDS"), (60, "CDNSKEY"), (61, "OPENPGPKEY"), (62, "CSYNC"), (63, "ZONEMD"), (64, "SVCB"),
    (65, "HTTPS"), (99, "SPF"), (100, "UINFO"), (101, "UID"), (102, "GID"), (103, "UNSPEC"), (104, "NID"), (105, "L32"),
    (106, "L64"), (107, "LP"), (108, "EUI48"), (109, "EUI64"), (249, "TKEY"), (250, "TSIG"), (251, "IXFR"),
    (252, "AXFR"), (253, "MAILB"), (254, "MAILA"), (255, "ANY"), (256, "URI"), (257, "CAA"), (258, "AVC"), (259, "DOA"),
    (260, "AMTRELAY"), (32768, "TA"), (32769, "DLV"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_sorted() {
        assert!(TYPES.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!((&*kind(28), &*kind(54)), ("AAAA", "TYPE54"));
        assert_eq!((&*rcode(3), &*rcode(15), &*rcode(16)), ("NXDOMAIN", "RCODE15", "BADVERS"));
        assert_eq!(
            (dns_type_number("AAAA"), dns_type_number("TYPE54"), dns_type_number("x")),
            (Some(28), Some(54), None)
        );
        assert_eq!(
            (dns_rcode_number("BADVERS"), dns_rcode_number("RCODE12"), dns_rcode_number("")),
            (Some(16), Some(12), None)
        );
    }
}
