//! The fields of a request and its response.

use std::borrow::Cow;

use crate::value::{Members, Value, known_bytes, text_bytes};

/// The fields of a request and its response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Http {
    /// The method.
    pub method: Option<Cow<'static, str>>,
    /// The host: of the target in absolute form or of `CONNECT`, else of the field Host (RFC 9112 section 3.2.2). Without its port.
    pub host: Option<Box<str>>,
    /// The port behind it, where it was there.
    pub port: Option<u16>,
    /// The target as it was sent: mostly path and query.
    pub path: Option<Box<str>>,
    /// The version of the request, else of the response, as `1.1`.
    pub version: Option<Cow<'static, str>>,
    /// The version of the response, where it is not the request's.
    pub response_version: Option<Cow<'static, str>>,
    /// The status code.
    pub status: Option<u16>,
    /// The reason phrase behind it.
    pub reason: Option<Cow<'static, str>>,
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
    /// Bytes of the request's body that were seen, without the sizes of chunks. `None`: its head has no body, or did not end.
    pub request_bytes: Option<u64>,
    /// Bytes of the response's body, likewise; 0 for a response that has none.
    pub response_bytes: Option<u64>,
    /// Bytes of the request's body as Content-Length announces them, where it counts.
    pub request_announced_bytes: Option<u64>,
    /// Bytes of the response's body, likewise.
    pub response_announced_bytes: Option<u64>,
    /// Bytes within the request's body that were not captured or not kept.
    pub request_missing_bytes: u64,
    /// Bytes within the response's body, likewise.
    pub response_missing_bytes: u64,
    /// Whether every byte of the request's body was seen, to its end. `None`: there is no body, or its end lies where nothing was read.
    pub request_complete: Option<bool>,
    /// Whether every byte of the response's body was seen, likewise.
    pub response_complete: Option<bool>,
    /// The field Host, where the target names another host.
    pub host_field: Option<Box<str>>,
}

/// The word for people where a body is not whole.
fn incomplete(complete: Option<bool>) -> Option<&'static str> {
    (complete == Some(false)).then_some("incomplete")
}

/// The state of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) bytes: u64,
    pub(crate) missing: u64,
    pub(crate) announced: Option<u64>,
    pub(crate) complete: Option<bool>,
}

impl Http {
    /// Keeps what is known of the body of the request (0) or of the response (1).
    pub(crate) fn set_body(&mut self, side: usize, body: Body) {
        let Body { bytes, missing, announced, complete } = body;
        if side == 0 {
            (self.request_bytes, self.request_missing_bytes) = (Some(bytes), missing);
            (self.request_announced_bytes, self.request_complete) = (announced, complete);
        } else {
            (self.response_bytes, self.response_missing_bytes) = (Some(bytes), missing);
            (self.response_announced_bytes, self.response_complete) = (announced, complete);
        }
    }

    pub(crate) fn request(&self) -> String {
        let parts = [self.method.as_deref(), self.path.as_deref(), incomplete(self.request_complete)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn response(&self) -> String {
        let status = self.status.map(|status| status.to_string());
        let parts = [status.as_deref(), self.content_type.as_deref(), incomplete(self.response_complete)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.text("method", &self.method);
        list.text("host", &self.host);
        list.number("port", self.port.map(u64::from));
        list.text("path", &self.path);
        list.text("version", &self.version);
        list.text("response_version", &self.response_version);
        list.number("status", self.status.map(u64::from));
        list.text("reason", &self.reason);
        list.text("user_agent", &self.user_agent);
        list.text("referrer", &self.referrer);
        list.text("request_type", &self.request_type);
        list.text("content_type", &self.content_type);
        list.text("server", &self.server);
        list.text("location", &self.location);
        list.number("request_bytes", self.request_bytes);
        list.number("response_bytes", self.response_bytes);
        list.number("request_announced_bytes", self.request_announced_bytes);
        list.number("response_announced_bytes", self.response_announced_bytes);
        list.number("request_missing_bytes", Some(self.request_missing_bytes).filter(|&bytes| bytes > 0));
        list.number("response_missing_bytes", Some(self.response_missing_bytes).filter(|&bytes| bytes > 0));
        list.some("request_complete", self.request_complete.map(Value::Truth));
        list.some("response_complete", self.response_complete.map(Value::Truth));
        list.text("host_field", &self.host_field);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let known = [&self.method, &self.version, &self.response_version, &self.reason];
        let request = [&self.host, &self.path, &self.user_agent, &self.referrer];
        let rest = [&self.request_type, &self.content_type, &self.server, &self.location, &self.host_field];
        size_of::<Self>() + known_bytes(known.into_iter().flatten()) + text_bytes(request) + text_bytes(rest)
    }
}
