//! Derives from a filter expression a condition for an index, which every packet fulfils that the expression matches. More packets
//! may fulfil it: the expression is applied to each of them afterwards. A part that is not understood is no condition.
//!
//! Source: pcap-filter(7) and libpcap's grammar.y. Negation binds strongest; `and` and `or` bind alike, from the left.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidewire_types::ip_protocol::{ICMP, ICMP6, SCTP, TCP, UDP};

use crate::index::Term;

/// A condition on the records of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// None: any record.
    Any,
    /// Has one of the terms from the first to the second.
    Terms(Term, Term),
    All(Vec<Condition>),
    Either(Vec<Condition>),
}

/// Words of an expression that are looked at; a longer one is no condition.
const WORDS_MAX: usize = 4096;
/// Parentheses inside each other.
const DEPTH_MAX: usize = 64;
/// Protocols whose number is in a record whenever a filter sees it in a packet. (AH, ESP, options of IPv6 and tunnels are walked
/// through, so that a record may have what is behind them.)
const PROTOS: [u8; 5] = [ICMP, TCP, UDP, ICMP6, SCTP];

/// The condition of an expression.
pub(crate) fn condition(expression: &str) -> Condition {
    let Some(tokens) = tokens(expression) else { return Condition::Any };
    // They look inside of tunnels, where records do not have every header.
    let within = ["geneve", "vxlan", "gtp", "pppoed"];
    let vlans = tokens.iter().filter(|token| token.is("vlan")).count();
    if tokens.iter().any(|token| within.iter().any(|word| token.is(word))) || vlans > 2 {
        return Condition::Any;
    }
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, last: PrimitiveKind::None };
    let condition = parser.expression();
    // Something is left: it was not understood.
    match condition {
        Some(condition) if parser.at == tokens.len() => condition,
        _ => Condition::Any,
    }
}

/// A part of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Open,
    Close,
    Not,
    And,
    Or,
    /// Of arithmetic: brackets, comparisons, operators.
    Operator(char),
}

impl Token {
    fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }
}

fn tokens(expression: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = expression.chars().peekable();
    while let Some(&next) = rest.peek() {
        if tokens.len() >= WORDS_MAX {
            return None;
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '/' | '-' | '_' | '\\');
        if is_word(next) {
            let mut word = String::new();
            while let Some(c) = rest.next_if(|&c| is_word(c)) {
                word.push(c);
            }
            tokens.push(match &*word {
                "and" => Token::And,
                "or" => Token::Or,
                "not" => Token::Not,
                "/" | "-" => Token::Operator('-'),
                _ if word.starts_with('-') => Token::Operator('-'),
                _ => Token::Word(word),
            });
            continue;
        }
        rest.next();
        let doubled = rest.peek() == Some(&next);
        tokens.push(match next {
            c if c.is_whitespace() => continue,
            '(' => Token::Open,
            ')' => Token::Close,
            '!' if rest.peek() != Some(&'=') => Token::Not,
            '&' if doubled => {
                rest.next();
                Token::And
            }
            '|' if doubled => {
                rest.next();
                Token::Or
            }
            other => Token::Operator(other),
        });
    }
    Some(tokens)
}

