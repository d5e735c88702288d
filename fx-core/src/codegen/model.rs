//! A generated model as text: its structs, its constructor, how its state is loaded, its `forward`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::fields::{Field, Fields, fields, leaf};
use super::{forward, literal};
use crate::graph::Opcode;
use crate::graph_module::GraphModule;
use crate::module::{Entry, entries};
use crate::tensor::Tensor;

/// Source, and what there is no source for.
#[derive(Default)]
pub(super) struct Source {
    pub(super) text: String,
    pub(super) problems: Vec<String>,
    /// The paths of the types and functions that are the user's.
    pub(super) foreign: Vec<String>,
    /// Modules that have no constructor: parameters of `new`, by name and type.
    given: Vec<(String, String)>,
    /// The names of types that are taken.
    types: FxHashSet<String>,
    /// The name of the struct for a part of a path below another struct.
    classes: FxHashMap<(String, String), String>,
}

/// The source of a model.
pub(super) fn source(module: &GraphModule) -> Source {
    let mut source = Source::default();
    source.reserve(&fields(module).0);
    let class = source.unique(literal::class(module.class_name()));
    source.model(module, &class, "A model that was captured by fx.");
    let wrapped = module.graph().nodes().filter_map(|(_, node)| node.target().as_function());
    source.foreign.extend(wrapped.map(|function| function.name().to_owned()).filter(|name| name.contains("::")));
    let mut head = "use fx::prelude::*;\n".to_owned();
    if [": nn::", "<nn::", " nn::"].iter().any(|text| source.text.contains(text)) {
        head.push_str("use fx::nn;\n");
    }
    source.text = format!("{head}\n{}", source.text);
    source
}

impl Source {
    /// Keeps the names of types that have one for them.
    fn reserve(&mut self, fields: &Fields<'_>) {
        for field in fields.values() {
            match field {
                Field::Module(module) => drop(self.types.insert(leaf(*module).ty)),
                Field::Captured(module) => self.reserve(&super::fields::fields(module).0),
                Field::Fields(below) => self.reserve(below),
                Field::Parameter(_) | Field::Buffer(_) => {}
            }
        }
    }

    /// The name of a new struct: this one, with a number where it is taken.
    fn unique(&mut self, name: String) -> String {
        let separator = if ends_in_digit(&name) { "_" } else { "" };
        let numbered = (2..).map(|number| format!("{name}{separator}{number}"));
        let free = |name: &String| !literal::is_taken(name) && !self.types.contains(name);
        let unique = std::iter::once(name.clone()).chain(numbered).find(free).unwrap_or(name);
        self.types.insert(unique.clone());
        unique
    }

    /// The name of the struct for a part of a path below another struct: `NetLayers3`, and `NetLayers1_1` where another
    /// one is `NetLayers11`.
    fn class(&mut self, class: &str, part: &str) -> String {
        let key = (class.to_owned(), part.to_owned());
        if let Some(name) = self.classes.get(&key) {
            return name.clone();
        }
        let part = literal::camel(part);
        let mut name = format!("{class}{part}");
        if self.types.contains(&name) && ends_in_digit(class) && part.starts_with(|c: char| c.is_ascii_digit()) {
            name = format!("{class}_{part}");
        }
        let name = self.unique(name);
        self.classes.insert(key, name.clone());
        name
    }

    /// The structs of a model, and its functions.
    fn model(&mut self, module: &GraphModule, class: &str, doc: &str) {
        let (fields, problems) = fields(module);
        self.problems.extend(problems);
        self.structure(&fields, class, doc);
        let forward = forward::forward(module);
        self.problems.extend(forward.problems.iter().cloned());
        let mut parts = Vec::new();
        let values = self.literal(&fields, class, 2);
        let given = std::mem::take(&mut self.given);
        let parameters: Vec<_> = given.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        parts.push(format!(
            "    /// The model as it is before its state is loaded.\n    pub fn new({}) -> Self {{\n        {values}\n    }}\n",
            parameters.join(", ")
        ));
        parts.extend(load(module, &given));
        parts.push(forward.text());
        let variables = module.graph().nodes().filter(|(_, node)| node.op() != Opcode::GetAttr);
        let names = variables.map(|(_, node)| node.name()).chain(given.iter().map(|(name, _)| &**name));
        let allow = literal::allow_names(names);
        self.text.push_str(&format!("#[traceable]\n{allow}impl {class} {{\n{}}}\n", parts.join("\n")));
    }

