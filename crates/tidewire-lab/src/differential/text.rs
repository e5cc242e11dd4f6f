//! The text form of a script: one line for its setting, one for each step.
//!
//! ```text
//! host inline ipv4 isn 1000
//! send at=-1 flags=S opt=mss:1460,ts:5000
//! answer
//! send at=0 flags=A opt=nop,nop,ts:5001
//! send at=0 flags=AP len=4
//! wait 50
//! ```
//! Lines that begin with `#` are comments.

use std::fmt;

use tidewire_types::hex;

use super::script::{FLAGS, Listener, Opt, Script, Segment, Step, Sum, WINDOW, Wrap};

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = if self.is_ipv6 { "ipv6" } else { "ipv4" };
        writeln!(f, "host {} {family} isn {}", self.listener.name(), self.isn)?;
        for step in &self.steps {
            match step {
                Step::Send(segment) => writeln!(f, "send {segment}")?,
                Step::Answer => writeln!(f, "answer")?,
                Step::Wait(ms) => writeln!(f, "wait {ms}")?,
                Step::Read => writeln!(f, "read")?,
                Step::Write(bytes) => writeln!(f, "write {bytes}")?,
                Step::Shutdown => writeln!(f, "shutdown")?,
                Step::Close => writeln!(f, "close")?,
                Step::Abort => writeln!(f, "abort")?,
            }
        }
        Ok(())
    }
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    hex::decode(text).ok_or_else(|| format!("'{text}' is not hexadecimal"))
}

impl fmt::Display for Opt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nop => write!(f, "nop"),
            Self::End => write!(f, "end"),
            Self::Mss(mss) => write!(f, "mss:{mss}"),
            Self::Scale(shift) => write!(f, "scale:{shift}"),
            Self::SackOk => write!(f, "sack"),
            Self::Stamp(value, None) => write!(f, "ts:{value}"),
            Self::Stamp(value, Some(echo)) => write!(f, "ts:{value}:{echo}"),
            Self::Sign(true) => write!(f, "sign"),
            Self::Sign(false) => write!(f, "sign:wrong"),
            Self::Raw(kind, length, body) => write!(f, "raw:{kind}:{length}:{}", hex::encode(body)),
        }
    }
}

impl fmt::Display for Wrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ttl(ttl) => write!(f, "ttl:{ttl}"),
            Self::Tos(tos) => write!(f, "tos:{tos}"),
            Self::Options(bytes) => write!(f, "options:{}", hex::encode(bytes)),
            Self::BadSum => write!(f, "badsum"),
            Self::Extension(number, bytes) => write!(f, "ext:{number}:{}", hex::encode(bytes)),
            Self::Fragments(pieces) => {
                let text: Vec<_> = pieces.iter().map(|(from, to, tos)| format!("{from}-{to}-{tos}")).collect();
                write!(f, "frag:{}", text.join("/"))
            }
            Self::Mac(mac) => write!(f, "mac:{}", hex::encode(mac)),
            Self::Vlan(tag) => write!(f, "vlan:{tag}"),
            Self::Snap => write!(f, "snap"),
            Self::Trailer(bytes) => write!(f, "trailer:{bytes}"),
            Self::Cut(bytes) => write!(f, "cut:{bytes}"),
        }
    }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags: String = FLAGS.iter().filter(|flag| self.flags & flag.0 != 0).map(|flag| flag.1).collect();
        write!(f, "at={} flags={flags}", self.at)?;
        if self.ack != 0 {
            write!(f, " ack={}", self.ack)?;
        }
        if self.length != 0 {
            write!(f, " len={}", self.length)?;
        }
        if self.version != 0 {
            write!(f, " v={}", self.version)?;
        }
        if self.window != WINDOW {
            write!(f, " win={}", self.window)?;
        }
        if self.urgent != 0 {
            write!(f, " urg={}", self.urgent)?;
        }
        if !self.options.is_empty() {
            write!(f, " opt={}", list(&self.options))?;
        }
        match self.sum {
            Sum::Right => {}
            Sum::Wrong => write!(f, " sum=wrong")?,
            Sum::Zero => write!(f, " sum=zero")?,
        }
        if let Some(words) = self.words {
            write!(f, " words={words}")?;
        }
        if !self.wraps.is_empty() {
            write!(f, " in={}", list(&self.wraps))?;
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' is no number that fits"))
}

