//! What a crash or the disk left in a segment that is not what was written: cut off, or taken out.

use std::{fs::File, io, ops::Range, os::unix::fs::FileExt as _, path::Path};

use crate::{
    Compression, Directory, Error, SegmentName,
    excise::{self, Cure},
    name::sums_of,
    read_at::{Plain, ReadAt as _, open_regular},
    sums,
};

impl Directory {
    /// Cuts off what is not what was written, as far as that is known: a disk stores the sectors of a write in any order. Returns
    /// what of the rest was changed.
    pub(super) fn compare_sums(
        &self,
        path: &Path,
        name: &SegmentName,
        file: &File,
        bytes: u64,
    ) -> Result<Vec<Range<u64>>, Error> {
        let sums = self.path().join(sums_of(&name.to_string()));
        let mut known = match open_regular(&sums) {
            Ok(found) => Plain::new(found, &sums)?,
            // An older recorder had none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io(&sums, "opening")(error)),
        };
        let copy = file.try_clone().map_err(Error::io(path, "opening, to repair it"))?;
        let whole = sums::compare(&mut known, &mut Plain::new(copy, path)?)?;
        if whole.bytes < bytes {
            file.set_len(whole.bytes).map_err(Error::io(path, "cutting off what was not written whole"))?;
        }
        Ok(whole.damaged)
    }

    /// Takes what was changed out of a segment. `None`: it cannot be read without that.
    pub(super) fn cure(
        &self,
        path: &Path,
        name: &SegmentName,
        file: &File,
        damaged: &[Range<u64>],
    ) -> Result<Option<()>, Error> {
        let Some(first) = damaged.first() else { return Ok(Some(())) };
        let failed = |error| Error::io(path, "taking out what the disk changed")(error);
        if name.is_sealed {
            // Each frame proves itself, and cannot be made again.
            return Ok(Some(()));
        }
        if name.compression != Compression::None {
            // So does each frame here; what is behind is not found without it.
            if first.start > 0 {
                file.set_len(first.start).map_err(failed)?;
            }
            return Ok((first.start > 0).then_some(()));
        }
        let copy = file.try_clone().map_err(failed)?;
        let mut data = Plain::new(copy, path)?;
        let end = data.bytes();
        for cure in excise::cures(&mut data, end, damaged)? {
            match cure {
                Cure::TakeOut(range) => {
                    file.write_all_at(&excise::filler(range.end - range.start), range.start).map_err(failed)?;
                }
                Cure::End(at) => file.set_len(at).map_err(failed)?,
                Cure::Nothing => return Ok(None),
            }
        }
        Ok(Some(()))
    }
}
