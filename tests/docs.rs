//! What the documentation says is shown by tests that are there.

use std::path::Path;

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
