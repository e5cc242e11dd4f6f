//! Removes bytes that a crash or the disk changed in a segment: cut off, or taken out.

use std::{fs::File, ops::Range, os::unix::fs::FileExt as _};

use crate::{
    Compression, Directory, Error, SegmentName,
    excise::{self, Cure},
    read_at::{Plain, ReadAt as _},
    remains::remains_in,
};

impl Directory {
    /// Cuts off what is not what was written, as far as that is known: a disk stores the sectors of a write in any order. Returns
    /// what of the rest was changed. `None`: nothing is known of any of it, and it is as it was.
    pub(super) fn compare_sums(
        &self,
        name: &SegmentName,
        file: &File,
        bytes: u64,
    ) -> Result<Option<Vec<Range<u64>>>, Error> {
        let path = &*self.part(name);
        let copy = file.try_clone().map_err(Error::io(path, "opening, to repair it"))?;
        // An older recorder left no checksums.
        let Some(whole) = remains_in(self.storage(), name, &mut Plain::new(copy, path)?)? else {
            return Ok(Some(Vec::new()));
        };
        // Its checksums are gone: a closer look by hand may find packets in it.
        if whole.bytes == 0 && bytes > 0 {
            return Ok(None);
        }
        if whole.bytes < bytes {
            file.set_len(whole.bytes).map_err(Error::io(path, "cutting off what was not written whole"))?;
        }
        Ok(Some(whole.damaged))
    }

    /// Takes what was changed out of a segment. `None`: it cannot be read without that.
    pub(super) fn cure(&self, name: &SegmentName, file: &File, damaged: &[Range<u64>]) -> Result<Option<()>, Error> {
        let Some(first) = damaged.first() else { return Ok(Some(())) };
        let path = &*self.part(name);
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
