//! Lines that come together, and the same in pieces: what they say is the same.

use proptest::prelude::*;
use tidewire_core::Direction::{ClientToServer, ServerToClient};

use crate::testing::{Sent, transactions};

/// Commands of SMTP, LMTP and FTP, and bytes of mails.
const CLIENT_LINES: [&str; 51] = [
    "RSET\r\n",
    "NOOP\n",
    "EHLO\n",
    "EHLO  \n",
    "EHLO b\n",
    "HELO cd\n",
    "EHLO \t\n",
    "BDAT 1\na",
    "BDAT 9\n",
    "BDAT x\n",
    "BDAT\n",
    "BDAT +5\nabcde",
    "BDAT \t2\nab",
    "BDAT 2x\n",
    "BDAT 99999999999999999999\n",
    "BDAT 1\tLAST\n",
    "BDAT 0 LASTS\n",
    "BDAT 2 LAST\nab",
    "RCPT\n",
    "MAIL\n",
    "STARTTLS \n",
    "STARTTLX\n",
    "DATA\na\n.\n",
    "DATA\n.\n",
    "AUTH\n",
    "EHLO a\r\n",
    "helo b \n",
    "LHLO c\n",
    "EHLO\t\r\n",
    "RSET\n",
    "DATA\r\n",
    ".\r\n",
    ".\n",
    "..\n",
    "BDAT 3\nabc",
    "BDAT 7 LAST\r\n.\nRSET\n",
    "BDAT 0 last\n",
    "MAIL FROM:<a>\r\n",
    "RCPT TO:<b>\n",
    "a\n",
    "\n",
    "\r\n",
    "   rset\n",
    "STARTTLS\n",
    "a line of a mail that has more than as many bytes as a short one\r\n",
    "USER a\n",
    "RETR b\r\n",
    "auth tls\n",
    "mkd\tc\n",
    "\n\n\n\n\n\n\n\n\n\n\n\n",
    "DATA",
];
const SERVER_LINES: [&str; 16] = [
    "250\r\n",
    "22\n0\n",
    "234\n",
    "a\n25",
    "220 mx\r\n",
    "220-mx\n",
    "250 a\r\n",
    "250-\n",
    "250\n",
    "354 b\n",
    "554 c\n",
    "150 d\n",
    "a\n",
    "\r\n",
    "25\n",
    "2500\n",
];
const FIELDS: [&str; 34] = [
    " b\n",
    "  \n",
    " ,\n",
    " +\n",
    "a\n",
    "ab\n",
    "\tb\n",
    "a:b\r\n",
    "host:\r\n",
    " 3\n",
    " ,3\n",
    "hos\n",
    "host\n",
    "\x0b\n",
    "Host: a\r\n",
    "host:\n",
    "Host : b\n",
    "Content-Length: 3\n",
    "content-length:x\n",
    "content-length: 3, 3\r\n",
    "Transfer-Encoding: a, chunked\r\n",
    "transfer-encoding:\n",
    "transfer-encoding: b,,\n",
    " chunked\n",
    "\tc\r\n",
    "d\n",
    "User-Agent: e\r\n",
    "user-agent:\r\n",
    "Server: f\n",
    "Location:\n",
    "content-type: g\n",
    "contents: h\n",
    "referer:\n",
    " \n",
];
const STATUS_LINES: [&str; 7] = [
    "HTTP/1.1 100 Continue\r\n",
    "HTTP/1.0 103\n",
    "HTTP/2 199 a\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 99\n",
    "HTTP/x 100\n",
    "\n",
];

fn some_of(lines: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(lines), 0..most).prop_map(|lines| lines.concat())
}

fn head() -> impl Strategy<Value = String> {
    (
        proptest::sample::select(&STATUS_LINES[..]),
        some_of(&FIELDS, 6),
        proptest::sample::select(&["\n", "\r\n", ""][..]),
    )
        .prop_map(|(first, fields, end)| [first, &fields, end].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Whole lines are read together, and in pieces one by one.
    #[test]
    fn lines_say_the_same_however_they_are_cut(
        turns in proptest::collection::vec((some_of(&CLIENT_LINES, 60), some_of(&SERVER_LINES, 20)), 1..5),
        fields in some_of(&FIELDS, 100),
        heads in proptest::collection::vec(head(), 0..8),
        port in prop_oneof![Just(21_u16), Just(24), Just(25)],
    ) {
        let mut pieces = vec![(ServerToClient, b"220 mx\r\n".to_vec()), (ClientToServer, b"EHLO a\r\n".to_vec())];
        for (commands, replies) in turns {
            pieces.extend([(ClientToServer, commands.into_bytes()), (ServerToClient, replies.into_bytes())]);
        }
        let lines = Sent::of(&pieces);
        prop_assert_eq!(transactions(&lines.clone().bytewise(), port), transactions(&lines, port));
        let request = format!("POST / HTTP/1.1\r\n{fields}\r\nabcGET / HTTP/1.1\r\n\r\n");
        let conversation =
            Sent::of(&[(ClientToServer, request.into_bytes()), (ServerToClient, heads.concat().into_bytes())]);
        prop_assert_eq!(transactions(&conversation.clone().bytewise(), 80), transactions(&conversation, 80));
    }
}