/// Kind of the primitive before: an address or a number without a word before it is of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrimitiveKind {
    None,
    Host,
    Port,
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    last: PrimitiveKind,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn expression(&mut self) -> Option<Condition> {
        let mut left = self.term()?;
        loop {
            let is_and = match self.peek() {
                Some(Token::And) => true,
                Some(Token::Or) => false,
                None | Some(Token::Close) => return Some(left),
                Some(_) => return None,
            };
            self.at += 1;
            let right = self.term()?;
            left = if is_and { all(left, right) } else { either(left, right) };
        }
    }

    fn term(&mut self) -> Option<Condition> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let term = match self.peek()? {
            Token::Not => {
                self.at += 1;
                self.term()?;
                Condition::Any
            }
            Token::Open if !self.is_arithmetic() => {
                self.at += 1;
                let inner = self.expression()?;
                if self.peek() != Some(&Token::Close) {
                    return None;
                }
                self.at += 1;
                self.last = PrimitiveKind::None;
                inner
            }
            _ => self.primitive()?,
        };
        self.depth -= 1;
        Some(term)
    }

    /// Whether the parenthesis here begins a number, as in `(tcp[12] & 0xf0) >> 2 = 5`: an operator follows its end, or it contains
    /// operators and no words between them that join conditions.
    fn is_arithmetic(&self) -> bool {
        let mut depth = 0_usize;
        for (place, token) in self.tokens.iter().enumerate().skip(self.at) {
            match token {
                Token::Open => depth += 1,
                Token::Close => {
                    depth -= 1;
                    if depth == 0 {
                        return matches!(self.tokens.get(place + 1), Some(Token::Operator(_)));
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// The words of a primitive, up to what joins it with the next one.
    fn primitive(&mut self) -> Option<Condition> {
        let start = self.at;
        let (mut depth, mut is_arithmetic) = (0_usize, false);
        while let Some(token) = self.peek() {
            let between_directions = || {
                let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
                let is_direction = |token: Option<&Token>| token.is_some_and(|t| t.is("src") || t.is("dst"));
                is_direction(before) && is_direction(self.tokens.get(self.at + 1))
            };
            match token {
                Token::Open => depth += 1,
                Token::Close if depth == 0 => break,
                Token::Close => depth -= 1,
                Token::And | Token::Or if depth == 0 && !between_directions() => break,
                Token::Not if depth == 0 => return None,
                Token::Operator(_) => is_arithmetic = true,
                _ => {}
            }
            self.at += 1;
        }
        let tokens = self.tokens.get(start..self.at)?;
        if tokens.is_empty() {
            return None;
        }
        if is_arithmetic {
            self.last = PrimitiveKind::None;
            return Some(Condition::Any);
        }
        let words: Option<Vec<&str>> = tokens
            .iter()
            .map(|token| match token {
                Token::Word(word) => Some(&**word),
                Token::And => Some("and"),
                Token::Or => Some("or"),
                _ => None,
            })
            .collect();
        let (condition, kind) = self.meaning(&words?);
        self.last = kind;
        Some(condition)
    }

    fn meaning(&self, words: &[&str]) -> (Condition, PrimitiveKind) {
        let any = (Condition::Any, PrimitiveKind::None);
        if let [word] = words {
            if let Some(condition) = bare(word, self.last) {
                return (condition, self.last);
            }
            let proto = match *word {
                "tcp" => TCP,
                "udp" => UDP,
                "icmp" => ICMP,
                "icmp6" => ICMP6,
                "sctp" => SCTP,
                _ => return any,
            };
            return (one(Term::Proto(proto)), PrimitiveKind::None);
        }
        if let ["vlan", id] = words {
            let id = number::<u16>(id).filter(|&id| id != 0 && id < 4096);
            return (id.map_or(Condition::Any, |id| one(Term::Vlan(id))), PrimitiveKind::None);
        }
        let mut rest = words;
        if let Some((&("ip" | "ip6" | "tcp" | "udp" | "sctp" | "arp" | "rarp" | "icmp" | "icmp6"), after)) =
            rest.split_first()
        {
            rest = after;
        }
        rest = match rest {
            ["src", "or" | "and", "dst", after @ ..] | ["dst", "or" | "and", "src", after @ ..] => after,
            ["src" | "dst", after @ ..] => after,
            _ => rest,
        };
        match rest {
            ["host", address] | [address] if parse_address(address).is_some() => (
                parse_address(address).map_or(Condition::Any, |address| one(Term::Address(address))),
                PrimitiveKind::Host,
            ),
            ["net", network] => (net(network, None).unwrap_or(Condition::Any), PrimitiveKind::None),
            ["net", network, "mask", mask] => (net(network, Some(mask)).unwrap_or(Condition::Any), PrimitiveKind::None),
            ["port", port] => (number(port).map_or(Condition::Any, |port| one(Term::Port(port))), PrimitiveKind::Port),
            ["portrange", range] => (ports(range).unwrap_or(Condition::Any), PrimitiveKind::None),
            ["proto", number] => {
                let number = self::number::<u8>(number).filter(|number| PROTOS.contains(number));
                // Of Ethernet and others it is another number: they are not among the words above.
                let is_ip = matches!(words.first(), Some(&("ip" | "ip6" | "proto")));
                (
                    number.filter(|_| is_ip).map_or(Condition::Any, |number| one(Term::Proto(number))),
                    PrimitiveKind::None,
                )
            }
            _ => any,
        }
    }
}

fn one(term: Term) -> Condition {
    Condition::Terms(term, term)
}

/// An address or number of the same kind as the primitive before.
fn bare(word: &str, last: PrimitiveKind) -> Option<Condition> {
    match last {
        PrimitiveKind::Host => parse_address(word).map(|address| one(Term::Address(address))),
        PrimitiveKind::Port => number(word).map(|port| one(Term::Port(port))),
        PrimitiveKind::None => None,
    }
}

/// A decimal number. One with a zero before it is octal or decimal, by where it stands: no condition.
fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    let is_decimal = word.bytes().all(|byte| byte.is_ascii_digit()) && (word.len() == 1 || !word.starts_with('0'));
    is_decimal.then(|| word.parse().ok()).flatten()
}

fn parse_address(word: &str) -> Option<IpAddr> {
    // libpcap takes short forms of IPv4 addresses, too; those are networks, and no condition.
    word.parse().ok()
}

fn ports(range: &str) -> Option<Condition> {
    let (from, to) = range.split_once('-')?;
    let (from, to): (u16, u16) = (number(from)?, number(to)?);
    // Either order is taken.
    Some(Condition::Terms(Term::Port(from.min(to)), Term::Port(from.max(to))))
}

/// A network: `10.1`, `10.0.0.0/8`, `10.0.0.0 mask 255.0.0.0`, `2001:db8::/32`.
fn net(network: &str, mask: Option<&str>) -> Option<Condition> {
    let (address, length) = match network.split_once('/') {
        Some((address, length)) => (address, Some(number::<u32>(length)?)),
        None => (network, None),
    };
    if let Ok(address) = address.parse::<Ipv6Addr>() {
        let length = length.unwrap_or(128);
        let host = u128::MAX.checked_shr(length).unwrap_or(0);
        let (from, to) = (address.to_bits() & !host, address.to_bits() | host);
        let term = |bits| Term::Address(Ipv6Addr::from_bits(bits).into());
        return Some(Condition::Terms(term(from), term(to)));
    }
    let octets: Option<Vec<u8>> = address.split('.').map(number).collect();
    let octets = octets.filter(|octets| (1..=4).contains(&octets.len()))?;
    let mut bits = octets.iter().fold(0_u32, |bits, &octet| bits << 8 | u32::from(octet));
    bits <<= 32 - 8 * octets.len();
    let host = match (length, mask) {
        (Some(length), _) => u32::MAX.checked_shr(length).unwrap_or(0),
        (None, Some(mask)) => !mask.parse::<Ipv4Addr>().ok()?.to_bits(),
        (None, None) => u32::MAX.checked_shr(8 * octets.len() as u32).unwrap_or(0),
    };
    // A mask with holes is no range.
    if host & host.wrapping_add(1) != 0 {
        return None;
    }
    let term = |bits| Term::Address(Ipv4Addr::from_bits(bits).into());
    Some(Condition::Terms(term(bits & !host), term(bits | host)))
}

/// Both.
pub(crate) fn all(left: Condition, right: Condition) -> Condition {
    match (left, right) {
        (Condition::Any, other) | (other, Condition::Any) => other,
        (Condition::All(mut all), other) => {
            all.push(other);
            Condition::All(all)
        }
        (left, right) => Condition::All(vec![left, right]),
    }
}

/// One of them.
pub(crate) fn either(left: Condition, right: Condition) -> Condition {
    match (left, right) {
        (Condition::Any, _) | (_, Condition::Any) => Condition::Any,
        (Condition::Either(mut either), other) => {
            either.push(other);
            Condition::Either(either)
        }
        (left, right) => Condition::Either(vec![left, right]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(address: &str) -> Condition {
        one(Term::Address(address.parse().unwrap()))
    }

    fn port(port: u16) -> Condition {
        one(Term::Port(port))
    }

    #[test]
    fn what_is_understood() {
        let range = |from: &str, to: &str| {
            let term = |address: &str| Term::Address(address.parse().unwrap());
            Condition::Terms(term(from), term(to))
        };
        for (expression, expected) in [
            ("host 10.0.0.1", host("10.0.0.1")),
            ("src or dst host 10.0.0.1", host("10.0.0.1")),
            ("src and dst port 53", port(53)),
            ("ip6 src 2001:db8::1", host("2001:db8::1")),
            ("net 10.1", range("10.1.0.0", "10.1.255.255")),
            ("dst net 10.0.0.0/8", range("10.0.0.0", "10.255.255.255")),
            ("net 10.0.0.0 mask 255.255.0.0", range("10.0.0.0", "10.0.255.255")),
            ("net 2001:db8::/32", range("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff")),
            ("tcp portrange 10-20", Condition::Terms(Term::Port(10), Term::Port(20))),
            ("vlan 7", one(Term::Vlan(7))),
            ("udp", one(Term::Proto(17))),
            ("ip proto 6", one(Term::Proto(6))),
            ("host 10.0.0.1 or 10.0.0.2", Condition::Either(vec![host("10.0.0.1"), host("10.0.0.2")])),
            ("port 1 || 2", Condition::Either(vec![port(1), port(2)])),
            // Alike, from the left.
            ("port 1 or port 2 and port 3", Condition::All(vec![Condition::Either(vec![port(1), port(2)]), port(3)])),
            ("port 1 or (port 2 and port 3)", Condition::Either(vec![port(1), Condition::All(vec![port(2), port(3)])])),
            ("(tcp[12] & 0xf0) >> 2 = 5 and port 1", port(1)),
            ("tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)", port(80)),
            ("not port 80 and port 1", port(1)),
            ("!(port 80) && port 1", port(1)),
            ("tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and host 10.0.0.1", host("10.0.0.1")),
        ] {
            assert_eq!(condition(expression), expected, "{expression}");
        }
    }

    #[test]
    fn the_rest_is_no_condition() {
        for expression in [
            "",
            "port http",
            "host example.net",
            "ether host 00:01:02:03:04:05",
            "ether proto 6",
            "vlan",
            "vlan 0",
            "vlan and vlan and vlan 3",
            "geneve and host 10.0.0.1",
            "ip proto 47",
            "ip proto 51",
            "ip6 proto 0",
            "not host 10.0.0.1",
            "host 10.0.0.1 or arp",
            "less 100",
            "len > 64",
            "net 10.0.0.0 mask 255.0.255.0",
            "ip multicast",
            "port 80 or",
            "(port 80",
            "port 80)",
            "port 80 81",
            "gateway 10.0.0.1",
            "icmp[icmptype] = icmp-echo",
            // Octal, some of them.
            "port 010",
            "tcp port 0120",
            "port 010 or 020",
            "portrange 010-020",
            "vlan 012",
            "ip proto 06",
            "net 010",
            "net 010.1",
            "port 0x50",
            "-ether[0] < 10",
        ] {
            assert_eq!(condition(expression), Condition::Any, "{expression}");
        }
        assert_eq!(condition(&"(".repeat(100_000)), Condition::Any);
        assert_eq!(condition(&format!("{}port 1{}", "(".repeat(1000), ")".repeat(1000))), Condition::Any);
    }
}
