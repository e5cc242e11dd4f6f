//! Random bytes of the system: for keys, names and seeds that must not be guessed.

use std::io;

use rustix::{
    io::retry_on_intr,
    rand::{GetRandomFlags, getrandom},
};

/// Fills a buffer with random bytes (getrandom(2)). Waits while the machine, just started, has none.
///
/// # Errors
/// The system call fails: a filter forbids it, or the kernel is older than Linux 3.17.
pub fn fill(mut rest: &mut [u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match retry_on_intr(|| getrandom(&mut *rest, GetRandomFlags::empty()))? {
            0 => return Err(io::Error::other("no random numbers")),
            filled => rest = rest.get_mut(filled..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// Returns random bytes. Secrets that are wiped are made in place by [`fill`].
///
/// # Errors
/// As [`fill`].
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_filled_and_calls_differ() {
        // More than one system call may give (256 bytes at once is certain). All zeros in eight bytes: once in 2^64.
        let bytes = random_bytes::<1000>().unwrap();
        assert!(bytes.chunks(8).all(|chunk| chunk.iter().any(|byte| *byte != 0)));
        assert_ne!(random_bytes::<16>().unwrap(), random_bytes::<16>().unwrap());
        fill(&mut []).unwrap();
    }
}
