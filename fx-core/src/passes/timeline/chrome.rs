//! Chrome's trace event format.

use serde_json::{Value as Json, json};

use super::Timeline;

impl Timeline {
    /// The run in Chrome's trace event format, for `chrome://tracing` and Perfetto: modules as spans around their nodes,
    /// times in microseconds.
    pub fn chrome_trace(&self) -> String {
        let mut events = Vec::new();
        let mut open: Vec<(&str, f64)> = Vec::new();
        let mut now = 0.0;
        for event in &self.events {
            let same = open.iter().zip(&event.modules).take_while(|((path, _), module)| path == module).count();
            close(&mut open, same, now, &mut events);
            open.extend(event.modules[same..].iter().map(|path| (path.as_str(), now)));
            let args = json!({"target": event.target, "location": event.location});
            events.push(span(&event.name, event.op.name(), now, now + event.seconds, args));
            now += event.seconds;
        }
        close(&mut open, 0, now, &mut events);
        json!({"traceEvents": events, "displayTimeUnit": "ms"}).to_string()
    }
}

/// Ends the modules deeper than `depth`.
fn close(open: &mut Vec<(&str, f64)>, depth: usize, now: f64, events: &mut Vec<Json>) {
    while open.len() > depth {
        if let Some((path, start)) = open.pop() {
            events.push(span(path, "module", start, now, json!({})));
        }
    }
}

fn span(name: &str, category: &str, start: f64, end: f64, args: Json) -> Json {
    let (ts, dur) = (start * 1e6, (end - start) * 1e6);
    json!({"name": name, "cat": category, "ph": "X", "ts": ts, "dur": dur, "pid": 1, "tid": 1, "args": args})
}
