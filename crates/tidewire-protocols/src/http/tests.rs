use tidewire_core::Direction::{ClientToServer, ServerToClient};

use crate::{
    Fields, Http, Service, Transaction,
    testing::{Sent, packets, transactions},
};

pub(super) fn http(transaction: &Transaction) -> &Http {
    match &transaction.fields {
        Fields::Http(http) => http,
        other => panic!("not HTTP: {other:?}"),
    }
}

/// Requests and responses in turn.
pub(super) fn conversation(pieces: &[&str]) -> Sent {
    let directions = [ClientToServer, ServerToClient].into_iter().cycle();
    let pieces: Vec<_> =
        directions.zip(pieces).map(|(direction, text)| (direction, text.replace('\n', "\r\n").into_bytes())).collect();
    Sent::of(&pieces)
}

/// Method, path, status, bytes of the response.
pub(super) type Summary<'a> = (Option<&'a str>, Option<&'a str>, Option<u16>, Option<u64>);

pub(super) fn summary(found: &[Transaction]) -> Vec<Summary<'_>> {
    let each = |one| {
        let http = http(one);
        (http.method.as_deref(), http.path.as_deref(), http.status, http.response_bytes)
    };
    found.iter().map(each).collect()
}

/// Pipelined requests with every kind of body.
fn pipelined() -> Sent {
    conversation(&[
        "POST /1 HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n3;x=y\nabc\n0\nTrailer: t\n\nHEAD /2 HTTP/1.1\nHost: h\n\n\
         GET /3 HTTP/1.1\nHost: h\n\nGET http://other:81/4 HTTP/1.0\n\n",
        "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n\nA\n0123456789\n1\nx\n0\n\n\
         HTTP/1.1 200 OK\nContent-Length: 77\n\nHTTP/1.1 304 Not Modified\nContent-Length: 77\n\nHTTP/1.0 200 OK\n\nto the end",
    ])
}

#[test]
fn pipelined_responses_find_their_requests() {
    let found = transactions(&pipelined(), 80);
    let expected = [
        (Some("POST"), Some("/1"), Some(200), Some(11)),
        (Some("HEAD"), Some("/2"), Some(200), Some(0)),
        (Some("GET"), Some("/3"), Some(304), Some(0)),
        (Some("GET"), Some("http://other:81/4"), Some(200), Some(10)),
    ];
    assert_eq!(summary(&found), expected);
    assert_eq!(http(&found[0]).request_bytes, Some(3));
    assert_eq!((http(&found[3]).host.as_deref(), http(&found[3]).port), (Some("other"), Some(81)));
    // The response's version, where it is another one.
    assert_eq!(found.iter().map(|one| http(one).response_version.as_deref()).collect::<Vec<_>>(), [None; 4]);
    let found = transactions(&conversation(&["GET / HTTP/1.0\nHost: [::1]:8080\n\n", "HTTP/1.1 204 x\n\n"]), 80);
    assert_eq!(
        (http(&found[0]).version.as_deref(), http(&found[0]).response_version.as_deref()),
        (Some("1.0"), Some("1.1"))
    );
    assert_eq!((http(&found[0]).host.as_deref(), http(&found[0]).port), (Some("[::1]"), Some(8080)));
}

#[test]
fn every_cut_gives_the_same_fields() {
    let sent = pipelined();
    let expected = transactions(&sent, 80);
    for index in 0..2 {
        let crate::testing::Event::Bytes(_, bytes, _) = &sent.0[index] else { panic!("a gap") };
        for at in 1..bytes.len() {
            assert_eq!(transactions(&sent.clone().cut(index, at), 80), expected, "piece {index} cut at {at}");
        }
    }
    assert_eq!(transactions(&sent.bytewise(), 80), expected);
}

