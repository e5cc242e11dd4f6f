//! Draws a snapshot. Reads neither clock nor terminal: the same snapshot and size give the same text.

use ratatui::{
    Frame,
    style::{Color, Modifier, Style, Stylize as _},
    text::{Line, Span},
    widgets::Paragraph,
};

use tidewire::legible::legible;

use super::snapshot::{Loss, Memory, Snapshot, Sort, Worker};
use crate::units::{BitRate, Bytes, Count, counted};

/// Lines that are always shown: title, rates, memory, keys.
const FIXED: usize = 4;
/// Free lines from which on losses have a table.
const LOSS_TABLE_LINES: usize = 14;
/// Free lines from which on workers have rows.
const WORKER_LINES: usize = 12;
/// Columns from which on tables are complete.
const WIDE: usize = 64;

/// Draws a snapshot on all of a frame.
pub fn draw(frame: &mut Frame<'_>, snapshot: &Snapshot) {
    let area = frame.area();
    let lines = lines(snapshot, usize::from(area.width), usize::from(area.height));
    frame.render_widget(Paragraph::new(lines), area);
}

fn lines(snapshot: &Snapshot, width: usize, height: usize) -> Vec<Line<'static>> {
    let mut lines = vec![title(snapshot, width), rates(snapshot, width)];
    let room = height.saturating_sub(FIXED);
    if room == 0 {
        lines.truncate(height);
        return lines;
    }
    lines.push(memory(&snapshot.memory, width));
    let mut middle = losses(snapshot, width, room);
    middle.extend(workers(&snapshot.workers, width, room));
    let left = room.saturating_sub(middle.len());
    middle.extend(flows(snapshot, width, left));
    middle.truncate(room);
    middle.resize_with(room, Line::default);
    lines.append(&mut middle);
    lines.push(keys(snapshot, width));
    lines
}

fn heading(text: String) -> Line<'static> {
    Line::from(Span::styled(text, Style::new().add_modifier(Modifier::BOLD)))
}

fn title(snapshot: &Snapshot, width: usize) -> Line<'static> {
    let seconds = snapshot.elapsed.as_secs();
    let time = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let right = if snapshot.paused { format!("paused {time}") } else { time };
    let left = cut(&format!("tidewire top  {}", legible(&snapshot.interfaces)), width.saturating_sub(right.len() + 1));
    let text = format!("{left}{right:>room$}", room = width.saturating_sub(left.chars().count()));
    Line::from(Span::styled(text, Style::new().add_modifier(Modifier::REVERSED)))
}

fn whole(value: f64) -> String {
    Count(value.round().max(0.0) as u64).to_string()
}

fn rates(snapshot: &Snapshot, width: usize) -> Line<'static> {
    let (packets, bits) = (whole(snapshot.now.packets), BitRate(snapshot.now.bits));
    let short = format!("{packets} packets/s  {bits}");
    let all = format!("{short}   in all {}, {}", Count(snapshot.packets), Bytes(snapshot.bytes));
    let long = format!("{all}, {} open", counted(snapshot.open, "stream", "streams"));
    let fitting = [long, all].into_iter().find(|text| text.chars().count() <= width);
    Line::from(fitting.unwrap_or_else(|| cut(&short, width)))
}

/// A bar with a mark at each watermark, and its meaning.
fn memory(memory: &Memory, width: usize) -> Line<'static> {
    let permille = permille(memory.used, memory.limit);
    let said = format!(" {} % of {} for streams", permille / 10, Bytes(memory.limit));
    let room = width.saturating_sub("memory []".len() + said.chars().count());
    let place = |permille: u32| (permille as usize * room / 1000).min(room.saturating_sub(1));
    let filled = (permille as usize * room).div_ceil(1000).min(room);
    let mut bar: Vec<char> = (0..room).map(|at| if at < filled { '#' } else { '.' }).collect();
    for mark in &memory.watermarks {
        if let Some(one) = bar.get_mut(place(*mark)) {
            *one = '|';
        }
    }
    let is_above = memory.watermarks.first().is_some_and(|first| permille >= *first);
    let colour = if is_above { Color::Red } else { Color::Green };
    Line::from(vec![
        Span::raw("memory ["),
        Span::styled(bar.into_iter().collect::<String>(), Style::new().fg(colour)),
        Span::raw("]"),
        Span::raw(said),
    ])
}

fn permille(part: u64, whole: u64) -> u32 {
    if whole == 0 { 0 } else { (u128::from(part) * 1000 / u128::from(whole)).min(1000) as u32 }
}

/// Share of packets lost, in percent.
fn share(lost: f64, came: f64) -> String {
    if lost <= 0.0 { "0 %".into() } else { format!("{:.2} %", lost * 100.0 / (lost + came)) }
}

