//! Tables of `docs/output.md`.

use crate::{
    records::{Absent, Field, Form, RecordKind, ordered},
    table::Kind,
};

/// A table of a form's JSON members with types and meanings. `of_sides`: of members that each direction has, without the direction's
/// name; else of those that it has not. Members that follow each other with one meaning have one row.
#[must_use]
pub fn documented<K: RecordKind>(fields: &[Field<K>], form: Form, of_sides: bool) -> String {
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
        (_, _, Kind::List(_)) => "array of objects",
    };
    match field.absent {
        Absent::Null => format!("{of_kind} or null"),
        Absent::Omitted | Absent::EmptyArray => of_kind.to_owned(),
    }
}
