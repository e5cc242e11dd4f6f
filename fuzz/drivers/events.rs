//! Any bytes as what another process or a disk can give: frames of messages, a record, a state of folding. Nothing panics,
//! memory goes by the input, and what is accepted comes back the same. Used by the fuzz target and by the test that replays the seeds.

use tidewire_events::{Folder, FolderSettings, Message, Output, Record, Varied};

/// Events that are unfolded of a record; it may state many of nothing.
const EVENTS_MAX: u64 = 5000;

/// The first byte says what the rest is.
pub fn run(input: &[u8]) {
    let Some((&what, rest)) = input.split_first() else { return };
    match what % 3 {
        0 => messages(rest),
        1 => record(rest),
        _ => state(rest),
    }
}

fn settings() -> FolderSettings {
    FolderSettings { folds_max: 16, memory_bytes: 1 << 18, ..FolderSettings::default() }
}

/// Frames one behind the other, folded, cut and restarted in between, and unfolded again.
fn messages(mut rest: &[u8]) {
    let mut folder = Folder::new(settings(), [1, 2], 0, 0);
    let (mut out, mut pushed) = (Output::default(), Vec::new());
    while let Ok(Some((message, length))) = Message::first(rest) {
        let mut again = Vec::new();
        message.event().expect("it was checked").encode(&mut again).expect("within the limits");
        assert_eq!(again, &rest[..length], "there is one encoding of an event");
        folder.push(message.time_ns(), &message, &mut out).expect("it was checked");
        pushed.push(message);
        assert!(folder.charged_bytes() <= 1 << 18 || folder.open() == 0);
        if pushed.len().is_multiple_of(50) {
            let state = folder.state(7, &mut out).expect("it has one");
            folder = Folder::with_state(settings(), [3, 4], 9, &state).expect("what it wrote");
        }
        rest = &rest[length..];
    }
    folder.close_all(&mut out).expect("it was checked");
    let mut back = Vec::new();
    for record in &out.records {
        let record = Record::decode(record.bytes()).expect("what it wrote");
        back.extend(record.events().expect("what it wrote"));
    }
    back.sort_by_key(|(number, _)| *number);
    let pushed = pushed.iter().map(|message| message.event().expect("it was checked"));
    assert!(back.into_iter().map(|(_, event)| event).eq(pushed), "every event comes back, in order");
}

fn record(bytes: &[u8]) {
    let Ok(record) = Record::decode(bytes) else { return };
    assert_eq!(record.bytes(), bytes);
    let _ = (record.severity(), record.first_ns(), record.last_ns());
    let Ok(mut unfold) = record.unfold() else { return };
    let mut count = 0;
    while count < EVENTS_MAX
        && let Ok(Some((_, message))) = unfold.next()
    {
        message.event().expect("it was checked");
        count += 1;
    }
    if record.count() <= EVENTS_MAX {
        let mut varied = Varied::default();
        let _ = varied.add(&record);
        assert!(varied.count() <= record.count());
        let _ = varied.to_json(3);
    }
}

fn state(bytes: &[u8]) {
    let Ok(mut folder) = Folder::with_state(settings(), [1, 2], 1 << 40, bytes) else { return };
    let mut out = Output::default();
    let again = folder.state(1 << 40, &mut out).expect("it has one");
    assert!(out.records.is_empty() && folder.waiting() == 0, "no event waits");
    let folds = folder.open();
    let mut folder = Folder::with_state(settings(), [1, 2], 1 << 40, &again).expect("what it wrote");
    assert_eq!(folder.open(), folds);
    folder.close_all(&mut out).expect("it was checked");
}
