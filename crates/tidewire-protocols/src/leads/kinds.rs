//! Which protocols lead into TLS, and what first bytes show.

/// Which of them it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// PROXY protocol, version 1 or 2: the client's header, and anything behind it.
    Proxy,
    /// PostgreSQL: the client asks for TLS in its first message.
    PostgreSql,
    /// MySQL: the server greets, the client asks for TLS.
    MySql,
    /// RDP: a request and a confirmation of X.224.
    Rdp,
    /// LDAP: the extended operation StartTLS.
    Ldap,
    /// XMPP: `<starttls/>` and `<proceed/>`.
    Xmpp,
    /// A command of POP3, IMAP, NNTP or IRC, and the server's consent.
    Lines,
}

/// The lead that the first bytes of one side show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A client's or a server's.
    Client(Lead),
    Server(Lead),
    /// More bytes may decide.
    Open,
    Unknown,
}
