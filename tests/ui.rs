//! What must not compile, with the compiler's words: one case a file, its errors beside it.
//!
//! The expected output is that of the Rust version that the workspace names; `TRYBUILD=overwrite cargo test --test ui`
//! writes it anew. What must compile stands in `tests/accept`.

#[test]
fn refused() {
    trybuild::TestCases::new().compile_fail("tests/ui/*/*.rs");
}
