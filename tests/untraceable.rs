//! The table of messages against everything that repeats it: the traits that the compiler quotes, the cases of what is
//! refused, the remedies, and docs/untraceable.md.
//!
//! `UPDATE=1 cargo test --test untraceable` writes the page anew.

#[path = "../fx-macros/src/messages.rs"]
mod messages;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use messages::{ALL, Message};
use proc_macro2::{TokenStream, TokenTree};

const PAGE: &str = "docs/untraceable.md";

const HEAD: &str = "# What cannot be traced

What cannot be captured does not compile. This page has every message of the front end: why, an example that is refused,
and what to write instead. All examples are tests: the first are in `tests/ui`, the second in `tests/accept/remedies`.

In messages `TracedTensor` is the type of a tensor in a traceable function, and `SymbolicSize` that of `x.size(0)`. All
faults of a function are reported at once. A syntax error is left to the compiler.

The page is made from the table in `fx-macros/src/messages.rs`: `UPDATE=1 cargo test --test untraceable`.
";

const TAIL: &str = "
## In the compiler's own words

Where neither the text of a function nor a trait can tell, the compiler's own message stands: what a plain function or a
collection takes is not in the text that the attribute sees. A call of a function that is not marked `#[traceable]` is
refused with ``expected `&Tensor`, found `&TracedTensor` ``. The message calls a tensor `TracedTensor` and a symbolic size
`SymInt<TracedTensor>`; advice to restrict the type parameter is not meant for you.

Two impl blocks of one type that both have a `forward` are not seen together by any attribute either: the compiler reports
that `forward`, and what the attribute implements with it, is there twice. Keep one.

Instead: mark a helper made of ops with `#[traceable]`, and one that needs the data with `#[fx::wrap]`; keep masks as
tensors, `a.where_(mask, b)`; give plain Rust what is known while tracing: fields of the module, static arguments.
";

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).replace("\r\n", "\n")
}

/// The files below a folder, in order.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|have| have == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn case_name(message: &Message) -> String {
    message.name.to_lowercase()
}

/// The case of a message: the one of its name.
fn case(message: &Message) -> PathBuf {
    let name = case_name(message);
    let is_it = |path: &PathBuf| path.file_stem().is_some_and(|stem| *stem == *name);
    files("tests/ui", "rs").into_iter().find(is_it).unwrap_or_else(|| panic!("no case in tests/ui for {name}"))
}

