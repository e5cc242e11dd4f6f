//! Domain names (RFC 1035 sections 3.1 and 4.1.4).

use crate::{text::push_decimal_escape, work};

/// Longest name on the wire, bytes.
const NAME_BYTES_MAX: usize = 255;
/// Pointers of a name at most: more than one for each label gains nothing.
const POINTERS_MAX: usize = 127;

/// Names of a message of which the text is kept, and the shortest walk that is worth it, bytes and pointers.
const KEPT_MAX: usize = 32;
const KEPT_STEPS_MIN: usize = 64;

/// The names of one message. Where many records point to one long name, or to one chain of pointers, it is read once.
pub(super) struct Names<'a> {
    message: &'a [u8],
    kept: Vec<Kept>,
}

/// The text at the target of a pointer.
struct Kept {
    at: usize,
    has_blanks: bool,
    text: Box<str>,
    length: Length,
}

/// How much of its bounds a name has used.
#[derive(Clone, Copy, Debug, Default)]
struct Length {
    /// Labels with their lengths.
    bytes: usize,
    pointers: usize,
}

impl Length {
    /// Adds a label; `None`: the name is too long.
    fn label(&mut self, label: &[u8]) -> Option<()> {
        self.bytes += 1 + label.len();
        (self.bytes < NAME_BYTES_MAX).then_some(())
    }

    fn pointer(&mut self) -> Option<()> {
        self.pointers += 1;
        (self.pointers <= POINTERS_MAX).then_some(())
    }

    fn steps(self) -> usize {
        self.bytes + self.pointers
    }
}

impl<'a> Names<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { message, kept: Vec::new() }
    }

    pub(super) fn message(&self) -> &'a [u8] {
        self.message
    }

    /// A name at `at` of the message, and where it ends there; a name among other words has no blanks ([`word`](Self::word)). Pointers should
    /// point backwards (RFC 1035 section 4.1.4), but there are servers that follow any: their number and the name's length end what does
    /// not end by itself.
    pub(super) fn read(&mut self, at: usize) -> Option<(Box<str>, usize)> {
        self.read_as(at, true)
    }

    /// The same, with `\032` for blanks: what stands among other words, which blanks separate.
    pub(super) fn word(&mut self, at: usize) -> Option<(Box<str>, usize)> {
        self.read_as(at, false)
    }

    fn read_as(&mut self, begin: usize, has_blanks: bool) -> Option<(Box<str>, usize)> {
        let target = pointer(self.message, begin);
        if let Some(target) = target
            && let Some(kept) = self.kept.iter().find(|kept| kept.at == target && kept.has_blanks == has_blanks)
        {
            work::add(self.kept.len());
            work::pass(kept.text.len());
            kept.length.clone().pointer()?;
            return Some((kept.text.clone(), begin + 2));
        }
        let (text, end, length) = shown(self.message, begin, has_blanks)?;
        if let Some(at) = target
            && length.steps() >= KEPT_STEPS_MIN
            && self.kept.len() < KEPT_MAX
        {
            let length = Length { pointers: length.pointers - 1, ..length };
            self.kept.push(Kept { at, has_blanks, text: text.clone(), length });
        }
        Some((text, end))
    }
}

/// Where the pointer at `at` leads to, if there is one.
fn pointer(message: &[u8], at: usize) -> Option<usize> {
    let &[high, low] = message.get(at..)?.first_chunk()?;
    (high >> 6 == 3).then(|| usize::from(high & 0x3f) << 8 | usize::from(low))
}

/// A name's text, where it ends, and how long it is.
fn shown(message: &[u8], at: usize, has_blanks: bool) -> Option<(Box<str>, usize, Length)> {
    // Most names are as long as they are shown.
    let (mut plain, mut plain_bytes, mut is_plain) = ([0; NAME_BYTES_MAX], 0, true);
    let (end, length) = walk(message, at, |label| {
        is_plain &= label.iter().all(|&byte| is_shown(byte));
        let dot = usize::from(plain_bytes > 0);
        // `walk` keeps the sum of labels and their lengths below the longest.
        if let Some(place) = plain.get_mut(plain_bytes..plain_bytes + dot + label.len()) {
            place[..dot].fill(b'.');
            place[dot..].copy_from_slice(label);
            plain_bytes += place.len();
        }
    })?;
    match std::str::from_utf8(&plain[..plain_bytes]) {
        Ok("") => Some((".".into(), end, length)),
        Ok(plain) if is_plain => Some((plain.into(), end, length)),
        _ => {
            let mut shown = String::with_capacity(4 * length.bytes);
            walk(message, at, |label| push_label(&mut shown, label, has_blanks))?;
            Some((shown.into(), end, length))
        }
    }
}

