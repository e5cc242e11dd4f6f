//! The fields of a message.

use crate::value::{Value, push_number, push_text, text_bytes};

/// The fields of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    pub(crate) fn values(&self) -> Vec<(&'static str, Value<'_>)> {
        let mut list = Vec::with_capacity(10);
        push_text(&mut list, "message", &self.message);
        push_number(&mut list, "id", Some(self.id.into()));
        push_text(&mut list, "client_mac", &self.client_mac);
        push_text(&mut list, "host_name", &self.host_name);
        push_text(&mut list, "vendor_class", &self.vendor_class);
        push_text(&mut list, "requested", &self.requested);
        push_text(&mut list, "assigned", &self.assigned);
        push_text(&mut list, "server", &self.server);
        push_text(&mut list, "domain", &self.domain);
        push_number(&mut list, "lease", self.lease.map(u64::from));
        list
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let names = [&self.message, &self.client_mac, &self.host_name, &self.vendor_class];
        size_of::<Self>()
            + text_bytes(names)
            + text_bytes([&self.requested, &self.assigned, &self.server, &self.domain])
    }
}
