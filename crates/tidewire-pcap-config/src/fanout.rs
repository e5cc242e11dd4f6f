//! How members of a group share packets: modes, flags, steering programs, classic programs.

use std::sync::Arc;

use tidewire_live::{ClassicInstruction, FanoutMode};
use tidewire_steer::{
    Compiled, Engine, Program, Settings,
    language::{BUILTINS, Builtin, BuiltinKind},
};

use super::{
    error::{Error, Source},
    text::{At, Text, suggestion},
};

/// The largest group number.
pub const GROUP_MAX: u8 = u8::MAX;
/// Most instructions of a classic program (`BPF_MAXINSNS`, linux/bpf_common.h).
const INSTRUCTIONS_MAX: u64 = 4096;
/// Most VLAN ids of a list: as many as fit into a steering program.
const VLAN_IDS_MAX: usize = 64;

/// How packets are shared: complete and consistent.
#[derive(Clone, Debug)]
pub struct Fanout {
    /// The kernel's mode; [`FanoutMode::Ebpf`] with a program, or with that of the group's creator.
    pub mode: FanoutMode,
    /// Reassemble IPv4 fragments first.
    pub defrag: bool,
    /// Continue with the next member if the chosen one is full.
    pub rollover: bool,
    /// The steering program of mode `ebpf`; `None`: another process set the group's program (`data`).
    pub steering: Option<Arc<Compiled>>,
    /// The program of mode `cbpf`; empty in all others.
    pub classic: Vec<ClassicInstruction>,
}

impl Fanout {
    /// The default for a group without a mode: both directions of a flow go to one member.
    pub fn by_hash() -> Self {
        Self { mode: FanoutMode::Hash, defrag: false, rollover: false, steering: None, classic: Vec::new() }
    }
}

/// The meaning of a mode's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Kernel(FanoutMode),
    /// Mode `ebpf` with the program that the group's creator set (`PACKET_FANOUT_DATA`).
    Data,
}

/// The text in place of a mode.
#[derive(Clone, Debug)]
enum Written {
    Mode { name: Name, defrag: bool, rollover: bool },
    Program(Arc<Compiled>),
}

/// The fan-out settings of one source, for one group or for all.
#[derive(Clone, Debug, Default)]
pub struct Level {
    mode: Option<At<Written>>,
    program: Option<At<Arc<Compiled>>>,
    classic: Option<At<Vec<ClassicInstruction>>>,
    vlan: Option<At<Vec<u64>>>,
}

impl Level {
    /// Parses a mode with its flags, or a steering program.
    pub fn set_mode(&mut self, text: &Text) -> Result<(), Error> {
        self.mode = Some(text.at(written(text)?));
        Ok(())
    }

    /// Parses a steering program.
    pub fn set_program(&mut self, text: &Text) -> Result<(), Error> {
        self.program = Some(text.at(program(text)?));
        Ok(())
    }

    /// The text of the steering program.
    pub fn program_text(&self) -> Option<&Text> {
        self.program.as_ref().map(|program| &program.text)
    }

    /// Parses a classic program as `tcpdump -ddd` prints it: the number of instructions, then code, jumps and constant of each;
    /// separated by commas or line ends.
    pub fn set_classic(&mut self, text: &Text) -> Result<(), Error> {
        let mut parts = text.split(&[',', '\n']).into_iter().filter(|part| !part.text.is_empty());
        let Some(count) = parts.next() else { return Err(text.error("no program", "give what tcpdump -ddd prints")) };
        let wanted = count.number("number of instructions", 1..=INSTRUCTIONS_MAX)?;
        let program = parts.map(|part| instruction(&part)).collect::<Result<Vec<_>, _>>()?;
        if program.len() as u64 != wanted {
            let message = format!("expected {wanted} instructions, got {}", program.len());
            return Err(count.error(message, "give what tcpdump -ddd prints, with commas for its lines"));
        }
        self.classic = Some(text.at(program));
        Ok(())
    }

    /// Parses a list of VLAN ids; packets without one of them are dropped.
    pub fn set_vlan(&mut self, text: &Text) -> Result<(), Error> {
        let ids = text.numbers("VLAN id", 1..=4094)?;
        if ids.len() > VLAN_IDS_MAX {
            return Err(text.error(format!("{} VLAN ids", ids.len()), format!("give {VLAN_IDS_MAX} at most")));
        }
        self.vlan = Some(text.at(ids));
        Ok(())
    }

    /// The first text that sets how packets are shared.
    pub fn first_text(&self) -> Option<&Text> {
        let mode = self.mode.as_ref().map(|mode| &mode.text);
        let program = || self.program.as_ref().map(|program| &program.text);
        let classic = || self.classic.as_ref().map(|classic| &classic.text);
        mode.or_else(program).or_else(classic).or_else(|| self.vlan.as_ref().map(|vlan| &vlan.text))
    }

