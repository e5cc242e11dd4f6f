//! Errors in the configuration: what, where, and what to do.

use std::{fmt, sync::Arc};

use tidewire_wire::legible::is_hidden;

/// Most bytes of an error's text: `PCAP_ERRBUF_SIZE` (pcap/pcap.h) without the final zero.
pub const ERROR_BYTES_MAX: usize = 255;
/// Characters shown of the end of a path.
const PATH_CHARS_MAX: usize = 64;
/// Characters shown of quoted text.
const WORD_CHARS_MAX: usize = 32;

/// The source of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, by its path.
    File(String),
    /// A variable of the environment.
    Variable(String),
    /// The name of the device that was to be opened.
    Device(String),
    /// The argument of a call, by the call's name.
    Call(&'static str),
}

/// An error in the configuration. Its text fits libpcap's buffer, the important part first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The source of the setting.
    pub source: Arc<Source>,
    /// Line of the source, from 1; 0 where it has none.
    pub line: u32,
    /// Column, from 1; 0: the whole source.
    pub column: u32,
    /// The message.
    pub message: String,
    /// The hint; may be empty.
    pub hint: String,
}

impl Error {
    /// An error about a whole source.
    pub fn whole(source: Source, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { source: Arc::new(source), line: 0, column: 0, message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = (self.line, self.column);
        let place = match &*self.source {
            Source::File(path) if line == 0 => ending(path, PATH_CHARS_MAX),
            Source::File(path) => format!("{}:{line}:{column}", ending(path, PATH_CHARS_MAX)),
            Source::Variable(name) => placed(&word(name), line, column),
            Source::Device(name) => placed(&format!("device {}", word(name)), line, column),
            Source::Call(name) => placed(name, line, column),
        };
        let separator = if self.hint.is_empty() { "" } else { "; " };
        out.write_str(&cut(&format!("{place}: {}{separator}{}", self.message, self.hint), ERROR_BYTES_MAX))
    }
}

impl std::error::Error for Error {}

fn placed(name: &str, line: u32, column: u32) -> String {
    match (line, column) {
        (0, _) | (1, 0..=1) => name.to_owned(),
        (1, column) => format!("{name}, column {column}"),
        (line, column) => format!("{name}, line {line}, column {column}"),
    }
}

/// Quoted text, shortened and without control characters.
pub fn word(text: &str) -> String {
    let mut shown: String = text.chars().take(WORD_CHARS_MAX).map(visible).collect();
    if text.chars().nth(WORD_CHARS_MAX).is_some() {
        shown.push_str("...");
    }
    shown
}

/// Replaces control characters and invisible ones.
fn visible(character: char) -> char {
    if is_hidden(character) { '?' } else { character }
}

/// The last characters of a text.
fn ending(text: &str, chars_max: usize) -> String {
    let count = text.chars().count();
    let shown = text.chars().skip(count.saturating_sub(chars_max)).map(visible).collect();
    if count > chars_max { format!("...{shown}") } else { shown }
}

/// Truncates a text to this many bytes, at a character boundary.
fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mut end = bytes_max.saturating_sub(3);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_fit_the_buffer_and_begin_with_what_matters() {
        let path = format!("/{}/pcap.conf", "long/".repeat(100));
        let mut error = Error::whole(Source::File(path), "é".repeat(300), "do this");
        (error.line, error.column) = (3, 7);
        let text = error.to_string();
        assert!(text.len() <= ERROR_BYTES_MAX && text.starts_with("...") && text.ends_with("..."), "{text}");
        assert!(text.contains("pcap.conf:3:7: é"), "{text}");
    }

    #[test]
    fn places_are_named() {
        let error = |source, line, column| {
            let mut error = Error::whole(source, "wrong", "");
            (error.line, error.column) = (line, column);
            error.to_string()
        };
        assert_eq!(error(Source::Variable("PCAP_GROUP".into()), 1, 1), "PCAP_GROUP: wrong");
        assert_eq!(error(Source::Variable("PCAP_FANOUT".into()), 1, 6), "PCAP_FANOUT, column 6: wrong");
        assert_eq!(error(Source::Variable("PFQ_LANG_LIT".into()), 2, 3), "PFQ_LANG_LIT, line 2, column 3: wrong");
        assert_eq!(error(Source::Device("a\nb".into()), 0, 0), "device a?b: wrong");
        assert_eq!(error(Source::Device("a\u{200b}\u{202e}é".into()), 0, 0), "device a??é: wrong");
        assert_eq!(error(Source::Call("pcap_fanout"), 1, 5), "pcap_fanout, column 5: wrong");
        assert_eq!(error(Source::File("/etc/pcap.conf".into()), 0, 0), "/etc/pcap.conf: wrong");
    }
}