fn option(text: &str) -> Result<Opt, String> {
    let parts: Vec<&str> = text.split(':').collect();
    Ok(match parts[..] {
        ["nop"] => Opt::Nop,
        ["end"] => Opt::End,
        ["mss", mss] => Opt::Mss(number(mss)?),
        ["scale", shift] => Opt::Scale(number(shift)?),
        ["sack"] => Opt::SackOk,
        ["sign"] => Opt::Sign(true),
        ["sign", "wrong"] => Opt::Sign(false),
        ["ts", value] => Opt::Stamp(number(value)?, None),
        ["ts", value, echo] => Opt::Stamp(number(value)?, Some(number(echo)?)),
        ["raw", kind, length, body] => Opt::Raw(number(kind)?, number(length)?, unhex(body)?),
        _ => return Err(format!("'{text}' is no option")),
    })
}

fn wrap(text: &str) -> Result<Wrap, String> {
    let parts: Vec<&str> = text.split(':').collect();
    Ok(match parts[..] {
        ["ttl", ttl] => Wrap::Ttl(number(ttl)?),
        ["tos", tos] => Wrap::Tos(number(tos)?),
        ["options", bytes] => Wrap::Options(unhex(bytes)?),
        ["badsum"] => Wrap::BadSum,
        ["ext", kind, bytes] => Wrap::Extension(number(kind)?, unhex(bytes)?),
        ["frag", pieces] => Wrap::Fragments(pieces.split('/').map(piece).collect::<Result<_, _>>()?),
        ["mac", mac] => Wrap::Mac(unhex(mac)?.try_into().map_err(|_| "a MAC has six bytes")?),
        ["vlan", tag] => Wrap::Vlan(number(tag)?),
        ["snap"] => Wrap::Snap,
        ["trailer", bytes] => Wrap::Trailer(number(bytes)?),
        ["cut", bytes] => Wrap::Cut(number(bytes)?),
        _ => return Err(format!("'{text}' surrounds nothing")),
    })
}

fn piece(text: &str) -> Result<(u16, u16, u8), String> {
    match text.split('-').collect::<Vec<_>>()[..] {
        [from, to, tos] => Ok((number(from)?, number(to)?, number(tos)?)),
        _ => Err(format!("'{text}' is no fragment")),
    }
}

fn segment<'a>(words: impl Iterator<Item = &'a str>) -> Result<Segment, String> {
    let mut segment = Segment::new(0, 0, 0);
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("'{word}' has no value"))?;
        match name {
            "at" => segment.at = number(value)?,
            "ack" => segment.ack = number(value)?,
            "len" => segment.length = number(value)?,
            "v" => segment.version = number(value)?,
            "win" => segment.window = number(value)?,
            "urg" => segment.urgent = number(value)?,
            "words" => segment.words = Some(number(value)?),
            "flags" => {
                for letter in value.chars() {
                    let flag = FLAGS.iter().find(|flag| flag.1 == letter);
                    segment.flags |= flag.ok_or_else(|| format!("'{letter}' is no flag"))?.0;
                }
            }
            "opt" => segment.options = value.split(',').map(option).collect::<Result<_, _>>()?,
            "in" => segment.wraps = value.split(',').map(wrap).collect::<Result<_, _>>()?,
            "sum" if value == "wrong" => segment.sum = Sum::Wrong,
            "sum" if value == "zero" => segment.sum = Sum::Zero,
            _ => return Err(format!("'{word}' is no field")),
        }
    }
    Ok(segment)
}

impl std::str::FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let first: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
        let ["host", name, family, "isn", isn] = first[..] else {
            return Err("the first line is 'host LISTENER ipv4|ipv6 isn NUMBER'".into());
        };
        let listener = Listener::ALL.into_iter().find(|one| one.name() == name);
        let mut script = Self {
            is_ipv6: family == "ipv6",
            listener: listener.ok_or_else(|| format!("'{name}' is no listener"))?,
            isn: number(isn)?,
            steps: Vec::new(),
        };
        for line in lines {
            let mut words = line.split_whitespace();
            let step = match (words.next().unwrap_or_default(), words.clone().next()) {
                ("send", _) => Step::Send(segment(words)?),
                ("answer", None) => Step::Answer,
                ("read", None) => Step::Read,
                ("shutdown", None) => Step::Shutdown,
                ("close", None) => Step::Close,
                ("abort", None) => Step::Abort,
                ("wait", Some(ms)) => Step::Wait(number(ms)?),
                ("write", Some(bytes)) => Step::Write(number(bytes)?),
                _ => return Err(format!("'{line}' is no step")),
            };
            script.steps.push(step);
        }
        Ok(script)
    }
}
