use super::*;
use crate::{
    clock::Clock,
    row::{Cells, Column},
};

/// A number with an id, and a place among others of both that are equal.
#[derive(Clone, Debug, PartialEq)]
struct Number(u64, u64, u32);

impl Row for Number {
    const COLUMNS: &'static [Column] = &[Column::figures("NUMBER", "number", 0)];

    fn push_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{} {} {}\n", self.0, self.1, self.2).as_bytes());
    }

    fn csv_header(_: &Clock) -> String {
        "number".into()
    }

    fn push_csv(&self, out: &mut Vec<u8>, _: &Clock) {
        self.push_json(out);
    }

    fn cells(&self, _: &Clock) -> Cells {
        Cells::of(vec![self.0.to_string()])
    }
}

impl Sortable for Number {
    fn heap_bytes(&self) -> usize {
        100
    }
}

#[derive(Clone, Copy)]
struct ByNumber(Option<usize>);

impl Sorter<Number> for ByNumber {
    fn limit(&self) -> Option<usize> {
        self.0
    }

    fn compare(&self, one: &Number, other: &Number) -> Ordering {
        (one.0, one.1).cmp(&(other.0, other.1))
    }

    fn key(&self, record: &Number) -> Key {
        [0, 0, 0, record.0, record.1]
    }
}

/// Whatever the room is, and however many workers there are, the order and the records are those of one that sorts all of them.
#[test]
fn runs_are_merged_into_the_order_of_all() {
    for (room_bytes, workers, limit) in [
        (1 << 30, 1, None),
        (40_000, 1, None),
        (40_000, 3, None),
        (9_000, 2, Some(700)),
        (9_000, 2, Some(7)),
        (0, 2, None),
    ] {
        let sorter = ByNumber(limit);
        let room = Arc::new(Room::of_bytes(room_bytes, Form::Json, &Layout::default(), false));
        let mut all = Vec::new();
        let mut kept: Vec<_> = (0..workers).map(|_| Sorted::new(sorter, &room)).collect();
        let mut random = 7_u64;
        for place in 0..5_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Records of one id are one worker's; some are equal, and stay in order.
            let record = Number(random >> 40 & 0xff, random >> 50 & 0xff, place);
            kept[(record.1 % workers) as usize].push(record.clone());
            all.push(record);
        }
        assert!(kept.iter().all(|kept| room_bytes > 1 << 20 || kept.bytes <= kept.bytes_max));
        all.sort_by(|one, other| sorter.compare(one, other));
        all.truncate(limit.unwrap_or(usize::MAX));
        let merged = Sorted::merged(kept, sorter, room);
        assert!(merged.runs.is_empty() == (room_bytes > 1 << 20) || limit == Some(7));
        assert_eq!(merged.ids().unwrap(), all.iter().map(|record| record.1).collect::<Vec<_>>());
        let mut text = Vec::new();
        let render = |_: &Key, item: Item<'_, Number>| {
            match item {
                Item::Record(record) => record.push_json(&mut text),
                Item::Rendered(line) => text.extend_from_slice(line),
            }
            Ok(())
        };
        merged.each(render).unwrap();
        let mut expected = Vec::new();
        all.iter().for_each(|record| record.push_json(&mut expected));
        assert!(text == expected, "{room_bytes} {workers} {limit:?}");
    }
}
