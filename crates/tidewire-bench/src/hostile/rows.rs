//! The kinds, each with its twin: another kind is another line.

use super::traffic::{Made, datagrams, dns, http, lines, packed, patterns, proxy, retransmit, tls};

/// Makes traffic of so many packets, about; how many things it holds that cost is divided by: packets, or records where packets hold
/// many of them.
pub(super) type Make = fn(&mut Made, usize) -> usize;

/// Content that is expensive, and content of the same shape that is not.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) hostile: Make,
    pub(super) benign: Make,
    pub(super) bound: Bound,
    /// Description, and origin of the kind.
    pub(super) kind: &'static str,
    /// Commands that read it; empty: those of [`VIEWS`].
    pub(super) views: &'static [&'static str],
}

/// Reference for hostile content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// An item of the twin, for each item.
    Item,
    /// So many items of the twin, for all of it: reading ends there, however much follows.
    Ends(u32),
}

impl Bound {
    /// Items of the twin that one measurement of the hostile content is compared with.
    pub(super) fn items(self) -> f64 {
        match self {
            Self::Item => 1.0,
            Self::Ends(items) => items.into(),
        }
    }
}

/// Commands whose cost is measured: `{}` is the capture, `{out}` a place for files, `{collector}` one that receives datagrams.
pub(super) const VIEWS: &[&str] = &[
    "flows --json {}",
    "streams --json {}",
    "transactions --json {}",
    "flows {} --to json:{out}/json",
    "flows {} --to csv:{out}/csv",
    "flows {} --to sqlite:{out}/sqlite",
    "flows {} --to parquet:{out}/parquet",
    "flows {} --to arrow:{out}/arrow",
    LONG_VIEW,
    "flows {} --to zeek:{out}/zeek",
    "flows {} --to zeek-json:{out}/zeek",
    "flows {} --to ipfix:{out}/flows.ipfix",
    "flows {} --to ipfix-uniflow:{out}/flows.ipfix",
    "flows {} --udp-rate 0 --to netflow9:{collector}",
];

/// The longest format, of which longer captures are read.
pub(super) const LONG_VIEW: &str = "flows {} --to eve:{out}/eve.json";

/// Those of a quick run: the fields of one transaction, of each, and the longest format.
pub(super) const QUICK_VIEWS: &[&str] = &["flows --json {}", "transactions --json {}", LONG_VIEW];

const fn row(name: &'static str, hostile: Make, benign: Make, kind: &'static str) -> Row {
    Row { name, hostile, benign, bound: Bound::Item, kind, views: &[] }
}

/// Compressed input that yields nothing: it ends, and costs no more than so many bytes of an ordinary capture (the allowance of the readers).
const fn barren(name: &'static str, hostile: Make, benign: Make, kind: &'static str) -> Row {
    Row { bound: Bound::Ends(4 << 20), views: &["flows --json {}"], ..row(name, hostile, benign, kind) }
}

/// Searches for a pattern of 99 equal bytes and another one, with and without case.
const SEARCHES: &[&str] = &[
    concat!(
        "match --count {} -e ",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"
    ),
    concat!(
        "match --count -I {} -e ",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"
    ),
];

/// A search for patterns that begin with each other.
const NESTED: &[&str] = &[concat!(
    "match --count {} -e aaaa -e aaaaa -e aaaaaa -e aaaaaaa -e aaaaaaaa -e aaaaaaaaa -e aaaaaaaaaa -e aaaaaaaaaaa -e aaaaaaaaaaaa ",
    "-e aaaaaaaaaaaaa -e aaaaaaaaaaaaaa -e aaaaaaaaaaaaaaa -e aaaaaaaaaaaaaaaa -e aaaaaaaaaaaaaaaaa -e aaaaaaaaaaaaaaaaaa ",
    "-e aaaaaaaaaaaaaaaaaaa -e aaaaaaaaaaaaaaaaaaaa -e aaaaaaaaaaaaaaaaaaaaa -e aaaaaaaaaaaaaaaaaaaaaa -e aaaaaaaaaaaaaaaaaaaaaaa"
)];

