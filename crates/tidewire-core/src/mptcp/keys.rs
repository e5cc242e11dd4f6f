//! Values derived from a key: token and first data sequence number (RFC 8684 sections 3.1 and 3.2; RFC 6824 for version 0).

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// The token that names the connection to the host with this key, and the data sequence number of the first byte that this host
/// sends.
pub(crate) fn token_and_first(version: u8, key: u64) -> (u32, u64) {
    let key = key.to_be_bytes();
    match version {
        0 => ends(&Sha1::digest(key)),
        _ => ends(&Sha256::digest(key)),
    }
}

/// Of a digest, the first 32 bits; and the last 64, which number the byte before the first.
fn ends(digest: &[u8]) -> (u32, u64) {
    let token = digest.first_chunk().map_or(0, |first| u32::from_be_bytes(*first));
    let before = digest.last_chunk().map_or(0, |last| u64::from_be_bytes(*last));
    (token, before.wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of connections of Linux: the captures of ptcpdump (version 1) and tcpdump (version 0).
    #[test]
    fn keys_give_what_hosts_derived_of_them() {
        assert_eq!(token_and_first(1, 0x1fdb_5df3_28bc_3def).1, 14_413_541_604_287_230_030);
        assert_eq!(token_and_first(1, 0x29a6_c869_81ad_933c).1, 11_713_449_205_243_392_242);
        assert_eq!(token_and_first(0, 0x9b59_be3d_695e_66a7).1 as u32, 2_976_985_014);
        assert_eq!(token_and_first(0, 0xd005_b1ab_34ba_d344).1 as u32, 3_386_645_601);
        assert_eq!(token_and_first(1, 0xb2b2_b2b2_b2b2_b2b2).0, 0xe9fa_cdea);
    }
}