/// Whether a byte of a label is shown as it is.
fn is_shown(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e) && byte != b'.' && byte != b'\\'
}

/// Where the whole name at `at` ends.
pub(super) fn end(message: &[u8], at: usize) -> Option<usize> {
    walk(message, at, |_| {}).map(|(end, _)| end)
}

/// The same without a look at where a pointer leads: a message may have hundreds of names that all point to a long chain of pointers.
pub(super) fn skip(message: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin;
    while at < begin + NAME_BYTES_MAX {
        let length = *message.get(at)?;
        match length >> 6 {
            0 if length == 0 => return Some(at + 1),
            0 => at += 1 + usize::from(length),
            3 => return message.get(at + 1).map(|_| at + 2),
            _ => return None,
        }
    }
    None
}

fn walk<'a>(message: &'a [u8], begin: usize, mut each: impl FnMut(&'a [u8])) -> Option<(usize, Length)> {
    let (mut at, mut end, mut length) = (begin, None, Length::default());
    let is_whole = loop {
        let Some(&first) = message.get(at) else { break false };
        let step = match first >> 6 {
            0 if first == 0 => break true,
            0 => message.get(at + 1..at + 1 + usize::from(first)).and_then(|label| {
                length.label(label)?;
                each(label);
                Some(at + 1 + label.len())
            }),
            3 => pointer(message, at).and_then(|target| {
                end.get_or_insert(at + 2);
                length.pointer()?;
                Some(target)
            }),
            _ => None,
        };
        let Some(next) = step else { break false };
        at = next;
    };
    work::add(length.steps());
    is_whole.then_some((end.unwrap_or(at + 1), length))
}

