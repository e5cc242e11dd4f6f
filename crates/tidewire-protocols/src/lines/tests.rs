use tidewire_core::Direction::{ClientToServer, ServerToClient};

use crate::{
    Fields, Ftp, Ports, Service, Smtp, Transaction,
    testing::{Event, Sent, packets, transactions, transactions_of},
};

/// The server first, then both in turn.
fn session(lines: &[&str]) -> Sent {
    let directions = [ServerToClient, ClientToServer].into_iter().cycle();
    let pieces: Vec<_> = directions.zip(lines).map(|(direction, text)| (direction, text.as_bytes().to_vec())).collect();
    Sent::of(&pieces)
}

fn smtp(one: &Transaction) -> &Smtp {
    match &one.fields {
        Fields::Smtp(smtp) => smtp,
        other => panic!("{other:?}"),
    }
}

fn recipients(one: &Transaction) -> Vec<&str> {
    smtp(one).rcpt_to.iter().map(|text| &**text).collect()
}

/// Client, sender and recipients.
fn mail(one: &Transaction) -> (&str, Option<&str>, Vec<&str>) {
    (smtp(one).client.as_deref().unwrap_or_default(), smtp(one).mail_from.as_deref(), recipients(one))
}

#[test]
fn a_mail_has_sender_and_recipients() {
    let sent = session(&[
        "220-mx.example.org ESMTP\r\n220 ready\r\n",
        "EHLO client.example\r\n",
        "250-mx.example.org\r\n250 SIZE\r\n",
        "MAIL FROM:<a@example.org> SIZE=3\r\nRCPT TO:<b@example.org>\r\nRCPT TO: c@example.org\r\nDATA\r\n",
        "250 ok\r\n250 ok\r\n250 ok\r\n354 go on\r\n",
        "MAIL FROM:<forged@example.org>\r\n . \r\nRCPT TO:<x>\r\n.\t\r\nRCPT TO:<y>\r\n.\r\nQUIT\r\nRCPT TO:<d@example.org>\r\n",
    ]);
    let found = transactions(&sent, 25);
    let expected = Smtp {
        server: Some("mx.example.org".into()),
        client: Some("client.example".into()),
        mail_from: Some("a@example.org".into()),
        rcpt_to: vec!["b@example.org".into(), "c@example.org".into()],
        starttls: false,
    };
    // Commands behind the mail belong to another one.
    assert_eq!((found.len(), recipients(&found[1])), (2, vec!["d@example.org"]));
    assert_eq!((found[0].service, found[0].name()), (Service::Smtp, Some("mx.example.org")));
    assert_eq!(found[0].fields, Fields::Smtp(expected.into()));
    assert_eq!(transactions(&sent.bytewise(), 25), found);
}

/// RFC 2920: commands are sent before earlier ones are answered.
#[test]
fn each_reply_answers_its_own_command() {
    let sent = session(&[
        "220 mx.example.org\r\n",
        "EHLO client.example\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<no@example.org>\r\nRCPT TO:<b@example.org>\r\nDATA\r\n",
        "250 mx\r\n250 ok\r\n550 no such user\r\n250 ok\r\n354 go on\r\n",
        "RCPT TO:<forged@example.org>\r\nEHLO forged\r\n.\r\nMAIL FROM:<c@example.org>\r\nDATA\r\n",
        "250 taken\r\n250 ok\r\n503 no recipient\r\n",
        "RCPT TO:<d@example.org>\r\n",
    ]);
    let found = transactions(&sent, 25);
    let [first, second] = &found[..] else { panic!("{found:?}") };
    assert_eq!(mail(first), ("client.example", Some("a@example.org"), vec!["no@example.org", "b@example.org"]));
    // DATA was refused: the mail is still the same.
    assert_eq!(mail(second), ("client.example", Some("c@example.org"), vec!["d@example.org"]));
    assert_eq!(transactions(&sent.bytewise(), 25), found);
    let sent = session(&[
        "220 here\r\n",
        "EHLO client.example\r\nSTARTTLS\r\n",
        "250-here\r\n250 STARTTLS\r\n220 go on\r\n",
        "\x16\x03\x01\x00\x05\x01\x00\x00\x00\x00",
    ]);
    let found = transactions(&sent, 587);
    assert!(matches!(&found[0].fields, Fields::Smtp(smtp) if smtp.starttls), "{found:?}");
}

