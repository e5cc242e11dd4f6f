//! Texts that one record of a session has after another: greetings and names.

use crate::fields::{Ftp, Smtp};
use crate::{transaction::Fields, work};

/// Bytes of each such text that a session's records may have however short it is: those of 250 ordinary mails.
const FREE_BYTES: u64 = 16 << 10;

/// How much a session's records repeat. A command of five bytes makes a record, and a greeting has up to 1,024: without a bound, a
/// stranger multiplies what they send by hundreds. Beyond the free bytes, each text may have one for each byte of the session, which an
/// ordinary mail or login has several times: so a user's name that each login sends again is never left out.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    session_bytes: u64,
    repeated_bytes: [u64; 2],
    is_begun: bool,
}

impl Repeats {
    /// The session had further bytes.
    pub(super) fn receive(&mut self, bytes: usize) {
        self.session_bytes += bytes as u64;
    }

    /// Takes a record; one behind the first loses the texts of the session that would be too many.
    pub(super) fn bound(&mut self, fields: &mut Fields) {
        let texts = match fields {
            Fields::Smtp(fields) => {
                let Smtp { server, client, .. } = &mut **fields;
                [server, client]
            }
            Fields::Ftp(fields) => {
                let Ftp { server, user, .. } = &mut **fields;
                [server, user]
            }
            _ => return,
        };
        if !std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        for (text, repeated_bytes) in texts.into_iter().zip(&mut self.repeated_bytes) {
            let bytes = text.as_deref().map_or(0, str::len);
            work::pass(bytes);
            if *repeated_bytes + bytes as u64 > FREE_BYTES + self.session_bytes {
                *text = None;
            } else {
                *repeated_bytes += bytes as u64;
            }
        }
    }
}
