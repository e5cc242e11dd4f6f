//! Suggestions in place of an unknown field.

use tidewire_types::ranked;

use crate::{
    select::{field, field::Field, known},
    table::{FLOWS, TRANSACTIONS, Table},
};

/// Most fields that are suggested.
const SUGGESTED_MAX: usize = 4;

/// Words of other programs and of tables for the ends of a flow, and for fields.
const OTHER_WORDS: [(&str, &[&str]); 25] = [
    ("src", &["client_addr"]),
    ("dst", &["server_addr"]),
    ("source", &["client_addr"]),
    ("destination", &["server_addr"]),
    ("saddr", &["client_addr"]),
    ("daddr", &["server_addr"]),
    ("sport", &["client_port"]),
    ("dport", &["server_port"]),
    ("srcport", &["client_port"]),
    ("dstport", &["server_port"]),
    ("client", &["client_addr", "client_port"]),
    ("server", &["server_addr", "server_port"]),
    ("ip", &["addr"]),
    ("protocol", &["proto"]),
    ("domain", &["name"]),
    ("url", &["http.path"]),
    ("uri", &["http.path"]),
    ("size", &["bytes"]),
    ("missing", &["missing_bytes"]),
    ("retransmitted", &["retransmitted_bytes"]),
    ("reordered", &["out_of_order_packets"]),
    ("cut_off", &["cut_off_bytes"]),
    ("end", &["end_reason"]),
    ("flags_c2s", &["tcp_flags_c2s"]),
    ("flags_s2c", &["tcp_flags_s2c"]),
];

/// Why a word is not a field of a table, and what may be meant.
pub(super) fn unknown_field(word: &str, fields: &[Field], table: &Table) -> String {
    let of_other = |other: &'static Table, what| {
        let is_there = other.name != table.name && field::find(&field::all(other), word).is_some();
        is_there.then(|| format!("'{word}' is a field of {what}"))
    };
    let is_one_of = |known: &Table| known.name == table.name;
    if (is_one_of(&FLOWS) || is_one_of(&TRANSACTIONS))
        && let Some(elsewhere) =
            of_other(&FLOWS, "flows and streams").or_else(|| of_other(&TRANSACTIONS, "transactions"))
    {
        return elsewhere;
    }
    match suggested(word, fields) {
        hints if hints.is_empty() => format!("unknown field '{word}'; the option's --help lists the fields"),
        hints => format!("unknown field '{word}'; did you mean {}?", hints.join(" or ")),
    }
}

/// Fields that may be meant, the most likely first.
fn suggested(word: &str, fields: &[Field]) -> Vec<String> {
    if let Some(service) = known::service(word) {
        return vec![format!("service = {service}")];
    }
    let word = word.to_ascii_lowercase();
    let names = || fields.iter().map(|field| field.name.as_str());
    if let Some(hints) = of_same_protocol(&word, names()) {
        return hints;
    }
    let of = |is_meant: &dyn Fn(&str) -> bool| -> Vec<String> {
        names().filter(|name| is_meant(name)).take(SUGGESTED_MAX).map(str::to_owned).collect()
    };
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    // The record's own fields come first.
    let is_other_word = OTHER_WORDS.iter().any(|(other, _)| *other == word);
    let mut hints = if is_other_word { of_other_words(&word, fields) } else { Vec::new() };
    hints.extend(of(&|name| last(name) == word));
    hints.truncate(SUGGESTED_MAX);
    if hints.is_empty() {
        hints = of_other_words(&word, fields);
    }
    if hints.is_empty() {
        // As near as the nearest: a name that is one letter further is another one.
        let near = ranked(&word, names());
        let least = near.first().map_or(0, |(distance, _)| *distance);
        let near = near.into_iter().take_while(|(distance, _)| *distance == least);
        hints.extend(near.take(SUGGESTED_MAX).map(|(_, name)| name.to_owned()));
    }
    if hints.is_empty() {
        // `latency` of `dns.latency_ns`, `flags` of `tcp_flags_c2s`.
        hints = of(&|name| word.len() > 2 && last(name).split('_').any(|part| part == word));
    }
    hints
}

/// The fields of the protocol that `word` begins with, the nearest first; all of them, if none is near. `None`: it begins with no protocol.
fn of_same_protocol<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<Vec<String>> {
    let (protocol, rest) = word.split_once('.')?;
    let of_protocol =
        |name: &'a str| name.split_once('.').filter(|(first, _)| *first == protocol).map(|(_, rest)| rest);
    let all: Vec<&str> = names.filter_map(of_protocol).collect();
    let named = |rest: &str| format!("{protocol}.{rest}");
    let near: Vec<String> =
        ranked(rest, all.iter().copied()).into_iter().take(SUGGESTED_MAX).map(|(_, rest)| named(rest)).collect();
    match (all.is_empty(), near.is_empty()) {
        (true, _) => None,
        (false, true) => Some(all.into_iter().map(named).collect()),
        (false, false) => Some(near),
    }
}

/// `src.addr`, `ip.dst`, `sport`: names that other programs have.
fn of_other_words(word: &str, fields: &[Field]) -> Vec<String> {
    let parts: Vec<&str> = word.split(['.', '_']).collect();
    let of_whole = || OTHER_WORDS.iter().find(|(other, _)| *other == word).map(|(_, meant)| *meant);
    let meant = |part: &&str| OTHER_WORDS.iter().find(|(other, _)| other == part).map(|(_, meant)| *meant);
    // `ip` says least where there is more.
    let of_part = || parts.iter().rev().filter(|part| **part != "ip").find_map(meant);
    let Some(meant) = of_whole().or_else(of_part).or_else(|| parts.iter().find_map(meant)) else {
        return Vec::new();
    };
    let is_port = parts.contains(&"port");
    let names = meant.iter().map(|name| if is_port { name.replace("addr", "port") } else { (*name).to_owned() });
    let mut names: Vec<String> = names.filter(|name| fields.iter().any(|field| field.name == *name)).collect();
    names.dedup();
    names
}
