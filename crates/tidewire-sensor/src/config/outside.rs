//! Checks of names in a configuration against this machine: folders, the store's place, keys, addresses.

use std::{fs, io, net::TcpListener, path::Path, time::SystemTime};

use rustix::fs::{Access, access};
use tidewire_delivery::keys::{KeyError, Places, Role};
use tidewire_outputs::place::links::{self, Missing};

use super::doubt::Doubt;

/// A folder that is there and can be written.
pub fn folder(path: &Path) -> Result<(), Doubt> {
    let shown = path.display();
    foreign_links(path)?;
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Doubt::Now(format!("{shown}: there is no such folder")))
        }
        Err(error) => Err(Doubt::Now(format!("{shown}: {error}"))),
        Ok(found) if !found.is_dir() => Err(Doubt::Unreachable(format!("{shown} is no folder"))),
        Ok(_) => writable(path),
    }
}

/// Links that are not followed, because another user put them there.
fn foreign_links(path: &Path) -> Result<(), Doubt> {
    match links::find(path, Missing::Refuse) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(Doubt::Now(format!("{}: {error}", path.display())))
        }
        // Other errors have messages of their own elsewhere.
        _ => Ok(()),
    }
}

fn writable(path: &Path) -> Result<(), Doubt> {
    let tried = access(path, Access::WRITE_OK | Access::EXEC_OK);
    tried.map_err(|error| {
        Doubt::Now(format!("{} cannot be written by this user: {}", path.display(), io::Error::from(error)))
    })
}

/// A file that can be made, in a folder that may have to be made first.
pub fn store(path: &Path) -> Result<(), Doubt> {
    foreign_links(path)?;
    if path.is_dir() {
        return Err(Doubt::Unreachable(format!("{} is a folder", path.display())));
    }
    tidewire_event_store::check_owner(path).map_err(|error| Doubt::Now(error.to_string()))?;
    if tidewire_event_store::is_of_another_program(path) {
        return Err(Doubt::Unreachable(format!("{} is a database of another program", path.display())));
    }
    let above = path.ancestors().skip(1).find(|above| above.exists());
    match above {
        Some(above) if !above.is_dir() => Err(Doubt::Unreachable(format!("{} is no folder", above.display()))),
        Some(above) => writable(above),
        None => Ok(()),
    }
}

/// Keys and certificates of a sensor.
pub fn keys(places: &Places) -> Result<(), Doubt> {
    let credentials = places.read().map_err(|error| match error {
        KeyError::Content { .. } | KeyError::Missing(_) => Doubt::Unreachable(error.to_string()),
        _ => Doubt::Now(error.to_string()),
    })?;
    let (shown, facts) = (credentials.path.display(), &credentials.facts);
    if facts.role == Role::Collector {
        return Err(Doubt::Unreachable(format!("{shown} is for a collector, and proves no sensor's name")));
    }
    match facts.left(SystemTime::now()) {
        Some(_) => Ok(()),
        None => Err(Doubt::Now(format!("{shown}: the certificate is not valid now, see tidewire keys show"))),
    }
}

/// An address with a port, as `127.0.0.1:9600` or `:9600`.
pub fn listen(address: &str) -> Result<(), Doubt> {
    let full = if address.starts_with(':') { format!("[::]{address}") } else { address.to_owned() };
    TcpListener::bind(full).map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Doubt::Now("the port is in use: by another process, or by this sensor".into()),
        io::ErrorKind::PermissionDenied => Doubt::Now(error.to_string()),
        _ => Doubt::Unreachable(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::{PermissionsExt as _, lchown, symlink},
        path::PathBuf,
        time::Duration,
    };

    use tidewire_delivery::keys::{Authority, Validity, files};

    use super::*;

    fn never(doubt: Result<(), Doubt>) -> String {
        let Err(Doubt::Unreachable(what)) = doubt else { panic!("{doubt:?}") };
        what
    }

    fn now(doubt: Result<(), Doubt>) -> String {
        let Err(Doubt::Now(what)) = doubt else { panic!("{doubt:?}") };
        what
    }

    #[test]
    fn folders_and_the_stores_place_are_looked_at() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, file) = (scratch.path(), scratch.path().join("file"));
        fs::write(&file, "").unwrap();
        assert_eq!((folder(path), store(&path.join("a/b/events.db")), store(&file)), (Ok(()), Ok(()), Ok(())));
        assert!(now(folder(&path.join("none"))).ends_with("there is no such folder"));
        assert!(never(folder(&file)).ends_with("is no folder"));
        assert!(never(store(path)).ends_with("is a folder"));
        let mut header = b"SQLite format 3\0".to_vec();
        header.resize(100, 0);
        fs::write(&file, &header).unwrap();
        assert!(never(store(&file)).ends_with("is a database of another program"));
        fs::write(scratch.path().join("file-wal"), "what was not written back yet").unwrap();
        assert_eq!(store(&file), Ok(()));
        assert!(never(store(&file.join("events.db"))).ends_with("file is no folder"));
    }

    #[test]
    fn what_another_user_put_there_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        fs::create_dir(at("there")).unwrap();
        symlink(at("there"), at("link")).unwrap();
        fs::write(at("events.db.lock"), "").unwrap();
        if lchown(at("link"), Some(12_345), None).is_err() {
            return println!("skipped: files of other users need root");
        }
        lchown(at("events.db.lock"), Some(12_345), None).unwrap();
        for found in [folder(&at("link")), store(&at("link/events.db"))] {
            assert!(now(found).contains("link of another user (12345)"));
        }
        assert!(now(store(&at("events.db"))).contains("belongs to another user (12345)"));
    }

    #[test]
    fn keys_have_to_be_a_sensors() {
        let scratch = tempfile::tempdir().unwrap();
        let year = Validity::of(Duration::from_secs(365 * 86_400));
        let (authority, text) = Authority::make("tests", year).unwrap();
        let file = |name: &str, text: &str| -> PathBuf {
            let path = scratch.path().join(name);
            files::create(&path, text).unwrap();
            path
        };
        let of = |path: &Path| Places { keys: Some(path.to_owned()), ..Places::default() };
        let sensor = file("sensor.pem", &authority.sensor("edge-1", year).unwrap());
        let collector = file("collector.pem", &authority.collector(&["localhost".to_owned()], year).unwrap());
        let authority = file("authority.pem", &text);
        assert_eq!(keys(&of(&sensor)), Ok(()));
        assert!(never(keys(&of(&collector))).contains("is for a collector"));
        assert!(never(keys(&of(&authority))).contains("that of an authority"));
        let other = file("edge-2.pem", &Authority::make("others", year).unwrap().0.sensor("edge-1", year).unwrap());
        let mixed = Places { key: Some(other), ..of(&sensor) };
        assert!(never(keys(&mixed)).contains("the key is another certificate's"));
        let swapped = Places {
            certificate: Some(sensor.clone()),
            key: Some(sensor.clone()),
            authority: Some(file("other.txt", "nothing")),
            ..Places::default()
        };
        assert!(never(keys(&swapped)).contains("no certificate of an authority"));
        assert!(now(keys(&of(Path::new("/nowhere")))).contains("/nowhere: "));
    }

    #[test]
    fn addresses_are_tried() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        assert!(now(listen(&address)).contains("in use"));
        drop(taken);
        assert_eq!(listen("127.0.0.1:0"), Ok(()));
        for wrong in ["9600", "127.0.0.1", "127.0.0.1:99999", "192.0.2.1:9600", ""] {
            never(listen(wrong));
        }
    }
}
