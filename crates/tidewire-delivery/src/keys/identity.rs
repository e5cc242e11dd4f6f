//! Identities and recipients of `age`: who can read encrypted events.

use std::path::Path;

use age::{secrecy::ExposeSecret as _, x25519};

use super::{error::KeyError, files};

/// Makes an identity: the text of its file, as age-keygen(1) writes it, and the recipient that belongs to it.
#[must_use]
pub fn make() -> (String, String) {
    let identity = x25519::Identity::generate();
    let recipient = identity.to_public().to_string();
    let text = format!("# recipient: {recipient}\n{}\n", identity.to_string().expose_secret());
    (text, recipient)
}

/// The recipients that belong to the identities of a file.
///
/// # Errors
/// It cannot be read, others have access to it, or it holds something else.
pub fn recipients(path: &Path) -> Result<Vec<String>, KeyError> {
    let text = files::read(path)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let recipient = |line: &str| line.parse::<x25519::Identity>().map(|identity| identity.to_public().to_string());
    let all: Result<Vec<_>, _> = lines.map(recipient).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(KeyError::content(path, "this file holds no identities of age (AGE-SECRET-KEY-1...)")),
    }
}
