//! The `forward` of a graph: a parameter for each placeholder, a `let` for each node, the output as the last expression.

use rustc_hash::{FxHashMap, FxHashSet};

use super::call::{self, Expression};
use super::kinds::{Kind, Kinds, kinds};
use super::literal;
use super::site::{self, Site};
use crate::arg::Arg;
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::value::Meta;

/// A `forward`, and what there is no source for.
pub(super) struct Forward {
    /// `pub fn forward(&self, x: Tensor) -> Tensor`
    pub(super) signature: String,
    /// The statement of each node that has one.
    pub(super) statements: Vec<(NodeId, String)>,
    pub(super) problems: Vec<String>,
}

struct Body<'a> {
    module: &'a GraphModule,
    kinds: Kinds,
    /// Elements that are bound where their structure is.
    unpacked: FxHashSet<NodeId>,
    problems: Vec<String>,
}

/// The function.
pub(super) fn forward(module: &GraphModule) -> Forward {
    let mut body = Body { module, kinds: kinds(module), unpacked: FxHashSet::default(), problems: Vec::new() };
    let graph = module.graph();
    let patterns = body.patterns();
    let mut dying = site::dying(graph, &body.unpacked);
    let mut statements = Vec::new();
    for (id, node) in graph.nodes().filter(|(id, _)| !body.unpacked.contains(id)) {
        let site = Site { graph, kinds: &body.kinds, dying: dying.remove(&id).unwrap_or_default() };
        match body.statement(&site, id, node, patterns.get(&id)) {
            Ok(line) => statements.extend(line.map(|line| (id, line))),
            Err(problem) => body.problems.push(format!("{problem} (in `{}`)", graph.format_node(id))),
        }
    }
    let parameters: String = types(module).iter().map(|(name, ty)| format!(", {name}: {ty}")).collect();
    let (ty, _) = output(&Site { graph, kinds: &body.kinds, dying: FxHashSet::default() }, graph.output_arg());
    let result = if ty == "()" { String::new() } else { format!(" -> {ty}") };
    if !parameters.contains("Tensor") && !ty.contains("Tensor") {
        body.problems.push("the graph takes and gives no tensor".to_owned());
    }
    Forward { signature: format!("pub fn forward(&self{parameters}){result}"), statements, problems: body.problems }
}

impl Forward {
    /// The function's source, indented by four spaces; one with problems does not compile and says them.
    pub(super) fn text(&self) -> String {
        let body = if self.problems.is_empty() {
            self.statements.iter().map(|(_, line)| format!("        {line}\n")).collect()
        } else {
            format!("        compile_error!({:?})\n", self.problems.join("; "))
        };
        format!("    /// What the graph computes.\n    {} {{\n{body}    }}\n", self.signature)
    }
}

/// The names and types of the parameters of `forward`.
pub(super) fn types(module: &GraphModule) -> Vec<(String, String)> {
    let kinds = kinds(module);
    let placeholders = module.graph().nodes().filter(|(_, node)| node.op() == Opcode::Placeholder);
    placeholders.map(|(id, node)| (node.name().to_owned(), parameter(kinds[&id], node))).collect()
}

fn parameter(kind: Kind, node: &Node) -> String {
    match kind {
        Kind::Tensor | Kind::State => "Tensor".to_owned(),
        Kind::Size => "SymInt<Tensor>".to_owned(),
        Kind::Maybe => "Option<Tensor>".to_owned(),
        Kind::Tree if !node.args().is_empty() => "Option<Tensor>".to_owned(),
        Kind::Tree => node.meta().shape().and_then(structure).unwrap_or_else(|| "fx::Arg<Tensor>".to_owned()),
    }
}

/// The type of a structure of known shapes.
fn structure(meta: &Arg<Meta>) -> Option<String> {
    match meta {
        Arg::Value(Meta::Tensor(_)) => Some("Tensor".to_owned()),
        Arg::Value(Meta::Int(_)) | Arg::Int(_) => Some("SymInt<Tensor>".to_owned()),
        Arg::Tuple(items) if (1..=6).contains(&items.len()) => {
            let items = items.iter().map(structure).collect::<Option<Vec<_>>>()?;
            Some(if items.len() == 1 { format!("({},)", items[0]) } else { format!("({})", items.join(", ")) })
        }
        Arg::List(items) => {
            let types = items.iter().map(structure).collect::<Option<FxHashSet<_>>>()?;
            let ty = types.iter().next().filter(|_| types.len() == 1)?;
            Some(format!("[{ty}; {}]", items.len()))
        }
        _ => None,
    }
}

