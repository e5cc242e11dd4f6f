//! Who wins an overlap, as the published tables have it: what the models of the tests ask, written apart from the code
//! that they test.
//!
//! A table has a row for how the new piece begins (before the old one, with it, after it) and in it a letter for how it
//! ends (before, with it, after): `n`, the new one's bytes are taken, or `o`, the old ones stay.
//!
//! What Novak and Sturges found of TCP ("Target-Based TCP Stream Reassembly", 2007), and of fragments Shankar and Paxson
//! ("Active Mapping", 2003) and Novak ("Target-Based Fragmentation Reassembly", 2005), as two programs have it that were
//! written after them: Snort 3 (`tcp_overlap_resolver.cc`, `ip_defrag.cc`) and Suricata (`stream-tcp-list.c`, `defrag.c`).
//! Each entry was compared with Snort, and is Snort's but for `SNORT_DIFFERS`. Those of segments are Suricata's as well; of
//! its fragments not every case could be settled. None was compared with a host: that is what `Linux` is for, which stands in
//! no table.

use crate::{DefragPolicy, TcpPolicy};

type Range = (u64, u64);
type Table = [&'static str; 3];

const NEVER: Table = ["ooo", "ooo", "ooo"];
const ALWAYS: Table = ["nnn", "nnn", "nnn"];
const BEGINS_BEFORE: Table = ["nnn", "ooo", "ooo"];
const LINUX_26: Table = ["nnn", "oon", "ooo"];
const ENDS_LATER: Table = ["onn", "onn", "oon"];

fn look_up(table: Table, new: Range, old: Range) -> bool {
    let place = |a: u64, b: u64| match a.cmp(&b) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Greater => 2,
    };
    table[place(new.0, old.0)].as_bytes()[place(new.1, old.1)] == b'n'
}

fn segments(policy: TcpPolicy) -> Option<Table> {
    Some(match policy {
        TcpPolicy::First | TcpPolicy::Vista => NEVER,
        TcpPolicy::Last => ALWAYS,
        TcpPolicy::Bsd | TcpPolicy::Hpux10 | TcpPolicy::Irix | TcpPolicy::Windows | TcpPolicy::Macos => BEGINS_BEFORE,
        TcpPolicy::Linux26 => LINUX_26,
        TcpPolicy::Linux22 => ["nnn", "onn", "ooo"],
        TcpPolicy::Solaris | TcpPolicy::Hpux11 => ENDS_LATER,
        TcpPolicy::Linux => return None,
    })
}

fn fragments(policy: DefragPolicy) -> Option<Table> {
    Some(match policy {
        DefragPolicy::First => NEVER,
        DefragPolicy::Last => ALWAYS,
        DefragPolicy::Bsd => BEGINS_BEFORE,
        DefragPolicy::BsdRight => ["ooo", "nnn", "nnn"],
        DefragPolicy::Linux26 => ["nnn", "nnn", "ooo"],
        DefragPolicy::Windows => ["oon", "ooo", "ooo"],
        DefragPolicy::Solaris => ["onn", "ooo", "ooo"],
        DefragPolicy::Linux | DefragPolicy::Rfc5722 => return None,
    })
}

/// Whether a new segment's bytes replace an old one's.
pub(crate) fn segment_wins(policy: TcpPolicy, new: Range, old: Range) -> bool {
    look_up(segments(policy).expect("it has a model of its own"), new, old)
}

/// Whether a new fragment's bytes replace an old one's.
pub(crate) fn fragment_wins(policy: DefragPolicy, new: Range, old: Range) -> bool {
    look_up(fragments(policy).expect("no datagram with overlaps is taken"), new, old)
}

/// Where Snort 3 has another table, by our name. HP-UX 10 and IRIX: we follow Suricata. Solaris and HP-UX 11: only of an
/// exact repetition, and only behind a hole. `bsd-right`, which Suricata has not: the paper lets the new fragment win
/// against all that begin before it or with it.
const SNORT_DIFFERS: [(&str, Table); 5] = [
    ("hpux10", LINUX_26),
    ("irix", LINUX_26),
    ("solaris", ["onn", "oon", "oon"]),
    ("hpux11", ["onn", "oon", "oon"]),
    ("bsd-right", ENDS_LATER),
];

/// Every place of a new piece against an old one.
const PLACES: [(Range, [Range; 3]); 3] = [
    ((10, 20), [(5, 15), (5, 20), (5, 25)]),
    ((10, 20), [(10, 15), (10, 20), (10, 25)]),
    ((10, 20), [(12, 15), (12, 20), (12, 25)]),
];

fn table_of(new_wins: impl Fn(Range, Range) -> bool) -> Vec<String> {
    let letter = |new, old| if new_wins(new, old) { 'n' } else { 'o' };
    PLACES.iter().map(|(old, new)| new.iter().map(|new| letter(*new, *old)).collect()).collect()
}

#[test]
fn policies_are_those_of_the_tables() {
    for &policy in TcpPolicy::ALL {
        if let Some(table) = segments(policy) {
            assert_eq!(table_of(|new, old| policy.new_wins(new, old)), table, "{}", policy.name());
        }
    }
    for &policy in DefragPolicy::ALL {
        if let Some(table) = fragments(policy) {
            assert_eq!(table_of(|new, old| policy.new_wins(new, old)), table, "{}", policy.name());
        }
    }
}

/// The sources differ as their tables do, and each policy that they differ about says so.
#[test]
fn where_the_sources_differ_it_is_said() {
    let text = include_str!("../policy.rs");
    for (name, theirs) in SNORT_DIFFERS {
        let ours = match name.parse::<TcpPolicy>() {
            Ok(policy) => (segments(policy), format!("{policy:?}")),
            Err(_) => name.parse::<DefragPolicy>().map(|policy| (fragments(policy), format!("{policy:?}"))).unwrap(),
        };
        assert_ne!(ours.0, Some(theirs), "{name}");
        // The lines of its documentation stand before its name.
        let at = text.find(&format!("\n    {},\n", ours.1)).expect(name);
        let comment: Vec<&str> = text[..at].lines().rev().take_while(|line| line.trim().starts_with("///")).collect();
        assert!(comment.iter().any(|line| line.contains("Snort")), "{name}: {comment:?}");
    }
}
