//! Literals and names in Rust's spelling.

use crate::tensor::DType;

/// A float that reads back equal.
pub(super) fn float(x: f64) -> String {
    match x {
        x if x.is_nan() => "f64::NAN".to_owned(),
        f64::INFINITY => "f64::INFINITY".to_owned(),
        f64::NEG_INFINITY => "f64::NEG_INFINITY".to_owned(),
        x => format!("{x:?}"),
    }
}

/// An integer, with a type where the compiler would choose one that is too small.
pub(super) fn int(x: i64) -> String {
    if i32::try_from(x).is_ok() { x.to_string() } else { format!("{x}_i64") }
}

pub(super) fn dtype(dtype: DType) -> String {
    format!("DType::{dtype:?}")
}

/// A list of integers; an empty one has no element that gives its type.
pub(super) fn ints(items: &[i64]) -> String {
    match items {
        [] => "[0_i64; 0]".to_owned(),
        items => {
            // All of one type, whatever their size.
            let wide = items.iter().any(|&x| i32::try_from(x).is_err());
            let one = |x: &i64| if wide { format!("{x}_i64") } else { x.to_string() };
            format!("[{}]", items.iter().map(one).collect::<Vec<_>>().join(", "))
        }
    }
}

/// `layers.3.conv1` and `my_module` as `Layers3Conv1` and `MyModule`.
pub(super) fn camel(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut upper = true;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            result.push(if upper { c.to_ascii_uppercase() } else { c });
            upper = false;
        } else {
            upper = true;
        }
    }
    result
}

/// Types and variants that generated code names without a path.
#[rustfmt::skip]
const TAKEN: &[&str] = &[
    "Tensor", "Parameter", "Buffer", "Module", "Training", "DType", "SymInt", "Value", "Opcode", "Option", "Vec", "Some",
    "None", "Ok", "Err", "Self", "Result", "Box", "AsRef",
];

/// Whether a name means something in generated code that no struct of it can be called.
pub(super) fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name)
}

/// Whether an argument of `new` and `load` can have this name: not one of `load` itself, nor one that is a pattern.
pub(super) fn is_argument(name: &str) -> bool {
    name != "path" && !is_taken(name)
}

/// The name of the struct of a model; one that is taken by what generated code uses gets an ending.
pub(super) fn class(name: &str) -> String {
    let name = camel(name);
    match name.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("Model{name}"),
        None => "Model".to_owned(),
        _ if is_taken(&name) => format!("{name}Model"),
        _ => name,
    }
}

/// The line that keeps the compiler from complaining of names that it would spell otherwise, if there are any.
pub(super) fn allow_names<'a>(mut names: impl Iterator<Item = &'a str>) -> &'static str {
    let odd = |name: &str| name.bytes().any(|byte| byte.is_ascii_uppercase()) || name.trim_matches('_').contains("__");
    if names.any(odd) { "#[allow(non_snake_case, reason = \"names are those of the model\")]\n" } else { "" }
}

/// What no field can be called, not even as a raw identifier.
const UNNAMEABLE: [&str; 4] = ["self", "super", "crate", "Self"];

/// The field for a part of a path: `_3` for `3`, `r#type` for `type`, `self_` for `self`; none for what no field can be
/// called.
pub(super) fn field(part: &str) -> Option<String> {
    let first = part.chars().next()?;
    let word = part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && part != "_";
    let numbered = part.strip_prefix('_').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    if first.is_ascii_digit() && part.bytes().all(|byte| byte.is_ascii_digit()) {
        Some(format!("_{part}"))
    } else if UNNAMEABLE.contains(&part) {
        Some(format!("{part}_"))
    } else if !word || first.is_ascii_digit() || numbered || is_renamed(part) {
        None
    } else if crate::graph::is_keyword(part) && part != "fx" && part != "union" {
        Some(format!("r#{part}"))
    } else {
        Some(part.to_owned())
    }
}

/// Whether a field stands for a part of a path that no field can be called.
fn is_renamed(field: &str) -> bool {
    field.strip_suffix('_').is_some_and(|part| UNNAMEABLE.contains(&part))
}

/// The line with the attribute of the field for a part of a path, where the field's name does not say what the part is.
pub(super) fn field_attribute(part: &str) -> String {
    if UNNAMEABLE.contains(&part) { format!("    #[traceable(name = {part:?})]\n") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_back() {
        for x in [0.0, -0.0, 1.0, 0.1, 1e-45, 1e300, -1.5e-7, f64::MAX, f64::MIN_POSITIVE] {
            assert_eq!(float(x).parse::<f64>().unwrap().to_bits(), x.to_bits());
        }
        assert_eq!(
            [f64::NAN, f64::INFINITY, -f64::INFINITY, -0.0, 1.0].map(float).join(" "),
            "f64::NAN f64::INFINITY f64::NEG_INFINITY -0.0 1.0"
        );
    }

    #[test]
    fn names_are_identifiers() {
        assert_eq!(["layers.3.conv1", "my_module", "Net"].map(camel).join(" "), "Layers3Conv1 MyModule Net");
        assert_eq!(["Tensor", "3d", ""].map(class).join(" "), "TensorModel Model3d Model");
        let fields = ["conv1", "3", "type", "self", "a b", "_3"].map(field);
        assert_eq!(
            fields,
            [Some("conv1"), Some("_3"), Some("r#type"), Some("self_"), None, None].map(|x| x.map(str::to_owned))
        );
    }
}
