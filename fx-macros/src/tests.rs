//! How long an expansion takes, and that expansions are the same on every run.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::context::Context;
use crate::function;

/// An `impl` block of about this many lines, of what models are made of.
fn model(lines: usize) -> String {
    let mut text = String::from("impl Model {\n    pub fn forward(&self, x: &Tensor, xs: &[Tensor]) -> Tensor {\n");
    text.push_str("        let mut y = x.clone();\n");
    for i in 0..lines / 10 {
        writeln!(
            text,
            "        let a{i} = self.conv{i}.forward(&y).relu();
        let b{i} = self.norm{i}.forward(&a{i}) * 0.5 + &self.weight{i};
        let [n, c, h, w] = b{i}.sizes();
        let c{i} = b{i}.reshape((n, c, h * w)).transpose(1, 2);
        if self.flags[{i}] && xs.len() > {i} {{
            y = (c{i} > 0.0) * c{i} + &xs[{i}];
        }}
        for (j, x) in xs.iter().enumerate() {{
            y = y + x * j as f64;
        }}"
        )
        .unwrap();
    }
    text.push_str("        y\n    }\n}\n");
    text
}

fn expand(text: &str) -> (String, Duration) {
    let item = syn::parse_str(text).unwrap();
    let start = Instant::now();
    let mut context = Context::new();
    let expanded = function::expand_impl(&mut context, item);
    let taken = start.elapsed();
    (context.finish(expanded).to_string(), taken)
}

#[test]
fn five_hundred_lines_take_no_time() {
    let text = model(500);
    let (expanded, taken) = expand(&text);
    println!("{} lines: {taken:?}", text.lines().count());
    assert_eq!(expanded, expand(&text).0);
    assert!(taken < Duration::from_secs(2), "{taken:?}");
}
