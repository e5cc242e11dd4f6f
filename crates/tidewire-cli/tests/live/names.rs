//! Protocol fields of real clients and servers, printed as they are complete; the kernel discards what lies behind the beginnings.

use std::net::UdpSocket;

use serde_json::Value;

use crate::{
    common::lines,
    rig::{self, HERE, Rig, THERE_ADDRESS, settle, wait_for},
};

/// `openssl s_server` with a certificate of its own, port 8443.
fn tls_server(rig: &Rig) {
    let path = |name: &str| rig.directory.path().join(name).to_str().expect("a path").to_owned();
    let (key, certificate) = (path("key.pem"), path("certificate.pem"));
    rig.here(&[
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/O=Tides/CN=tide.example.org",
        "-addext",
        "subjectAltName=DNS:tide.example.org,DNS:www.tide.example.org",
        "-keyout",
        &key,
        "-out",
        &certificate,
    ]);
    rig.serve(&[
        "openssl",
        "s_server",
        "-quiet",
        "-www",
        "-accept",
        "8443",
        "-key",
        &key,
        "-cert",
        &certificate,
        "-alpn",
        "http/1.1",
    ]);
    wait_for("openssl", || std::net::TcpStream::connect((THERE_ADDRESS, 8443)).is_ok());
}

/// A resolver that knows one answer.
fn resolver(rig: &Rig) {
    rig.there(|| {
        let socket = UdpSocket::bind((THERE_ADDRESS, 53)).expect("a port");
        std::thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((length, client)) = socket.recv_from(&mut query) {
                // The query with its answer: a pointer to its name, type A, class IN, 60 s.
                let mut answer = query[..length.min(12 + 255)].to_vec();
                (answer[2], answer[3], answer[7]) = (0x81, 0x80, 1);
                answer[8..12].fill(0);
                let question = 12 + answer[12..].iter().position(|&byte| byte == 0).unwrap_or(0) + 5;
                answer.truncate(question);
                answer.extend_from_slice(b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x07");
                let _ = socket.send_to(&answer, client);
            }
        });
    });
}

fn traffic(rig: &Rig) {
    let to = |port: u16| format!("tide.example.org:{port}:{THERE_ADDRESS}");
    let (plain, encrypted) = (to(80), to(8443));
    for version in [["--tls-max", "1.2"], ["--tlsv1.3", "--http1.1"]] {
        let url = "https://tide.example.org:8443/";
        rig.here(
            &[&["curl", "-sk", "--noproxy", "*", "--resolve", &encrypted, "-o", "/dev/null", url][..], &version]
                .concat(),
        );
    }
    for page in ["/", "/missing", "/big"] {
        let url = format!("http://tide.example.org{page}");
        rig.here(&["curl", "-s", "--noproxy", "*", "-A", "gauge/1", "--resolve", &plain, "-o", "/dev/null", &url]);
    }
    rig.here(&["dig", "+tries=1", "+time=5", &format!("@{THERE_ADDRESS}"), "tide.example.org", "A"]);
}

fn of<'a>(records: &'a [Value], service: &str) -> Vec<&'a Value> {
    records.iter().filter(|one| one["service"] == service || one["app"]["service"] == service).collect()
}

#[test]
fn transactions_are_printed_as_they_end() {
    rig::run(&["nginx", "curl", "openssl", "dig"], |rig| {
        rig.nginx();
        tls_server(rig);
        resolver(rig);
        let running = rig.tidewire(&["transactions", "--json", "--stats=json", "--cutoff", "16K", "-i", HERE]);
        traffic(rig);
        // While it runs.
        running.wait_for_out("\"service\":\"dns\"");
        running.wait_for_out("\"path\":\"/missing\"");
        assert!(lines(running.out().as_bytes()).len() >= 5);
        settle();
        let ended = running.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        assert_eq!(ended.ledger()["detail"]["live"]["rings"]["no_room"], 0);
        let records = ended.records();
        let tls = of(&records, "tls");
        assert_eq!(tls.len(), 2, "{tls:?}");
        for (one, version) in tls.iter().zip(["TLS 1.2", "TLS 1.3"]) {
            assert_eq!((&one["tls"]["sni"], &one["tls"]["version"]), (&"tide.example.org".into(), &version.into()));
            assert_eq!(one["tls"]["established"], true);
        }
        let certificate = &tls[0]["tls"]["certificate"];
        assert_eq!(certificate["subject"], "O=Tides, CN=tide.example.org");
        assert_eq!(certificate["san"][1], "www.tide.example.org");
        let statuses: Vec<_> =
            of(&records, "http").iter().map(|one| one["http"]["status"].as_u64().unwrap_or(0)).collect();
        assert_eq!(statuses, [200, 404, 200]);
        assert!(of(&records, "http").iter().all(|one| one["http"]["user_agent"] == "gauge/1"));
        let [dns] = of(&records, "dns")[..] else { panic!("{records:?}") };
        assert_eq!(
            (&dns["dns"]["query"], &dns["dns"]["answers"][0]["data"]),
            (&"tide.example.org".into(), &"192.0.2.7".into())
        );
    });
}

/// Without any option: 16 KiB of each direction are delivered, the kernel discards the rest, and figures are whole.
#[test]
fn flows_have_names_and_whole_figures() {
    rig::run(&["nginx", "curl", "openssl", "dig"], |rig| {
        rig.nginx();
        tls_server(rig);
        resolver(rig);
        let running = rig.tidewire(&["flows", "--json", "--stats=json", "-i", HERE]);
        traffic(rig);
        settle();
        let ended = running.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        let (ledger, records) = (ended.ledger(), ended.records());
        assert_eq!(ledger["detail"]["live"]["rings"]["no_room"], 0);
        let http = of(&records, "http");
        assert_eq!(http.len(), 3);
        let big = http.iter().find(|flow| flow["app"]["http"]["path"] == "/big").expect("the large page");
        assert_eq!(big["app"]["http"]["response_bytes"], 1 << 20);
        assert!(big["payload_bytes_s2c"].as_u64() > Some(1 << 20), "{big}");
        assert_eq!(of(&records, "tls").len(), 2);
        assert!(of(&records, "tls").iter().all(|flow| flow["app"]["name"] == "tide.example.org"));
        assert_eq!(of(&records, "dns")[0]["app"]["name"], "tide.example.org");
        let delivered = ledger["detail"]["delivered_bytes"].as_u64().expect("a number");
        assert!(delivered < 100_000, "{delivered} bytes were delivered");
    });
}