#[test]
fn what_is_inside_of_tls_is_looked_at() {
    let hello = "\x16\x03\x01\x00\x05\x01\x00\x00\x00\x00";
    for (port, ask, agree) in [(587, "STARTTLS", "220"), (21, "AUTH TLS", "234")] {
        let sent =
            session(&["220 here\r\n", &format!("{ask}\r\n"), &format!("{agree} go on\r\n"), hello, "\x15\x03\x01"]);
        let found = transactions(&sent, port);
        let starttls = match &found[0].fields {
            Fields::Smtp(smtp) => smtp.starttls,
            Fields::Ftp(ftp) => ftp.starttls,
            other => panic!("{other:?}"),
        };
        assert!(starttls, "{found:?}");
        assert_eq!(transactions(&sent.bytewise(), port), found);
    }
}

#[test]
fn a_session_of_ftp_has_its_files() {
    let sent = session(&[
        "220 (vsFTPd 3.0.5)\r\n",
        "USER anonymous\r\nPASS secret\r\nRETR /a b.txt\r\n",
        "331 password\r\n230 in\r\n150 here\r\n",
    ]);
    let found = transactions(&sent, 21);
    let expected = Ftp {
        server: Some("(vsFTPd 3.0.5)".into()),
        user: Some("anonymous".into()),
        commands: vec!["RETR /a b.txt".into()],
        starttls: false,
    };
    assert_eq!(found[0].fields, Fields::Ftp(expected.into()));
    // On another port, by its greeting.
    assert_eq!(transactions(&session(&["220 x FTP server\r\n"]), 2121)[0].service, Service::Ftp);
    assert_eq!(transactions(&session(&["220 mx ESMTP\r\n"]), 2525)[0].service, Service::Smtp);
    assert_eq!(transactions(&session(&["220 hello\r\n"]), 9999), []);
}

/// A client's port, or a server's name, says nothing about the protocol; the greeting says most.
#[test]
fn a_greeting_wins_over_ports() {
    let cases = [
        ("220 FTP Service\r\n", 2525, 21, Some(Service::Ftp)),
        ("220 (vsFTPd 3.0.3)\r\n", 2525, 21, Some(Service::Ftp)),
        ("220 hello\r\n", 2525, 21, Some(Service::Ftp)),
        ("220 FTP Service\r\n", 4000, 25, Some(Service::Ftp)),
        ("220 hello\r\n", 21, 587, Some(Service::Smtp)),
        ("220 ftp.example.org ready\r\n", 21, 25, Some(Service::Smtp)),
        ("220 ftp.example.org ready\r\n", 4000, 9999, Some(Service::Ftp)),
        ("220 smtp.example.org FTP for SMTP\r\n", 25, 21, Some(Service::Ftp)),
        ("220 hello\r\n", 21, 9999, None),
    ];
    for (greeting, client, server, expected) in cases {
        let sent = session(&[greeting]);
        let found = transactions_of(&sent, Ports { client, server });
        assert_eq!(found.first().map(|one| one.service), expected, "{greeting} {client} {server}");
        assert_eq!(transactions_of(&sent.bytewise(), Ports { client, server }), found);
    }
}

#[test]
fn first_commands_distinguish_greetings() {
    let cases = [
        ("220 hello\r\n", "ehlo client.example\r\n", Some(Service::Smtp)),
        ("220 hello\r\n", "USER anonymous\r\n", Some(Service::Ftp)),
        ("220 hello\r\n", "AUTH TLS\r\n", Some(Service::Ftp)),
        ("220 hello\r\n", "NOOP\r\n", None),
    ];
    for (greeting, command, expected) in cases {
        let sent = session(&[greeting, command]);
        let found = transactions(&sent, 9999);
        assert_eq!(found.first().map(|one| one.service), expected, "{command}");
        assert_eq!(transactions(&sent.bytewise(), 9999), found, "{command}");
    }
}