#[test]
fn a_tunnel_is_looked_into() {
    let sent = conversation(&[
        "CONNECT www.example.org:443 HTTP/1.1\nHost: www.example.org:443\n\n",
        "HTTP/1.1 200 Connection established\n\n",
        "GET /inside HTTP/1.1\nHost: inside\n\n",
        "HTTP/1.1 204 No Content\n\n",
    ]);
    let found = transactions(&sent, 3128);
    let hosts: Vec<_> = found.iter().map(|one| (one.name().unwrap(), http(one).status.unwrap())).collect();
    assert_eq!(hosts, [("www.example.org", 200), ("inside", 204)]);
    assert_eq!(transactions(&sent.bytewise(), 3128), found);
}

/// A client may send what is for the tunnel before the proxy consents; where it refuses, that was a request.
#[test]
fn what_is_sent_before_a_proxy_consents_is_not_lost() {
    use crate::testing::Event;
    let connect = "CONNECT www.example.org:443 HTTP/1.1\n\n";
    let inside = "GET /inside HTTP/1.1\nHost: inside\n\n";
    let sent = |agree: &str| conversation(&[&[connect, inside].concat(), agree, "", "HTTP/1.1 204 x\n\n"]);
    let (agreed, refused) = (sent("HTTP/1.1 200 x\n\n"), sent("HTTP/1.1 407 x\nContent-Length: 2\n\nno"));
    for (sent, status) in [(agreed, 200), (refused, 407)] {
        let found = transactions(&sent, 3128);
        let each: Vec<_> = found.iter().map(|one| (one.name().unwrap(), http(one).status.unwrap())).collect();
        assert_eq!(each, [("www.example.org", status), ("inside", 204)]);
        assert_eq!(transactions(&sent.bytewise(), 3128), found);
    }
    // In the same packet as the consent, the client's bytes are the first ones.
    let sent = conversation(&[&[connect, inside].concat(), "HTTP/1.1 200 x\n\nHTTP/1.1 204 x\n\n"]);
    assert_eq!(summary(&transactions(&sent, 3128))[1], (Some("GET"), Some("/inside"), Some(204), Some(0)));
    // Not all is kept: what follows is behind a gap.
    let rest = format!("X: {}\n", "y".repeat(20_000));
    for missing in [rest.as_str(), ""] {
        let mut sent = conversation(&[&[connect, &inside[..inside.len() - 1], missing].concat()]);
        if missing.is_empty() {
            sent.0.push(Event::Gap(ClientToServer, 7));
        }
        sent.0.extend(conversation(&["X: y\n\n", "HTTP/1.1 200 x\n\nHTTP/1.1 204 x\n\n"]).0);
        sent.0.extend(conversation(&["GET /2 HTTP/1.1\n\n", "HTTP/1.1 304 x\n\n"]).0);
        let found = transactions(&sent, 3128);
        let inner = [(Some("GET"), Some("/inside"), Some(204), Some(0)), (Some("GET"), Some("/2"), None, None)];
        assert_eq!(summary(&found)[1..3], inner, "{}", missing.len());
        assert_eq!(transactions(&sent.bytewise(), 3128), found);
    }
}

/// A transaction ends with the last packet of its response, also where the stream's end or a gap ends that.
#[test]
fn a_transaction_has_the_times_of_its_packets() {
    use crate::testing::Event;
    let ask = |path: &str| Event::Bytes(ClientToServer, format!("GET {path} HTTP/1.1\r\n\r\n").into_bytes(), false);
    let answer = |text: &str| Event::Bytes(ServerToClient, text.replace('\n', "\r\n").into_bytes(), false);
    let times = |events: &[Event]| {
        let sent = Sent(events.to_vec());
        let found = transactions(&sent, 80);
        assert_eq!(transactions(&sent.bytewise(), 80), found);
        found.iter().map(packets).collect::<Vec<_>>()
    };
    let whole = "HTTP/1.1 200 x\nContent-Length: 2\n\nab";
    assert_eq!(
        times(&[ask("/1"), answer(whole), ask("/2"), answer("HTTP/1.1 100 x\n\n"), answer(whole)]),
        [(0, 1), (2, 4)]
    );
    assert_eq!(times(&[ask("/1"), answer("HTTP/1.0 200 x\n\nabc"), answer("def"), answer("ghi")]), [(0, 3)]);
    let begun = "HTTP/1.1 200 x\nContent-Length: 10\n\nab";
    assert_eq!(times(&[ask("/1"), answer(begun), answer("cd"), ask("/2")]), [(0, 2), (3, 3)]);
    let gap = Event::Gap(ServerToClient, 6);
    assert_eq!(
        times(&[ask("/1"), answer(begun), answer("cd"), gap.clone(), ask("/2"), answer(whole)]),
        [(0, 2), (3, 4)]
    );
    assert_eq!(times(&[ask("/1"), answer(begun), answer("cd"), gap.clone(), gap, answer(whole)])[0], (0, 2));
    assert_eq!(times(&[ask("/1"), ask("/2")]), [(0, 0), (1, 1)]);
}

