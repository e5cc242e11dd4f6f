//! Tables in terminals that are too narrow for them, and with columns that were chosen.

use super::*;

fn table(note: &str) -> Table {
    arranged(note, Layout::default())
}

fn arranged(note: &str, layout: Layout) -> Table {
    let mut table = Table::new(
        &[Column::figures("ID", "id", 0), Column::words("CLIENT", "client", 0), Column::words("NOTE", "note", 1)],
        &layout,
    );
    let aside = Aside { title: "NOTE", text: format!("noted {note}") };
    let asides = if note.is_empty() { Vec::new() } else { vec![aside] };
    table.row_with_notes(vec!["1".into(), "2001:db8:1111:2222::3".into(), note.into()], asides, Vec::new());
    table
}

#[test]
fn narrow_tables_drop_columns_then_cut_words_and_show_both_beneath() {
    assert_eq!(table("midstream").lines(None, false)[1..], [" 1  2001:db8:1111:2222::3  midstream"]);
    let narrow = table("midstream").lines(Some(30), false);
    assert_eq!(narrow, ["ID  CLIENT", " 1  2001:db8:1111:2222::3", "    noted midstream"]);
    let narrower = table("midstream").lines(Some(20), false);
    assert_eq!(narrower, ["ID CLIENT", " 1 2001:db8…:2222::3", "    noted midstream"]);
}

#[test]
fn words_that_were_cut_are_shown_beneath_where_a_line_is_long_enough() {
    let columns = [Column::words("WHY", "why", 0), Column::words("END", "end", 0)];
    let narrow = |width| {
        let mut table = Table::new(&columns, &Layout::default());
        table.row(vec!["b".repeat(30), "a".repeat(10)]);
        table.lines(Some(width), false)
    };
    // A space is given up before a letter; and an ellipsis stands for some letters at least.
    assert_eq!(narrow(41)[1..], [format!("{} {}", "b".repeat(30), "a".repeat(10))]);
    let lines = narrow(40);
    assert_eq!(lines[1].chars().count(), 26 + 1 + 10);
    assert_eq!(lines[2..], [format!("    why {}", "b".repeat(30))]);
}

#[test]
fn words_of_the_last_column_continue_in_the_next_line() {
    let columns = [Column::figures("ID", "id", 0), Column::words("ANSWER", "answer", 0)];
    let mut table = Table::new(&columns, &Layout::default());
    table.row(vec!["1".into(), "200 text/html".into()]);
    table.row(vec!["2".into(), "404 text/html;charset=utf-8".into()]);
    table.row(vec!["3".into(), "c".repeat(20)]);
    let lines = table.lines(Some(17), false);
    let cs = format!("    {}", "c".repeat(20));
    assert_eq!(lines, ["ID ANSWER", " 1 200 text/html", " 2 404", "    text/html;charset=utf-8", " 3", &cs]);
}

/// A long name is cut, or none is shown; a pipe has it whole.
#[test]
fn one_long_name_does_not_cost_all_others_theirs() {
    let columns = [
        Column::words("CLIENT", "client", 0),
        Column::words("NAME", "name", 1),
        Column::figures("BYTES", "bytes", 0),
        Column::words("END", "end", 2),
    ];
    let long = format!("{}.example.org", "a".repeat(36));
    let lines = |width, essential: &[usize], cuts| {
        let mut table = Table::new(&columns, &Layout { essential: essential.to_vec(), ..Layout::default() });
        table.cuts = cuts;
        for name in [&*long, "b.example"] {
            let asides = vec![Aside { title: "NAME", text: format!("name {name}") }];
            table.row_with_notes(["192.0.2.1:40000", name, "1", "fin"].map(str::to_owned).to_vec(), asides, Vec::new());
        }
        table.lines(Some(width), false)
    };
    let cut = lines(60, &[], true);
    assert_eq!(cut[0], "CLIENT           NAME                                  BYTES");
    assert!(
        cut[1].contains("aaa…") && cut[1].ends_with(".example.org      1") && cut[1].chars().count() == 60,
        "{cut:?}"
    );
    assert_eq!(cut[2], format!("    name {long}"));
    assert_eq!(cut[3], "192.0.2.1:40000  b.example                                 1");
    // Without room there is a note instead, unless names are requested.
    assert_eq!(lines(40, &[], true)[..2], ["CLIENT           BYTES  END", "192.0.2.1:40000      1  fin"]);
    assert_eq!(lines(40, &[], true).last().unwrap(), "    name b.example");
    assert_eq!(lines(40, &[1], true)[0], "CLIENT           NAME              BYTES");
    let piped = lines(60, &[], false);
    assert_eq!(piped[1..], [format!("192.0.2.1:40000  {long}      1"), cut[3].clone()]);
}

#[test]
fn both_directions_of_a_figure_are_shown_or_none() {
    let columns = [
        Column::words("CLIENT", "client", 0),
        Column::words("FLAGS>", "flags_c2s", 1),
        Column::words("<FLAGS", "flags_s2c", 1),
    ];
    let shown = |width, essential: &[usize]| {
        let layout = Layout { essential: essential.to_vec(), is_named: !essential.is_empty(), ..Layout::default() };
        let mut table = Table::new(&columns, &layout);
        table.row(["192.0.2.1:40000", "SA", ""].map(str::to_owned).to_vec());
        table.lines(Some(width), false).swap_remove(0)
    };
    assert_eq!(shown(31, &[]), "CLIENT           FLAGS>  <FLAGS");
    assert_eq!(shown(30, &[]), "CLIENT");
    assert_eq!(shown(30, &[1]), "CLIENT           FLAGS>");
}

