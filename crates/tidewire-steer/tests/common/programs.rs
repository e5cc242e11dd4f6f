//! Random programs of every name of the language.

use tidewire_steer::language::{BUILTINS, Builtin, BuiltinKind, Id, Parameter, key};

use super::Random;
use super::packets::PORTS;

/// Names that a random program may use.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// `steer_rss` and `steer_rx_queue`.
    pub metadata: bool,
}

/// A random program's text.
pub fn program(random: &mut Random, allowed: Allowed) -> String {
    let steps = 1 + random.below(5);
    function(random, steps, 3, allowed)
}

fn function(random: &mut Random, steps: u64, depth: u32, allowed: Allowed) -> String {
    let steps: Vec<_> = (0..steps).map(|_| term(random, BuiltinKind::Function, depth, allowed)).collect();
    steps.join(" >-> ")
}

/// A name of this kind with its arguments.
pub fn term(random: &mut Random, kind: BuiltinKind, depth: u32, allowed: Allowed) -> String {
    loop {
        let builtin = &BUILTINS[random.below(BUILTINS.len() as u64) as usize];
        let nested = builtin.parameters.iter().any(|p| matches!(p, Parameter::Function | Parameter::Predicate));
        let refused = builtin.id == Id::Drop && !random.once_in(4)
            || builtin.id == Id::Sample && !random.once_in(3)
            || !allowed.metadata && matches!(builtin.id, Id::SteerRss | Id::SteerRxQueue);
        if builtin.kind == kind && !(nested && depth == 0) && !refused {
            return applied(random, builtin, depth, allowed);
        }
    }
}

/// A name with random arguments.
pub fn applied(random: &mut Random, builtin: &Builtin, depth: u32, allowed: Allowed) -> String {
    let mut text = builtin.name.to_owned();
    let depth = depth.saturating_sub(1);
    let arguments = match builtin.id {
        Id::SteerLocalNet => pick(random, &["10.0.0.0 8 16", "10.0.0.0 8 32", "2001:db8:: 32 64", "fe80:: 10 128"]),
        Id::SteerTo => random.below(4).to_string(),
        Id::SteerField => pick(random, &["0 6", "6 6", "12 2", "26 8", "30 4", "23 1", "40 5", "100 3", "3 7"]),
        Id::SteerFieldSymmetric | Id::DoubleSteerField => {
            pick(random, &["0 6 6", "26 30 4", "34 36 2", "22 38 8", "14 90 1"])
        }
        Id::L3Proto | Id::IsL3Proto => pick(random, &["0x800", "0x86dd", "0x806", "48"]),
        Id::L4Proto | Id::IsL4Proto => pick(random, &["6", "17", "0", "47", "58", "59", "60"]),
        Id::Port | Id::SrcPort | Id::DstPort | Id::HasPort | Id::HasSrcPort | Id::HasDstPort => {
            random.pick(&PORTS).to_string()
        }
        Id::Sample => (1 + random.below(3)).to_string(),
        Id::HasVid => pick(random, &["0", "1", "2", "42", "4095"]),
        Id::HasMark | Id::HasState | Id::Mark | Id::PutState => random.pick(&[0, 1, 2, 0xffff_ffff_u64]).to_string(),
        Id::Inc | Id::Dec | Id::Class => random.pick(&[0, 1, 63]).to_string(),
        Id::AnyBit | Id::AllBit => format!("{} {}", term(random, BuiltinKind::Property, 0, allowed), number(random)),
        _ => {
            let arguments = builtin.parameters.iter().map(|parameter| argument(random, *parameter, depth, allowed));
            arguments.collect::<Vec<_>>().join(" ")
        }
    };
    if !arguments.is_empty() {
        text.push(' ');
        text.push_str(&arguments);
    }
    text
}

fn pick(random: &mut Random, from: &[&str]) -> String {
    random.pick(from).to_owned()
}

fn argument(random: &mut Random, parameter: Parameter, depth: u32, allowed: Allowed) -> String {
    match parameter {
        Parameter::Number(most) => random.below(most.saturating_add(1).max(1)).to_string(),
        Parameter::Positive(most) => (1 + random.below(most)).to_string(),
        Parameter::Numbers(_) => pick(random, &["[1]", "[0, 2]", "[3, 42, 4095]"]),
        Parameter::Network => pick(
            random,
            &[
                "10.0.0.0/8",
                "10.0.0.1",
                "192.168.0.0/16",
                "0.0.0.0/0",
                "2001:db8::/32",
                "fe80::/10",
                "2001:db8::1",
                "::/0",
                "2001:db8::/127",
            ],
        ),
        Parameter::Address => pick(random, &["10.0.0.0", "2001:db8::"]),
        Parameter::Mac => pick(random, &["4c:60:de:86:55:46", "02:00:00:00:00:01"]),
        Parameter::Key => key_text(random),
        Parameter::Function => {
            let steps = 1 + random.below(2);
            format!("({})", function(random, steps, depth, allowed))
        }
        Parameter::Predicate => format!("({})", predicate(random, depth, allowed)),
        Parameter::Property => term(random, BuiltinKind::Property, 0, allowed),
        other => unreachable!("no random argument for {other:?}"),
    }
}

fn key_text(random: &mut Random) -> String {
    if random.once_in(2) {
        return random.pick(key::NAMES).0.to_owned();
    }
    let fields: Vec<_> = (0..=random.below(4)).map(|_| random.pick(key::NAMES).0).collect();
    format!("[{}]", fields.join(", "))
}

/// Numbers that properties have, and some that they have not.
fn number(random: &mut Random) -> u64 {
    random.pick(&[0, 1, 2, 3, 6, 8, 20, 28, 53, 60, 64, 80, 128, 0x2000, 0xb8, 1 << 31, 1 << 32, u64::MAX])
}

/// A random predicate.
pub fn predicate(random: &mut Random, depth: u32, allowed: Allowed) -> String {
    if depth == 0 || random.once_in(2) {
        return term(random, BuiltinKind::Predicate, 0, allowed);
    }
    let inner = |random: &mut Random| predicate(random, depth - 1, allowed);
    match random.below(5) {
        0 => format!("not ({})", inner(random)),
        1 => format!("({}) .&&. ({})", inner(random), inner(random)),
        2 => format!("({}) .||. ({})", inner(random), inner(random)),
        3 => format!("({}) .^^. ({})", inner(random), inner(random)),
        _ => {
            let sign = random.pick(&["<", "<=", "==", "/=", ">", ">="]);
            format!("{} {sign} {}", term(random, BuiltinKind::Property, 0, allowed), number(random))
        }
    }
}
