//! Names of nodes: torch.fx's namespace rules with Rust's keywords.
//!
//! A candidate becomes an identifier; a name once given is never given again, not even after its node was erased.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{NodeId, Opcode, Target};
use crate::text::push_number;

/// A name that was given. Those with equal numbers are equal.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: Arc<str>,
    pub(super) number: usize,
}

/// The names given so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Namer {
    /// Each name with the node that it was given to.
    given: FxHashMap<Arc<str>, NodeId>,
    /// The last number given after each base name, if any was.
    counts: FxHashMap<String, u64>,
}

impl Namer {
    /// A new name like `candidate` for a node.
    pub(super) fn create(&mut self, candidate: &str, node: NodeId) -> Name {
        let mut name = identifier(candidate);
        let (base, number) = split(&name);
        let mut count = match number {
            Some(number) if !self.given.contains_key(&*name) => number,
            _ => self.counts.get(base).copied().unwrap_or(0),
        };
        let end = base.len();
        while self.given.contains_key(&*name) || is_reserved(&name) {
            count += 1;
            name.truncate(end);
            name.push('_');
            push_number(&mut name, count);
        }
        match self.counts.get_mut(&name[..end]) {
            Some(last) => *last = count,
            None if count > 0 => drop(self.counts.insert(name[..end].to_owned(), count)),
            None => {}
        }
        let name = Name { text: name.into(), number: self.given.len() };
        self.given.insert(name.text.clone(), node);
        name
    }

    /// How many names were given.
    pub(super) fn len(&self) -> usize {
        self.given.len()
    }

    /// The node that a name was given to, which may have another one now, or be gone.
    pub(super) fn node(&self, name: &str) -> Option<NodeId> {
        self.given.get(name).copied()
    }
}

/// The name that a node of this opcode and target asks for.
pub(super) fn candidate(op: Opcode, target: &Target) -> Cow<'_, str> {
    match op {
        Opcode::Output => "output".into(),
        _ if !target.name().contains(':') => snake_case(target.name()),
        _ => snake_case(target.name().rsplit("::").next().unwrap_or_default()),
    }
}

/// Whether a name means something else in Rust, in generated code or in the text form.
fn is_reserved(name: &str) -> bool {
    is_keyword(name) || is_literal(name) || matches!(name, "Some" | "Ok" | "Err" | "Tensor")
}

/// Whether a name stands for a constant where the text form writes nodes without their sign.
fn is_literal(name: &str) -> bool {
    matches!(name, "None" | "True" | "False" | "Ellipsis" | "nan" | "inf")
}

/// Whether a name is a keyword of Rust, or one that generated code needs for itself.
#[rustfmt::skip]
pub(crate) fn is_keyword(name: &str) -> bool {
    matches!(
        name,
        "abstract" | "as" | "async" | "await" | "become" | "box" | "break" | "const" | "continue" | "crate" | "do"
        | "dyn" | "else" | "enum" | "extern" | "false" | "final" | "fn" | "for" | "fx" | "gen" | "if" | "impl" | "in"
        | "let" | "loop" | "macro" | "match" | "mod" | "move" | "mut" | "override" | "priv" | "pub" | "ref" | "return"
        | "self" | "Self" | "static" | "struct" | "super" | "trait" | "true" | "try" | "type" | "typeof" | "union"
        | "unsafe" | "unsized" | "use" | "virtual" | "where" | "while" | "yield"
    )
}

/// Splits a trailing `_5` off.
fn split(name: &str) -> (&str, Option<u64>) {
    match name.rsplit_once('_') {
        Some((base, number)) if !base.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            // A number too long to count on from is part of the name.
            number.parse::<u32>().map_or((name, None), |number| (base, Some(number.into())))
        }
        _ => (name, None),
    }
}

/// Runs of other characters become one underscore; never empty, never a leading digit.
fn identifier(candidate: &str) -> String {
    // Room for a number after it.
    let mut name = String::with_capacity(candidate.len() + 4);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if candidate.bytes().all(fits) {
        name.push_str(candidate);
    } else {
        replace_runs(&mut name, candidate);
    }
    match name.chars().next() {
        None => "_unnamed".to_owned(),
        // A lone underscore is a pattern in Rust, not a name.
        Some('_') if name == "_" => "_unnamed".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

/// Appends `candidate` with an underscore for each run of what an identifier has not.
fn replace_runs(name: &mut String, candidate: &str) {
    let mut within_run = false;
    for c in candidate.chars() {
        let fits = c.is_ascii_alphanumeric() || c == '_';
        if fits || !within_run {
            name.push(if fits { c } else { '_' });
        }
        within_run = !fits;
    }
}

fn snake_case(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return name.into();
    }
    let mut result = String::with_capacity(name.len() + 2);
    let mut lower = false;
    for c in name.chars() {
        if lower && c.is_ascii_uppercase() {
            result.push('_');
        }
        lower = c.is_ascii_lowercase();
        result.push(c.to_ascii_lowercase());
    }
    result.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(candidates: &str, expected: &str) {
        let mut namer = Namer::default();
        let node = NodeId { index: 0, generation: 0 };
        let names: Vec<_> = candidates.split(' ').map(|candidate| namer.create(candidate, node).text).collect();
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn names_are_those_of_torch_fx() {
        check("x x x_1 x_5 x", "x x_1 x_2 x_5 x_6");
        check("foo_0 foo_0", "foo_0 foo_1");
        check("add_1 add add", "add_1 add add_2");
        check("0 layers.0.conv", "_0 layers_0_conv");
        check("type self fx sum", "type_1 self_1 fx_1 sum");
        check("a--b _ é", "a_b _unnamed _unnamed_1");
        check("x_5 x_2 x x_2 x", "x_5 x_2 x x_3 x_4");
        check("a_1_2 a_1 a_1", "a_1_2 a_1 a_2");
        check("x_01 x_1 x", "x_01 x_1 x");
        check("y y_1 y y_1 y_2", "y y_1 y_2 y_3 y_4");
        check("inf nan None Self Ok Tensor", "inf_1 nan_1 None_1 Self_1 Ok_1 Tensor_1");
        check("x_4294967295 x_4294967295", "x_4294967295 x_4294967296");
        check("x_99999999999 x_99999999999", "x_99999999999 x_99999999999_1");
        assert_eq!(candidate(Opcode::CallFunction, &Target::from("my_crate::helperFn")), "helper_fn");
    }
}
