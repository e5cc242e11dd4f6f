//! IPv4 options (RFC 791, 3.1), by the rules of hosts.

use crate::Doubts;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
/// Record route.
const RECORD_ROUTE: u8 = 7;
const TIMESTAMP: u8 = 68;
/// Commercial security (CIPSO): dropped unless its domain is configured (Linux: `cipso_v4_validate`).
const CIPSO: u8 = 134;
const LOOSE_SOURCE_ROUTE: u8 = 131;
const STRICT_SOURCE_ROUTE: u8 = 137;
/// RFC 2113.
const ROUTER_ALERT: u8 = 148;

/// Whether a host drops a packet for its options, by the rules of Linux's `ip_options_compile`. `None`: an option does
/// not end inside the header, for which every host drops the packet (RFC 1122, 3.2.1.8).
pub(crate) fn judge(options: &[u8]) -> Option<Doubts> {
    let mut doubts = Doubts::NONE;
    let mut seen = Seen::default();
    let mut rest = options;
    loop {
        rest = match *rest {
            [] | [END, ..] => return Some(doubts),
            [NO_OPERATION, ref after @ ..] => after,
            [_, length, ..] if length >= 2 => {
                let (option, after) = rest.split_at_checked(length.into())?;
                doubts |= judge_one(option, &mut seen);
                after
            }
            _ => return None,
        }
    }
}

/// Options that may occur only once.
#[derive(Default)]
struct Seen {
    source_route: bool,
    record_route: bool,
    timestamp: bool,
    cipso: bool,
}

/// An option of at least two bytes: kind, length, data.
fn judge_one(option: &[u8], seen: &mut Seen) -> Doubts {
    let length = option.len();
    let at = |index: usize| usize::from(option.get(index).copied().unwrap_or(0));
    let pointer = at(2);
    let is_bad = match option[0] {
        LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE => {
            let is_bad = length < 3 || pointer < 4 || std::mem::replace(&mut seen.source_route, true);
            return if is_bad { Doubts::HEADER } else { Doubts::UNCONFIGURED };
        }
        RECORD_ROUTE => {
            let is_full = pointer > length;
            length < 3
                || pointer < 4
                || !is_full && pointer + 3 > length
                || std::mem::replace(&mut seen.record_route, true)
        }
        TIMESTAMP => {
            let flags = at(3) & 0x0f;
            let room = if matches!(flags, 1 | 3) { 7 } else { 3 };
            let is_full = pointer > length;
            length < 4
                || pointer < 5
                || !is_full && pointer + room > length
                // Full: the overflow counter must not be full, too. (With preset addresses it is not checked.)
                || is_full && flags != 3 && at(3) >> 4 == 15
                || std::mem::replace(&mut seen.timestamp, true)
        }
        ROUTER_ALERT => length < 4,
        CIPSO => {
            let is_bad = length < 8 || std::mem::replace(&mut seen.cipso, true);
            return if is_bad { Doubts::HEADER } else { Doubts::UNCONFIGURED };
        }
        _ => false,
    };
    if is_bad { Doubts::HEADER } else { Doubts::NONE }
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::Doubts;

    #[test]
    fn an_option_that_does_not_end_is_malformed() {
        for options in [&[7, 0][..], &[7, 1, 0, 0], &[7, 5, 4, 0], &[1, 1, 1, 7]] {
            assert_eq!(judge(options), None, "{options:?}");
        }
        assert_eq!(judge(&[0, 7, 1, 0]), Some(Doubts::NONE), "nothing counts behind the end");
    }

    #[test]
    fn options_that_hosts_drop() {
        let sound: [&[u8]; 8] = [
            &[1, 1, 1, 0],
            &[7, 7, 4, 0, 0, 0, 0, 0],
            &[7, 7, 8, 9, 9, 9, 9, 0],
            &[68, 8, 5, 0, 0, 0, 0, 0],
            &[68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            &[68, 4, 5, 0xe0],
            &[148, 4, 0, 0],
            &[130, 2, 0, 0],
        ];
        for options in sound {
            assert_eq!(judge(options), Some(Doubts::NONE), "{options:?}");
        }
        let bad: [&[u8]; 14] = [
            &[7, 2, 0, 0],
            &[7, 7, 3, 0, 0, 0, 0, 0],
            &[7, 7, 5, 0, 0, 0, 0, 0],
            &[7, 3, 4, 7, 3, 4, 0, 0],
            &[68, 3, 5, 0],
            &[68, 8, 4, 0, 0, 0, 0, 0],
            &[68, 8, 6, 0, 0, 0, 0, 0],
            &[68, 8, 5, 1, 0, 0, 0, 0],
            &[68, 8, 9, 0xf0, 0, 0, 0, 0],
            &[148, 3, 0, 0],
            &[131, 2, 0, 0],
            &[131, 3, 3, 0],
            &[131, 3, 4, 137, 3, 4, 0, 0],
            &[134, 7, 0, 0, 0, 1, 0, 0],
        ];
        for options in bad {
            assert!(judge(options).is_some_and(|doubts| doubts.has(Doubts::HEADER)), "{options:?}");
        }
        for options in [&[131, 3, 4, 0][..], &[137, 7, 4, 10, 0, 0, 1, 0], &[134, 8, 0, 0, 0, 1, 0, 0]] {
            assert_eq!(judge(options), Some(Doubts::UNCONFIGURED), "{options:?}");
        }
    }
}
