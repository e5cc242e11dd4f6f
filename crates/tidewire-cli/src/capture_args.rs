//! Splits positional arguments into captures and a filter expression after them, which needs no `--`.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use tidewire_exports::{
    select::Select,
    table::{FLOWS, TRANSACTIONS},
};

use crate::error::CliError;

/// Words with which a filter expression can begin (pcap-filter(7)).
const BEGINNINGS: &str = "\
    aarp addr1 addr2 addr3 addr4 ah arp atalk broadcast carp clnp csnp decnet dir dst esis esp ether fddi gateway geneve greater host icmp \
    icmp6 ifname igmp igrp iih inbound ip ip6 ipx isis iso l1 l2 lat len less link llc lsp moprc mopdl mpls multicast net \
    netbeui not outbound pim port portrange ppp pppoed pppoes proto protochain psnp ra radio rarp sctp slip snp src stp \
    subtype ta tcp tr type udp vlan vrrp vxlan wlan";

/// Whether a word begins a filter expression and is not an existing file: `tcp`, `tcp[13]`, `!arp`, `(host`.
fn begins(word: &OsStr) -> bool {
    let Some(text) = word.to_str() else { return false };
    let inner = text.trim_start_matches(['!', '(', ' ']);
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
    // `tcp.pcap` and `ip/a.pcap` are file names, whether they exist or not.
    let is_name = matches!(inner[end..].chars().next(), Some('.' | '/' | '_'));
    let is_operator = inner.is_empty() && !text.trim().is_empty();
    (is_operator || !is_name && BEGINNINGS.split(' ').any(|known| known == &inner[..end])) && !Path::new(word).exists()
}

/// Number of words that name captures: all before the one that begins a filter expression.
pub fn captures<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> usize {
    words.into_iter().take_while(|word| !begins(word)).count()
}

/// Splits the captures from the filter expression after them.
///
/// # Errors
/// A capture follows the expression.
pub fn split(words: &[PathBuf]) -> Result<(&[PathBuf], Option<String>), CliError> {
    let (files, rest) = words.split_at(captures(words.iter().map(|word| word.as_os_str())));
    if rest.is_empty() {
        return Ok((files, None));
    }
    let expression: Vec<_> = rest.iter().map(|word| word.to_string_lossy()).collect();
    // `80` or `www` may also be the name of a file; a name with a dot is hardly a host that also exists in this directory.
    let is_capture = |word: &&PathBuf| word.extension().is_some() && word.is_file();
    if let Some(capture) = rest.iter().find(is_capture) {
        return Err(CliError::Usage(format!(
            "'{}' is a file inside the filter expression that begins with '{}': name captures before it",
            capture.display(),
            expression[0]
        )));
    }
    Ok((files, Some(expression.join(" "))))
}

/// Refuses a missing file, with a hint if it may begin a filter expression.
///
/// # Errors
/// The file does not exist, and others were named before it.
pub fn need_files(files: &[PathBuf]) -> Result<(), CliError> {
    let shown = |words: &[PathBuf]| words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    refuse_display_filters(files)?;
    let looks_like_none = |file: &PathBuf| file.extension().is_none() && file.components().count() == 1;
    let place =
        files.iter().skip(1).position(|file| file.as_os_str() != "-" && looks_like_none(file) && !file.exists());
    let Some(place) = place.map(|place| place + 1) else { return Ok(()) };
    let (before, rest) = files.split_at(place);
    let test = match rest {
        [word] => word.to_str().and_then(test_of_word),
        _ => None,
    };
    let test = test.map(|test| format!("; to select by fields, write --where '{test}' (flows, streams, transactions)"));
    Err(CliError::Input(format!(
        "{}: no such file; to begin a filter expression with it, write -- before it: {} -- {}{}",
        rest[0].display(),
        shown(before),
        shown(rest),
        test.unwrap_or_default()
    )))
}

/// Refuses display filters among the files that do not exist.
///
/// # Errors
/// See [`refuse_display_filter`].
pub fn refuse_display_filters(files: &[PathBuf]) -> Result<(), CliError> {
    let words: Vec<_> = files.iter().map(|word| word.to_string_lossy()).collect();
    let mut missing = files.iter().enumerate().filter(|(_, file)| !file.exists());
    missing.try_for_each(|(index, _)| {
        // A comparison has three words; the number of files is unlimited.
        let behind = &words[index..words.len().min(index + COMPARISON_WORDS)];
        refuse_display_filter(&behind.join(" "))
    })
}