    /// Whether it sets how packets are shared, not only a restriction.
    fn decides(&self) -> bool {
        self.mode.is_some() || self.program.is_some() || self.classic.is_some()
    }

    /// Checks for contradictions.
    pub fn check(&self) -> Result<(), Error> {
        let mode = self.mode.as_ref().map(|mode| &mode.value);
        let is = |wanted| matches!(mode, Some(Written::Mode { name: Name::Kernel(mode), .. }) if *mode == wanted);
        if let (Some(program), Some(_)) = (&self.program, mode)
            && !is(FanoutMode::Ebpf)
        {
            return Err(program.text.error(
                "a steering program beside another way to share",
                "leave one of them out, or choose the mode ebpf",
            ));
        }
        if let (Some(classic), Some(_)) = (&self.classic, mode)
            && !is(FanoutMode::Cbpf)
        {
            return Err(classic
                .text
                .error("a classic program needs the mode cbpf", "choose it, or leave the program out"));
        }
        if let (Some(classic), Some(_), None) = (&self.classic, &self.program, mode) {
            return Err(classic.text.error("a classic program beside a steering program", "leave one of them out"));
        }
        Ok(())
    }
}

/// Resolves how a group shares packets: the first of `levels` that sets it wins.
pub fn resolve(levels: &[&Level]) -> Result<Fanout, Error> {
    let vlan = levels.iter().find_map(|level| level.vlan.as_ref());
    let Some(from) = levels.iter().position(|level| level.decides()) else {
        return restricted(Fanout::by_hash(), vlan);
    };
    let levels = levels.get(from..).unwrap_or_default();
    let program = levels.iter().find_map(|level| level.program.as_ref());
    let classic = levels.iter().find_map(|level| level.classic.as_ref());
    let Some(decides) = levels.first() else { return Ok(Fanout::by_hash()) };
    let ebpf = FanoutMode::Ebpf;
    let fanout = match &decides.mode {
        None if decides.classic.is_some() => {
            let classic = classic.map(|classic| classic.value.clone()).unwrap_or_default();
            Fanout { mode: FanoutMode::Cbpf, classic, ..Fanout::by_hash() }
        }
        None => Fanout { mode: ebpf, steering: program.map(|at| Arc::clone(&at.value)), ..Fanout::by_hash() },
        Some(At { value: Written::Program(program), .. }) => {
            Fanout { mode: ebpf, steering: Some(Arc::clone(program)), ..Fanout::by_hash() }
        }
        Some(At { value: Written::Mode { name, defrag, rollover }, text }) => {
            let mut fanout = Fanout { defrag: *defrag, rollover: *rollover, ..Fanout::by_hash() };
            match (name, program, classic) {
                (Name::Data, ..) => fanout.mode = ebpf,
                (Name::Kernel(FanoutMode::Ebpf), Some(program), _) => {
                    (fanout.mode, fanout.steering) = (ebpf, Some(Arc::clone(&program.value)));
                }
                (Name::Kernel(FanoutMode::Ebpf), None, _) => {
                    return Err(text.error(
                        "the mode ebpf needs a steering program",
                        "give one: lines with > in the file, or steer_flow in place of the mode",
                    ));
                }
                (Name::Kernel(FanoutMode::Cbpf), _, Some(classic)) => {
                    (fanout.mode, fanout.classic) = (FanoutMode::Cbpf, classic.value.clone());
                }
                (Name::Kernel(FanoutMode::Cbpf), _, None) => {
                    return Err(text.error(
                        "the mode cbpf needs a classic program",
                        "give one with the key cbpf or PCAP_CBPF, as tcpdump -ddd prints it",
                    ));
                }
                (Name::Kernel(mode), ..) => fanout.mode = *mode,
            }
            fanout
        }
    };
    let fanout = restricted(fanout, vlan)?;
    let drops = fanout.steering.as_ref().is_some_and(|steering| steering.may_drop());
    match decides.first_text() {
        Some(text) if fanout.rollover && drops => Err(text.error(
            "rollover with a program that drops: a full member's packets would be dropped",
            "leave rollover out",
        )),
        _ => Ok(fanout),
    }
}

/// Restricts it to packets with one of these VLAN ids; others are dropped.
fn restricted(fanout: Fanout, vlan: Option<&At<Vec<u64>>>) -> Result<Fanout, Error> {
    let Some(vlan) = vlan else { return Ok(fanout) };
    let then = match (&fanout.steering, fanout.mode) {
        (Some(steering), _) => steering.program().to_string(),
        (None, FanoutMode::Hash) => "steer_flow".into(),
        (None, FanoutMode::RoundRobin) => "steer_rrobin".into(),
        (None, FanoutMode::Queue) => "steer_rx_queue".into(),
        (None, mode) => {
            let name = FanoutMode::ALL.iter().find(|(_, known)| *known == mode).map_or("data", |(name, _)| name);
            return Err(vlan.text.error(
                format!("a list of VLAN ids does not work with mode {name}"),
                "choose hash, lb, qm or a steering program",
            ));
        }
    };
    let ids: Vec<_> = vlan.value.iter().map(u64::to_string).collect();
    let text = Text { text: format!("vlan_id_filter [{}] >-> ({then})", ids.join(", ")), ..vlan.text.clone() };
    Ok(Fanout { mode: FanoutMode::Ebpf, steering: Some(program(&text)?), ..fanout })
}

