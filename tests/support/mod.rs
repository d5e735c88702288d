//! What integration tests share.
#![allow(dead_code, reason = "not every test uses everything")]

/// Compares text line by line, without indentation and empty lines.
#[track_caller]
pub(crate) fn check(actual: impl ToString, expected: &str) {
    let lines =
        |text: &str| text.lines().map(|l| l.trim().to_owned()).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    let actual = lines(&actual.to_string());
    assert!(actual == lines(expected), "found\n{actual}\n\nexpected\n{}", lines(expected));
}
