//! Calls of functions and methods as Rust expressions: operators, methods, functions, and a form for all others.

use super::kinds::Kind;
use super::literal;
use super::site::Site;
use crate::arg::{Arg, Kwargs};
use crate::graph::{Node, NodeArg, NodeId, Opcode};
use crate::ops::function::OperandKind;
use crate::ops::{Definition, Function, Style};

/// An expression, and whether its type has to be written.
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) typed: bool,
    /// How many elements the structure has that it gives, and whether it is an array.
    pub(super) elements: Option<(usize, bool)>,
}

impl Expression {
    fn plain(text: String) -> Self {
        Self { text, typed: false, elements: None }
    }

    pub(super) fn typed(text: String) -> Self {
        Self { text, typed: true, elements: None }
    }
}

/// A call of a function or a method.
pub(super) fn call(site: &Site<'_>, node: &Node) -> Result<Expression, String> {
    let name = node.target().name();
    let function = node.target().as_function().or_else(|| Function::lookup(name));
    let function = function.ok_or_else(|| format!("there is no function `{name}`"))?;
    let definition = function.definition();
    let as_method = node.op() == Opcode::CallMethod;
    if definition.source.style == Style::Wrapped {
        return wrapped(site, node);
    }
    let natural = if as_method { method(site, node, definition) } else { functional(site, node, definition) };
    Ok(natural.unwrap_or_else(|| general(site, node, definition)))
}

/// The form that every call has: `Call::function(..).arg(..).kwarg(..).output()`.
fn general(site: &Site<'_>, node: &Node, definition: &Definition) -> Expression {
    let kind = if node.op() == Opcode::CallMethod { "method" } else { "function" };
    let mut text = format!("fx::value::Call::<Tensor>::{kind}(fx::ops::functions::{})", definition.source.ident);
    for arg in node.args() {
        text.push_str(&format!(".arg({})", site.any(arg)));
    }
    for (key, arg) in node.kwargs().iter() {
        text.push_str(&format!(".kwarg({key:?}, {})", site.any(arg)));
    }
    text.push_str(".output()");
    Expression::typed(text)
}

/// `x.clamp(0.0, 1.0)`
fn method(site: &Site<'_>, node: &Node, definition: &Definition) -> Option<Expression> {
    let (receiver, rest) = node.args().split_first()?;
    let receiver = site.receiver(receiver)?;
    match definition.source.style {
        Style::Method => {
            if let ("sum" | "mean", [], [dim]) = (definition.name, rest, &node.kwargs().iter().collect::<Vec<_>>()[..])
                && dim.0 == "dim"
                && !dim.1.is_none()
            {
                let dim = attribute(site, "ints", dim.1)?;
                return Some(Expression::plain(format!("{receiver}.{}_dim({dim})", definition.name)));
            }
            let (name, arguments) = arguments(site, node, definition, rest, 1)?;
            Some(Expression::plain(format!("{receiver}.{name}({arguments})")))
        }
        Style::Raw => raw(site, node, definition.name, &receiver),
        Style::Constructor | Style::Wrapped => None,
    }
}

