//! The table of what varies, counted again by hand.

use std::collections::BTreeMap;

use tidewire_events::{Event, FlowKey, Folder, FolderSettings, Output, Value, Varied};

fn table(events: &[Event]) -> Varied {
    let mut folder = Folder::new(FolderSettings::default(), [5, 6], 0, 0);
    let mut out = Output::default();
    for event in events {
        folder.push_event(0, event, &mut out).unwrap();
    }
    folder.close_all(&mut out).unwrap();
    let mut varied = Varied::default();
    out.records.iter().for_each(|record| varied.add(record).unwrap());
    varied
}

fn probe(at: u64, server: &str, port: u16, number: i64) -> Event {
    let key = FlowKey {
        protocol: 17,
        client_addr: "2001:db8::1".parse().unwrap(),
        client_port: 9,
        server_addr: server.parse().unwrap(),
        server_port: port,
    };
    let event =
        Event { time_ns: 1000 - at, analyzer: "scan".into(), kind: "probe".into(), key: Some(key), ..Event::default() };
    event.with("number", Value::I64(number)).with("text", Value::Text(format!("text-{}", at % 3)))
}

#[test]
fn values_are_counted_and_the_most_frequent_come_first() {
    let events: Vec<Event> = (0..90)
        .map(|at| probe(at, if at % 10 == 0 { "2001:db8::2" } else { "2001:db9::1" }, at as u16, at as i64 - 50))
        .collect();
    let varied = table(&events);
    assert_eq!((varied.count(), varied.times_ns()), (90, Some((911, 1000))));
    let rows = varied.rows(2);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["time_ns", "server_port", "server_addr", "number", "text"]);
    let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
    let addr = |text: &str| Value::Addr(text.parse().unwrap());
    assert_eq!(row("server_addr").top, [(addr("2001:db9::1"), 81), (addr("2001:db8::2"), 9)]);
    assert_eq!(row("server_addr").range, Some((addr("2001:db8::2"), addr("2001:db9::1"))));
    assert_eq!((row("number").distinct, row("number").is_at_least), (90, false));
    assert_eq!(row("number").range, Some((Value::I64(-50), Value::I64(39))));
    assert_eq!(row("text").top[0], (Value::Text("text-0".into()), 30));
    assert_eq!(row("text").range, None);
    let json: serde_json::Value = serde_json::from_str(&varied.to_json(1)).unwrap();
    assert_eq!(json["count"], 90);
    assert_eq!(json["varied"][2]["top"], serde_json::json!([["2001:db9::1", 81]]));
    assert_eq!(json["varied"][3]["least"], -50);
    // Again by hand.
    let mut ports: BTreeMap<u16, u64> = BTreeMap::new();
    events.iter().for_each(|event| *ports.entry(event.key.unwrap().server_port).or_default() += 1);
    assert_eq!(row("server_port").distinct, ports.len() as u64);
}

#[test]
fn values_without_end_are_at_least_so_many() {
    let events: Vec<Event> = (0..5000).map(|at| probe(0, "2001:db8::2", 1, at)).collect();
    let varied = table(&events);
    let rows = varied.rows(3);
    assert_eq!((rows[0].name.as_str(), rows[0].distinct, rows[0].is_at_least), ("number", 4096, true));
    assert_eq!(rows[0].range, Some((Value::I64(0), Value::I64(4999))), "the range is of all");
}