/// Checks that a group of this size can run the steering program.
pub fn check_members(fanout: &Fanout, members: Option<u32>, source: &Source) -> Result<(), Error> {
    let Some(steering) = &fanout.steering else { return Ok(()) };
    let members = members.unwrap_or(u32::MAX);
    steering.check(Engine::Fanout { second_group: true }, members).map_err(|error| {
        let message =
            format!("steering program, line {}, column {}: {}", error.at.line, error.at.column, error.message);
        Error::whole(source.clone(), message, error.hint)
    })
}

/// Parses a mode as the call and the settings write it, `hash` or `lb+defrag`; or a steering program.
fn written(text: &Text) -> Result<Written, Error> {
    let end = text.text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.text.len());
    let first = text.text.get(..end).unwrap_or_default();
    let is_program = matches!(first, "main" | "do")
        || text.text.starts_with(['(', '>'])
        || Builtin::named(first).is_some_and(|builtin| builtin.kind == BuiltinKind::Function);
    if is_program {
        return program(text).map(Written::Program);
    }
    let mut parts = text.split(&['+', ',']).into_iter();
    let Some(name) = parts.next() else { return Err(text.error("a mode is missing", "")) };
    let named = names().find(|(known, _)| *known == name.text).map(|(_, mode)| mode);
    let Some(mode) = named else { return Err(no_such_mode(&name)) };
    let (mut defrag, mut rollover) = (false, false);
    for part in parts {
        let flag = match part.text.as_str() {
            "defrag" => &mut defrag,
            "rollover" => &mut rollover,
            other => {
                let hint = suggestion(other, ["defrag", "rollover"].into_iter());
                let message = format!("unknown flag '{}'; expected defrag or rollover", part.shown());
                return Err(part.error(message, hint));
            }
        };
        if std::mem::replace(flag, true) {
            return Err(part.error(format!("{} is given twice", part.text), "write it once"));
        }
    }
    if rollover && mode == Name::Kernel(FanoutMode::Rollover) {
        return Err(text.error("the mode rollover with the flag rollover", "leave the flag out"));
    }
    Ok(Written::Mode { name: mode, defrag, rollover })
}

fn names() -> impl Iterator<Item = (&'static str, Name)> {
    FanoutMode::ALL.iter().map(|(name, mode)| (*name, Name::Kernel(*mode))).chain([("data", Name::Data)])
}

fn no_such_mode(name: &Text) -> Error {
    let known: Vec<_> = names().map(|(name, _)| name).collect();
    let steering = BUILTINS.iter().map(|builtin| builtin.name).filter(|name| name.contains("steer"));
    let hint = suggestion(&name.text, known.iter().copied().chain(steering));
    let message = format!("unknown mode '{}'; expected {}", name.shown(), known.join(" "));
    let hint = if hint.is_empty() { "or write a steering program, as in steer_flow".into() } else { hint };
    name.error(message, hint)
}

/// Compiles a steering program; positions in its errors are those of the text.
fn program(text: &Text) -> Result<Arc<Compiled>, Error> {
    let compiled = Program::parse(&text.text).and_then(|program| Compiled::new(&program, &Settings::default()));
    compiled.map(Arc::new).map_err(|error| {
        let mut at = text.error(error.message, error.hint);
        at.line = text.line + error.at.line.saturating_sub(1);
        at.column = if error.at.line <= 1 { text.column + error.at.column.saturating_sub(1) } else { error.at.column };
        at
    })
}

/// Parses `40 0 0 12`.
fn instruction(text: &Text) -> Result<ClassicInstruction, Error> {
    let words: Vec<u64> = text.text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
    let fields = match *words.as_slice() {
        [code, jump_true, jump_false, k] if text.text.split_ascii_whitespace().count() == 4 => {
            let bytes = (u16::try_from(code), u8::try_from(jump_true), u8::try_from(jump_false), u32::try_from(k));
            if let (Ok(code), Ok(jump_true), Ok(jump_false), Ok(k)) = bytes {
                Some(ClassicInstruction { code, jump_true, jump_false, k })
            } else {
                None
            }
        }
        _ => None,
    };
    let wrong =
        || text.error(format!("'{}' is not an instruction", text.shown()), "write four numbers, as in 40 0 0 12");
    fields.ok_or_else(wrong)
}