/// Words of a display filter that are examined and shown.
const COMPARISON_WORDS: usize = 16;

/// Protocols that begin the fields of Wireshark's display filters.
const FIELDS: &str = "arp dns eth frame http http2 icmp icmpv6 ip ipv6 sctp ssl tcp tls udp vlan wlan";

/// Whether words are a test that `--where` takes, and no filter expression: a field is compared.
fn is_test(words: &str) -> bool {
    let lower = words.to_ascii_lowercase();
    let is_comparison = words.contains(['=', '<', '>'])
        || [" contains ", " in ", " starts with ", " ends with "].iter().any(|operator| lower.contains(operator));
    // `ip[0] = 5` and `len > 100` have no field of that name.
    is_comparison && [&FLOWS, &TRANSACTIONS].into_iter().any(|table| Select::new(words, table).is_ok())
}

/// The test that a single word stands for: the name of a protocol, or a field.
fn test_of_word(word: &str) -> Option<String> {
    let of_service = format!("service = {word}");
    let is_field = || [&FLOWS, &TRANSACTIONS].into_iter().any(|table| Select::new(word, table).is_ok());
    if Select::new(&of_service, &FLOWS).is_ok() { Some(of_service) } else { is_field().then(|| word.to_owned()) }
}

/// Refuses a test of fields, and a Wireshark display filter (`tcp.port == 80`), with their equivalent.
///
/// # Errors
/// The words are a test for `--where`, or begin with a field of a protocol of Wireshark and an operator.
pub fn refuse_display_filter(words: &str) -> Result<(), CliError> {
    if is_test(words) {
        let quote = if words.contains('\'') { '"' } else { '\'' };
        return Err(CliError::Usage(format!(
            "a test of fields is not a capture filter; write: --where {quote}{}{quote} (flows, streams, transactions)",
            words.trim()
        )));
    }
    let begun = words.trim_start_matches(['!', '(', ' ']);
    let end = begun.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_')).unwrap_or(begun.len());
    let (field, rest) = begun.split_at(end);
    let Some((protocol, name)) = field.split_once('.') else { return Ok(()) };
    let rest = rest.trim_start();
    let operators = ["==", "!=", ">", "<", "~", "eq ", "ne ", "contains ", "matches ", "in "];
    let Some(operator) = operators.iter().find(|operator| rest.starts_with(**operator)) else { return Ok(()) };
    if !FIELDS.split(' ').any(|known| known == protocol) {
        return Ok(());
    }
    let value = rest[operator.len()..].split_whitespace().next().unwrap_or_default().trim_end_matches(')');
    let is_equal = matches!(*operator, "==" | "eq ") && !value.is_empty();
    let same = match (protocol, name) {
        ("ip" | "ipv6", "addr") if is_equal => format!("host {value}"),
        ("ip" | "ipv6", "src" | "dst") if is_equal => format!("{name} host {value}"),
        ("tcp" | "udp", "port") if is_equal => format!("{protocol} port {value}"),
        ("tcp" | "udp", "srcport" | "dstport") if is_equal => format!("{protocol} {} port {value}", &name[..3]),
        _ => "host 192.0.2.1 and tcp port 80".into(),
    };
    Err(CliError::Usage(format!(
        "'{}' is a Wireshark display filter; use a capture filter, as tcpdump's (pcap-filter(7)), as in: {same}",
        words.trim()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(words: &[&str]) -> (usize, Option<String>) {
        let words: Vec<PathBuf> = words.iter().map(PathBuf::from).collect();
        let (files, expression) = split(&words).unwrap();
        (files.len(), expression)
    }

    #[test]
    fn an_expression_begins_with_a_word_of_the_language() {
        assert_eq!(parts(&["a.pcap", "tcp", "port", "80"]), (1, Some("tcp port 80".into())));
        assert_eq!(parts(&["a.pcap", "17", "tcp[13] = 2"]), (2, Some("tcp[13] = 2".into())));
        assert_eq!(parts(&["a.pcap", "!", "arp"]), (1, Some("! arp".into())));
        assert_eq!(parts(&["(host", "10.0.0.1", "or", "ip6)"]), (0, Some("(host 10.0.0.1 or ip6)".into())));
        for name in ["tcp.pcap", "ip/a", "hosts", "portrange2", "-", "tcp_dump"] {
            assert_eq!(parts(&["a.pcap", name, "b"]), (3, None), "{name}");
        }
    }

    /// libpcap's compiler takes a word that it does not know for the name of a host.
    #[test]
    fn words_of_the_language_are_those_of_libpcap() {
        let says = |expression: &str| tidewire_filter::Filter::new(expression).err().map(|error| error.to_string());
        for known in BEGINNINGS.split(' ') {
            let said = says(known).unwrap_or_default();
            assert!(!said.contains("unknown host"), "{known}: {said}");
        }
        for expression in
            ["llc", "llc s", "llc rr", "less 100", "not llc", "radio[0] = 0", "type mgt", "subtype beacon"]
        {
            assert_eq!(says(expression), None, "{expression}");
            let words: Vec<&str> = [&["a.pcap"], &expression.split(' ').collect::<Vec<_>>()[..]].concat();
            assert_eq!(parts(&words), (1, Some(expression.into())));
        }
    }

    #[test]
    fn display_filters_are_refused_with_their_equivalent() {
        for (words, same) in [
            ("ip.addr==1.2.3.4", "as in: host 1.2.3.4"),
            ("tcp.port == 80", "as in: tcp port 80"),
            ("(udp.dstport eq 53)", "as in: udp dst port 53"),
            ("http.uri contains \"x\"", "as in: host 192.0.2.1 and tcp port 80"),
        ] {
            let message = refuse_display_filter(words).unwrap_err().to_string();
            assert!(message.ends_with(same) && message.contains("tcpdump's"), "{message}");
            let split: Vec<PathBuf> = words.split(' ').map(PathBuf::from).collect();
            let message = need_files(&[&["a.pcap".into()], &split[..]].concat()).unwrap_err().to_string();
            assert!(message.contains("display filter"), "{message}");
        }
        // In time that is not quadratic in their number.
        let many: Vec<PathBuf> = (0..200_000).map(|number| format!("no/{number}.pcap").into()).collect();
        assert!(need_files(&many).is_ok());
        for words in ["tcp.pcap", "tcp port 80", "ip.example.org and port 80", "tcp[13] == 2", "a.pcap == b"] {
            assert!(refuse_display_filter(words).is_ok(), "{words}");
        }
    }

    /// An argument of `--where` is suggested as it stands.
    #[test]
    fn tests_of_fields_belong_to_where() {
        for words in ["tls.sni contains x", "http.host contains \"x\"", "port in (80, 443)", "proto = 6", "vlan = 5"] {
            let message = refuse_display_filter(words).unwrap_err().to_string();
            assert!(message.contains(&format!("write: --where '{words}'")), "{message}");
        }
        for (word, test) in [("dns", "service = dns"), ("gaps", "gaps"), ("name", "name")] {
            let message = need_files(&["a.pcap", word].map(PathBuf::from)).unwrap_err().to_string();
            assert!(message.contains(&format!("--where '{test}'")), "{message}");
        }
        for words in ["vlan", "tcp[13] = 2", "len > 100", "ip[0] = 5", "port 80", "vlan 5 and tcp", "proto 6"] {
            assert!(refuse_display_filter(words).is_ok(), "{words}");
        }
    }

    #[test]
    fn what_exists_is_a_capture() {
        let folder = tempfile::tempdir().unwrap();
        let (named, capture) = (folder.path().join("tcp"), folder.path().join("b.pcap"));
        std::fs::write(&named, b"").unwrap();
        std::fs::write(&capture, b"").unwrap();
        assert!(!begins(named.as_os_str()));
        let words = ["a.pcap".into(), "tcp".into(), capture];
        assert!(split(&words).unwrap_err().to_string().contains("name captures before it"));
    }

    #[test]
    fn a_word_that_is_neither_gets_a_hint() {
        let words = ["a.pcap", "www", "80"].map(PathBuf::from);
        let message = need_files(&words).unwrap_err().to_string();
        assert_eq!(
            message,
            "www: no such file; to begin a filter expression with it, write -- before it: a.pcap -- www 80"
        );
        assert!(need_files(&["nowhere", "b.pcap"].map(PathBuf::from)).is_ok());
    }
}