/// RFC 8297: the final response has fields of its own.
#[test]
fn fields_are_those_of_the_final_response() {
    let found = transactions(
        &conversation(&[
            "GET / HTTP/1.1\n\n",
            "HTTP/1.1 103 Early Hints\nServer: early\nLocation: /early\n\nHTTP/1.1 200 OK\nServer: final\nContent-Length: 0\n\n",
        ]),
        80,
    );
    let http = http(&found[0]);
    assert_eq!((http.server.as_deref(), http.location.as_deref()), (Some("final"), None));
}

/// Fields behind many lines are not lost, but for their texts.
#[test]
fn a_head_may_have_any_number_of_lines() {
    for lines in [255, 256, 257, 300, 70_000] {
        let many = ["X: y\n z\n", "X: y\nX: z\n"][lines % 2].repeat(lines / 2) + &"X: y\n".repeat(lines % 2);
        let sent = conversation(&[
            &format!("POST /1 HTTP/1.1\n{many}User-Agent: u\nContent-Length: 3\n\nabcGET /2 HTTP/1.1\n\n"),
            &format!(
                "HTTP/1.1 200 OK\n{many}Server: s\nTransfer-Encoding: gzip,\n chunked\n\n3\nabc\n0\n\nHTTP/1.1 204 x\n\n"
            ),
        ]);
        let found = transactions(&sent, 80);
        let expected = [(Some("POST"), Some("/1"), Some(200), Some(3)), (Some("GET"), Some("/2"), Some(204), Some(0))];
        assert_eq!(summary(&found), expected, "{lines}");
        let is_named = lines < 256;
        assert_eq!((http(&found[0]).user_agent.is_some(), http(&found[0]).server.is_some()), (is_named, is_named));
        assert_eq!(http(&found[0]).request_bytes, Some(3));
    }
    // Nor do lines that continue one cost more.
    let sent = conversation(&[&format!("GET / HTTP/1.1\nReferer: r\n{}\n", " x\n".repeat(70_000))]);
    assert_eq!(http(&transactions(&sent, 80)[0]).referrer.as_deref().map(str::len), Some(1 + 2 * 255));
}

/// The body of a request holds no request, however its length is written.
#[test]
fn lengths_may_have_zeros_and_commas() {
    let forged = "GET /forged HTTP/1.1\nHost: victim\n\n";
    let bytes = forged.replace('\n', "\r\n").len();
    for framing in [
        format!("Content-Length: {bytes:030}\n\n{forged}"),
        format!("Content-Length: {bytes}, 0{bytes} ,,\n\n{forged}"),
        format!("Content-Length: {bytes},\n {bytes}\n\n{forged}"),
        format!("Transfer-Encoding: chunked,\n\n{bytes:020x}\n{forged}\n0\n\n"),
        format!("Transfer-Encoding: gzip, chunked , ,\n\n{bytes:X};x\n{forged}\n{}\n\n", "0".repeat(17)),
    ] {
        let ask = format!("POST /1 HTTP/1.1\n{framing}GET /2 HTTP/1.1\n\n");
        let sent = conversation(&[&ask, "HTTP/1.1 204 x\n\nHTTP/1.1 304 x\n\n"]);
        let found = transactions(&sent, 80);
        assert_eq!(
            summary(&found),
            [(Some("POST"), Some("/1"), Some(204), Some(0)), (Some("GET"), Some("/2"), Some(304), Some(0))]
        );
        assert_eq!(http(&found[0]).request_bytes, Some(bytes as u64), "{framing}");
        assert_eq!(transactions(&sent.bytewise(), 80), found);
    }
    for length in ["41, 42", "9223372036854775808", ",", "4 1", "-1", "18446744073709551657"] {
        let sent = conversation(&[&format!("POST /1 HTTP/1.1\nContent-Length: {length}\n\nGET /2 HTTP/1.1\n\n")]);
        assert_eq!(transactions(&sent, 80).len(), 2, "{length}");
    }
}

