//! Segments and indexes get their names: once they are whole, and synced.

use std::io;

use crate::{
    Error, Recipients, Sections, SegmentName, Storage, StorageFile as _, Summary,
    index::write,
    name::hidden,
    seal::{Content, SealWriter},
};

/// The file of an index, sealed if segments are.
pub(crate) fn index_file(
    sections: &Sections,
    summary: &Summary,
    recipients: Option<&Recipients>,
) -> Result<Vec<u8>, Error> {
    let plain = write(sections, summary);
    let Some(recipients) = recipients else { return Ok(plain) };
    let mut sealed = Vec::new();
    let mut seal = SealWriter::begin(recipients, Content::Index, &mut sealed)?;
    seal.push(&plain, &mut sealed);
    seal.finish(&mut sealed);
    Ok(sealed)
}

/// Renames a segment and its index: the index first, so that each complete segment has one.
pub(crate) fn publish<S: Storage>(storage: &S, name: &SegmentName, index: &[u8]) -> Result<(), Error> {
    let (shown, index_name) = (name.to_string(), name.index());
    write_index(storage, &index_name, index)?;
    match storage.rename(&hidden(&shown), &shown) {
        Ok(()) => {}
        // It was renamed before an error, and this is the second call.
        Err(error) if error.kind() == io::ErrorKind::NotFound && storage.has(&shown) => {}
        Err(error) => return Err(Error::io(storage.path(&shown), "giving the segment its name")(error)),
    }
    storage.sync_names().map_err(Error::io(storage.path(""), "syncing the directory"))
}

/// Writes an index under a hidden name, and renames it.
pub(crate) fn write_index<S: Storage>(storage: &S, name: &str, index: &[u8]) -> Result<(), Error> {
    let hidden = hidden(name);
    match storage.remove(&hidden) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io(storage.path(&hidden), "removing an unfinished index")(error));
        }
        _ => {}
    }
    let mut file = storage.create(&hidden).map_err(Error::io(storage.path(&hidden), "creating"))?;
    // Blocks that were allocated ahead go: retention counts bytes, and an index has few.
    let written = file.write_at(index, 0).and_then(|()| file.truncate(index.len() as u64)).and_then(|()| file.sync());
    if let Err(error) = written {
        // The next attempt writes it again, and a disk that is full has room for something else meanwhile.
        let _ = storage.remove(&hidden);
        return Err(Error::io(storage.path(&hidden), "writing")(error));
    }
    storage.rename(&hidden, name).map_err(Error::io(storage.path(name), "giving the index its name"))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt as _};

    use super::*;
    use crate::Folder;

    #[test]
    fn an_index_takes_no_more_blocks_than_its_bytes_need() {
        let place = tempfile::tempdir().expect("a folder");
        let index = vec![7; 5000];
        write_index(&Folder::open(place.path()).expect("a folder"), "one.tidx", &index).expect("written");
        let found = fs::metadata(place.path().join("one.tidx")).expect("there");
        assert!(found.len() == 5000 && found.blocks() * 512 <= 16 << 10, "{} blocks", found.blocks());
    }
}
