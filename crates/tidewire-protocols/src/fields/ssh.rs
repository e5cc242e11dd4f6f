//! The fields of a connection's beginning.

use crate::value::{Members, text_bytes};

/// The fields of a connection's beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ssh {
    /// The client's version of the protocol, as `2.0`.
    pub client_version: Option<Box<str>>,
    /// The client's software with its comment.
    pub client_software: Option<Box<str>>,
    /// The server's version of the protocol.
    pub server_version: Option<Box<str>>,
    /// The server's software with its comment.
    pub server_software: Option<Box<str>>,
    /// HASSH of the client.
    pub hassh: Option<Box<str>>,
    /// HASSH of the server.
    pub hassh_server: Option<Box<str>>,
}

impl Ssh {
    pub(crate) fn request(&self) -> String {
        self.client_software.as_deref().unwrap_or_default().to_owned()
    }

    pub(crate) fn response(&self) -> String {
        self.server_software.as_deref().unwrap_or_default().to_owned()
    }

    pub(crate) fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.text("client_version", &self.client_version);
        list.text("server_version", &self.server_version);
        list.text("client_software", &self.client_software);
        list.text("server_software", &self.server_software);
        list.text("hassh", &self.hassh);
        list.text("hassh_server", &self.hassh_server);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let texts = [
            &self.client_version,
            &self.client_software,
            &self.server_version,
            &self.server_software,
            &self.hassh,
            &self.hassh_server,
        ];
        size_of::<Self>() + text_bytes(texts)
    }
}
