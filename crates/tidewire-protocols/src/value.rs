//! Protocols and the values of their fields.

use std::borrow::Cow;

/// A protocol that was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Service {
    /// DHCP and BOOTP.
    Dhcp,
    /// DNS over UDP or TCP.
    Dns,
    /// FTP: the connection of commands.
    Ftp,
    /// HTTP/1.0 and HTTP/1.1.
    Http,
    /// LLMNR: DNS messages on port 5355.
    Llmnr,
    /// Multicast DNS: port 5353.
    Mdns,
    /// NTP.
    Ntp,
    /// QUIC: the client's first packets.
    Quic,
    /// SMTP.
    Smtp,
    /// SOCKS proxies.
    Socks,
    /// SSH.
    Ssh,
    /// TLS and SSL 3.0 over TCP.
    Tls,
}

impl Service {
    /// All of them, by name.
    pub const ALL: [Self; 12] = [
        Self::Dhcp,
        Self::Dns,
        Self::Ftp,
        Self::Http,
        Self::Llmnr,
        Self::Mdns,
        Self::Ntp,
        Self::Quic,
        Self::Smtp,
        Self::Socks,
        Self::Ssh,
        Self::Tls,
    ];

    /// Its name in output: stable.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dhcp => "dhcp",
            Self::Dns => "dns",
            Self::Ftp => "ftp",
            Self::Http => "http",
            Self::Llmnr => "llmnr",
            Self::Mdns => "mdns",
            Self::Ntp => "ntp",
            Self::Quic => "quic",
            Self::Smtp => "smtp",
            Self::Socks => "socks",
            Self::Ssh => "ssh",
            Self::Tls => "tls",
        }
    }
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Number(u64),
    /// Text as the network had it, bytes that are not UTF-8 as [`text_of_bytes`](crate::text_of_bytes) writes them. Printing it
    /// safely needs escapes of control characters.
    Text(&'a str),
    /// Seconds since the epoch, which may be before it.
    Seconds(i64),
    /// A truth value.
    Truth(bool),
    /// A list of texts.
    Texts(Vec<&'a str>),
    /// A list of objects.
    Objects(Vec<Vec<(&'static str, Value<'a>)>>),
    /// One object.
    Object(Vec<(&'static str, Value<'a>)>),
}

/// Takes the fields of a transaction one after the other.
pub(crate) struct Members<'v, 'a>(pub(crate) &'v mut dyn FnMut(&'static str, Value<'a>));

impl<'a> Members<'_, 'a> {
    /// A field.
    pub(crate) fn push(&mut self, name: &'static str, value: Value<'a>) {
        (self.0)(name, value);
    }

    /// A text that is there.
    pub(crate) fn text<T: AsRef<str>>(&mut self, name: &'static str, text: &'a Option<T>) {
        if let Some(text) = text {
            self.push(name, Value::Text(text.as_ref()));
        }
    }

    /// A value that is there.
    pub(crate) fn some(&mut self, name: &'static str, value: Option<Value<'a>>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    /// A number that is there.
    pub(crate) fn number(&mut self, name: &'static str, number: Option<u64>) {
        if let Some(number) = number {
            self.push(name, Value::Number(number));
        }
    }

    /// A list that is not empty.
    pub(crate) fn texts(&mut self, name: &'static str, texts: &'a [Box<str>]) {
        if !texts.is_empty() {
            self.push(name, Value::Texts(texts.iter().map(|text| &**text).collect()));
        }
    }
}

/// Memory of texts that may be there, bytes.
pub(crate) fn text_bytes<'a>(texts: impl IntoIterator<Item = &'a Option<Box<str>>>) -> usize {
    texts.into_iter().flatten().map(|text| text.len()).sum()
}

/// Memory of texts of which some are known ones, bytes.
pub(crate) fn known_bytes<'a>(texts: impl IntoIterator<Item = &'a Cow<'static, str>>) -> usize {
    let owned = |text: &Cow<'static, str>| match text {
        Cow::Borrowed(_) => 0,
        Cow::Owned(text) => text.capacity(),
    };
    texts.into_iter().map(owned).sum()
}

/// Memory of a list of texts, bytes.
pub(crate) fn list_bytes(texts: &[Box<str>]) -> usize {
    texts.iter().map(|text| text.len() + size_of::<Box<str>>()).sum()
}
