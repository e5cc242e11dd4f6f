//! Tests of files that the models of `sanitize/` build as well, with loom's atomics.

use crate::members::{Members, ReaderSlot, Table, nth_bit};

fn member(group: u32) -> impl FnOnce(&mut Table) {
    move |table| {
        let at = table.places.iter().position(Option::is_none).unwrap();
        table.places[at] = Some(ReaderSlot { attached_at: table.change, group: Some(group), page: None, first: 0 });
    }
}

#[test]
fn a_stream_stays_with_its_member_and_goes_to_another_when_that_one_leaves() {
    let (members, mut turn) = (Members::default(), 0);
    members.update(member(0));
    members.update(member(0));
    members.update(member(1));
    let table = members.look().unwrap();
    let (first, is_new) = table.owners(0, 0, &mut turn);
    assert!(is_new && first.count_ones() == 2 && first & 0b100 != 0);
    assert_eq!(table.owners(first, table.change, &mut turn), (first, false));
    // A new reader at the place of an owner that has gone is another member.
    let owner = (first & 0b11).trailing_zeros() as usize;
    let then = table.change;
    members.update(|table| table.places[owner] = None);
    members.update(member(0));
    let table = members.look().unwrap();
    assert!(table.places[owner].is_some());
    assert!(table.owners(first, then, &mut turn).1);
    assert_eq!([nth_bit(0b1011, 0), nth_bit(0b1011, 1), nth_bit(0b1011, 2)], [1, 2, 8]);
}

/// The publisher never frees a table: that would unmap readers' pages on its thread.
#[test]
fn the_server_frees_tables_that_the_publisher_had() {
    let members = Members::default();
    members.update(member(0));
    let publishers = members.look().unwrap();
    let freed = std::sync::Arc::downgrade(&publishers);
    members.update(|table| table.places[0] = None);
    members.update(member(0));
    members.free();
    drop(publishers);
    assert!(freed.upgrade().is_some(), "the publisher had the last one");
    members.free();
    assert!(freed.upgrade().is_none());
}
