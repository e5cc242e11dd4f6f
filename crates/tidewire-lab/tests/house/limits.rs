//! Limits that `docs/limits.md` names have the values that it states, and a name is that of one limit.

use std::{collections::BTreeMap, fs};

use super::{code, is_test, root, sources};

/// Limits of the kernel and of libpcap.
const FOREIGN: &[&str] = &["BPF_MAXINSNS", "MAXIMUM_SNAPLEN", "PACKET_FANOUT_MAX", "PCAP_ERRBUF_SIZE"];

/// The values of all constants, by name.
fn constants() -> BTreeMap<String, Vec<u64>> {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for file in files.iter().filter(|file| !is_test(file)) {
        for line in code(file).lines() {
            let Some((_, rest)) = line.split_once("const ") else { continue };
            let Some(((name, _), value)) =
                rest.split_once(" = ").and_then(|(head, value)| Some((head.split_once(':')?, value)))
            else {
                continue;
            };
            found.entry(name.to_owned()).or_default().extend(value.split(';').next().and_then(value_of));
        }
    }
    found
}

/// The value of a constant: numbers with `<<` and `*` between.
fn value_of(text: &str) -> Option<u64> {
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().ok();
    let product = |text: &str| text.split('*').map(number).product::<Option<u64>>();
    match text.split_once("<<") {
        Some((value, by)) => product(value)?.checked_shl(u32::try_from(number(by)?).ok()?),
        None => product(text),
    }
}

/// The first number of a cell, with its unit.
fn stated(cell: &str) -> Option<u64> {
    let begin = cell.find(|c: char| c.is_ascii_digit())?;
    let rest = &cell[begin..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(rest.len());
    let number = rest[..end].trim_end_matches(',').replace(',', "").parse::<u64>().ok()?;
    let unit = rest[end..].trim_start().split(|c: char| !c.is_alphabetic()).next()?;
    let factor = match unit {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => 1,
    };
    number.checked_mul(factor)
}

/// Names of constants in a row of a table, each with the value stated for it: in its cell, or in the first cell behind with a number.
fn named(row: &str) -> Vec<(String, Option<u64>)> {
    let cells: Vec<&str> = row.split('|').collect();
    let is_constant = |name: &&str| {
        name.contains('_') && name.chars().all(|c| c == '_' || c.is_ascii_digit() || c.is_ascii_uppercase())
    };
    let names =
        |cell: &str| cell.split('`').skip(1).step_by(2).filter(is_constant).map(str::to_owned).collect::<Vec<_>>();
    // The text of a cell without its names.
    let rest = |cell: &str| cell.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let value = || cells[index..].iter().find_map(|cell| stated(&rest(cell)));
        found.extend(names(cell).into_iter().map(|name| (name, value())));
    }
    found
}

#[test]
fn named_limits_have_the_values_of_their_constants() {
    let (constants, mut count) = (constants(), 0);
    let text = fs::read_to_string(root().join("docs/limits.md")).expect("limits.md");
    for row in text.lines().filter(|line| line.starts_with('|')) {
        for (name, value) in named(row).into_iter().filter(|(name, _)| !FOREIGN.contains(&name.as_str())) {
            let value = value.unwrap_or_else(|| panic!("no value is stated for {name}: {row}"));
            let known = constants.get(&name).unwrap_or_else(|| panic!("no constant {name}: {row}"));
            let agree = !known.is_empty() && known.iter().all(|one| *one == value);
            assert!(agree, "{name} is {known:?}, and limits.md states {value}: {row}");
            count += 1;
        }
    }
    assert!(count > 10, "only {count} limits are named");
}

#[test]
fn values_are_read_as_they_are_written() {
    for (text, value) in
        [("8_192", 8192), ("16 << 10", 16_384), ("2 * 50_000_000", 100_000_000), ("4 * 4 << 20", 16 << 20)]
    {
        assert_eq!(value_of(text), Some(value), "{text}");
    }
    assert_eq!([value_of("OTHER"), value_of("\"4\"")], [None; 2]);
    let states = |row: &str, name: &str, value| assert_eq!(named(row), [(name.to_owned(), value)], "{row}");
    states("| some (`A_MAX`) | – | 32, of rings of 8 MiB | 5 |", "A_MAX", Some(32));
    states("| `B_NS_MAX` | – | 50 ms | `x` 7 |", "B_NS_MAX", Some(50_000_000));
    states("| rows `8` | 1,512 (`C_ROWS`) | 9 |", "C_ROWS", Some(1512));
    states("| none (`D_MAX`) | – |", "D_MAX", None);
}
