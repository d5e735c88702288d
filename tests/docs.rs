//! What the documentation says is shown by tests that are there.

use std::fmt::Write as _;
use std::path::Path;

use fx::ops::{Definition, Style};

/// The page for users of torch.fx names a test in the last cell of each row, but for what is left out.
#[test]
fn every_feature_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let page = read("docs/for-torch-fx-users.md").unwrap();
    let (features, left_out) = page.split_once("## Left out").unwrap();
    let rows = |text: &str| -> Vec<Vec<String>> {
        let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
        let cells = |line: &str| {
            line.replace("\\|", "/").trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        lines.map(cells).filter(|row: &Vec<String>| !row[0].starts_with("torch.fx")).collect()
    };
    let mut missing = Vec::new();
    for row in rows(features) {
        assert_eq!(row.len(), 4, "{row:?}");
        let test = row[3].trim_matches('`');
        let found = test.split_once("::").is_some_and(|(file, name)| {
            let wanted = if file.ends_with(".md") { format!("\n## {name}\n") } else { format!("#[test]\nfn {name}()") };
            // Tests within a module are indented.
            read(file).is_some_and(|text| text.replace("\n    ", "\n").contains(&wanted))
        });
        if !found {
            missing.push(test.to_owned());
        }
    }
    assert!(missing.is_empty(), "there are no tests {missing:#?}");
    assert!(rows(left_out).iter().all(|row| row.len() == 2 && !row[1].is_empty()), "what is left out has a reason");
}

/// What the page of all ops says before its tables.
const OPS: &str = "# Ops

Every op of the table, with PyTorch's name for it: a method of every tensor, in eager and in traced code, or a function of `Tensor` where the call
says so, and a function in `fx::functional`. What ends with `_with` takes options besides, a struct in `fx::ops::options` whose methods are
named after PyTorch's arguments: `x.max_pool2d_with(3, MaxPool2dOptions::new().stride(2))`. Calls that are written in several ways, and what is put together of
other ops (`max_dim`, `sum_dim`, `split_sizes`, `meshgrid`, `clamp_min` and more), are methods of `fx::ops::derived::Derived`. What is written otherwise than in
PyTorch stands in [for-torch-fx-users.md](for-torch-fx-users.md), layers in `fx::nn`. `UPDATE=1 cargo test --test docs` writes this page.
";

/// How an op is called, its options with their defaults, and the first sentence of what it does.
fn row(function: &Definition) -> String {
    let mut names: Vec<&str> = function.operands.iter().map(|operand| operand.name).collect();
    names.extend(function.attributes.iter().filter(|attribute| attribute.default.is_none()).map(|given| given.name));
    let ident = function.source.ident;
    let call = match (function.source.style, &*names) {
        (Style::Method, [first, rest @ ..]) => format!("`{first}.{ident}({})`", rest.join(", ")),
        (Style::Raw, _) => "a method of `Derived`".to_owned(),
        _ => format!("`Tensor::{ident}({})`", names.join(", ")),
    };
    let options: Vec<String> = (function.attributes.iter())
        .filter_map(|attribute| Some((attribute.name, attribute.default?)))
        .map(|(name, default)| {
            format!("{name} = {}", default.replace("smallvec::smallvec!", "").replace(".into()", ""))
        })
        .collect();
    let with = match (function.source.options, &*options) {
        (_, []) => String::new(),
        (Some((with, _)), options) => format!("`{with}`: `{}`", options.join("`, `")),
        (None, options) => format!("`{}`", options.join("`, `")),
    };
    let doc =
        function.doc.iter().map(|line| line.trim()).take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let end = doc.find(". ").map_or(doc.len(), |end| end + 1);
    // A link of the documentation leads nowhere from here.
    let what = doc[..end].replace('|', "\\|").replace("[`Attr`](crate::ops::Attr)", "`Attr`");
    format!("| `{}` | {call} | {with} | {what} |", function.name)
}

#[test]
fn the_page_of_ops_is_the_table() {
    let mut page = OPS.to_owned();
    for family in fx::ops::families() {
        write!(page, "\n## {}\n\n| op | call | options | what it does |\n| --- | --- | --- | --- |\n", family.name)
            .unwrap();
        for function in family.functions {
            writeln!(page, "{}", row(function.definition())).unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ops.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap_or_default() == page,
        "`UPDATE=1 cargo test --test docs` writes docs/ops.md"
    );
}