/// Whether a text is in another, whatever stands for `{Self}` and its like.
fn is_in(text: &str, all: &str) -> bool {
    let mut rest = all;
    for part in text.split('{').map(|part| part.split_once('}').map_or(part, |(_, after)| after)) {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[test]
fn every_message_has_a_case_that_gives_it() {
    for message in ALL {
        let path = case(message).with_extension("stderr");
        let stderr = read(&path);
        // The compiler breaks no lines of its own.
        for text in [message.text, message.label, message.help] {
            assert!(is_in(text, &stderr), "{} does not say: {text}", path.display());
        }
    }
}

#[test]
fn cases_give_one_error_for_each_fault() {
    for path in files("tests/ui", "stderr") {
        let stderr = read(&path);
        let mut places = BTreeMap::new();
        for line in stderr.lines().filter_map(|line| line.trim_start().strip_prefix("--> tests/ui/")) {
            *places.entry(line).or_insert(0) += 1;
        }
        let repeated: Vec<_> = places.iter().filter(|(_, count)| **count > 1).collect();
        assert!(repeated.is_empty(), "{}: more than one error at {repeated:?}", path.display());
    }
}

#[test]
fn there_are_enough_cases() {
    let accepted = files("tests/accept", "rs").len() - files("tests/accept/remedies", "rs").len();
    let refused = files("tests/ui", "rs").len() - files("tests/ui/rustc", "rs").len();
    println!("{refused} refused, {accepted} accepted");
    assert!(refused >= 80 && accepted >= 40, "{refused} refused, {accepted} accepted");
}

#[test]
fn every_case_that_is_accepted_is_compiled() {
    for path in files("tests/accept", "rs") {
        let (folder, name) = (path.parent().unwrap(), path.file_stem().unwrap().to_string_lossy().into_owned());
        if name == "main" {
            continue;
        }
        let list = if folder.ends_with("accept") { folder.join("main.rs") } else { folder.with_extension("rs") };
        let listed = read(&list).lines().any(|line| {
            line.strip_prefix("mod ").is_some_and(|rest| rest.trim_start_matches("r#").trim_end_matches(';') == name)
        });
        assert!(listed, "{} is not listed in {}", path.display(), list.display());
    }
}

/// The texts of `#[diagnostic::on_unimplemented]` by trait.
fn quoted(tokens: TokenStream, found: &mut BTreeMap<String, BTreeMap<String, String>>) {
    let mut texts = None;
    for token in tokens {
        match token {
            TokenTree::Group(group) => match on_unimplemented(group.stream()) {
                Some(have) => texts = Some(have),
                None => quoted(group.stream(), found),
            },
            TokenTree::Ident(ident) if ident != "pub" && ident != "trait" => {
                if let Some(texts) = texts.take() {
                    found.insert(ident.to_string(), texts);
                }
            }
            _ => {}
        }
    }
}

/// `diagnostic::on_unimplemented(message = "..", ..)`
fn on_unimplemented(tokens: TokenStream) -> Option<BTreeMap<String, String>> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let is = |token: &TokenTree, name: &str| matches!(token, TokenTree::Ident(ident) if ident == name);
    let [first, .., last, TokenTree::Group(group)] = &tokens[..] else { return None };
    if !is(first, "diagnostic") || !is(last, "on_unimplemented") {
        return None;
    }
    let mut texts = BTreeMap::new();
    let mut key = String::new();
    for token in group.stream() {
        match token {
            TokenTree::Ident(ident) => key = ident.to_string(),
            TokenTree::Literal(literal) => {
                let text: syn::LitStr = syn::parse2(TokenTree::Literal(literal).into()).unwrap();
                texts.insert(key.clone(), text.value());
            }
            _ => {}
        }
    }
    Some(texts)
}

#[test]
fn traits_say_what_the_table_says() {
    let mut found = BTreeMap::new();
    for path in files("fx-core/src", "rs").into_iter().chain(files("fx-nn/src", "rs")) {
        let text = read(&path);
        if text.contains("on_unimplemented") {
            quoted(text.parse().unwrap(), &mut found);
        }
    }
    let expected: BTreeMap<String, BTreeMap<String, String>> = ALL
        .iter()
        .flat_map(|message| {
            let texts = [("message", message.text), ("label", message.label), ("note", message.help)];
            let texts = texts.map(|(key, text)| (key.to_owned(), text.to_owned()));
            message.by.iter().map(move |name| ((*name).to_owned(), texts.clone().into()))
        })
        .collect();
    let names = |map: &BTreeMap<String, _>| map.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected), "the traits with a message, and the table");
    for (name, texts) in expected {
        assert_eq!(found[&name], texts, "the message of {name}");
    }
}

/// What the compiler says first: the line, and the text beside the guilty token.
fn said(stderr: &str) -> String {
    let first = stderr.lines().next().unwrap_or_default();
    let beside = stderr.lines().take_while(|line| !line.is_empty()).find_map(|line| {
        let (_, text) = line.split_once("^ ")?;
        Some(text.trim_start_matches(['^', '-', ' ']).trim())
    });
    beside.map_or_else(|| first.to_owned(), |text| format!("{first}\n{text}"))
}

/// The example of a file: without its header, its imports and its `main`.
fn example(path: &Path) -> String {
    let text = read(path);
    let mut in_main = false;
    let lines = text.lines().filter(|line| {
        in_main |= *line == "fn main() {";
        let is_part = !in_main && !line.starts_with("//!") && !line.starts_with("use fx::") && *line != "fn main() {}";
        in_main &= *line != "}";
        is_part
    });
    let lines: Vec<_> = lines.collect();
    let mut text = lines.join("\n").trim().to_owned();
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut topic = "";
    for message in ALL {
        if message.topic != topic {
            topic = message.topic;
            write!(page, "\n## {topic}\n").unwrap();
        }
        let remedy = example(Path::new(&format!("tests/accept/remedies/{}.rs", case_name(message))));
        write!(
            page,
            "\n### {}\n\nWhy: {}.\n\n```text\n{}\n```\n\nInstead: {}.\n\n```rust\n{remedy}\n```\n",
            message.text,
            message.label,
            example(&case(message)),
            message.help,
        )
        .unwrap();
    }
    page.push_str(TAIL);
    for path in files("tests/ui/rustc", "rs") {
        let doc = read(&path).lines().next().unwrap_or_default().trim_start_matches("//! ").to_owned();
        let stderr = read(path.with_extension("stderr"));
        write!(page, "\n{doc}\n\n```text\n{}\n\n{}\n```\n", example(&path), said(&stderr)).unwrap();
    }
    page
}

#[test]
fn the_page_is_made_from_the_table() {
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all("docs").unwrap();
        fs::write(PAGE, &page).unwrap();
    }
    assert!(read(PAGE) == page, "{PAGE} is not up to date: UPDATE=1 cargo test --test untraceable");
}
