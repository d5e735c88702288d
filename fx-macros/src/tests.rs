//! What an expansion looks like, how long one takes, and that it is the same on every run.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proc_macro2::TokenStream;
use syn::{Item, parse_quote};

use crate::item;

fn expand(item: Item) -> TokenStream {
    item::traceable(TokenStream::new(), item)
}

/// Tokens as rustfmt writes them.
fn formatted(tokens: &TokenStream) -> String {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../rustfmt.toml");
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path", config])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt, which comes with the toolchain");
    rustfmt.stdin.take().unwrap().write_all(tokens.to_string().as_bytes()).unwrap();
    String::from_utf8(rustfmt.wait_with_output().unwrap().stdout).unwrap()
}

/// Holds an expansion against its file, which `UPDATE=1 cargo test -p fx-macros` writes anew.
#[track_caller]
fn check(name: &str, item: Item) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expanded").join(name);
    let text = formatted(&expand(item));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    assert!(text == expected, "{} differs:\n{text}", path.display());
}

#[test]
fn a_module_reads_as_written_by_hand() {
    check(
        "module.rs",
        parse_quote! {
            pub struct MyModule {
                param: Parameter,
                linear: nn::Linear,
                do_activation: bool,
            }
        },
    );
}

#[test]
fn a_forward_reads_as_written_by_hand() {
    check(
        "forward.rs",
        parse_quote! {
            impl MyModule {
                pub fn new() -> Self {
                    Self { param: Parameter::new(Tensor::rand([3, 4])), linear: nn::Linear::new(4, 5), do_activation: true }
                }

                pub fn forward(&self, x: &Tensor, scale: f64) -> Tensor {
                    let y = self.linear.forward(x + &self.param).clamp(0.0, 1.0);
                    if self.do_activation { y.relu() } else { (y > 0.0) * y * scale }
                }
            }
        },
    );
}

#[test]
fn a_function_reads_as_written_by_hand() {
    check(
        "function.rs",
        parse_quote! {
            /// Where the guards stand: what may be traced, and must be plain Rust.
            pub fn guarded(xs: &[Tensor], limit: usize) -> Tensor {
                let mut sum = Tensor::zeros([3]);
                for (i, x) in xs.iter().enumerate() {
                    if i < limit && xs.len() > 2 {
                        sum += x * i as f64;
                    }
                }
                assert!(sum.sum() > 0.0);
                sum
            }
        },
    );
}

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

#[test]
fn five_hundred_lines_take_no_time() {
    let text = model(500);
    let item: Item = syn::parse_str(&text).unwrap();
    let start = Instant::now();
    let expanded = expand(item.clone());
    let taken = start.elapsed();
    println!("{} lines: {taken:?}", text.lines().count());
    assert_eq!(expanded.to_string(), expand(item).to_string());
    assert!(taken < Duration::from_secs(2), "{taken:?}");
}
