//! A generated model as text: its structs, its constructor, how its state is loaded, its `forward`.

use super::fields::{Field, Fields, fields, leaf};
use super::{forward, literal};
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
}

/// The source of a model.
pub(super) fn source(module: &GraphModule) -> Source {
    let mut source = Source::default();
    let class = literal::class(module.class_name());
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
        self.text.push_str(&format!("#[traceable]\nimpl {class} {{\n{}}}\n", parts.join("\n")));
    }

    /// A struct, after the structs that its fields need.
    fn structure(&mut self, fields: &Fields<'_>, class: &str, doc: &str) {
        let mut lines = String::new();
        for (part, field) in fields {
            let inner = format!("{class}{}", literal::camel(part));
            let ty = match field {
                Field::Parameter(_) => "Parameter".to_owned(),
                Field::Buffer(_) => "Buffer".to_owned(),
                Field::Module(module) => {
                    let leaf = leaf(*module);
                    self.foreign.push(leaf.ty.clone());
                    leaf.ty
                }
                Field::Captured(module) => {
                    self.model(module, &inner, &format!("`{part}` of [`{class}`]."));
                    self.text.push('\n');
                    inner
                }
                Field::Fields(below) => {
                    self.structure(below, &inner, &format!("`{part}` of [`{class}`]."));
                    inner
                }
            };
            lines.push_str(&format!("{}    {}: {ty},\n", literal::field_attribute(part), name(part)));
        }
        self.text.push_str(&format!("/// {doc}\n#[traceable]\n#[derive(Clone)]\npub struct {class} "));
        let body = if lines.is_empty() { "{}\n\n".to_owned() } else { format!("{{\n{lines}}}\n\n") };
        self.text.push_str(&body);
    }

    /// The value of a struct, at this depth of indentation.
    fn literal(&mut self, fields: &Fields<'_>, class: &str, depth: usize) -> String {
        let indent = "    ".repeat(depth);
        let mut text = format!("{} {{\n", if depth == 2 { "Self" } else { class });
        for (part, field) in fields {
            let inner = format!("{class}{}", literal::camel(part));
            let value = match field {
                Field::Parameter(tensor) => format!("Parameter::new({})", blank(tensor)),
                Field::Buffer(tensor) => format!("Buffer::new({})", blank(tensor)),
                Field::Module(module) => {
                    let leaf = leaf(*module);
                    leaf.constructor.unwrap_or_else(|| {
                        let mut name = part.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
                        if name.is_empty() {
                            name = format!("module_{part}");
                        }
                        while self.given.iter().any(|(have, _)| *have == name) {
                            name.push('_');
                        }
                        self.given.push((name.clone(), leaf.ty));
                        name
                    })
                }
                Field::Captured(module) => {
                    let (fields, _) = super::fields::fields(module);
                    self.literal(&fields, &inner, depth + 1)
                }
                Field::Fields(below) => self.literal(below, &inner, depth + 1),
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
