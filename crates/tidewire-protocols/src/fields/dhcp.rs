//! The fields of a message.

use crate::value::{Members, text_bytes};

/// The fields of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dhcp {
    /// The message's type, as `DISCOVER`; BOOTP has none.
    pub message: Option<Box<str>>,
    /// The number of the conversation.
    pub id: u32,
    /// The client's link address, as `02:00:00:00:00:01`.
    pub client_mac: Option<Box<str>>,
    /// The client's name.
    pub host_name: Option<Box<str>>,
    /// The client's software.
    pub vendor_class: Option<Box<str>>,
    /// The address that the client asks for.
    pub requested: Option<Box<str>>,
    /// The address that it is given.
    pub assigned: Option<Box<str>>,
    /// The server.
    pub server: Option<Box<str>>,
    /// The domain that it is given.
    pub domain: Option<Box<str>>,
    /// For how long, seconds.
    pub lease: Option<u32>,
}

impl Dhcp {
    pub(crate) fn request(&self) -> String {
        let parts = [self.message.as_deref(), self.client_mac.as_deref(), self.requested.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn response(&self) -> String {
        self.assigned.as_deref().unwrap_or_default().to_owned()
    }

    pub(crate) fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.text("message", &self.message);
        list.number("id", Some(self.id.into()));
        list.text("client_mac", &self.client_mac);
        list.text("host_name", &self.host_name);
        list.text("vendor_class", &self.vendor_class);
        list.text("requested", &self.requested);
        list.text("assigned", &self.assigned);
        list.text("server", &self.server);
        list.text("domain", &self.domain);
        list.number("lease", self.lease.map(u64::from));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let names = [&self.message, &self.client_mac, &self.host_name, &self.vendor_class];
        size_of::<Self>()
            + text_bytes(names)
            + text_bytes([&self.requested, &self.assigned, &self.server, &self.domain])
    }
}
