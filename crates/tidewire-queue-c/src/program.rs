//! Name of a program, and its environment.

use std::env;

/// The caller's value, else that of the environment; empty texts count as absent.
pub fn said(given: Option<&str>, variable: &str) -> Option<String> {
    given.map(str::to_owned).or_else(|| env::var(variable).ok()).filter(|text| !text.is_empty())
}

/// The program's name, as far as it can be that of a reader or an analyzer.
pub fn program() -> String {
    let own = env::current_exe().ok();
    let name = own.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy()).unwrap_or_default();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let name: String = name.chars().map(|c| if is_allowed(c) { c } else { '_' }).take(64).collect();
    if name.is_empty() { "unnamed".into() } else { name }
}
