//! Every op of the table against PyTorch: each sample of its golden file, in every mode.

mod support {
    pub(crate) mod compare;
    pub(crate) mod golden;
    pub(crate) mod modes;
}

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fx::{Arg, Function, Result, Tensor};
use support::golden::{Expected, Golden, Sample, load_all};
use support::{compare, modes};

/// What went wrong in one mode of one sample.
struct Failure {
    op: String,
    sample: String,
    mode: &'static str,
    what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} ({}): {}", self.op, self.sample, self.mode, self.what)
    }
}

#[test]
fn every_op_has_samples() {
    let rows: BTreeSet<&str> =
        fx::ops::families().iter().flat_map(|family| family.functions).map(|function| function.name()).collect();
    let golden = load_all();
    let files: BTreeSet<&str> = golden.iter().map(|golden| golden.op.as_str()).collect();
    let missing: Vec<_> = rows.difference(&files).collect();
    let stale: Vec<_> = files.difference(&rows).collect();
    assert!(missing.is_empty() && stale.is_empty(), "ops without a file: {missing:?}; files without an op: {stale:?}");
    for golden in &golden {
        assert!(golden.samples.len() >= 3, "{} has {} samples", golden.op, golden.samples.len());
    }
}

#[test]
fn every_sample_holds_in_every_mode() {
    let mut failures = Vec::new();
    for golden in load_all() {
        if let Some(function) = Function::lookup(&golden.op) {
            check(function, &golden, &mut failures);
        }
    }
    let text: Vec<_> = failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), text.join("\n"));
}

fn check(function: Function, golden: &Golden, failures: &mut Vec<Failure>) {
    for sample in &golden.samples {
        let mut note = |mode, result: std::result::Result<(), String>| {
            if let Err(what) = result {
                failures.push(Failure { op: golden.op.clone(), sample: sample.name.clone(), mode, what });
            }
        };
        for (mode, run) in modes::MODES {
            let output = unpanicked(|| run(function, sample));
            note(mode, output.and_then(|output| agrees(function, sample, output)));
        }
        if !matches!(sample.expected, Expected::Error) {
            note(
                "abstract",
                unpanicked(|| function.check(&sample.args, &sample.kwargs)).and_then(|meta| {
                    let meta = meta.map_err(|error| error.to_string())?;
                    compare::meta(&meta, &sample.expected)
                }),
            );
        }
    }
}

fn agrees(function: Function, sample: &Sample, output: Result<Arg<Tensor>>) -> std::result::Result<(), String> {
    match (&sample.expected, output) {
        (Expected::Error, Err(_)) => Ok(()),
        (Expected::Error, Ok(output)) => Err(format!("must be refused, gives {output:?}")),
        (_, Err(error)) => Err(error.to_string()),
        (Expected::Output(expected), Ok(output)) => compare::output(&output, expected, function.definition().tolerance),
        (Expected::Like(dtype, shape), Ok(output)) => compare::like(&output, *dtype, shape),
    }
}

/// What a call gives, or the message of its panic.
fn unpanicked<R>(f: impl FnOnce() -> R) -> std::result::Result<R, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        format!("panics: {}", text.unwrap_or_default())
    })
}
