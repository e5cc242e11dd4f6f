//! Output of programs, as records that can be compared: without times and running numbers.

use std::{collections::BTreeMap, process::Command};

use tidewire_testing::InTime as _;

/// Runs a program over the system's library and returns what it prints.
pub fn output(words: &[&str]) -> Result<String, String> {
    let output =
        Command::new(words[0]).args(&words[1..]).run_in_time().map_err(|error| format!("{words:?}: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Lines, with those that begin with white space added to the one before.
pub fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in text.lines() {
        match blocks.last_mut() {
            Some(last) if line.starts_with([' ', '\t']) => {
                last.push('\n');
                last.push_str(line);
            }
            _ => blocks.push(line.to_owned()),
        }
    }
    blocks
}

/// Packets of a capture file, decoded by tcpdump over the system's library: one record each, its bytes included.
pub fn capture(path: &str) -> Result<Vec<String>, String> {
    output(&["tcpdump", "-nn", "-t", "-e", "-S", "-xx", "-r", path]).map(|text| blocks(&text))
}

/// The flows of NetFlow version 5: addresses, ports, protocol, flags, packets, bytes.
pub fn netflow_5(datagrams: &[Vec<u8>]) -> Result<Vec<String>, String> {
    let mut flows: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for datagram in datagrams {
        let (head, rest) = datagram.split_at_checked(24).ok_or("a datagram without a header")?;
        if head[..2] != [0, 5] {
            return Err(format!("NetFlow version {}, not 5", head[1]));
        }
        let count = usize::from(u16::from_be_bytes([head[2], head[3]]));
        for record in rest.chunks_exact(48).take(count) {
            let number = |at: usize| u32::from_be_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
            let port = |at: usize| u16::from_be_bytes([record[at], record[at + 1]]);
            let address = |at: usize| std::net::Ipv4Addr::from(number(at));
            let key = format!("{} {}:{} {}:{}", record[38], address(0), port(32), address(4), port(34));
            // A flow may be exported in parts.
            let sums = flows.entry(key).or_default();
            sums[0] += u64::from(number(16));
            sums[1] += u64::from(number(20));
        }
    }
    Ok(flows.into_iter().map(|(key, [packets, bytes])| format!("{key} {packets} packets {bytes} bytes")).collect())
}

/// p0f's log without its times, and without what depends on them or on all connections of a host.
pub fn p0f(log: &str) -> Vec<String> {
    let without_time = |line: &str| line.split_once("] ").map_or("", |(_, rest)| rest).to_owned();
    let lines = log.lines().map(without_time);
    lines.filter(|line| !line.contains("mod=host change") && !line.contains("mod=uptime")).collect()
}

/// ngrep's matches without the packets' numbers.
pub fn ngrep(text: &str) -> Vec<String> {
    let mut matches: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let begins = ["T ", "U ", "I ", "? "].iter().any(|start| line.starts_with(start)) && line.contains(" -> ");
        match matches.last_mut() {
            _ if begins => matches.push(line.split(" #").next().unwrap_or(line).to_owned()),
            Some(last) => {
                last.push('\n');
                last.push_str(line);
            }
            // Its lines about itself at first.
            None => {}
        }
    }
    matches
}

/// Lines of ssldump about each connection, without times and the connections' numbers.
pub fn ssldump(text: &str) -> Vec<String> {
    let mut connections: BTreeMap<&str, (String, String)> = BTreeMap::new();
    let mut current = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("New TCP connection #") {
            let (number, ends) = rest.split_once(": ").unwrap_or((rest, ""));
            connections.insert(number, (ends.to_owned(), String::new()));
            current = number;
            continue;
        }
        if line.starts_with("Cleaned ") {
            // It did not see the end of some connections.
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_numbered = words.first().is_some_and(|word| connections.contains_key(word));
        let text = match words.as_slice() {
            [number, record, _, delta, rest @ ..] if is_numbered && delta.starts_with('(') => {
                current = number;
                format!("{record} {}", rest.join(" "))
            }
            [number, _, delta, rest @ ..] if is_numbered && delta.starts_with('(') => {
                current = number;
                rest.join(" ")
            }
            words => words.join(" "),
        };
        if let Some((_, lines)) = connections.get_mut(current) {
            lines.push('\n');
            lines.push_str(&text);
        }
    }
    connections.into_values().map(|(ends, lines)| ends + &lines).collect()
}

/// ndpiReader's flows without their numbers and what depends on time.
pub fn ndpi(text: &str) -> Vec<String> {
    let is_flow = |line: &&str| {
        let mut words = line.trim_start().split('\t');
        line.starts_with('\t') && words.next().is_some_and(|word| word.parse::<u32>().is_ok()) && line.contains("<->")
            || line.contains("[proto:")
    };
    let timed = ["IAT", "sec]", "Goodput", "bytes ratio", "Entropy"];
    let flow = |line: &str| {
        let rest = line.trim_start().split_once('\t').map_or("", |(_, rest)| rest);
        let parts = rest.split('[').filter(|part| !timed.iter().any(|word| part.contains(word)));
        parts.collect::<Vec<_>>().join("[")
    };
    text.lines().filter(is_flow).map(flow).collect()
}
