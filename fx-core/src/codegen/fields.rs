//! The structs of a generated model: what the graph refers to as fields, nested for dotted paths.

use indexmap::IndexMap;

use super::literal;
use crate::graph_module::GraphModule;
use crate::module::Module;
use crate::tensor::Tensor;

/// A field of a generated struct.
pub(super) enum Field<'a> {
    /// A parameter, of this tensor's shape.
    Parameter(Tensor),
    /// A buffer, of this tensor's shape.
    Buffer(Tensor),
    /// A module that has a type.
    Module(&'a dyn Module),
    /// A captured model, which becomes a struct of its own.
    Captured(&'a GraphModule),
    /// A part of a path.
    Fields(Fields<'a>),
}

/// The fields of a struct, by their part of the path.
pub(super) type Fields<'a> = IndexMap<String, Field<'a>>;

/// The type of a module, and the expression that makes it if there is one.
pub(super) struct Leaf {
    pub(super) ty: String,
    pub(super) constructor: Option<String>,
}

/// The fields of a model, and what there is no source for.
pub(super) fn fields(module: &GraphModule) -> (Fields<'_>, Vec<String>) {
    let (mut fields, mut problems) = (Fields::new(), Vec::new());
    let state = module.state();
    for (path, module) in &state.modules {
        let field = match module.as_graph_module() {
            Some(nested) => Field::Captured(nested),
            None => Field::Module(&**module),
        };
        problems.extend(insert(&mut fields, path, path, field));
    }
    for (path, parameter) in &state.parameters {
        problems.extend(insert(&mut fields, path, path, Field::Parameter(parameter.tensor())));
    }
    for (path, buffer) in &state.buffers {
        problems.extend(insert(&mut fields, path, path, Field::Buffer(buffer.tensor())));
    }
    (fields, problems)
}

/// Puts a field at `path`. State of a module that is a field itself is there already.
fn insert<'a>(fields: &mut Fields<'a>, path: &str, whole: &str, field: Field<'a>) -> Option<String> {
    let (part, rest) = path.split_once('.').map_or((path, None), |(part, rest)| (part, Some(rest)));
    if literal::field(part).is_none() {
        return Some(format!("`{part}` of the path `{whole}` cannot be the name of a field"));
    }
    match (rest, fields.get_mut(part)) {
        (None, None) => {
            fields.insert(part.to_owned(), field);
            None
        }
        (None, Some(_)) => {
            Some(format!("there are two things at `{whole}`, or something at it and something below it"))
        }
        (Some(rest), None) => {
            let mut below = Fields::new();
            let problem = insert(&mut below, rest, whole, field);
            fields.insert(part.to_owned(), Field::Fields(below));
            problem
        }
        (Some(rest), Some(Field::Fields(below))) => insert(below, rest, whole, field),
        (Some(_), Some(Field::Module(_) | Field::Captured(_)))
            if !matches!(field, Field::Module(_) | Field::Captured(_)) =>
        {
            None
        }
        (Some(_), Some(_)) => Some(format!("`{whole}` lies below something that has no children here")),
    }
}

/// The type and constructor of a module.
pub(super) fn leaf(module: &dyn Module) -> Leaf {
    let constructor = module.constructor_source();
    let ty = match constructor
        .as_deref()
        .and_then(|text| text.split('(').next())
        .and_then(|path| path.rsplit_once("::"))
    {
        Some((ty, _)) => ty.to_owned(),
        None => {
            // The type lies where its `forward` is defined.
            let place = module.signature().name.rsplit_once("::").map_or("", |(place, _)| place);
            if place.is_empty() { module.type_name().to_owned() } else { format!("{place}::{}", module.type_name()) }
        }
    };
    Leaf { ty, constructor }
}
