//! SMTP and FTP: greetings and commands.

use crate::{
    look::{BYTES_MAX, Ends, Look, begins, begins_word},
    value::Service,
};

const SMTP_COMMANDS: &[&[u8]] = &[b"STARTTLS", b"MAIL FROM:", b"RCPT TO:"];

const FTP_COMMANDS: &[&[u8]] = &[
    b"AUTH ", b"USER ", b"PASS ", b"CWD ", b"DELE ", b"EPRT ", b"EPSV", b"LIST", b"MDTM ", b"MKD ", b"MLSD", b"NLST",
    b"PASV", b"PORT ", b"PWD", b"RETR ", b"SIZE ", b"STOR ", b"SYST", b"TYPE ",
];

/// A greeting of SMTP or FTP, which differ by what the greeting says, then by the server's port; or a client's first command.
pub(super) fn look(bytes: &[u8], ends: Ends) -> Look {
    let mut open = false;
    for command in [b"EHLO ", b"HELO ", b"LHLO "] {
        match begins_word(bytes, command) {
            Some(true) => return Look::Client(Service::Smtp),
            Some(false) => open = true,
            None => {}
        }
    }
    // Commands that other protocols have, too. All but the first ones begin what was joined midway.
    if let Some(service) = by_port(ends.peer) {
        let commands = if service == Service::Smtp { SMTP_COMMANDS } else { FTP_COMMANDS };
        for command in commands {
            match begins_word(bytes, command) {
                Some(true) => return Look::Client(service),
                Some(false) => open = true,
                None => {}
            }
        }
    }
    match begins(bytes, b"220") {
        Some(true) => {}
        Some(false) => return Look::Open,
        None if open || by_port(ends.own).is_some() && may_be_reply(bytes) => return Look::Open,
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

/// Whether bytes can begin a reply, to a command that was sent before the capture began.
fn may_be_reply(bytes: &[u8]) -> bool {
    bytes.iter().take(3).all(u8::is_ascii_digit) && bytes.get(3).is_none_or(|byte| matches!(byte, b' ' | b'-'))
}

/// The one protocol that a greeting names.
fn said(greeting: &[u8]) -> Option<Service> {
    let says = |word: &[u8]| greeting.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
    match (says(b"SMTP") || says(b"LMTP"), says(b"FTP")) {
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