    /// A struct, after the structs that its fields need.
    fn structure(&mut self, fields: &Fields<'_>, class: &str, doc: &str) {
        // Of two structs that would have one name, it is that of the one that is less deep.
        for (part, _) in fields.iter().filter(|(_, field)| matches!(field, Field::Captured(_) | Field::Fields(_))) {
            self.class(class, part);
        }
        let mut lines = String::new();
        for (part, field) in fields {
            let ty = match field {
                Field::Parameter(_) => "Parameter".to_owned(),
                Field::Buffer(_) => "Buffer".to_owned(),
                Field::Module(module) => {
                    let leaf = leaf(*module);
                    self.foreign.push(leaf.ty.clone());
                    leaf.ty
                }
                Field::Captured(module) => {
                    let inner = self.class(class, part);
                    self.model(module, &inner, &format!("`{part}` of [`{class}`]."));
                    self.text.push('\n');
                    inner
                }
                Field::Fields(below) => {
                    let inner = self.class(class, part);
                    self.structure(below, &inner, &format!("`{part}` of [`{class}`]."));
                    inner
                }
            };
            lines.push_str(&format!("{}    {}: {ty},\n", literal::field_attribute(part), name(part)));
        }
        let allow = literal::allow_names(fields.keys().map(String::as_str));
        self.text.push_str(&format!("/// {doc}\n#[traceable]\n{allow}#[derive(Clone)]\npub struct {class} "));
        let body = if lines.is_empty() { "{}\n\n".to_owned() } else { format!("{{\n{lines}}}\n\n") };
        self.text.push_str(&body);
    }

    /// The value of a struct, at this depth of indentation.
    fn literal(&mut self, fields: &Fields<'_>, class: &str, depth: usize) -> String {
        let indent = "    ".repeat(depth);
        let mut text = format!("{} {{\n", if depth == 2 { "Self" } else { class });
        for (part, field) in fields {
            let value = match field {
                Field::Parameter(tensor) => format!("Parameter::new({})", blank(tensor)),
                Field::Buffer(tensor) => format!("Buffer::new({})", blank(tensor)),
                Field::Module(module) => {
                    let leaf = leaf(*module);
                    leaf.constructor.unwrap_or_else(|| {
                        let numbered = part.bytes().all(|byte| byte.is_ascii_digit());
                        let mut name = if numbered { format!("module_{part}") } else { name(part) };
                        while !literal::is_argument(&name) || self.given.iter().any(|(have, _)| *have == name) {
                            name.push('_');
                        }
                        self.given.push((name.clone(), leaf.ty));
                        name
                    })
                }
                Field::Captured(module) => {
                    let (fields, _) = super::fields::fields(module);
                    let inner = self.class(class, part);
                    self.literal(&fields, &inner, depth + 1)
                }
                Field::Fields(below) => {
                    let inner = self.class(class, part);
                    self.literal(below, &inner, depth + 1)
                }
            };
            let name = name(part);
            let line = if value == name { name } else { format!("{name}: {value}") };
            text.push_str(&format!("{indent}    {line},\n"));
        }
        if fields.is_empty() {
            return text.trim_end().to_owned() + "}";
        }
        text + &indent + "}"
    }
}

fn ends_in_digit(name: &str) -> bool {
    name.ends_with(|c: char| c.is_ascii_digit())
}

/// The field of a part of a path; what cannot be one was reported when the fields were found.
fn name(part: &str) -> String {
    literal::field(part).unwrap_or_else(|| part.to_owned())
}

/// A tensor of the same shape and type.
fn blank(tensor: &Tensor) -> String {
    let shape: Vec<i64> = tensor.shape().iter().map(|&size| size as i64).collect();
    let shape = if shape.is_empty() { "[]".to_owned() } else { format!("{shape:?}") };
    format!("Tensor::filled({shape}, 0, {})", literal::dtype(tensor.dtype()))
}

/// A constructor that loads the state, if there is any.
fn load(module: &GraphModule, given: &[(String, String)]) -> Option<String> {
    if module.state_dict().is_empty() {
        return None;
    }
    let flags: Vec<bool> = module.state().modules.values().flat_map(|module| training(&**module)).collect();
    let eval = if !flags.is_empty() && flags.iter().all(|flag| !flag) { "        model.eval();\n" } else { "" };
    let parameters: String = given.iter().map(|(name, ty)| format!(", {name}: {ty}")).collect();
    let names: Vec<_> = given.iter().map(|(name, _)| name.as_str()).collect();
    Some(format!(
        "    /// The model with its state from a safetensors file.\n    ///\n    /// # Errors\n    /// If the file cannot be \
         read, or does not have the state of this model.\n    pub fn load(path: impl AsRef<std::path::Path>{parameters}) \
         -> fx::Result<Self> {{\n        let model = Self::new({});\n        model.load_safetensors(path)?;\n{eval}        \
         Ok(model)\n    }}\n",
        names.join(", ")
    ))
}

fn training(module: &dyn crate::module::Module) -> Vec<bool> {
    let flags = entries(module).into_iter().filter_map(|(_, entry)| match entry {
        Entry::Training(flag) => Some(flag.get()),
        _ => None,
    });
    flags.collect()
}