/// Appends a label behind a dot: labels of services are UTF-8 with any characters (RFC 6763 section 4.1.1). What would be read otherwise
/// has RFC 1035's escapes (section 5.1), so that names that differ are shown differently.
fn push_label(shown: &mut String, label: &[u8], has_blanks: bool) {
    if !shown.is_empty() {
        shown.push('.');
    }
    for chunk in label.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '.' | '\\' => shown.extend(['\\', c]),
                ' ' if has_blanks => shown.push(c),
                c if !c.is_control() && !c.is_whitespace() => shown.push(c),
                c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_decimal_escape(shown, byte)),
            }
        }
        chunk.invalid().iter().for_each(|&byte| push_decimal_escape(shown, byte));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &[u8], at: usize) -> Option<(Box<str>, usize)> {
        Names::new(message).read(at)
    }

    fn read_word(message: &[u8], at: usize) -> Option<(Box<str>, usize)> {
        Names::new(message).word(at)
    }

    #[test]
    fn names_are_shown_in_presentation_format() {
        assert_eq!(read(b"\x03www\x07example\x00", 0), Some(("www.example".into(), 13)));
        assert_eq!(read(b"\x00", 0), Some((".".into(), 1)));
        assert_eq!(read(b"\x04a.\\ \x00", 0), Some(("a\\.\\\\ ".into(), 6)));
        assert_eq!(read_word(b"\x04a.\\ \x00", 0), Some(("a\\.\\\\\\032".into(), 6)));
        assert_eq!(read(b"\x02\x1b[\x00", 0), Some(("\\027[".into(), 4)));
        assert_eq!(read(b"\x01a\x00\x01b\xc0\x00!", 3), Some(("b.a".into(), 7)));
    }

    /// RFC 6763 section 4.1.1: labels of services are UTF-8. Each byte can be read back.
    #[test]
    fn labels_are_utf_8() {
        let of = |label: &str| {
            let bytes = [&[label.len() as u8][..], label.as_bytes(), b"\x05local\x00"].concat();
            [read(&bytes, 0), read_word(&bytes, 0)].map(|name| name.unwrap().0)
        };
        assert_eq!(
            of("B\u{fc}ro 2. OG"),
            ["B\u{fc}ro 2\\. OG.local", "B\u{fc}ro\\0322\\.\\032OG.local"].map(Box::from)
        );
        assert_eq!(of("\u{a0}\u{85}\0"), [r"\194\160\194\133\000.local"; 2].map(Box::from));
        assert_eq!(read(b"\x04\xc3\xa4\xe9\xff\x00", 0), Some(("\u{e4}\\233\\255".into(), 6)));
    }

    /// As in queries that hide their name from readers that follow pointers backwards only.
    #[test]
    fn a_pointer_may_point_forwards() {
        assert_eq!(read(b"\xc0\x02\x01a\x00", 0), Some(("a".into(), 2)));
        assert_eq!(read(b"\x01b\xc0\x05!\x01a\x00", 0), Some(("b.a".into(), 4)));
    }

    #[test]
    fn names_that_do_not_end_are_refused() {
        // Only its place in the message is looked at.
        assert_eq!((skip(b"\xc0\x00", 0), end(b"\xc0\x00", 0)), (Some(2), None));
        assert_eq!((skip(b"\x01a\xc0\x00!", 0), skip(b"\x01a\x00!", 0)), (Some(4), Some(3)));
        for bytes in [&b"\xc0"[..], b"\x01a", b"\x05ab", b"\x80a", &[&[b'\x3f'; 255][..], b"\x00"].concat()] {
            assert_eq!((skip(bytes, 0), end(bytes, 0)), (None, None), "{bytes:?}");
        }
        for bytes in
            [b"\xc0\x00".as_slice(), b"\x01a\xc0\x00", b"\x05ab", b"\x80a", b"\x01a", b"\xc0", b"\xc0\x02\xc0\x00"]
        {
            assert_eq!(read(bytes, 0), None, "{bytes:?}");
        }
        let long = [b"\x3f".as_slice(), &[b'x'; 63]].concat().repeat(4);
        assert_eq!(read(&[&*long, b"\x00"].concat(), 0), None);
        // Each pointer names the one before it.
        let chain = |pointers: usize| {
            let mut message = vec![0, 0];
            (0..pointers).for_each(|place| message.extend((0xc000_u16 | (2 * place) as u16).to_be_bytes()));
            read(&message, 2 * pointers).is_some()
        };
        assert!(chain(POINTERS_MAX) && !chain(POINTERS_MAX + 1));
    }

    /// However many names point to a long one, and from wherever: the text is that of a name that is read alone.
    #[test]
    fn names_that_are_kept_are_those_that_are_read() {
        let long = [&[63][..], &[0xff; 63], &[63], &[b' '; 63], &[63], &[b'a'; 63], &[50], &[b'.'; 50], &[0]].concat();
        let mut message = long.clone();
        let names: Vec<usize> = (0..200_u16)
            .map(|index| {
                let at = message.len();
                let target = [0, 64, 128, 192, 1, 300][usize::from(index % 6)];
                if index % 4 == 3 {
                    message.extend(b"\x01b");
                }
                message.extend((0xc000_u16 | target).to_be_bytes());
                at
            })
            .collect();
        let mut together = Names::new(&message);
        for &at in &names {
            assert_eq!(together.read(at), read(&message, at));
            assert_eq!(together.word(at), read_word(&message, at));
        }
        assert!(together.kept.len() > 4);
    }

    /// A pointer to what is kept has the bounds of a pointer that is followed.
    #[test]
    fn names_that_are_kept_have_their_bounds() {
        let mut message = vec![0, 0];
        (0..=POINTERS_MAX).for_each(|place| message.extend((0xc000_u16 | (2 * place) as u16).to_be_bytes()));
        let mut names = Names::new(&message);
        for pointers in [POINTERS_MAX, POINTERS_MAX, POINTERS_MAX + 1, POINTERS_MAX, POINTERS_MAX + 1] {
            assert_eq!(names.read(2 * pointers).is_some(), pointers <= POINTERS_MAX);
        }
    }

    #[test]
    fn a_name_that_many_point_to_is_read_once() {
        let long = [&[63][..], &[0xff; 63], &[63], &[0xff; 63], &[63], &[0xff; 63], &[0]].concat();
        let message = [&long[..], &[0xc0, 0].repeat(64)].concat();
        let mut names = Names::new(&message);
        let ((), work) = work::of(|| {
            for index in 0..64 {
                names.read(long.len() + 2 * index).unwrap();
            }
        });
        assert!(work < 16 * message.len() as u64, "{work} for {} bytes", message.len());
    }
}