#[test]
fn asides_share_lines() {
    let columns = ["A", "B", "C"].map(|title| Column::words(title, title, 1));
    let mut table = Table::new(&columns, &Layout::default());
    let aside = |title, text: &str| Aside { title, text: text.into() };
    let asides = vec![aside("A", "not shown"), aside("B", "bbbb"), aside("C", "cccc"), aside("C", "dddd")];
    table.row_with_notes(vec!["a".repeat(16), "b".into(), "c".into()], asides, vec!["note".into()]);
    let lines = table.lines(Some(17), false);
    assert_eq!(lines[1..], ["a".repeat(16), "    bbbb, cccc".into(), "    dddd".into(), "    note".into()]);
}

#[test]
fn later_pieces_keep_to_the_titles() {
    let mut table = table("");
    assert_eq!(table.lines(Some(80), false)[0], "ID  CLIENT");
    let asides = vec![Aside { title: "NOTE", text: "noted later".into() }];
    table.row_with_notes(vec!["2".into(), "10.0.0.1".into(), "later".into()], asides, Vec::new());
    assert_eq!(table.lines(Some(80), false), [" 2  10.0.0.1", "    noted later"]);
}

#[test]
fn columns_without_a_cell_are_left_out() {
    assert_eq!(table("").lines(None, false)[0], "ID  CLIENT");
}

#[test]
fn chosen_columns_stay_and_stand_alone() {
    let layout = Layout { exactly: Some(vec![2, 0]), ..Layout::default() };
    assert_eq!(arranged("midstream", layout).lines(Some(9), false), ["NOTE       ID", "midstream   1"]);
    let layout = Layout { essential: vec![2], without: vec![0], ..Layout::default() };
    let lines = arranged("midstream", layout).lines(Some(24), false);
    assert_eq!(lines[..2], ["CLIENT         NOTE", "2001:db…222::3 midstream"].map(str::to_owned));
    let layout = Layout { essential: vec![2], is_named: true, ..Layout::default() };
    assert_eq!(arranged("midstream", layout).lines(Some(24), false)[1..], [" 1  2001:db8:1111:2222::3  midstream"]);
    let layout = Layout { wide: true, ..Layout::default() };
    assert_eq!(arranged("midstream", layout).lines(Some(10), false)[1], " 1  2001:db8:1111:2222::3  midstream");
    let layout = Layout { essential: vec![2], ..Layout::default() };
    assert_eq!(arranged("", layout).lines(None, false)[0], "ID  CLIENT                 NOTE");
}

fn times(days: &[u64]) -> Table {
    let columns = [Column::time("START", "start", 1), Column::words("CLIENT", "client", 0)];
    let mut table = Table::new(&columns, &Layout::default());
    for day in days {
        let time = table.layout.clock.cell(1_700_000_000_123_456_789 + day * 86_400_000_000_000);
        table.row(vec![time, "192.0.2.1:40000".into()]);
    }
    table
}

#[test]
fn times_lose_their_date_before_a_column_goes() {
    let full = times(&[0]).lines(Some(80), false);
    assert_eq!(full, ["START (UTC)                 CLIENT", "2023-11-14 22:13:20.123456  192.0.2.1:40000"]);
    let brief = times(&[0, 0]).lines(Some(40), false);
    assert_eq!(brief[..2], ["START (UTC)   CLIENT", "22:13:20.123  192.0.2.1:40000"]);
    // Of several days the date stays, and the fraction goes.
    let brief = times(&[0, 1]).lines(Some(40), false);
    assert_eq!(brief[1..], ["2023-11-14 22:13:20  192.0.2.1:40000", "2023-11-15 22:13:20  192.0.2.1:40000"]);
    assert_eq!(times(&[0, 1]).lines(Some(30), false), ["CLIENT", "192.0.2.1:40000", "192.0.2.1:40000"]);
}

#[test]
fn addresses_that_are_cut_keep_their_port() {
    assert_eq!(cut("192.0.2.100:35446", 12), "192.0…:35446");
    assert_eq!(cut("[2001:db8:1111::10]:40898", 12), "[2001…:40898");
    assert_eq!(cut("2001:db8:1111:2222::3", 16), "2001:db8…2222::3");
}

#[test]
fn very_narrow_tables_say_beneath_what_has_no_column() {
    let columns = [
        Column::figures("ID", "id", 0),
        Column::words("PROTO", "proto", 0),
        Column::words("CLIENT", "client", 0),
        Column::figures("PACKETS", "packets", 0),
        Column::figures("BYTES", "bytes", 0),
    ];
    let mut table = Table::new(&columns, &Layout::default());
    let note = "a note that is longer than one such line".to_owned();
    table.row_with_notes(
        ["1", "tcp", "192.0.2.100:35446", "48", "38.3 kB"].map(str::to_owned).to_vec(),
        Vec::new(),
        vec![note],
    );
    let lines = table.lines(Some(27), false);
    assert_eq!(lines[..2], ["ID CLIENT          BYTES", " 1 192.0.…:35446 38.3 kB"].map(str::to_owned));
    assert!(lines.iter().all(|line| line.chars().count() <= 27), "{lines:?}");
    assert!(lines.iter().any(|line| line == "    proto tcp, packets 48"), "{lines:?}");
}
