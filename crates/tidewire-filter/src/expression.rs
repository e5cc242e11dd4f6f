//! Filter expressions in libpcap's language (pcap-filter(7)).

use std::sync::{Arc, Mutex, PoisonError};

use pcap::{BpfProgram, Capture, Linktype};
use tidewire_ebpf::{
    FilterEnding, FilterHook,
    classic::{Instruction, Program},
    translate,
};
use tidewire_wire::LinkType;

use crate::{Error, jumbo, machine};

/// libpcap's compiler kept its state in global variables before 1.8, and still may ask the resolver.
static COMPILER: Mutex<()> = Mutex::new(());

/// Link types an expression is tried on when it is made: one of them takes it if it is well formed at all.
const TRIED: [LinkType; 5] = [
    LinkType::ETHERNET,
    LinkType::RAW,
    // Linux cooked, 802.11 with radiotap, MTP2: what has words of its own in the language.
    LinkType(113),
    LinkType(127),
    LinkType(140),
];

/// A filter expression, compiled for each link type that is met.
///
/// The language is libpcap's because its own compiler is used. The program runs here, over captured bytes only: a
/// packet that was cut before what the expression looks at does not match.
#[derive(Clone, Debug)]
pub struct Filter {
    expression: String,
    /// Programs by link type, or why there is none; the one used last stands first. Few link types occur in one input.
    programs: Vec<(LinkType, Compiled)>,
}

/// Parts that an expression does not see where it is applied to each frame by itself, as the kernel does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unseen {
    /// It looks at ports or other fields of transport headers, which later fragments of a datagram do not have.
    pub later_fragments: bool,
    /// It looks for a protocol right behind IPv6's own header: not behind the length of big packets (RFC 2675) and routing headers.
    pub behind_headers: bool,
}

/// A program, or why there is none.
type Compiled = Result<Arc<Program>, Arc<Error>>;

/// Link types that are remembered: an input with more is made to be slow, and is.
const LINKS_MAX: usize = 256;