impl Body<'_> {
    fn graph(&self) -> &Graph {
        self.module.graph()
    }

    /// The patterns of structures whose elements are all taken by position: `let [a, b] = x.chunk(0)`.
    fn patterns(&mut self) -> FxHashMap<NodeId, String> {
        let mut patterns = FxHashMap::default();
        for (id, node) in self.module.graph().nodes() {
            if !matches!(node.op(), Opcode::CallFunction | Opcode::CallMethod) || self.kinds[&id] != Kind::Tree {
                continue;
            }
            let site = Site { graph: self.graph(), kinds: &self.kinds, dying: FxHashSet::default() };
            let Ok(Expression { elements: Some((len, array)), .. }) = call::call(&site, node) else { continue };
            let Some(names) = self.elements(id, node, len) else { continue };
            let names = names.iter().map(|id| id.map_or("_", |id| self.graph()[id].name())).collect::<Vec<_>>();
            let pattern = if array { format!("[{}]", names.join(", ")) } else { format!("({})", names.join(", ")) };
            patterns.insert(id, pattern);
            self.unpacked.extend(node.users());
        }
        patterns
    }

    /// The users of a structure of `len` elements by position, if each takes one element and each is taken at most once.
    fn elements(&self, id: NodeId, node: &Node, len: usize) -> Option<Vec<Option<NodeId>>> {
        let mut names = vec![None; len];
        for user in node.users() {
            let taker = &self.graph()[user];
            let index = match taker.args() {
                [Arg::Value(input), Arg::Int(index)] if *input == id => usize::try_from(*index).ok()?,
                _ => return None,
            };
            if taker.target().name() != "getitem" || taker.op() != Opcode::CallFunction {
                return None;
            }
            if !matches!(self.kinds[&user], Kind::Tensor | Kind::Size) || names.get_mut(index)?.replace(user).is_some()
            {
                return None;
            }
        }
        (node.users().len() > 0).then_some(names)
    }

    fn statement(
        &self,
        site: &Site<'_>,
        id: NodeId,
        node: &Node,
        pattern: Option<&String>,
    ) -> Result<Option<String>, String> {
        let expression = match node.op() {
            Opcode::Placeholder => match node.args().first() {
                None | Some(Arg::None) => return Ok(None),
                Some(default) => {
                    let name = node.name();
                    Expression::typed(format!("{name}.map_or({}, fx::Arg::Value)", site.arg(default)))
                }
            },
            Opcode::GetAttr => {
                checked_path(node.target().name())?;
                return Ok(None);
            }
            Opcode::Output => return Ok(Some(output(site, node.args().first()).1).filter(|text| text != "()")),
            Opcode::CallModule => self.module_call(site, node)?,
            Opcode::CallFunction => match node.args() {
                [Arg::Value(input), key @ (Arg::Int(_) | Arg::Str(_) | Arg::Value(_))]
                    if node.target().name() == "getitem" && self.kinds[input] == Kind::Tree =>
                {
                    let (input, key) = (site.name(*input), site.any(key));
                    Expression::typed(match node.kwargs().get("count") {
                        Some(Arg::Int(count)) => format!("fx::value::item_of(&{input}, {key}, {count})"),
                        _ => format!("fx::value::item(&{input}, {key})"),
                    })
                }
                _ => call::call(site, node)?,
            },
            Opcode::CallMethod => call::call(site, node)?,
        };
        let comment = node.meta().shape().and_then(shown).map_or(String::new(), |meta| format!(" // {meta}"));
        let name = match pattern {
            Some(pattern) => pattern.as_str(),
            None if node.users().len() == 0 => "_",
            None => node.name(),
        };
        let ty = if expression.typed { format!(": {}", self.type_of(id)) } else { String::new() };
        Ok(Some(format!("let {name}{ty} = {};{comment}", expression.text)))
    }

    fn type_of(&self, id: NodeId) -> &'static str {
        match self.kinds[&id] {
            Kind::Tensor | Kind::State => "Tensor",
            Kind::Size => "SymInt<Tensor>",
            Kind::Maybe => "Option<Tensor>",
            Kind::Tree => "fx::Arg<Tensor>",
        }
    }

    /// `self.linear.forward(x)`
    fn module_call(&self, site: &Site<'_>, node: &Node) -> Result<Expression, String> {
        let path = node.target().name();
        checked_path(path)?;
        let module = self.module.state().modules.get(path).ok_or_else(|| format!("there is no module at `{path}`"))?;
        let place = site::place(path);
        let known: Vec<String> = match module.as_graph_module() {
            Some(nested) => types(nested).into_iter().map(|(_, ty)| ty).collect(),
            None => module.signature().types.iter().map(|ty| (*ty).to_owned()).collect(),
        };
        let none = Arg::None;
        let args = (0..known.len().max(node.args().len())).map(|i| {
            let ty = known.get(i).map_or("Tensor", String::as_str);
            passed(site, ty, node.args().get(i).unwrap_or(&none))
        });
        let fits = node.kwargs().is_empty() && node.args().len() <= known.len().max(1);
        match args.collect::<Option<Vec<_>>>() {
            Some(args) if fits && module.signature().statics.is_empty() => {
                let text = format!("{place}.forward({})", args.join(", "));
                Ok(Expression { text, typed: false, elements: None })
            }
            _ => {
                let args: Vec<_> = node.args().iter().map(|arg| site.arg(arg)).collect();
                let kwargs: Vec<_> =
                    node.kwargs().iter().map(|(key, arg)| format!("({key:?}, {})", site.arg(arg))).collect();
                let (args, kwargs) = (args.join(", "), kwargs.join(", "));
                Ok(Expression::typed(format!("fx::module::invoke(&{place}, [{args}], [{kwargs}])")))
            }
        }
    }
}