#[test]
fn what_only_begins_like_http_is_not() {
    for text in ["GET lost\n\n", "OPTIONS sip:a@b SIP/2.0\n\n", "GET / HTTP/2.0\n\n", "HTTP/x 200\n\n"] {
        assert_eq!(transactions(&conversation(&[text]), 80), [], "{text}");
    }
}

#[test]
fn a_response_without_its_request_is_reported() {
    let sent = Sent::of(&[(ServerToClient, b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_vec())]);
    let found = transactions(&sent, 80);
    assert_eq!((summary(&found), found[0].service), (vec![(None, None, Some(500), Some(0))], Service::Http));
}

#[test]
fn what_servers_answer_all_the_same() {
    let cases: [(&[&str], &[Summary<'_>]); 6] = [
        // HTTP/0.9.
        (&["GET /old\n", "<html>"], &[(Some("GET"), Some("/old"), None, None)]),
        (
            &["BREW /pot HTTP/1.0\n\n", "HTTP/1.0 418 Teapot\nContent-Length: 0\n\n"],
            &[(Some("BREW"), Some("/pot"), Some(418), Some(0))],
        ),
        // An invalid version, which large servers accept.
        (
            &["GET /a HTTP/1.\nHost: a\n\n", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"],
            &[(Some("GET"), Some("/a"), Some(200), Some(0))],
        ),
        // No request at all.
        (&["GET nothing\n\n", "HTTP/1.1 400 Bad Request\nContent-Length: 0\n\n"], &[(None, None, Some(400), Some(0))]),
        (
            &["\nGET HTTP/1.1\n\n", "\nHTTP/1.10 \t200 OK\nContent-Length: 0\n\n"],
            &[(Some("GET"), Some(""), Some(200), Some(0))],
        ),
        (&["GET nothing\n\n", "nothing\n\n"], &[]),
    ];
    for (pieces, expected) in cases {
        let sent = conversation(pieces);
        let found = transactions(&sent, 80);
        assert_eq!(summary(&found), expected, "{pieces:?}");
        assert_eq!(transactions(&sent.bytewise(), 80), found, "{pieces:?}");
    }
}

/// A status line decides whatever the request was, unless that is of another protocol.
#[test]
fn an_answer_shows_the_protocol() {
    let answer =
        |status: &str| (ServerToClient, format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n").into_bytes());
    let more = || (ClientToServer, b"GET /more HTTP/1.1\r\n\r\n".to_vec());
    for request in
        [&b"get / HTTP/1.1\r\nHost: h\r\n\r\n"[..], b"garbage\r\n\r\n", b"\xe0\x9f\0binary", b"OPTIONSHTTP/1.1\r\n\r\n"]
    {
        let sent = Sent::of(&[(ClientToServer, request.to_vec()), answer("400"), more(), answer("200")]);
        let found = transactions(&sent, 8000);
        let expected = [(None, None, Some(400), Some(0)), (Some("GET"), Some("/more"), Some(200), Some(0))];
        assert_eq!(summary(&found), expected, "{request:?}");
        assert_eq!(transactions(&sent.clone().bytewise(), 8000), found);
        // Of bytes that are missing, the client's do not matter.
        assert_eq!(transactions(&sent.clone().gap_before(1), 8000), []);
        let mut sent = sent;
        sent.0.insert(1, crate::testing::Event::Gap(ClientToServer, 7));
        let statuses: Vec<_> = transactions(&sent, 8000).iter().map(|one| http(one).status.unwrap()).collect();
        assert_eq!(statuses, [400, 200]);
    }
    let begun = Sent::of(&[(ClientToServer, b"\x16\x03\x01".to_vec()), answer("400")]);
    assert_eq!(summary(&transactions(&begun, 8000)), [(None, None, Some(400), Some(0))]);
    for (request, service) in [(&b"SSH-2.0-x\r\n"[..], "ssh"), (b"\x16\x03\x01\x00\x05\x01\x00\x00\x00\x00", "tls")] {
        let found = transactions(&Sent::of(&[(ClientToServer, request.to_vec()), answer("400")]), 8000);
        assert!(found.iter().all(|one| one.service.name() == service), "{found:?}");
    }
    // Neither another answer nor one behind a long upload.
    let long = vec![b'x'; (16 << 10) + 1];
    for sent in [
        [(ClientToServer, b"x y z".to_vec()), (ServerToClient, b"HTTP/2 200\r\n\r\n".to_vec())],
        [(ClientToServer, long), answer("200")],
    ] {
        assert_eq!(transactions(&Sent::of(&sent), 8000), []);
        assert_eq!(transactions(&Sent::of(&sent).bytewise(), 8000), []);
    }
}

#[test]
fn long_addresses_are_kept_and_bounded() {
    let path = format!("/{}", "a".repeat(5000));
    let found = transactions(&conversation(&[&format!("GET {path} HTTP/1.1\nHost: {path}\n\n")]), 80);
    assert_eq!(http(&found[0]).path.as_deref(), Some(&*path));
    assert_eq!(http(&found[0]).host.as_deref().map(str::len), Some(1024));
    // The end of the line with its version is beyond what is kept.
    let found = transactions(&conversation(&[&format!("GET /{} HTTP/1.1\n\n", "b".repeat(70_000))]), 80);
    let http = http(&found[0]);
    assert_eq!((http.version.as_deref(), http.path.as_deref().map(str::len)), (None, Some((8 << 10) - 4)));
}

#[test]
fn the_first_of_repeated_fields_counts_with_its_continuation() {
    let found = transactions(
        &conversation(&[
            "GET http://target/ HTTP/1.1\nHost:\n one.example:80\nHost: two.example\nUser-Agent: a\n\tb\n  c\nUser-Agent: d\n e\n\n",
            "HTTP/1.1 200 OK\nContent-Type: text/html;\n charset=utf-8\nX: y\n z\nTransfer-Encoding: gzip,\n chunked\n\n2\nhi\n0\n\n",
        ]),
        80,
    );
    let http = http(&found[0]);
    assert_eq!(http.host_field.as_deref(), Some("one.example:80"));
    assert_eq!((http.host.as_deref(), http.user_agent.as_deref()), (Some("target"), Some("a b c")));
    assert_eq!((http.content_type.as_deref(), http.response_bytes), (Some("text/html; charset=utf-8"), Some(2)));
}

/// Proxies within proxies, up to a bound.
#[test]
fn tunnels_within_each_other_are_followed() {
    let ask = "CONNECT www.example.org:443 HTTP/1.1\n\n";
    let agree = "HTTP/1.1 200 Connection established\n\n";
    let pieces =
        [vec![[ask, agree]; 7].concat(), vec!["GET /inside HTTP/1.1\nHost: inside\n\n", "HTTP/1.1 204 No Content\n\n"]];
    let found = transactions(&conversation(&pieces.concat()), 3128);
    assert_eq!((found.len(), found[7].name()), (8, Some("inside")));
    assert_eq!(transactions(&conversation(&vec![[ask, agree]; 20].concat()), 3128).len(), 8);
}
