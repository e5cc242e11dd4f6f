//! Reports: transactions, their fields by name, and how they are read.

use tidewire_types::Timestamp;

use crate::{
    fields::{Dhcp, Dns, Ftp, Http, Ntp, Quic, Smtp, Socks, Ssh, Tls},
    value::{Members, Service, Value},
};

/// A question and its answer: a handshake, a query, a request, or as much of it as was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transaction {
    /// Time of the packet that began it.
    pub start: Timestamp,
    /// Time of the packet that ended it.
    pub end: Timestamp,
    /// The protocol, which may be another one than the stream's first (after STARTTLS or CONNECT).
    pub service: Service,
    /// The fields of its protocol.
    pub fields: Fields,
}

/// The fields of one protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fields {
    /// A message.
    Dhcp(Box<Dhcp>),
    /// A query with its answer.
    Dns(Box<Dns>),
    /// A session.
    Ftp(Box<Ftp>),
    /// A request with its response.
    Http(Box<Http>),
    /// An answer, or a request without one.
    Ntp(Box<Ntp>),
    /// A client's hello.
    Quic(Box<Quic>),
    /// A session, or the part of it in clear text.
    Smtp(Box<Smtp>),
    /// A request to a proxy with its reply.
    Socks(Box<Socks>),
    /// Both sides' identification and key exchange.
    Ssh(Box<Ssh>),
    /// A handshake.
    Tls(Box<Tls>),
}

impl Transaction {
    /// A transaction between two times.
    #[must_use]
    pub fn new(service: Service, fields: Fields, start: Timestamp, end: Timestamp) -> Self {
        Self { start, end, service, fields }
    }

    /// The name in it: the server's name (TLS, QUIC, HTTP), the name in the question (DNS), the server's name for
    /// itself (SSH, SMTP, FTP).
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.fields {
            Fields::Dns(dns) => dns.query.as_deref(),
            Fields::Http(http) => http.host.as_deref(),
            Fields::Quic(quic) => quic.sni.as_deref(),
            Fields::Dhcp(dhcp) => dhcp.host_name.as_deref(),
            Fields::Ftp(ftp) => ftp.server.as_deref(),
            Fields::Ntp(_) => None,
            Fields::Socks(socks) => socks.host.as_deref(),
            Fields::Smtp(smtp) => smtp.server.as_deref(),
            Fields::Ssh(ssh) => ssh.server_software.as_deref(),
            Fields::Tls(tls) => tls.name(),
        }
    }

    /// A few words on the request, for people: the type of a query, method and path of a request.
    #[must_use]
    pub fn request(&self) -> String {
        match &self.fields {
            Fields::Dhcp(dhcp) => dhcp.request(),
            Fields::Dns(dns) => dns.request(),
            Fields::Ftp(ftp) => ftp.request(),
            Fields::Http(http) => http.request(),
            Fields::Ntp(ntp) => ntp.request(),
            Fields::Quic(quic) => quic.request(),
            Fields::Smtp(smtp) => smtp.request(),
            Fields::Socks(socks) => socks.request(),
            Fields::Ssh(ssh) => ssh.request(),
            Fields::Tls(tls) => tls.request(),
        }
    }

    /// A few words on the answer, for people; empty if there was none.
    #[must_use]
    pub fn response(&self) -> String {
        match &self.fields {
            Fields::Dhcp(dhcp) => dhcp.response(),
            Fields::Dns(dns) => dns.response(),
            Fields::Ftp(ftp) => ftp.response(),
            Fields::Http(http) => http.response(),
            Fields::Ntp(ntp) => ntp.response(),
            Fields::Quic(quic) => quic.response(),
            Fields::Smtp(smtp) => smtp.response(),
            Fields::Socks(socks) => socks.response(),
            Fields::Ssh(ssh) => ssh.response(),
            Fields::Tls(tls) => tls.response(),
        }
    }

    /// The fields that have a value, by their stable names.
    #[must_use]
    pub fn values(&self) -> Vec<(&'static str, Value<'_>)> {
        let mut list = Vec::with_capacity(20);
        self.each(&mut |name, value| list.push((name, value)));
        list
    }

    /// The same, one after the other.
    pub fn each<'a>(&'a self, each: &mut dyn FnMut(&'static str, Value<'a>)) {
        let list = &mut Members(each);
        match &self.fields {
            Fields::Dhcp(dhcp) => dhcp.values(list),
            Fields::Dns(dns) => dns.values(list),
            Fields::Ftp(ftp) => ftp.values(list),
            Fields::Http(http) => http.values(list),
            Fields::Ntp(ntp) => ntp.values(list),
            Fields::Quic(quic) => quic.values(list),
            Fields::Smtp(smtp) => smtp.values(list),
            Fields::Socks(socks) => socks.values(list),
            Fields::Ssh(ssh) => ssh.values(list),
            Fields::Tls(tls) => tls.values(list),
        }
    }

    /// Memory that it holds, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + match &self.fields {
                Fields::Dhcp(dhcp) => dhcp.memory_bytes(),
                Fields::Dns(dns) => dns.memory_bytes(),
                Fields::Ftp(ftp) => ftp.memory_bytes(),
                Fields::Http(http) => http.memory_bytes(),
                Fields::Ntp(ntp) => ntp.memory_bytes(),
                Fields::Quic(quic) => quic.memory_bytes(),
                Fields::Smtp(smtp) => smtp.memory_bytes(),
                Fields::Socks(socks) => socks.memory_bytes(),
                Fields::Ssh(ssh) => ssh.memory_bytes(),
                Fields::Tls(tls) => tls.memory_bytes(),
            }
    }
}