/// An argument of a module's `forward`, whose parameter has this type.
fn passed(site: &Site<'_>, ty: &str, arg: &NodeArg) -> Option<String> {
    match (ty, arg) {
        ("Tensor" | "&Tensor", _) => site.value(arg),
        ("Option<Tensor>" | "Option<&Tensor>", Arg::None) => Some("None".to_owned()),
        ("Option<Tensor>", Arg::Value(id)) => match site.kind(arg)? {
            Kind::Maybe => Some(site.owned(*id)),
            Kind::Tensor | Kind::State => Some(format!("Some({})", site.owned(*id))),
            _ => None,
        },
        ("Option<&Tensor>", Arg::Value(id)) => match site.kind(arg)? {
            Kind::Maybe => Some(format!("{}.as_ref()", site.name(*id))),
            Kind::Tensor => Some(format!("Some(&{})", site.name(*id))),
            Kind::State => Some(format!("Some(&{})", site.owned(*id))),
            _ => None,
        },
        ("SymInt<Tensor>", Arg::Value(id)) if site.kind(arg) == Some(Kind::Size) => Some(site.owned(*id)),
        ("fx::Arg<Tensor>", _) => Some(site.arg(arg)),
        _ => None,
    }
}

fn checked_path(path: &str) -> Result<(), String> {
    match path.split('.').find(|part| literal::field(part).is_none()) {
        Some(part) => Err(format!("`{part}` of the path `{path}` cannot be the name of a field")),
        None => Ok(()),
    }
}

/// The type and the expression of what the graph gives.
fn output(site: &Site<'_>, arg: Option<&NodeArg>) -> (String, String) {
    match arg {
        None | Some(Arg::None) => ("()".to_owned(), "()".to_owned()),
        Some(arg) => structured(site, arg).unwrap_or_else(|| ("fx::Arg<Tensor>".to_owned(), site.arg(arg))),
    }
}

fn structured(site: &Site<'_>, arg: &NodeArg) -> Option<(String, String)> {
    let all = |items: &[NodeArg]| -> Option<(Vec<String>, Vec<String>)> {
        Some(items.iter().map(|item| structured(site, item)).collect::<Option<Vec<_>>>()?.into_iter().unzip())
    };
    match arg {
        Arg::Value(id) => match site.kind(arg)? {
            Kind::Tensor | Kind::State => Some(("Tensor".to_owned(), site.owned(*id))),
            Kind::Size => Some(("SymInt<Tensor>".to_owned(), site.owned(*id))),
            Kind::Maybe => Some(("Option<Tensor>".to_owned(), site.owned(*id))),
            Kind::Tree => None,
        },
        Arg::Tuple(items) if (1..=6).contains(&items.len()) => {
            let (types, texts) = all(items)?;
            let comma = if items.len() == 1 { "," } else { "" };
            Some((format!("({}{comma})", types.join(", ")), format!("({}{comma})", texts.join(", "))))
        }
        Arg::List(items) if !items.is_empty() => {
            let (types, texts) = all(items)?;
            let same = types.iter().all(|ty| *ty == types[0]);
            same.then(|| (format!("[{}; {}]", types[0], types.len()), format!("[{}]", texts.join(", "))))
        }
        _ => None,
    }
}

/// A shape as a comment: `f32[2, 3]`.
pub(super) fn shown(meta: &Arg<Meta>) -> Option<String> {
    match meta {
        Arg::Value(Meta::Unknown) => None,
        Arg::Value(meta) => Some(meta.to_string()),
        Arg::Int(size) => Some(size.to_string()),
        Arg::Tuple(items) | Arg::List(items) => {
            let items: Vec<_> = items.iter().map(|item| shown(item).unwrap_or_else(|| "?".to_owned())).collect();
            Some(format!("({})", items.join(", ")))
        }
        _ => None,
    }
}
