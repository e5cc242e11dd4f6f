//! The fields of a session.

use crate::value::{Members, Value, list_bytes, text_bytes};

/// The fields of a mail in SMTP, or of a session without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Smtp {
    /// The name in the server's greeting.
    pub server: Option<Box<str>>,
    /// The name that the client gave with EHLO or HELO.
    pub client: Option<Box<str>>,
    /// The sender, as it was sent: with a source route, and quoted where it was.
    pub mail_from: Option<Box<str>>,
    /// The recipients, at most 16.
    pub rcpt_to: Vec<Box<str>>,
    /// Whether the session went over to TLS.
    pub starttls: bool,
}

/// The fields of a login in FTP, or of a session without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ftp {
    /// The server's greeting.
    pub server: Option<Box<str>>,
    /// The user's name.
    pub user: Option<Box<str>>,
    /// Files that were read, written or removed: command and path, at most 16.
    pub commands: Vec<Box<str>>,
    /// Whether the session went over to TLS.
    pub starttls: bool,
}

impl Smtp {
    pub(crate) fn request(&self) -> String {
        let sender = self.mail_from.as_deref().map(|sender| format!("from {sender}"));
        let recipients = (!self.rcpt_to.is_empty()).then(|| format!("to {}", self.rcpt_to.join(" ")));
        [sender, recipients].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn response(&self) -> String {
        if self.starttls { "STARTTLS".into() } else { String::new() }
    }

    pub(crate) fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.text("server", &self.server);
        list.text("client", &self.client);
        list.text("mail_from", &self.mail_from);
        list.texts("rcpt_to", &self.rcpt_to);
        list.push("starttls", Value::Truth(self.starttls));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + text_bytes([&self.server, &self.client, &self.mail_from]) + list_bytes(&self.rcpt_to)
    }
}

impl Ftp {
    pub(crate) fn request(&self) -> String {
        let user = self.user.as_deref().map(|user| format!("USER {user}"));
        user.into_iter().chain(self.commands.iter().map(|command| command.to_string())).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn response(&self) -> String {
        if self.starttls { "AUTH TLS".into() } else { String::new() }
    }

    pub(crate) fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.text("server", &self.server);
        list.text("user", &self.user);
        list.texts("commands", &self.commands);
        list.push("starttls", Value::Truth(self.starttls));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + text_bytes([&self.server, &self.user]) + list_bytes(&self.commands)
    }
}