#[test]
fn a_client_alone_shows_smtp_in_any_letters() {
    for first in ["ehlo client.example\r\n", "HeLo client.example\r\n"] {
        let text = format!("{first}mail from:<a@example.org>\r\nrcpt to:<b@example.org>\r\n");
        let sent = Sent::of(&[(ClientToServer, text.into_bytes())]);
        for port in [25, 4000] {
            let found = transactions(&sent, port);
            let [one] = &found[..] else { panic!("{found:?}") };
            let expected = Smtp {
                client: Some("client.example".into()),
                mail_from: Some("a@example.org".into()),
                rcpt_to: vec!["b@example.org".into()],
                ..Smtp::default()
            };
            assert_eq!(one.fields, Fields::Smtp(expected.into()));
            assert_eq!(transactions(&sent.clone().bytewise(), port), found);
        }
    }
}

#[test]
fn the_client_is_whom_the_server_accepted() {
    let cases = [
        (["EHLO one\r\n", "250 ok\r\n", "EHLO\r\n", "501 no\r\n"], "one"),
        (["EHLO one\r\n", "250 ok\r\n", "HELO two\r\n", "503 no\r\n"], "one"),
        (["EHLO\r\n", "501 no\r\n", "HELO two\r\n", "250 ok\r\n"], "two"),
        (["EHLO one\r\n", "502 no\r\n", "HELO two\r\n", "250-ok\r\n250 ok\r\n"], "two"),
    ];
    for (lines, expected) in cases {
        let sent = session(&[&["220 mx ESMTP\r\n"], &lines[..]].concat());
        let found = transactions(&sent, 25);
        let Fields::Smtp(smtp) = &found[0].fields else { panic!("{found:?}") };
        assert_eq!(smtp.client.as_deref(), Some(expected), "{lines:?}");
        assert_eq!(transactions(&sent.bytewise(), 25), found);
    }
}

#[test]
fn mail_in_chunks_is_not_read() {
    let sent = session(&[
        "220 mx ESMTP\r\n",
        "EHLO a\r\nMAIL FROM:<a>\r\nRCPT TO:<b>\r\nBDAT 25\r\nRCPT TO:<x>\r\nRCPT TO:<y>BDAT 0 LAST\r\nRCPT TO:<c>\r\nBDAT 99999999999999999999\r\n",
    ]);
    let found = transactions(&sent, 25);
    let Fields::Smtp(smtp) = &found[0].fields else { panic!("{found:?}") };
    assert_eq!(smtp.rcpt_to, ["b".into(), "c".into()] as [Box<str>; 2]);
    assert_eq!(transactions(&sent.bytewise(), 25), found);
}

/// Without a greeting the server's port and a command of the client decide.
#[test]
fn sessions_joined_midway_have_what_follows() {
    let commands = "CWD /pub\r\nRETR a.txt\r\n";
    for replies in [&[][..], &["250 done\r\n"], &["226-sent\r\n226 all\r\n"]] {
        let mut pieces: Vec<_> = replies.iter().map(|reply| (ServerToClient, reply.as_bytes().to_vec())).collect();
        pieces.extend([
            (ClientToServer, commands.as_bytes().to_vec()),
            (ServerToClient, b"250 ok\r\n150 here\r\n".to_vec()),
        ]);
        let sent = Sent::of(&pieces);
        let found = transactions(&sent, 21);
        let Fields::Ftp(ftp) = &found[0].fields else { panic!("{found:?}") };
        assert_eq!((&ftp.commands[..], &ftp.server), (&["RETR a.txt".into()][..], &None), "{replies:?}");
        assert!(transactions(&sent, 9000).is_empty());
        assert_eq!(transactions(&sent.bytewise(), 21), found);
    }
    let sent = Sent::of(&[(ClientToServer, b"MAIL FROM:<a@example.org>\r\nRCPT TO:<b@example.org>\r\n".to_vec())]);
    let found = transactions(&sent, 25);
    let Fields::Smtp(smtp) = &found[0].fields else { panic!("{found:?}") };
    assert_eq!((smtp.mail_from.as_deref(), smtp.rcpt_to.len()), (Some("a@example.org"), 1));
}