fn losses(snapshot: &Snapshot, width: usize, room: usize) -> Vec<Line<'static>> {
    let sum = |of: fn(&Loss) -> f64| snapshot.losses.iter().map(of).sum::<f64>();
    let now = share(sum(|loss| loss.rate), snapshot.now.packets);
    let ever = share(sum(|loss| loss.total as f64), snapshot.packets as f64);
    if snapshot.losses.is_empty() {
        return vec![Line::from("nothing lost").green()];
    }
    if room < LOSS_TABLE_LINES {
        let text = format!("lost {now} now, {ever} in all");
        return vec![Line::from(cut(&text, width)).red()];
    }
    let mut lines = vec![heading(format!("{:<24}{:>14}{:>16}", "LOST", "PACKETS/S", "IN ALL"))];
    let shown = room / 4;
    for loss in snapshot.losses.iter().take(shown) {
        let text = format!("{:<24}{:>14}{:>16}", loss.place, whole(loss.rate), Count(loss.total).to_string());
        let line = Line::from(cut(&text, width));
        lines.push(if loss.rate > 0.0 { line.red() } else { line });
    }
    lines.push(Line::from(cut(&format!("{:<24}{now:>14}{ever:>16}", "  of all packets"), width)));
    lines
}

fn workers(workers: &[Worker], width: usize, room: usize) -> Vec<Line<'static>> {
    if room < WORKER_LINES {
        return Vec::new();
    }
    let row = |cells: [String; 7]| {
        let [number, cpu, packets, bits, lost, ring, memory] = cells;
        cut(&format!("{number:<7}{cpu:>4}{packets:>14}{bits:>14}{lost:>12}{ring:>8}{memory:>9}"), width)
    };
    let titles = ["WORKER", "CPU", "PACKETS/S", "BITS/S", "LOST/S", "RING", "MEMORY"];
    let mut lines = vec![heading(row(titles.map(str::to_owned)))];
    let most = (room / 4).max(1);
    for (number, worker) in workers.iter().enumerate().take(most) {
        let cells = [
            number.to_string(),
            worker.cpu.map_or_else(|| "-".into(), |cpu| cpu.to_string()),
            whole(worker.now.packets),
            BitRate(worker.now.bits).to_string(),
            whole(worker.lost),
            format!("{} %", worker.ring_permille / 10),
            format!("{} %", worker.memory_permille / 10),
        ];
        let line = Line::from(row(cells));
        lines.push(if worker.lost > 0.0 { line.red() } else { line });
    }
    if workers.len() > most {
        lines.push(Line::from(format!("and {} more", workers.len() - most)));
    }
    lines
}

fn flows(snapshot: &Snapshot, width: usize, room: usize) -> Vec<Line<'static>> {
    if room == 0 {
        return Vec::new();
    }
    let is_wide = width >= WIDE;
    let others = if is_wide { 6 + 11 + 13 + 10 } else { 13 };
    let names = width.saturating_sub(others + 1);
    let row = |name: &str, proto: &str, packets: String, bits: String, total: String| {
        let name = cut(name, names);
        let text = match is_wide {
            true => format!("{name:<names$} {proto:<6}{packets:>11}{bits:>13}{total:>10}"),
            false => {
                let sorted = match snapshot.sort {
                    Sort::Bits => bits,
                    Sort::Packets => packets,
                    Sort::Total => total,
                };
                format!("{name:<names$} {sorted:>13}")
            }
        };
        cut(&text, width)
    };
    // Marks the sorted column.
    let mark = |sort: Sort, title: &str| {
        let arrow = if snapshot.reversed { '^' } else { 'v' };
        if snapshot.sort == sort { format!("{title} {arrow}") } else { title.to_owned() }
    };
    let titles = [mark(Sort::Packets, "PACKETS/S"), mark(Sort::Bits, "BITS/S"), mark(Sort::Total, "BYTES")];
    let [packets, bits, total] = titles;
    let shown = snapshot.flows.iter().skip(snapshot.scrolled).take(room - 1);
    let mut lines = vec![heading(row("FLOW", "PROTO", packets, bits, total))];
    lines.extend(shown.map(|flow| {
        let bits = BitRate(flow.now.bits).to_string();
        Line::from(row(&flow.name, &flow.proto, whole(flow.now.packets), bits, Bytes(flow.bytes).to_string()))
    }));
    lines
}

fn keys(snapshot: &Snapshot, width: usize) -> Line<'static> {
    if let Some(trouble) = &snapshot.trouble {
        return Line::from(cut(&legible(trouble), width)).red();
    }
    let long = "q quit   p pause   s sort   r reverse   arrows scroll";
    let text = if long.len() <= width { long } else { "q quit  p pause  s sort  r reverse" };
    Line::from(cut(text, width)).dim()
}

/// Truncates to this many characters, with an ellipsis.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(most.saturating_sub(1)).collect();
    if most > 0 {
        cut.push('…');
    }
    cut
}