impl Filter {
    /// Compiles `expression`; an empty one takes everything.
    ///
    /// # Errors
    /// [`Error::Expression`] with libpcap's message, where no link type takes it.
    pub fn new(expression: &str) -> Result<Self, Error> {
        let mut first_error = None;
        for link in TRIED {
            match compile(expression, link) {
                Ok(program) => {
                    return Ok(Self {
                        expression: expression.to_owned(),
                        programs: vec![(link, Ok(Arc::new(program)))],
                    });
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        // The first was tried on Ethernet: the message that users of tcpdump know.
        Err(first_error.unwrap_or_else(|| filter_error(expression, LinkType::ETHERNET, "it cannot be compiled")))
    }

    /// The expression.
    #[must_use]
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Compiles it for `link` now, so that what is wrong is known before the first packet.
    ///
    /// # Errors
    /// [`Error::Expression`] where the expression has no meaning for this link type.
    pub fn prepare(&mut self, link: LinkType) -> Result<(), Error> {
        self.program(link).map(|_| ())
    }

    /// The program of classic BPF that libpcap's compiler makes of it for `link`.
    ///
    /// # Errors
    /// [`Error::Expression`] where the expression has no meaning for this link type.
    pub fn classic(&self, link: LinkType) -> Result<Vec<Instruction>, Error> {
        classic(&self.expression, link)
    }

    /// Parts that it does not see where it is applied to each Ethernet frame by itself. [`matches`](Self::matches) and
    /// [`Fragments`](crate::Fragments) see some of that.
    #[must_use]
    pub fn unseen(&self) -> Unseen {
        // libpcap's code: `jset` of the fragment offset before a transport header is read, and `ldb` of IPv6's next header, behind up to
        // two tags.
        const JUMP_IF_SET: u16 = 0x45;
        const LOAD_BYTE: u16 = 0x30;
        const FRAGMENT_OFFSET: u32 = 0x1fff;
        const NEXT_HEADERS: [u32; 3] = [20, 24, 28];
        let program = self.classic(LinkType::ETHERNET).unwrap_or_default();
        let has = |code: u16, k: &[u32]| program.iter().any(|one| one.code == code && k.contains(&one.k));
        Unseen { later_fragments: has(JUMP_IF_SET, &[FRAGMENT_OFFSET]), behind_headers: has(LOAD_BYTE, &NEXT_HEADERS) }
    }

    /// The filter as a program for the kernel, for Ethernet frames, as `bpf(BPF_PROG_LOAD)` takes it.
    ///
    /// # Errors
    /// [`Error::Expression`] where the expression has no meaning for Ethernet or cannot run in the kernel (`protochain`
    /// loops).
    pub fn ebpf(&self, hook: FilterHook, ending: FilterEnding) -> Result<Vec<u8>, Error> {
        let program = compile(&self.expression, LinkType::ETHERNET)?;
        let refused =
            |what: tidewire_ebpf::TranslateError| filter_error(&self.expression, LinkType::ETHERNET, &what.to_string());
        translate(&program, hook, ending).map_err(refused)
    }

    /// Whether a frame matches; `wire_bytes` is what `len` stands for in the expression. A packet of more than 64 KiB matches where it
    /// would without the header that states its length (RFC 2675), which the language does not look behind.
    ///
    /// # Errors
    /// [`Error::Expression`] where the expression has no meaning for the link type: the packet does not match.
    #[inline]
    pub fn matches(&mut self, link: LinkType, bytes: &[u8], wire_bytes: u32) -> Result<bool, Error> {
        let program = self.program(link)?;
        if machine::matches(program, bytes, wire_bytes) {
            return Ok(true);
        }
        let plain = jumbo::without(link, bytes);
        Ok(plain.is_some_and(|plain| machine::matches(program, &plain, wire_bytes)))
    }

    fn program(&mut self, link: LinkType) -> Result<&Program, Error> {
        if self.programs.first().is_none_or(|(first, _)| *first != link) {
            match self.programs.iter().position(|(known, _)| *known == link) {
                Some(at) => self.programs.swap(0, at),
                None => {
                    let compiled = compile(&self.expression, link).map(Arc::new).map_err(Arc::new);
                    self.programs.insert(0, (link, compiled));
                    self.programs.truncate(LINKS_MAX);
                }
            }
        }
        match self.programs.first() {
            Some((_, Ok(program))) => Ok(program),
            Some((_, Err(error))) => Err(Error::clone(error)),
            None => Err(filter_error(&self.expression, link, "it was not compiled")),
        }
    }
}

fn compile(expression: &str, link: LinkType) -> Result<Program, Error> {
    Program::new(&classic(expression, link)?).map_err(|what| filter_error(expression, link, &what.to_string()))
}

/// Compiles an expression by libpcap's compiler.
fn classic(expression: &str, link: LinkType) -> Result<Vec<Instruction>, Error> {
    let _guard = COMPILER.lock().unwrap_or_else(PoisonError::into_inner);
    let failed = |error: pcap::Error| {
        let message = match error {
            pcap::Error::PcapError(message) => message,
            other => other.to_string(),
        };
        filter_error(expression, link, &message)
    };
    let dead = Capture::dead(datalink(link)).map_err(failed)?;
    let compiled = dead.compile(expression, true).map_err(failed)?;
    instructions(&compiled).ok_or_else(|| filter_error(expression, link, "libpcap's program cannot be read"))
}

/// libpcap's program in our words.
pub(crate) fn instructions(compiled: &BpfProgram) -> Option<Vec<Instruction>> {
    compiled.get_instructions().iter().map(|instruction| parsed(&instruction.to_string())).collect()
}

/// The crate shows an instruction's four fields as text only: code, both jumps and k, in decimal.
fn parsed(text: &str) -> Option<Instruction> {
    let mut fields = text.split_ascii_whitespace();
    let mut field = || fields.next()?.parse::<u32>().ok();
    let (code, jump_true, jump_false, k) = (field()?, field()?, field()?, field()?);
    Some(Instruction {
        code: code.try_into().ok()?,
        jump_true: jump_true.try_into().ok()?,
        jump_false: jump_false.try_into().ok()?,
        k,
    })
}

/// The number by which this system's libpcap knows a link type of a file (pcap-common.c, `linktype_to_dlt`).
fn datalink(link: LinkType) -> Linktype {
    Linktype(match link.0 {
        100 => 11,
        // Raw IP, also as OpenBSD numbers it.
        101 | 14 => 12,
        102 => 15,
        103 => 16,
        106 => 19,
        other => i32::from(other),
    })
}

fn filter_error(expression: &str, link: LinkType, message: &str) -> Error {
    let name = datalink(link).get_name().unwrap_or_else(|_| "unknown".to_owned());
    let link = format!("{name} ({})", link.0);
    Error::Expression { expression: expression.to_owned(), link, message: message.to_owned() }
}