/// Methods that are written by hand.
fn raw(site: &Site<'_>, node: &Node, name: &str, receiver: &str) -> Option<Expression> {
    let kwargs = node.kwargs();
    let only = |keys: &[&str]| node.args().len() == 1 && kwargs.iter().all(|(key, _)| keys.contains(&key.as_ref()));
    let dim = match kwargs.get("dim") {
        None => Some(0),
        Some(Arg::Int(dim)) => Some(*dim),
        Some(_) => None,
    };
    let array = |text: String, len: usize| Some(Expression { text, typed: false, elements: Some((len, true)) });
    // Arrays have as many elements as the program takes.
    let count = match kwargs.get("count") {
        Some(Arg::Int(count)) => usize::try_from(*count).ok(),
        _ => None,
    };
    match name {
        "size" if only(&["count"]) => {
            let count = count?;
            array(format!("{receiver}.sizes::<{count}>()"), count)
        }
        "size" if only(&["dim"]) && kwargs.get("dim").is_some() => {
            Some(Expression::plain(format!("{receiver}.size({})", dim?)))
        }
        "max" | "min" if only(&[]) => Some(Expression::plain(format!("{receiver}.{name}()"))),
        "max" | "min" if only(&["dim"]) => {
            let text = format!("{receiver}.{name}_dim({})", dim?);
            Some(Expression { text, typed: false, elements: Some((2, false)) })
        }
        "chunk" if only(&["chunks", "dim", "count"]) && kwargs.get("chunks") == kwargs.get("count") => {
            let count = count?;
            array(format!("{receiver}.chunk::<{count}>({})", dim?), count)
        }
        "unbind" if only(&["dim", "count"]) => {
            let count = count?;
            array(format!("{receiver}.unbind::<{count}>({})", dim?), count)
        }
        "split" if only(&["split_size_or_sections", "dim", "count"]) => match kwargs.get("split_size_or_sections")? {
            Arg::Int(size) => {
                let count = count?;
                array(format!("{receiver}.split::<{count}>({size}, {})", dim?), count)
            }
            // `split_sizes` says itself how many parts there are.
            sizes if count == sizes.as_items().filter(|sizes| sizes.len() == 1).map(<[_]>::len) => {
                let sizes = attribute(site, "ints", sizes)?;
                Some(Expression::plain(format!("{receiver}.split_sizes(&{sizes}, {})", dim?)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// `a + b`, `fx::functional::relu(x)`, `Tensor::zeros([2, 3])`
fn functional(site: &Site<'_>, node: &Node, definition: &Definition) -> Option<Expression> {
    if let Some(text) = operator(site, node, definition.name) {
        return Some(Expression::plain(text));
    }
    match (definition.name, node.args()) {
        ("getitem", [input, index]) if node.kwargs().is_empty() => {
            let receiver = site.receiver(input)?;
            return Some(Expression::plain(format!("{receiver}.index({})", site.index(index))));
        }
        ("where", [condition, input, other]) if node.kwargs().is_empty() => {
            let (receiver, condition, other) = (site.receiver(input)?, site.operand(condition)?, site.number(other)?);
            return Some(Expression::plain(format!("{receiver}.where_({condition}, {other})")));
        }
        _ => {}
    }
    let (name, arguments) = arguments(site, node, definition, node.args(), 0)?;
    match definition.source.style {
        Style::Constructor => Some(Expression::plain(format!("Tensor::{name}({arguments})"))),
        Style::Method => {
            // A parameter or a number does not tell what the value is.
            let known = node.args().iter().any(|arg| matches!(site.kind(arg), Some(Kind::Tensor | Kind::Size)));
            let text = format!("fx::functional::{name}({arguments})");
            Some(if known { Expression::plain(text) } else { Expression::typed(text) })
        }
        Style::Raw | Style::Wrapped => None,
    }
}

/// Rust's operators.
fn operator(site: &Site<'_>, node: &Node, name: &str) -> Option<String> {
    if !node.kwargs().is_empty() {
        return None;
    }
    match node.args() {
        [x] => {
            let sign = match name {
                "neg" => "-",
                "bitwise_not" if site.kind(x) != Some(Kind::Size) => "!",
                _ => return None,
            };
            let x = match site.kind(x)? {
                // There is no negation of a borrowed size.
                Kind::Size => site.owned(*x.as_value()?),
                _ => site.value(x)?,
            };
            Some(format!("{sign}{x}"))
        }
        [a, b] => {
            let sizes = |arg: &NodeArg| matches!(arg, Arg::Int(_)) || site.kind(arg) == Some(Kind::Size);
            let of_sizes = sizes(a) && sizes(b);
            let sign = match name {
                "add" => "+",
                "sub" => "-",
                "mul" => "*",
                "remainder" => "%",
                "floor_divide" if of_sizes => "/",
                "div" if !of_sizes => "/",
                "bitwise_and" => "&",
                "bitwise_or" => "|",
                "bitwise_xor" => "^",
                _ => return None,
            };
            let (left, right) = if of_sizes {
                if site.kind(a).is_none() && site.kind(b).is_none() {
                    return None;
                }
                let side = |arg: &NodeArg, left: bool| match arg {
                    Arg::Int(x) if left => Some(format!("{x}_i64")),
                    Arg::Int(x) => Some(literal::int(*x)),
                    other => site.size(other),
                };
                (side(a, true)?, side(b, false)?)
            } else {
                tensors(site, a, b, "&|^".contains(sign))?
            };
            Some(format!("{left} {sign} {right}"))
        }
        _ => None,
    }
}

/// The sides of an operator on tensors, one of which may be a number.
fn tensors(site: &Site<'_>, a: &NodeArg, b: &NodeArg, bits: bool) -> Option<(String, String)> {
    let is_tensor = |arg: &NodeArg| matches!(site.kind(arg), Some(Kind::Tensor | Kind::State));
    match (is_tensor(a), is_tensor(b)) {
        (true, true) if bits => Some((site.value(a)?, site.value(b)?)),
        (true, true) => Some((site.value(a)?, site.operand(b)?)),
        _ if bits => None,
        (true, false) => {
            let right = match b {
                Arg::Int(x) => x.to_string(),
                Arg::Float(x) => literal::float(*x),
                _ if site.kind(b) == Some(Kind::Size) => site.size(b)?,
                _ => return None,
            };
            Some((site.value(a)?, right))
        }
        (false, true) => {
            let left = match a {
                Arg::Int(x) => format!("{x}_i64"),
                Arg::Float(x) if x.is_finite() && x.is_sign_negative() => format!("{}_f64", literal::float(*x)),
                Arg::Float(x) => literal::float(*x),
                _ => return None,
            };
            // A parameter alone does not tell what the value is.
            Some((left, site.value(b)?))
        }
        (false, false) => None,
    }
}

/// The function's name, with or without options, and what stands between its brackets.
fn arguments(
    site: &Site<'_>,
    node: &Node,
    definition: &Definition,
    operands: &[NodeArg],
    skip: usize,
) -> Option<(&'static str, String)> {
    let declared = definition.operands.get(skip..)?;
    if operands.len() > declared.len() {
        return None;
    }
    let mut texts = Vec::new();
    for (i, operand) in declared.iter().enumerate() {
        let arg = operands.get(i).unwrap_or(&Arg::None);
        texts.push(match operand.kind {
            OperandKind::One => site.operand(arg)?,
            OperandKind::Opt => site.optional(arg)?,
            OperandKind::Many => site.list(arg)?,
            OperandKind::Num => site.number(arg)?,
            OperandKind::Any => return None,
        });
    }
    let known = |key: &str| definition.attributes.iter().any(|attribute| attribute.name == key);
    if !node.kwargs().iter().all(|(key, _)| known(key)) {
        return None;
    }
    for declared in definition.attributes.iter().filter(|attribute| attribute.default.is_none()) {
        texts.push(attribute(site, declared.kind, node.kwargs().get(declared.name).unwrap_or(&Arg::None))?);
    }
    let optional = definition.attributes.iter().filter(|attribute| attribute.default.is_some());
    let given: Vec<_> = optional.filter_map(|declared| Some((declared, node.kwargs().get(declared.name)?))).collect();
    if given.is_empty() {
        return Some((definition.source.ident, texts.join(", ")));
    }
    let (with, options) = definition.source.options?;
    let mut text = format!("fx::ops::{options}::new()");
    for (declared, arg) in given {
        text.push_str(&format!(".{}({})", declared.name, attribute(site, declared.kind, arg)?));
    }
    texts.push(text);
    Some((with, texts.join(", ")))
}

/// An attribute as its kind in the op table is written.
fn attribute(site: &Site<'_>, kind: &str, arg: &NodeArg) -> Option<String> {
    let kind = match kind.strip_prefix("opt_") {
        Some(_) if arg.is_none() => return Some("None".to_owned()),
        Some(kind) => kind,
        None => kind,
    };
    let number = |arg: &NodeArg| match arg {
        Arg::Float(x) => Some(literal::float(*x)),
        Arg::Int(x) => Some(literal::int(*x)),
        _ => None,
    };
    let ints = |arg: &NodeArg| match arg {
        Arg::Int(x) => Some(literal::int(*x)),
        other => {
            let items = other.as_items()?.iter();
            let items = items.map(|item| if let Arg::Int(x) = item { Some(*x) } else { None });
            Some(literal::ints(&items.collect::<Option<Vec<_>>>()?))
        }
    };
    match (kind, arg) {
        ("flag" | "scalar", Arg::Bool(x)) => Some(x.to_string()),
        ("int" | "size" | "number", Arg::Int(x)) => Some(literal::int(*x)),
        ("number", Arg::Float(x)) => Some(literal::float(*x)),
        ("size" | "number", _) => site.size(arg),
        ("float" | "scalar", _) => number(arg),
        ("dtype", Arg::DType(x)) => Some(literal::dtype(*x)),
        ("string" | "margin1" | "margin2" | "margin3", Arg::Str(x)) => Some(format!("{x:?}")),
        ("floats", Arg::Float(x)) => Some(literal::float(*x)),
        ("floats", _) => {
            let float = |arg: &NodeArg| match arg {
                Arg::Int(x) => Some(literal::float(*x as f64)),
                other => number(other),
            };
            let items = arg.as_items()?.iter().map(float).collect::<Option<Vec<_>>>()?;
            Some(format!("[{}]", items.join(", ")))
        }
        ("ints" | "single" | "pair" | "triple" | "margin1" | "margin2" | "margin3", _) => ints(arg),
        ("sizes", _) => sizes(site, arg, ints),
        _ => None,
    }
}

/// A shape: an array of integers, or a tuple with symbolic sizes.
fn sizes(site: &Site<'_>, arg: &NodeArg, ints: impl Fn(&NodeArg) -> Option<String>) -> Option<String> {
    if let Some(text) = ints(arg) {
        return Some(text);
    }
    let items = match arg {
        Arg::Value(_) => std::slice::from_ref(arg),
        other => other.as_items()?,
    };
    let one = |item: &NodeArg| match item {
        Arg::Int(x) => Some(literal::int(*x)),
        other => site.size(other),
    };
    let texts = items.iter().map(one).collect::<Option<Vec<_>>>()?;
    match texts.len() {
        1 => Some(format!("({},)", texts[0])),
        2..=8 => Some(format!("({})", texts.join(", "))),
        _ => None,
    }
}

/// A user's function, by its path: operands first, then what is plain Rust.
fn wrapped(site: &Site<'_>, node: &Node) -> Result<Expression, String> {
    let path = node.target().name();
    let args = node.args().iter().map(|arg| structure(site, arg));
    let kwargs: &Kwargs<NodeId> = node.kwargs();
    let statics = kwargs.iter().map(|(_, arg)| structure(site, arg));
    let texts = args.chain(statics).collect::<Option<Vec<_>>>();
    let texts = texts.ok_or_else(|| format!("`{path}` takes an argument that has no form in Rust"))?;
    // A function whose arguments are all parameters or numbers does not tell what the value is.
    Ok(Expression::typed(format!("{path}({})", texts.join(", "))))
}

/// An argument of a user's function, whose parameters' types are not known: tensors, lists, tuples, plain data.
fn structure(site: &Site<'_>, arg: &NodeArg) -> Option<String> {
    let all = |items: &[NodeArg]| {
        let texts = items.iter().map(|item| match (item, site.kind(item)) {
            (Arg::Value(id), Some(_)) => Some(site.owned(*id)),
            _ => structure(site, item),
        });
        texts.collect::<Option<Vec<_>>>()
    };
    Some(match arg {
        Arg::None => "None".to_owned(),
        Arg::Value(id) => site.value(arg).unwrap_or_else(|| site.owned(*id)),
        Arg::Str(x) => format!("{x:?}.to_owned()"),
        Arg::List(items) => format!("vec![{}]", all(items)?.join(", ")),
        Arg::Tuple(items) => match all(items)?.as_slice() {
            [one] => format!("({one},)"),
            texts => format!("({})", texts.join(", ")),
        },
        Arg::Bool(_) | Arg::Int(_) | Arg::Float(_) | Arg::DType(_) => site.any(arg),
        Arg::Ellipsis | Arg::Dict(_) | Arg::Slice(_) => return None,
    })
}
