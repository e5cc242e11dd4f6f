//! Who wins an overlap, as the published tables have it: what the models of the tests ask, written apart from the code
//! that they test.
//!
//! A table has a row for how the new piece begins (before the old one, with it, after it) and in it a letter for how it
//! ends (before, with it, after): `n`, the new one's bytes are taken, or `o`, the old ones stay. TCP: Novak and Sturges
//! 2007, figures 2 to 4; fragments: Shankar and Paxson 2003, table 3, and Novak 2005, table 1.

use crate::{DefragPolicy, TcpPolicy};

type Range = (u64, u64);
type Table = [&'static str; 3];

const NEVER: Table = ["ooo", "ooo", "ooo"];
const ALWAYS: Table = ["nnn", "nnn", "nnn"];
const BEGINS_BEFORE: Table = ["nnn", "ooo", "ooo"];

fn look_up(table: Table, new: Range, old: Range) -> bool {
    let place = |a: u64, b: u64| match a.cmp(&b) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Greater => 2,
    };
    table[place(new.0, old.0)].as_bytes()[place(new.1, old.1)] == b'n'
}

/// Whether a new segment's bytes replace an old one's.
pub(crate) fn segment_wins(policy: TcpPolicy, new: Range, old: Range) -> bool {
    let table = match policy {
        TcpPolicy::First | TcpPolicy::Vista => NEVER,
        TcpPolicy::Last => ALWAYS,
        TcpPolicy::Bsd | TcpPolicy::Hpux10 | TcpPolicy::Irix | TcpPolicy::Windows | TcpPolicy::Macos => BEGINS_BEFORE,
        TcpPolicy::Linux26 => ["nnn", "oon", "ooo"],
        TcpPolicy::Linux22 => ["nnn", "onn", "ooo"],
        TcpPolicy::Solaris | TcpPolicy::Hpux11 => ["onn", "onn", "oon"],
        TcpPolicy::Linux => unreachable!("it has a model of its own"),
    };
    look_up(table, new, old)
}

/// Whether a new fragment's bytes replace an old one's.
pub(crate) fn fragment_wins(policy: DefragPolicy, new: Range, old: Range) -> bool {
    let table = match policy {
        DefragPolicy::First => NEVER,
        DefragPolicy::Last => ALWAYS,
        DefragPolicy::Bsd => BEGINS_BEFORE,
        DefragPolicy::BsdRight => ["ooo", "nnn", "nnn"],
        DefragPolicy::Linux26 => ["nnn", "nnn", "ooo"],
        DefragPolicy::Windows => ["oon", "ooo", "ooo"],
        DefragPolicy::Solaris => ["onn", "ooo", "ooo"],
        DefragPolicy::Linux | DefragPolicy::Rfc5722 => unreachable!("no datagram with overlaps is taken"),
    };
    look_up(table, new, old)
}
