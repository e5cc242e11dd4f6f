//! POP3 (RFC 2595), IMAP (RFC 9051), NNTP (RFC 4642) and IRC: a command, and the server's consent.

use super::kinds::{Lead, Look};

/// What servers greet with, and what clients begin with if they do not wait for it.
const GREETINGS: [&[u8]; 5] = [b"+OK", b"* OK", b"* PREAUTH", b"200 ", b"201 "];
const COMMANDS: [&[u8]; 4] = [b"STLS", b"STARTTLS", b"CAP LS", b"CAPA\r"];

pub(super) fn look(bytes: &[u8]) -> Look {
    let mut open = false;
    for (patterns, found) in [(&GREETINGS[..], Look::Server(Lead::Lines)), (&COMMANDS[..], Look::Client(Lead::Lines))] {
        for pattern in patterns {
            let common = bytes.len().min(pattern.len());
            if bytes[..common].eq_ignore_ascii_case(&pattern[..common]) {
                if common == pattern.len() {
                    return found;
                }
                open = true;
            }
        }
    }
    if open { Look::Open } else { Look::Unknown }
}

/// Whether a client's line asks for TLS, with a tag before it or not.
pub(super) fn asks(line: &[u8]) -> bool {
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let is_command = |word: &[u8]| word.eq_ignore_ascii_case(b"STARTTLS") || word.eq_ignore_ascii_case(b"STLS");
    match (words.next(), words.next(), words.next()) {
        (Some(one), None, _) => is_command(one),
        (Some(_), Some(two), None) => is_command(two),
        _ => false,
    }
}

/// What a server's line says to that: `None` if it is not the answer.
pub(super) fn answer(line: &[u8]) -> Option<bool> {
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').take(2).collect();
    match *words.first()? {
        b"+OK" | b"382" => Some(true),
        b"-ERR" | b"580" | b"502" | b"691" => Some(false),
        // Untagged lines of IMAP; of IRC, lines begin with the server's name.
        b"*" => None,
        first => match *words.get(1)? {
            b"OK" | b"670" => Some(true),
            b"NO" | b"BAD" | b"691" => Some(false),
            _ if first.starts_with(b":") => None,
            _ => None,
        },
    }
}
