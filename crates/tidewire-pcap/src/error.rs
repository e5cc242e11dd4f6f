//! Writes messages to the error buffers of pcap(3PCAP).
//!
//! JUSTIFICATION: they are C strings in memory of the caller's.

use std::{ffi::c_char, ptr};

use tidewire_wire::legible::is_hidden;

/// The message if the system's library is missing.
pub const NO_SYSTEM: &str = "the system's libpcap was not found: install it (Debian: libpcap0.8); TIDEWIRE_LIBPCAP, where it is set, must name its file";

/// Writes a message, truncated to the buffer. Programs print it: control characters and invisible characters in quoted names
/// become question marks, and zeroes become spaces.
///
/// # Safety
/// The buffer has `bytes` bytes, or is null.
pub unsafe fn write(buffer: *mut c_char, bytes: usize, message: &str) {
    if buffer.is_null() || bytes == 0 {
        return;
    }
    let shown = |c: char| {
        if c == '\0' {
            ' '
        } else if is_hidden(c) {
            '?'
        } else {
            c
        }
    };
    let message: String = message.chars().map(shown).collect();
    let mut end = message.len().min(bytes - 1);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let text = &message.as_bytes()[..end];
    // SAFETY: the buffer has room for the text and the zero behind it, as was computed.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast::<u8>(), text.len());
        *buffer.add(text.len()) = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: usize, message: &str) -> Vec<u8> {
        let mut buffer = vec![0x55_u8; bytes];
        // SAFETY: the buffer has the length given.
        unsafe { write(buffer.as_mut_ptr().cast(), bytes, message) };
        buffer
    }

    #[test]
    fn messages_fit() {
        assert_eq!(written(6, "four"), b"four\0\x55");
        assert_eq!(written(5, "four"), b"four\0");
        assert_eq!(written(4, "four"), b"fou\0");
        assert_eq!(written(4, "zwö\0"), b"zw\0\x55", "no half character");
        assert_eq!(written(4, "a\0b"), b"a b\0");
        assert_eq!(written(9, "a\x1b[2J\n\u{202e}b"), b"a?[2J??b\0");
        assert_eq!(written(0, "x"), b"");
        // SAFETY: null is allowed.
        unsafe { write(ptr::null_mut(), 256, "x") };
    }
}