/// Commands that reassemble.
const STREAMS: &[&str] = &["streams --json {}", LONG_VIEW];

/// All of them. Parsers first; retransmissions and patterns behind them.
pub(super) const ROWS: &[Row] = &[
    row(
        "dns-escaped",
        dns::escaped,
        dns::letters,
        "32 answers that point to a name of 254 bytes that no letter is (RFC 1035 section 4.1.4)",
    ),
    row("dns-soa", dns::authorities, dns::letters, "the same with two more pointers in each record (SOA)"),
    row("dns-chains", dns::chains, dns::letters, "32 answers that point to the end of a chain of 100 pointers"),
    row("dns-texts", dns::texts, dns::letters, "texts of bytes that need escapes (TXT)"),
    row(
        "dns-types",
        dns::types,
        dns::letters,
        "lists of all types that a name could have (NSEC, RFC 4034 section 4.1.2)",
    ),
    row("dns-services", dns::services, dns::letters, "parameters of services without end (SVCB, RFC 9460 section 2)"),
    row("dns-questions", dns::questions, dns::letters, "questions without end, each with the same long name"),
    row(
        "mdns-questions",
        dns::multicast,
        dns::letters,
        "32 questions with the same long name by multicast, a transaction each; per question",
    ),
    row("dns-empty", dns::empty_messages, http::body, "messages of no bytes over TCP (RFC 7766)"),
    row(
        "dhcp-options",
        datagrams::dhcp_options,
        datagrams::dhcp,
        "options of one byte, of which a value is put together",
    ),
    row(
        "quic-pieces",
        datagrams::quic_pieces,
        datagrams::quic,
        "datagrams that look like a client's first ones and cannot be opened",
    ),
    Row {
        views: STREAMS,
        ..row(
            "ipv6-headers",
            datagrams::headers,
            datagrams::plain,
            "160 extension headers before a datagram (RFC 8200 section 4.6)",
        )
    },
    Row {
        views: STREAMS,
        ..row(
            "ipv6-options",
            datagrams::options,
            datagrams::plain,
            "the same with three unknown options in each header",
        )
    },
    Row {
        views: STREAMS,
        ..row(
            "ipv6-discarded",
            datagrams::discarded_options,
            datagrams::plain,
            "the same with options that hosts drop a packet for",
        )
    },
    row("tunnels", datagrams::ip_in_ip, datagrams::outside, "eight IP headers in each other (RFC 2003)"),
    row("tunnels-vxlan", datagrams::vxlan, datagrams::outside, "eight tunnels of VXLAN in each other (RFC 7348)"),
    row(
        "tunnels-changing",
        datagrams::changing,
        datagrams::outside,
        "eight IP headers, of which the first has another address each time",
    ),
    row(
        "tunnels-new",
        datagrams::tunnel_each,
        datagrams::outside_each,
        "the same with a flow of its own for each packet: eight tunnels and one stream",
    ),
    row("http-empty-lines", http::empty_lines, http::body, "empty lines before a status line (RFC 9112 section 2.2)"),
    row("http-chunks", http::chunks, http::body, "chunks of one byte (RFC 9112 section 7.1)"),
    row("http-folded", http::folded, http::body, "a long field that short lines continue (RFC 9112 section 5.2)"),
    row("http-fields", http::fields, http::body, "requests of 250 short fields"),
    row("http-hosts", http::hosts, http::body, "requests of 250 fields that are named Host and empty"),
    row("http-letters", http::letters, http::body, "a head of lines of one letter"),
    row("http-lengths", http::lengths, http::body, "a head of lengths (RFC 9110 section 8.6)"),
    row("http-length-lists", http::length_lists, http::body, "a head of lists of lengths that differ at their end"),
    row(
        "http-length-lists-64",
        http::short_length_lists,
        http::body,
        "a head of lists of 64 lengths, as many as are read",
    ),
    row("http-lengths-folded", http::folded_lengths, http::body, "an invalid length that short lines continue"),
    row("http-codings", http::codings, http::body, "a head of transfer codings (RFC 9112 section 6.1)"),
    row("http-codings-folded", http::folded_codings, http::body, "one that short lines continue"),
    row("http-trailers", http::trailers, http::body, "fields behind the last chunk (RFC 9112 section 7.1.2)"),
    row("http-extensions", http::extensions, http::body, "chunks with an extension (RFC 9112 section 7.1.1)"),
    row("http-interim", http::interim, http::body, "interim responses without end (RFC 9110 section 15.2)"),
    row("http-interim-fields", http::interim_fields, http::body, "the same with a field each"),
    row("http-pipelined", http::pipelined, http::requests, "81 requests a packet, none answered; per request"),
    row("smtp-empty-lines", lines::smtp_empty, http::body, "empty commands"),
    row("smtp-mail", lines::smtp_mail, http::body, "a mail of empty lines"),
    row("smtp-recipients", lines::smtp_recipients, http::body, "recipients without end"),
    row("smtp-unknown", lines::smtp_unknown, http::body, "commands of one letter"),
    row("smtp-resets", lines::smtp_resets, http::body, "mails given up, none begun"),
    row("smtp-greetings", lines::smtp_greetings, http::body, "a client's name again and again"),
    row("smtp-contents", lines::smtp_contents, http::body, "contents of mails, none of which was begun"),
    row("smtp-replies", lines::smtp_replies, http::body, "replies to nothing"),
    row("smtp-chunks", lines::smtp_chunks, http::body, "chunks of a byte of no mail (RFC 3030 section 2)"),
    row("smtp-no-chunks", lines::smtp_no_chunks, http::body, "chunks without a size, and with one that is no number"),
    row("smtp-nameless", lines::smtp_nameless, http::body, "greetings of a client without a name"),
    row("smtp-bare-recipients", lines::smtp_bare_recipients, http::body, "recipients without an address"),
    row("smtp-dots", lines::smtp_dots, http::body, "a mail of lines of two dots"),
    row("smtp-last-chunks", lines::smtp_last_chunks, http::body, "the same without bytes, each the last one"),
    row("smtp-bodies", lines::smtp_bodies, http::body, "contents of one line"),
    row("smtp-starttls", lines::smtp_starttls, http::body, "requests for TLS that nothing answers"),
    row("lmtp-greetings", lines::lmtp_greetings, http::body, "a client's name again and again (RFC 2033)"),
    row("lmtp-resets", lines::lmtp_resets, http::body, "mails given up, none begun"),
    row("lmtp-contents", lines::lmtp_contents, http::body, "contents of mails, none of which was begun"),
    row("lmtp-chunks", lines::lmtp_chunks, http::body, "chunks of no bytes, each the last one"),
    row("lmtp-recipients", lines::lmtp_recipients, http::body, "recipients without end"),
    row("lmtp-replies", lines::lmtp_replies, http::body, "replies to nothing"),
    row("lmtp-mails", lines::lmtp_mails, lines::lmtp_senders, "mails of ten bytes, none sent; per mail"),
    row("smtp-mails", lines::smtp_mails, lines::smtp_senders, "mails of five bytes, none sent; per mail"),
    row(
        "smtp-names",
        lines::smtp_names,
        lines::smtp_senders,
        "the same between hosts with names of 1,000 characters that need escapes; per mail",
    ),
    row("ftp-users", lines::ftp_users, lines::ftp_logins, "logins of seven bytes, none answered; per login"),
    row(
        "ftp-commands",
        lines::ftp_commands,
        lines::ftp_logins,
        "commands of five bytes of a user with a long name, 16 in each transaction; per transaction",
    ),
    row(
        "ftp-greeting",
        lines::ftp_greeting,
        lines::ftp_logins,
        "the same behind a greeting of 1,000 characters that need escapes; per login",
    ),
    row("ftp-empty-lines", lines::ftp_empty, http::body, "empty commands"),
    row("ftp-unknown", lines::ftp_unknown, http::body, "commands of one letter"),
    row("ftp-auth", lines::ftp_auth, http::body, "requests for TLS that nothing answers"),
    row("ftp-replies", lines::ftp_replies, http::body, "replies to nothing"),
    row("pop3-empty-lines", lines::pop3_empty, http::connections, "empty commands, 11 packets of each connection"),
    row(
        "ssh-empty-lines",
        lines::ssh_empty,
        http::connections,
        "empty lines before an identification (RFC 4253 section 4.2), 22 packets of each connection",
    ),
    row(
        "ssh-algorithms",
        lines::ssh_algorithms,
        http::connections,
        "a key exchange of 17,000 names, 24 packets of each connection",
    ),
    row("imap-empty-lines", lines::imap_empty, http::connections, "empty commands, 11 packets of each connection"),
    row("tls-certificates", tls::certificates, http::body, "messages of certificates, again and again"),
    row("tls-ciphers", tls::ciphers, tls::hellos, "a hello of 8,000 cipher suites"),
    row(
        "tls-values",
        tls::values,
        tls::padded_hellos,
        "a hello of 255 values in no order, a packet of each connection",
    ),
    row(
        "tls-identifiers",
        tls::identifiers,
        tls::keys,
        "a type of an attribute of a certificate's subject with 12,000 numbers",
    ),
    row("tls-names", tls::names, tls::keys, "a common name of 12,000 letters"),
    row("tls-records", tls::records_of_a_byte, http::body, "records of one byte"),
    row("socks4-user", proxy::socks4, proxy::unknown, "a user of 503 bytes"),
    row(
        "socks4-user-bytewise",
        proxy::socks4_bytewise,
        proxy::unknown_bytewise,
        "the beginning of the same, a byte a packet",
    ),
    Row {
        views: STREAMS,
        ..row(
            "bytes-then-whole",
            retransmit::bytes_then_whole,
            http::body,
            "retransmissions of 1,460 bytes that came in a segment each",
        )
    },
    Row {
        views: STREAMS,
        ..row(
            "overlap-by-8",
            retransmit::overlap_by_8,
            http::body,
            "segments with eight new bytes and other ones before",
        )
    },
    Row {
        views: STREAMS,
        ..row("scattered", retransmit::scattered, http::body, "retransmissions over bytes that lie far from each other")
    },
    Row {
        views: STREAMS,
        ..row(
            "wrong-backwards",
            retransmit::wrong_backwards,
            retransmit::one_by_one,
            "segments of a byte with wrong checksums, from a window's end on, each second byte",
        )
    },
    Row {
        views: SEARCHES,
        ..row("match-near", patterns::near, patterns::other, "a pattern's bytes but the last, at every byte")
    },
    Row { views: SEARCHES, ..row("match-broken", patterns::broken, patterns::other, "the same, broken now and then") },
    Row {
        views: NESTED,
        ..row(
            "match-nested",
            patterns::inside,
            patterns::apart,
            "20 patterns inside each other, at every byte, of which 8 are reported; per match",
        )
    },
    barren("gzip-members", packed::gzip_members, packed::gzip, "empty members of gzip (RFC 1952)"),
    barren("gzip-blocks", packed::gzip_blocks, packed::gzip, "empty blocks in one member (RFC 1951 section 3.2.4)"),
    barren("bzip2-streams", packed::bzip2_streams, packed::bzip2, "empty streams of bzip2"),
    barren("xz-streams", packed::xz_streams, packed::xz, "empty streams of xz"),
    barren("zstd-frames", packed::zstd_frames, packed::zstd, "empty frames of Zstandard (RFC 8878)"),
    barren("zstd-blocks", packed::zstd_blocks, packed::zstd, "empty blocks in one frame"),
    barren("zstd-skipped", packed::zstd_skipped, packed::zstd, "frames that are skipped"),
    barren("lz4-frames", packed::lz4_frames, packed::lz4, "empty frames of LZ4"),
    barren("bzip2-in-gzip", packed::bzip2_in_gzip, packed::bzip2, "empty streams of bzip2, twice in gzip"),
];
