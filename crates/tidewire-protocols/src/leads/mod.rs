//! Dialogues that lead into TLS in protocols that are not read otherwise: POP3, IMAP, NNTP and IRC, XMPP, LDAP, PostgreSQL, MySQL, RDP, and
//! the header of proxies (PROXY protocol).

mod binary;
mod exchange;
mod kinds;
mod lines;
#[cfg(test)]
mod tests;
mod xmpp;

pub(crate) use exchange::Exchange;
pub(crate) use kinds::{Lead, Look};

/// Looks at the first bytes of one side.
pub(crate) fn look(bytes: &[u8]) -> Look {
    let mut open = false;
    for look in [binary::look(bytes), xmpp::look(bytes), lines::look(bytes)] {
        match look {
            Look::Unknown => {}
            Look::Open => open = true,
            found => return found,
        }
    }
    if open { Look::Open } else { Look::Unknown }
}
