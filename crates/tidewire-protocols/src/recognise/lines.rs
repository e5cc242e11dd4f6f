//! SMTP and FTP: greetings and commands.

use super::look::{BYTES_MAX, Ends, Look, begins, begins_word};
use crate::value::Service;

/// A greeting of SMTP or FTP, which differ by what the greeting says, then by the server's port; or a client's first command.
pub(super) fn look(bytes: &[u8], ends: Ends) -> Look {
    let mut open = false;
    for command in [b"EHLO ", b"HELO "] {
        match begins_word(bytes, command) {
            Some(true) => return Look::Client(Service::Smtp),
            Some(false) => open = true,
            None => {}
        }
    }
    // Commands that other protocols have, too.
    for (command, service) in [(&b"AUTH "[..], Service::Ftp), (b"USER ", Service::Ftp), (b"STARTTLS", Service::Smtp)] {
        let is_known = by_port(ends.peer) == Some(service);
        match begins_word(bytes, command) {
            Some(true) if is_known => return Look::Client(service),
            Some(false) if is_known => open = true,
            _ => {}
        }
    }
    match begins(bytes, b"220") {
        Some(true) => {}
        Some(false) => return Look::Open,
        None if open => return Look::Open,
        None => return Look::Unknown,
    }
    match bytes.get(3) {
        None => return Look::Open,
        Some(b' ' | b'-') => {}
        Some(_) => return Look::Unknown,
    }
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if line.len() == bytes.len() && bytes.len() < BYTES_MAX {
        return Look::Open;
    }
    // A server's name says what it is for, which may be another one than it speaks.
    let rest = line[4..].trim_ascii_start();
    let first_bytes = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
    let behind = if rest[..first_bytes].contains(&b'.') { &rest[first_bytes..] } else { rest };
    match said(behind).or(by_port(ends.own)).or(said(rest)) {
        Some(service) => Look::Server(service),
        // The client's first command decides.
        None => Look::Open,
    }
}

/// The one protocol that a greeting names.
fn said(greeting: &[u8]) -> Option<Service> {
    let says = |word: &[u8]| greeting.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
    match (says(b"SMTP"), says(b"FTP")) {
        (true, false) => Some(Service::Smtp),
        (false, true) => Some(Service::Ftp),
        _ => None,
    }
}

/// The protocol of a server's port.
fn by_port(port: u16) -> Option<Service> {
    match port {
        25 | 465 | 587 | 2525 => Some(Service::Smtp),
        21 => Some(Service::Ftp),
        _ => None,
    }
}

/// Whether a greeting `220` of one side and a command of the other show FTP, which nothing else does. `None`: they do not, and
/// more bytes change nothing.
pub(super) fn ftp_session(client: &[u8], server: &[u8]) -> Option<bool> {
    let [client, server] = [client, server].map(|bytes| &bytes[..bytes.len().min(BYTES_MAX)]);
    let commands = [&b"USER "[..], b"AUTH TLS", b"AUTH SSL"].map(|command| begins_word(client, command));
    let command = commands.into_iter().flatten().max()?;
    let greeting = [&b"220 "[..], b"220-"].map(|greeting| begins(server, greeting)).into_iter().flatten().max()?;
    let is_session = command && greeting && server.contains(&b'\n');
    (is_session || client.len().max(server.len()) < BYTES_MAX).then_some(is_session)
}
