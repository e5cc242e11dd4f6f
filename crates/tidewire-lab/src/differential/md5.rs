//! MD5 (RFC 1321), only for signatures of segments.

/// Left rotations, by round.
const ROTATIONS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The digest of a message.
pub fn md5(message: &[u8]) -> [u8; 16] {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((message.len() as u64 * 8).to_le_bytes());
    for block in padded.chunks_exact(64) {
        let word =
            |at: usize| u32::from_le_bytes([block[at * 4], block[at * 4 + 1], block[at * 4 + 2], block[at * 4 + 3]]);
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64_usize {
            let (mixed, at) = match step / 16 {
                0 => (b & c | !b & d, step),
                1 => (d & b | !d & c, 5 * step + 1),
                2 => (b ^ c ^ d, 3 * step + 5),
                _ => (c ^ (b | !d), 7 * step),
            };
            // RFC 1321 section 3.4: the table is computed from the sine.
            let sine = (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
            let sum = a.wrapping_add(mixed).wrapping_add(sine).wrapping_add(word(at % 16));
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(ROTATIONS[step / 16][step % 4]));
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d]) {
            *sum = sum.wrapping_add(part);
        }
    }
    let mut digest = [0; 16];
    for (bytes, part) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&part.to_le_bytes());
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::md5;

    /// RFC 1321 appendix A.5, and lengths around a block.
    #[test]
    fn digests_are_those_of_the_standard() {
        let hex = |text: &str| md5(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        let digits = "1234567890".repeat(8);
        assert_eq!(hex(&digits), "57edf4a22be3c955ac49da2e2107b67a");
        assert_eq!(hex(&digits[..55]), FIFTY_FIVE);
        assert_eq!(hex(&digits[..56]), FIFTY_SIX);
    }

    /// Digests computed by other programs.
    const FIFTY_FIVE: &str = "c9ccf168914a1bcfc3229f1948e67da0";
    const FIFTY_SIX: &str = "49f193adce178490e34d1b3a4ec0064c";
}
