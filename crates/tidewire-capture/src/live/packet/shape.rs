use crate::Error;

/// Bytes of a block where the ring is large enough.
///
/// Large ones wake the worker seldom: 1,700 frames of 64 bytes fit, and a wakeup costs one system call. Small ones are many:
/// a quiet link uses one up every 5 ms, however little is in it, so that a worker may be away for
/// blocks times that (1.3 s with a ring of 64 MiB) before frames are lost.
const BLOCK_BYTES: u32 = 256 << 10;
/// Bytes of the smallest block: a frame of 64 KiB fits, with its headers.
const BLOCK_BYTES_MIN: u32 = 128 << 10;
/// Blocks that a ring should have: the kernel fills one while others are being read.
const BLOCKS_MIN: usize = 8;
/// Blocks that a ring must have.
const BLOCKS_LEAST: usize = 2;

/// Blocks of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub blocks: u32,
    pub block_bytes: u32,
}

impl Shape {
    /// The shape of a ring of at most `bytes`.
    ///
    /// # Errors
    /// [`Error::Setting`] where that is too little, or more than a ring can have.
    pub fn of(bytes: usize) -> Result<Self, Error> {
        let mut block_bytes = BLOCK_BYTES;
        while block_bytes > BLOCK_BYTES_MIN && bytes / (block_bytes as usize) < BLOCKS_MIN {
            block_bytes /= 2;
        }
        let blocks = bytes / block_bytes as usize;
        // The kernel counts a ring's bytes in 32 bits.
        let blocks = u32::try_from(blocks).ok().filter(|blocks| blocks.checked_mul(block_bytes).is_some());
        match blocks {
            Some(blocks) if blocks as usize >= BLOCKS_LEAST => Ok(Self { blocks, block_bytes }),
            Some(_) => Err(Error::Setting(format!(
                "a ring of {bytes} bytes is too small: it needs {} KiB",
                (BLOCKS_LEAST * BLOCK_BYTES_MIN as usize) >> 10
            ))),
            None => Err(Error::Setting(format!("a ring of {bytes} bytes is too large: it can have less than 4 GiB"))),
        }
    }

    /// Its length.
    pub fn bytes(self) -> usize {
        self.blocks as usize * self.block_bytes as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_fit_what_they_are_given() {
        for (bytes, blocks, block_bytes) in
            [(64 << 20, 256, 256 << 10), (2 << 20, 8, 256 << 10), (1 << 20, 8, 128 << 10), (300 << 10, 2, 128 << 10)]
        {
            let shape = Shape::of(bytes).unwrap();
            assert_eq!(shape, Shape { blocks, block_bytes });
            assert!(shape.bytes() <= bytes);
        }
        for bytes in [0, 255 << 10, 4 << 30, usize::MAX] {
            assert!(Shape::of(bytes).is_err(), "{bytes}");
        }
    }
}
