//! The fields of a request to a proxy.

use crate::value::{Members, text_bytes};

/// The fields of a request to a proxy, and its reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Socks {
    /// 4 or 5.
    pub version: u8,
    /// The command: 1 to connect, 2 to listen, 3 for UDP.
    pub command: Option<u8>,
    /// The requested name or address.
    pub host: Option<Box<str>>,
    /// Its port.
    pub port: Option<u16>,
    /// The user's name.
    pub user: Option<Box<str>>,
    /// The code of the reply: 0 (version 5) or 90 (version 4) if the request is granted.
    pub reply: Option<u8>,
}

impl Socks {
    pub(crate) fn request(&self) -> String {
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        self.host.as_deref().map(|host| format!("{host}{port}")).unwrap_or_default()
    }

    pub(crate) fn response(&self) -> String {
        self.reply.map(|reply| reply.to_string()).unwrap_or_default()
    }

    pub(crate) fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.number("version", Some(self.version.into()));
        list.number("command", self.command.map(u64::from));
        list.text("host", &self.host);
        list.number("port", self.port.map(u64::from));
        list.text("user", &self.user);
        list.number("reply", self.reply.map(u64::from));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + text_bytes([&self.host, &self.user])
    }
}