/// RFC 5321 section 4.1.4 and RFC 3030: a session has as many transactions as mails.
#[test]
fn each_mail_is_a_transaction() {
    let sent = session(&[
        "220 mx.example ESMTP\r\n",
        "EHLO client.example\r\n",
        "250-mx.example\r\n250-PIPELINING\r\n250 CHUNKING\r\n",
        "MAIL FROM:<alice@example.com>\r\nRCPT TO:<bob@example.com>\r\nBDAT 22\r\nMAIL FROM:<evil@x>\r\n\r\nBDAT 4 LAST\r\nend\n",
        "250 ok\r\n250 ok\r\n250 ok\r\n250 queued\r\n",
        "MAIL FROM:<carol@example.com>\r\nRCPT TO:<dan@example.com>\r\nRSET\r\nMAIL FROM:<erin@example.com>\r\nRCPT TO:<fay@example.com>\r\nDATA\r\n",
        "250 ok\r\n250 ok\r\n250 ok\r\n250 ok\r\n250 ok\r\n354 send\r\n",
        "x\r\n.\r\nEHLO other.example\r\nMAIL FROM:<>\r\nRCPT TO:<gus@example.com>\r\n",
        "250 queued\r\n250 ok\r\n250 ok\r\n250 ok\r\n",
        "QUIT\r\n",
    ]);
    let found = transactions(&sent, 25);
    let mails: Vec<_> = found.iter().map(mail).collect();
    let expected = [
        ("client.example", Some("alice@example.com"), vec!["bob@example.com"]),
        ("client.example", Some("carol@example.com"), vec!["dan@example.com"]),
        ("client.example", Some("erin@example.com"), vec!["fay@example.com"]),
        ("other.example", Some(""), vec!["gus@example.com"]),
    ];
    assert_eq!(mails, expected);
    assert!(found.iter().all(|one| one.name() == Some("mx.example")));
    // A mail ends where the next one begins.
    assert_eq!(found.iter().map(packets).collect::<Vec<_>>(), [(0, 4), (5, 5), (5, 7), (7, 9)]);
    assert_eq!(transactions(&sent.bytewise(), 25), found);
}

/// A session that sent its mails in clear text and then goes over to TLS.
#[test]
fn a_change_to_tls_is_reported_once() {
    let sent = session(&[
        "220 mx ESMTP\r\n",
        "EHLO a\r\nMAIL FROM:<a@x>\r\n",
        "250 mx\r\n530 no\r\n",
        "STARTTLS\r\n",
        "220 go\r\n",
    ]);
    let found = transactions(&sent, 25);
    assert_eq!(found.len(), 1);
    assert!(smtp(&found[0]).starttls && mail(&found[0]).1 == Some("a@x"));
}

/// RFC 2033 section 4.2: a reply for each accepted recipient, behind which the others are still put together with their commands.
#[test]
fn lmtp_answers_a_mail_for_each_recipient() {
    let sent = session(&[
        "220 store.example LMTP server ready\r\n",
        "LHLO mx.example\r\n",
        "250-store.example\r\n250 PIPELINING\r\n",
        "MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nRCPT TO:<no@x>\r\nRCPT TO:<c@x>\r\nDATA\r\n",
        "250 ok\r\n250 ok\r\n550 no\r\n250 ok\r\n354 go\r\n",
        "RCPT TO:<forged@x>\r\n.\r\nMAIL FROM:<d@x>\r\nRCPT TO:<e@x>\r\nDATA\r\n",
        "250 b has it\r\n452 c is full\r\n250 ok\r\n250 ok\r\n354 go\r\n",
        "RCPT TO:<forged@x>\r\n.\r\nQUIT\r\n",
    ]);
    for port in [24, 2003] {
        let found = transactions(&sent, port);
        let mails: Vec<_> = found.iter().map(mail).collect();
        let expected =
            [("mx.example", Some("a@x"), vec!["b@x", "no@x", "c@x"]), ("mx.example", Some("d@x"), vec!["e@x"])];
        assert_eq!(mails, expected);
        assert_eq!(transactions(&sent.clone().bytewise(), port), found);
    }
}

