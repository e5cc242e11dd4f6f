//! Status of a frame's transport checksum, as the kernel reports it.

use std::{fs, sync::OnceLock};

use tidewire_wire::ChecksumStatus;

/// The status of a frame (`tpacket_rcv`, net/packet/af_packet.c), where `is_checked` says what [`is_checked`] does.
#[inline]
pub(super) fn status(status: u32, is_checked: bool) -> ChecksumStatus {
    if status & libc::TP_STATUS_CSUMNOTREADY != 0 {
        ChecksumStatus::NotReady
    } else if is_checked && status & libc::TP_STATUS_CSUM_VALID != 0 {
        ChecksumStatus::Verified
    } else {
        ChecksumStatus::Unknown
    }
}

/// Whether this kernel sets `TP_STATUS_CSUM_VALID` only where a checksum was found right.
///
/// Until Linux commit b85f628aa158 ("packet: do not set TP_STATUS_CSUM_VALID on CHECKSUM_COMPLETE", November 2022) it was also
/// set where the network card had only summed the bytes up. Older series that have the change, too, are not recognised:
/// there the bytes are summed here, which gives the same answer later.
pub(super) fn is_checked() -> bool {
    static CHECKED: OnceLock<bool> = OnceLock::new();
    *CHECKED.get_or_init(|| fs::read_to_string("/proc/sys/kernel/osrelease").is_ok_and(|release| is_recent(&release)))
}

/// Whether a release, as in `6.1.0-18-amd64`, is 6.2 or later.
fn is_recent(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 2),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_believed_from_the_release_on_that_checks() {
        for release in ["6.2.0", "6.10.3-amd64", "7.0-rc1", "10.1", "6.2\n"] {
            assert!(is_recent(release), "{release}");
        }
        for release in ["6.1.119", "5.15.0-91-generic", "4.19", "6", "6.x", "", "v6.8"] {
            assert!(!is_recent(release), "{release}");
        }
        let (valid, unready) = (libc::TP_STATUS_CSUM_VALID, libc::TP_STATUS_CSUMNOTREADY);
        let both = |bits| [status(bits, true), status(bits, false)];
        assert_eq!(both(valid | 1), [ChecksumStatus::Verified, ChecksumStatus::Unknown]);
        assert_eq!(both(unready | 1), [ChecksumStatus::NotReady; 2]);
        assert_eq!(both(1), [ChecksumStatus::Unknown; 2]);
    }
}
