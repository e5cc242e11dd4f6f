//! The fields of a request and its response.

use crate::value::{Value, push_number, push_text, text_bytes};

/// The fields of a request and its response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Http {
    /// The method.
    pub method: Option<Box<str>>,
    /// The host: of the Host field, else of the target. Without its port.
    pub host: Option<Box<str>>,
    /// The target as it was sent: mostly path and query.
    pub path: Option<Box<str>>,
    /// The version of the request, else of the response, as `1.1`.
    pub version: Option<Box<str>>,
    /// The status code.
    pub status: Option<u16>,
    /// What the server wrote behind it.
    pub reason: Option<Box<str>>,
    /// User-Agent.
    pub user_agent: Option<Box<str>>,
    /// Referer.
    pub referrer: Option<Box<str>>,
    /// Content-Type of the request.
    pub request_type: Option<Box<str>>,
    /// Content-Type of the response.
    pub content_type: Option<Box<str>>,
    /// Server.
    pub server: Option<Box<str>>,
    /// Location.
    pub location: Option<Box<str>>,
    /// Bytes of the request's body: counted where all of it was seen, else as its header states; without transfer coding.
    pub request_bytes: Option<u64>,
    /// Bytes of the response's body, likewise.
    pub response_bytes: Option<u64>,
}

impl Http {
    pub(crate) fn request(&self) -> String {
        let parts = [self.method.as_deref(), self.path.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn response(&self) -> String {
        let status = self.status.map(|status| status.to_string());
        let parts = [status.as_deref(), self.content_type.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn values(&self) -> Vec<(&'static str, Value<'_>)> {
        let mut list = Vec::with_capacity(14);
        push_text(&mut list, "method", &self.method);
        push_text(&mut list, "host", &self.host);
        push_text(&mut list, "path", &self.path);
        push_text(&mut list, "version", &self.version);
        push_number(&mut list, "status", self.status.map(u64::from));
        push_text(&mut list, "reason", &self.reason);
        push_text(&mut list, "user_agent", &self.user_agent);
        push_text(&mut list, "referrer", &self.referrer);
        push_text(&mut list, "request_type", &self.request_type);
        push_text(&mut list, "content_type", &self.content_type);
        push_text(&mut list, "server", &self.server);
        push_text(&mut list, "location", &self.location);
        push_number(&mut list, "request_bytes", self.request_bytes);
        push_number(&mut list, "response_bytes", self.response_bytes);
        list
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let request = [&self.method, &self.host, &self.path, &self.version, &self.user_agent, &self.referrer];
        let rest = [&self.reason, &self.request_type, &self.content_type, &self.server, &self.location];
        size_of::<Self>() + text_bytes(request) + text_bytes(rest)
    }
}
