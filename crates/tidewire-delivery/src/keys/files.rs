//! Files with keys: read only where no other user may read or change them, written so from the first byte on.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

use super::error::KeyError;
use crate::limits::KEY_FILE_BYTES_MAX;

/// Bytes of a file's name in its hidden name at most: names have 255 (`NAME_MAX`).
const HIDDEN_NAME_BYTES: usize = 200;

/// Whether a text holds a secret.
fn is_secret(text: &str) -> bool {
    text.contains("PRIVATE KEY-----") || text.contains("AGE-SECRET-KEY-")
}

/// Reads a file. One that holds a secret has to belong to this user or root, and no other user may read or write it. The returned text is
/// overwritten when it is dropped.
///
/// # Errors
/// It cannot be read, is too long, or others have access to its secret.
pub fn read(path: &Path) -> Result<Zeroizing<String>, KeyError> {
    let failed = KeyError::file(path);
    // A pipe would be waited for.
    let file = OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path);
    let file = file.map_err(&failed)?;
    let metadata = file.metadata().map_err(&failed)?;
    if !metadata.is_file() {
        return Err(KeyError::content(path, "this is no file"));
    }
    // Room for all of it at once: no part of a secret is left behind where it was copied from.
    let room = metadata.len().min(KEY_FILE_BYTES_MAX + 1) as usize + 1;
    let mut text = Zeroizing::new(String::with_capacity(room));
    (&file).take(KEY_FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(&failed)?;
    if text.len() as u64 > KEY_FILE_BYTES_MAX {
        return Err(KeyError::content(path, format!("this file is longer than {KEY_FILE_BYTES_MAX} bytes")));
    }
    if is_secret(&text) {
        let own = rustix::process::geteuid().as_raw();
        if metadata.uid() != own && metadata.uid() != 0 {
            return Err(KeyError::Owner { path: path.to_owned(), owner: metadata.uid(), own });
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(KeyError::Open { path: path.to_owned(), mode: metadata.mode() & 0o7777 });
        }
    }
    Ok(text)
}

/// Writes a new file, whole or not at all: `mode` 0600 for what holds a secret.
///
/// # Errors
/// It is there already, or cannot be written.
pub fn create(path: &Path, text: &str) -> Result<(), KeyError> {
    let hidden = write_hidden(path, text)?;
    // Unlike a rename, a link replaces nothing.
    let linked = fs::hard_link(&hidden, path);
    drop(fs::remove_file(&hidden));
    match linked {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(KeyError::content(path, "this file is there already; name another one, or remove it"))
        }
        linked => linked.map_err(KeyError::file(path)),
    }
}

/// Replaces a file, whole or not at all.
///
/// # Errors
/// It cannot be written.
pub fn replace(path: &Path, text: &str) -> Result<(), KeyError> {
    let hidden = write_hidden(path, text)?;
    fs::rename(&hidden, path).map_err(KeyError::file(path))
}

fn write_hidden(path: &Path, text: &str) -> Result<PathBuf, KeyError> {
    let name = path.file_name().ok_or_else(|| KeyError::content(path, "this names no file"))?;
    let name = name.to_string_lossy();
    let beginning = &name[..name.floor_char_boundary(HIDDEN_NAME_BYTES)];
    let hidden = path.with_file_name(format!(".{beginning}.{}", std::process::id()));
    // No other process knows the hidden name.
    let failed = KeyError::file(path);
    drop(fs::remove_file(&hidden));
    let mode = if is_secret(text) { 0o600 } else { 0o644 };
    let mut file: File = OpenOptions::new().create_new(true).write(true).mode(mode).open(&hidden).map_err(&failed)?;
    let written = file
        .set_permissions(fs::Permissions::from_mode(mode))
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.sync_all());
    match written.map_err(&failed) {
        Ok(()) => Ok(hidden.clone()),
        Err(error) => {
            drop(fs::remove_file(&hidden));
            Err(error)
        }
    }
}
