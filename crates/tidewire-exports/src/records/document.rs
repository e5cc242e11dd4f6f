//! Tables of `docs/output.md` and `docs/formats.md`.

use crate::{
    records::{
        Absent, DatagramKind, Description, EventKind, FLOW, Field, FileKind, FlowKind, Form, MatchKind, RecordKind,
        ordered,
    },
    table::Kind,
};

/// The tables of `docs/output.md`, by their names there.
#[must_use]
pub fn tables() -> Vec<(&'static str, String)> {
    vec![
        ("of both", documented(FlowKind::FIELDS, Form::JSON, false)),
        ("of directions of flows", documented(FlowKind::FIELDS, Form::JSON, true)),
        ("of directions of streams", documented(FlowKind::FIELDS, Form::STREAM_JSON, true)),
        ("of datagrams", documented(DatagramKind::FIELDS, Form::JSON, false)),
        ("of matches", documented(MatchKind::FIELDS, Form::JSON, false)),
        ("of files", documented(FileKind::FIELDS, Form::JSON, false)),
        ("of events", documented(EventKind::FIELDS, Form::JSON, false)),
    ]
}

/// A table of names in other formats: of fields of flows, and of those of protocols that IPFIX has
/// ([`elements_of_protocols`](crate::ipfix::elements_of_protocols)).
#[must_use]
pub fn other_formats(of_protocols: impl Iterator<Item = (&'static [&'static str], &'static str)>) -> String {
    let mut rows: Vec<[String; 4]> = Vec::new();
    for field in &FLOW {
        let eve = field.aliases.eve.map(|(place, name)| format!("{}{name}", place.object()));
        let zeek = field.aliases.zeek.map(str::to_owned);
        let ipfix = field.aliases.ipfix.iter().map(|element| element.name).collect::<Vec<_>>().join(", ");
        let base = field.side.map_or(field.column.name, |(_, base)| base).to_owned();
        match rows.last_mut() {
            _ if eve.is_none() && zeek.is_none() && ipfix.is_empty() => {}
            Some([name, of_eve, of_zeek, _]) if *name == base => {
                for (all, other) in [(of_eve, eve), (of_zeek, zeek)] {
                    if let Some(other) = other.filter(|other| other != all) {
                        *all += &format!(", {other}");
                    }
                }
            }
            _ => rows.push([base, eve.unwrap_or_default(), zeek.unwrap_or_default(), ipfix]),
        }
    }
    for (names, element) in of_protocols {
        rows.push([names.join(", "), String::new(), String::new(), element.to_owned()]);
    }
    let rows: String = rows.into_iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    format!("| field | EVE, of `flow` | Zeek, of `conn` | IPFIX |\n|---|---|---|---|\n{rows}")
}

/// A table of a form's JSON members with types and meanings. `of_sides`: of members that each direction has, without the direction's
/// name; else of those that it has not. Members that follow each other with one meaning have one row.
pub(super) fn documented<K: RecordKind>(fields: &[Field<K>], form: Form, of_sides: bool) -> String {
    let mut rows: Vec<(Vec<String>, String, &str)> = Vec::new();
    for field in ordered(fields, form).into_iter().filter(|field| field.side.is_some() == of_sides) {
        let name = match (field.side, field.path(form)) {
            (Some((1, _)), _) => continue,
            (_, (_, name)) if form == Form::STREAM_JSON && of_sides => name,
            (Some((_, base)), _) => base,
            (None, (object, name)) => object.unwrap_or(name),
        };
        let (name, type_name) = (format!("`{name}`"), type_of(field, form));
        match rows.last_mut() {
            Some((names, _, _)) if names.contains(&name) => {}
            Some((names, known, meaning)) if *meaning == field.meaning && *known == type_name => names.push(name),
            _ => rows.push((vec![name], type_name, field.meaning)),
        }
    }
    let row = |(names, type_name, meaning): (Vec<String>, String, &str)| {
        format!("| {} | {type_name} | {meaning} |\n", names.join(", "))
    };
    let rows: String = rows.into_iter().map(row).collect();
    format!("| name | type | meaning |\n|---|---|---|\n{rows}")
}

fn type_of<K: RecordKind>(field: &Field<K>, form: Form) -> String {
    let of_kind = match (field.path(form).0, field.side, field.column.kind) {
        (Some(_), None, _) | (_, _, Kind::Object(_)) => "object",
        (_, _, Kind::Time | Kind::Long | Kind::Int) => "number",
        (_, _, Kind::Truth) => "boolean",
        (_, _, Kind::Text) => "text",
        (_, _, Kind::List(Kind::Int | Kind::Long)) => "array of numbers",
        (_, _, Kind::List(Kind::Object([]))) => "array",
        (_, _, Kind::List(_)) => "array of objects",
    };
    match field.absent {
        Absent::Null => format!("{of_kind} or null"),
        Absent::Omitted | Absent::EmptyArray => of_kind.to_owned(),
    }
}
