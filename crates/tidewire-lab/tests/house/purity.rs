//! Names that a pure crate's sources may not have: files, the environment, threads, processes, sockets, clocks, and system calls.
//!
//! Names are followed through every form of `use`: groups, aliases, globs, and modules that are imported whole. Tests are left out.

use std::collections::BTreeMap;

use super::{
    NOT_PURE, PURE, is_test, root, sources,
    tokens::{Token, item_length, starts_with, tokens, tree},
};

/// Paths that reach outside, with all below them.
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::ToSocketAddrs",
    "std::net::UdpSocket",
    "std::os",
    "std::process",
    "std::sync::mpsc",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::time::UNIX_EPOCH",
    "caps",
    "crossbeam",
    "crossbeam_channel",
    "fastrand",
    "getrandom",
    "libc",
    "memmap2",
    "mio",
    "nix",
    "rand",
    "rayon",
    "rustix",
    "signal_hook",
    "socket2",
    "tempfile",
    "tidewire_types::clock",
    "tidewire_types::random",
    "tokio",
];

/// Types that reach outside, wherever they stand.
const TYPES: &[&str] = &["Instant", "SystemTime", "TcpStream", "UdpSocket"];

/// Macros that reach outside.
const MACROS: &[&str] = &["dbg", "eprint", "eprintln", "print", "println", "thread_local"];

/// Names of a source that reach outside.
fn outside(source: &str) -> Vec<String> {
    let tokens = without_tests(&tokens(source));
    let (mut paths, mut aliases, mut found) = (Vec::new(), BTreeMap::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        at += match &tokens[at..] {
            [Token::Word(word), rest @ ..] if word == "use" => {
                let length = rest.iter().take_while(|token| **token != Token::Mark(';')).count();
                used(&rest[..length], &mut paths, &mut aliases);
                1 + length
            }
            [Token::Word(word), ..] => {
                let is_macro = || starts_with(&tokens[at + 1..], &["!"]) && MACROS.contains(&word.as_str());
                found.extend((TYPES.contains(&word.as_str()) || is_macro()).then(|| word.clone()));
                let path = path_at(&tokens[at..]);
                // A name alone, as a crate of `extern crate`, or a variable.
                let is_crate = at > 0 && starts_with(&tokens[at - 1..], &["crate"]);
                let length = 2 * path.len() - 1;
                paths.extend((path.len() > 1 || is_crate).then_some(path));
                length
            }
            _ => 1,
        };
    }
    found.extend(paths.iter().map(|path| resolved(path, &aliases)).filter(|path| is_impure(path)));
    found
}

/// The paths of a `use`, and the names that it brings for them.
fn used(tokens: &[Token], paths: &mut Vec<Vec<String>>, aliases: &mut BTreeMap<String, Vec<String>>) {
    let mut brought = Vec::new();
    tree(tokens, &mut Vec::new(), &mut brought);
    for (mut path, name) in brought {
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if name == "*" {
            path.push(name);
        } else {
            aliases.insert(name, path.clone());
        }
        paths.push(path);
    }
}

/// The path that begins with the first of these tokens, a word.
fn path_at(tokens: &[Token]) -> Vec<String> {
    let mut path = Vec::new();
    let mut rest = tokens;
    while let [Token::Word(word), behind @ ..] = rest {
        path.push(word.clone());
        match behind {
            [Token::Path, next @ ..] => rest = next,
            _ => break,
        }
    }
    path
}

/// A path in full: its first name may be one that a `use` brings.
fn resolved(path: &[String], aliases: &BTreeMap<String, Vec<String>>) -> String {
    let mut path = path.to_vec();
    // An alias of an alias is as long as a chain that ends.
    for _ in 0..8 {
        match aliases.get(&path[0]).filter(|target| target[0] != path[0]) {
            Some(target) => path = [target, &path[1..]].concat(),
            None => break,
        }
    }
    path.join("::")
}

/// Whether a path reaches outside: one of these, what is below it, or all of a module that has it.
fn is_impure(path: &str) -> bool {
    let has = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let all = path.strip_suffix("::*");
    IMPURE.iter().any(|impure| has(impure, path) || all.is_some_and(|all| has(all, impure)))
}

/// Tokens without items that only tests have.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let (mut at, mut kept) = (0, Vec::new());
    while at < tokens.len() {
        if starts_with(&tokens[at..], &["#", "[", "cfg", "(", "test", ")", "]"]) {
            at += 7;
            at += item_length(&tokens[at..]);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

#[test]
fn pure_crates_touch_nothing_outside() {
    let mut count = 0;
    for name in PURE {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), &mut files);
        for file in files.iter().filter(|file| !is_test(file) && !NOT_PURE.iter().any(|other| file.ends_with(other))) {
            let found = outside(&std::fs::read_to_string(file).expect("a source is UTF-8"));
            assert!(found.is_empty(), "{} names {found:?}", file.display());
            count += 1;
        }
    }
    assert!(count > 100, "only {count} sources were found");
}

#[test]
fn what_reaches_outside_is_found_however_it_is_written() {
    for impure in [
        "use std::fs;",
        "use std::fs as other; fn a() { other::read(\"a\"); }",
        "use std::{fmt, fs::File};",
        "use std::{collections::{BTreeMap}, io::{self, Write}};",
        "use std::io::Write as _;",
        "use std as system; fn a() { system::thread::spawn(|| ()); }",
        "use std::time; fn a() { time::UNIX_EPOCH; }",
        "use std::time::*;",
        "use std::*;",
        "use std::net::*;",
        "fn a() { ::std::env::var(\"A\"); }",
        "fn a() { std::os::fd::AsRawFd::as_raw_fd(&1); }",
        "fn a() { libc::time(0); }",
        "fn a() { rustix::process::getpid(); }",
        "extern crate libc;",
        "use std::net::{IpAddr, UdpSocket as Other};",
        "fn a() { println!(\"a\"); }",
        "thread_local! { static A: u8 = 1; }",
        "fn a(_: Instant) {}",
        "#[cfg(test)] use super::A; use std::fs;",
        "#[cfg(test)] mod tests { fn a() {} } fn a() { std::process::exit(1); }",
    ] {
        assert!(!outside(impure).is_empty(), "{impure}");
    }
    for pure in [
        "use std::{fmt, net::IpAddr, time::Duration}; // std::fs",
        "use std::sync::{Arc, OnceLock}; fn a() { \"std::fs\"; env!(\"A\"); }",
        "use crate::io; fn a() { io::read(); self::fs::open(); self.print(); }",
        "#[cfg(test)] mod tests { use std::fs; }",
        "#[cfg(test)] use std::fs;",
    ] {
        assert_eq!(outside(pure), [""; 0], "{pure}");
    }
}