/// Bytes of a mail that are missing hide no later mail.
#[test]
fn mails_behind_a_gap_within_a_body_are_read() {
    let before = "220 mx ESMTP\r\n";
    let begin = "EHLO a\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\n";
    let rest = "MAIL FROM:<c@x>\r\nRCPT TO:<d@x>\r\n";
    let cases = [
        (format!("{begin}DATA\r\nfirst"), 1000, format!("RCPT TO:<forged@x>\r\nRCPT TO:<y>\r\n.\r\n{rest}"), true),
        (format!("{begin}BDAT 1010 LAST\r\nfirst"), 1000, format!("12345{rest}"), true),
        // The end of the mail may be missing, too.
        (format!("{begin}BDAT 900 LAST\r\nfirst"), 1000, rest.to_owned(), false),
        (begin.to_owned(), 1000, rest.to_owned(), false),
    ];
    for (first, bytes, second, is_read) in cases {
        let events = vec![
            Event::Bytes(ServerToClient, before.into(), false),
            Event::Bytes(ClientToServer, first.clone().into(), false),
            Event::Gap(ClientToServer, bytes),
            Event::Bytes(ClientToServer, second.into(), false),
        ];
        let found = transactions(&Sent(events.clone()), 25);
        let mails: Vec<_> = found.iter().map(mail).collect();
        let expected = [("a", Some("a@x"), vec!["b@x"]), ("a", Some("c@x"), vec!["d@x"])];
        assert_eq!(mails, expected[..1 + usize::from(is_read)], "{first}");
        assert_eq!(transactions(&Sent(events).bytewise(), 25), found);
    }
}

/// Each login of FTP, and each 16 commands of one, are a transaction.
/// A command of five bytes makes a record, which has the names of both hosts.
#[test]
fn records_repeat_the_names_of_a_session_within_its_bytes() {
    let name = "x".repeat(1000);
    let mails =
        session(&[&format!("220 {name}\r\n"), &format!("EHLO {name}\r\n"), "250 ok\r\n", &"MAIL\n".repeat(4000)]);
    let found = transactions(&mails, 25);
    let names = |one: &Transaction| [&smtp(one).server, &smtp(one).client].map(Option::is_some);
    assert_eq!((found.len(), names(&found[0])), (4000, [true; 2]));
    let text_bytes: usize = found.iter().map(|one| names(one).map(usize::from).iter().sum::<usize>() * 1000).sum();
    let session_bytes = 2 * 1012 + 8 + 4000 * 5;
    assert!((30_000..2 * (session_bytes + 16_384) + 2000).contains(&text_bytes), "{text_bytes} bytes of names");
    let logins = session(&[&format!("220 {name}\r\n"), &"USER a\n".repeat(4000)]);
    let found = transactions(&logins, 21);
    let greetings = found.iter().filter(|one| matches!(&one.fields, Fields::Ftp(ftp) if ftp.server.is_some())).count();
    assert_eq!((found.len(), (40..60).contains(&greetings)), (4000, true), "{greetings} greetings");
    let users = |found: &[Transaction]| {
        found.iter().filter(|one| matches!(&one.fields, Fields::Ftp(ftp) if ftp.user.is_some())).count()
    };
    assert_eq!(users(&found), 4000, "of their own");
    let files = session(&["220 FTP\r\n", &format!("USER {name}\r\n{}", "RETR\n".repeat(16 * 200))]);
    let found = transactions(&files, 21);
    assert_eq!((found.len(), (20..40).contains(&users(&found))), (200, true), "{} users", users(&found));
    // Ordinary ones keep theirs.
    let mail = "MAIL FROM:<a@example.org>\r\nRCPT TO:<b@example.org>\r\nRSET\r\n".repeat(2000);
    let mails = session(&["220 mx.example.org ESMTP\r\n", "EHLO client.example.org\r\n", "250 ok\r\n", &mail]);
    let found = transactions(&mails, 25);
    assert_eq!((found.len(), found.iter().all(|one| names(one) == [true; 2])), (2000, true));
}

#[test]
fn each_login_is_a_transaction() {
    let files: String = (0..20).map(|file| format!("RETR {file}\r\n")).collect();
    let sent = session(&[
        "220 ftp.example FTP\r\n",
        "USER anonymous\r\nPASS x\r\n",
        "331 password\r\n530 no\r\n",
        &format!("USER bob\r\nPASS y\r\n{files}"),
        "331 password\r\n230 in\r\n",
        "REIN\r\nUSER eve\r\n",
    ]);
    let found = transactions(&sent, 21);
    let logins: Vec<_> = found
        .iter()
        .map(|one| match &one.fields {
            Fields::Ftp(ftp) => (ftp.user.as_deref().unwrap(), ftp.commands.len(), ftp.server.as_deref().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    let server = "ftp.example FTP";
    assert_eq!(logins, [("anonymous", 0, server), ("bob", 16, server), ("bob", 4, server), ("eve", 0, server)]);
    assert_eq!(transactions(&sent.bytewise(), 21), found);
}
