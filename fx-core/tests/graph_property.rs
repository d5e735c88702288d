//! Random edits against a simple model, random graphs through the text form, and random text for the parser.

use fx_core::graph::{Graph, NodeArg, NodeId, Opcode};
use fx_core::{Arg, DType, Kwargs, ops};
use proptest::prelude::*;
use proptest::sample::Index;

/// What a graph should be: names in order, each with what it uses.
#[derive(Clone, Debug, Default)]
struct Model(Vec<(NodeId, Vec<NodeId>)>);

impl Model {
    fn place(&self, id: NodeId) -> usize {
        self.0.iter().position(|(node, _)| *node == id).expect("the model has it")
    }

    /// The users of a node in the order of the nodes.
    fn users(&self, id: NodeId) -> Vec<NodeId> {
        self.0.iter().filter(|(_, inputs)| inputs.contains(&id)).map(|(node, _)| *node).collect()
    }

    /// Whether a node can stand at a place: after what it uses, before its users.
    fn fits(&self) -> bool {
        self.0.iter().enumerate().all(|(place, (_, inputs))| inputs.iter().all(|input| self.place(*input) < place))
    }
}

/// An edit; indices choose among the nodes there are.
#[derive(Clone, Debug)]
enum Edit {
    Insert { after: Index, inputs: Vec<Index> },
    Erase(Index),
    Replace { old: Index, new: Index },
    SetInput { node: Index, argument: Index, input: Index },
    Move { node: Index, place: Index, before: bool },
    EraseWithin { cursor: Index, victim: Index },
    Sweep,
}

fn edit() -> impl Strategy<Value = Edit> {
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), prop::collection::vec(index(), 0..3)).prop_map(|(after, inputs)| Edit::Insert { after, inputs }),
        2 => index().prop_map(Edit::Erase),
        2 => (index(), index()).prop_map(|(old, new)| Edit::Replace { old, new }),
        2 => (index(), index(), index()).prop_map(|(node, argument, input)| Edit::SetInput { node, argument, input }),
        2 => (index(), index(), any::<bool>()).prop_map(|(node, place, before)| Edit::Move { node, place, before }),
        1 => (index(), index()).prop_map(|(cursor, victim)| Edit::EraseWithin { cursor, victim }),
        1 => Just(Edit::Sweep),
    ]
}

fn pick(model: &Model, index: Index) -> Option<NodeId> {
    (!model.0.is_empty()).then(|| model.0[index.index(model.0.len())].0)
}

/// Makes a node that uses others.
fn make(graph: &mut Graph, inputs: &[NodeId]) -> NodeId {
    graph.call_function(ops::cat, [Arg::List(inputs.iter().map(|id| NodeArg::Value(*id)).collect())])
}

fn apply(graph: &mut Graph, model: &mut Model, edit: Edit) {
    match edit {
        Edit::Insert { after, inputs } => {
            let Some(after) = pick(model, after) else {
                let id = make(graph, &[]);
                return model.0.push((id, Vec::new()));
            };
            let place = model.place(after);
            let inputs: Vec<_> = inputs.iter().map(|input| model.0[input.index(place + 1)].0).collect();
            let id = graph.inserting_after(after, |g| make(g, &inputs));
            model.0.insert(place + 1, (id, inputs));
        }
        Edit::Erase(index) => {
            let Some(id) = pick(model, index) else { return };
            let erased = graph.erase_node(id).is_ok();
            assert_eq!(erased, model.users(id).is_empty());
            if erased {
                model.0.remove(model.place(id));
            }
        }
        Edit::Replace { old, new } => {
            let Some((old, new)) = pick(model, old).zip(pick(model, new)) else { return };
            let mut changed = model.clone();
            for (id, inputs) in &mut changed.0 {
                inputs.iter_mut().filter(|input| **input == old && *id != new).for_each(|input| *input = new);
            }
            if changed.fits() {
                let mut users = graph.replace_all_uses_with(old, new);
                users.sort_by_key(|user| model.place(*user));
                let mut expected = model.users(old);
                expected.retain(|user| *user != new);
                assert_eq!(users, expected);
                *model = changed;
            }
        }
        Edit::SetInput { node, argument, input } => {
            let Some(id) = pick(model, node) else { return };
            let place = model.place(id);
            if place == 0 || model.0[place].1.is_empty() {
                return;
            }
            let input = model.0[input.index(place)].0;
            let argument = argument.index(model.0[place].1.len());
            model.0[place].1[argument] = input;
            let list = model.0[place].1.iter().map(|id| NodeArg::Value(*id)).collect();
            graph.update_arg(id, 0, Arg::List(list));
        }
        Edit::Move { node, place, before } => {
            let Some((id, at)) = pick(model, node).zip(pick(model, place)) else { return };
            let mut changed = model.clone();
            if id != at {
                let entry = changed.0.remove(changed.place(id));
                let place = changed.place(at) + usize::from(!before);
                changed.0.insert(place, entry);
            }
            if changed.fits() {
                if before {
                    graph.move_before(id, at)
                } else {
                    graph.move_after(id, at)
                }
                *model = changed;
            }
        }
        Edit::EraseWithin { cursor, victim } => {
            let Some((cursor, victim)) = pick(model, cursor).zip(pick(model, victim)) else { return };
            if !model.users(victim).is_empty() {
                return;
            }
            // The new node stands where the cursor was, whether or not that node is the one erased.
            let place = model.place(cursor);
            let id = graph.inserting_before(cursor, |g| {
                g.inserting_at_start(|g| g.erase_node(victim).expect("it has no users"));
                make(g, &[])
            });
            let gone = model.place(victim);
            model.0.remove(gone);
            model.0.insert(place - usize::from(gone < place), (id, Vec::new()));
        }
        Edit::Sweep => {
            graph.eliminate_dead_code(|graph, id| graph[id].args() == [Arg::List(Vec::new())]);
            while let Some(dead) = model.0.iter().find(|(id, inputs)| !inputs.is_empty() && model.users(*id).is_empty())
            {
                model.0.remove(model.place(dead.0));
            }
        }
    }
}

fn agree(graph: &Graph, model: &Model) {
    graph.lint().expect("an edited graph is in order");
    let order: Vec<_> = model.0.iter().map(|(id, _)| *id).collect();
    assert_eq!(graph.node_ids(), order);
    assert!(graph.nodes().rev().map(|(id, _)| id).eq(order.iter().rev().copied()));
    assert_eq!(graph.len(), order.len());
    for (id, inputs) in &model.0 {
        let mut users: Vec<_> = graph[*id].users().collect();
        users.sort_by_key(|user| model.place(*user));
        assert_eq!(users, model.users(*id));
        let mut mentioned = Vec::new();
        graph[*id].args().iter().for_each(|arg| arg.for_each(&mut |input| mentioned.push(*input)));
        assert_eq!(&mentioned, inputs);
    }
}

/// An argument whose values are indices of earlier nodes.
fn argument() -> impl Strategy<Value = Arg<Index>> {
    let float = prop_oneof![
        any::<f64>(),
        prop::sample::select(vec![
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            1e16,
            1e-4,
            0.1,
            f64::MIN_POSITIVE
        ]),
    ];
    let leaf = prop_oneof![
        Just(Arg::None),
        Just(Arg::Ellipsis),
        any::<Index>().prop_map(Arg::Value),
        any::<bool>().prop_map(Arg::Bool),
        any::<i64>().prop_map(Arg::Int),
        float.prop_map(Arg::Float),
        text().prop_map(|text| Arg::Str(text.into())),
        prop::sample::select(DType::ALL.to_vec()).prop_map(Arg::DType),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            list().prop_map(Arg::List),
            list().prop_map(Arg::Tuple),
            prop::collection::vec((text(), inner.clone()), 0..3)
                .prop_map(|items| Arg::Dict(items.into_iter().collect())),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| Arg::Slice(Box::new([a, b, c]))),
        ]
    })
}

/// Strings: plain words, words that mean something, anything.
fn text() -> impl Strategy<Value = String> {
    let words =
        ["None", "inf", "nan", "slice", "torch.float32", "return ", "it's", "a\\", "\n", "]", "%x", "", " [num_users="];
    prop_oneof![
        "[a-z_.>-]{0,6}",
        prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        prop::collection::vec(any::<char>(), 0..6).prop_map(String::from_iter),
    ]
}

#[derive(Clone, Debug)]
struct Recipe {
    op: Opcode,
    target: String,
    args: Vec<Arg<Index>>,
    kwargs: Vec<(String, Arg<Index>)>,
    annotation: Option<String>,
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let ops = vec![Opcode::Placeholder, Opcode::GetAttr, Opcode::CallFunction, Opcode::CallMethod, Opcode::CallModule];
    let kwargs = prop::collection::vec((text(), argument()), 0..3);
    let parts = (prop::sample::select(ops), text(), prop::collection::vec(argument(), 0..4), kwargs);
    (parts, prop::option::of(text())).prop_map(|((op, target, args, kwargs), annotation)| Recipe {
        op,
        target,
        args,
        kwargs,
        annotation,
    })
}

fn build(recipes: Vec<Recipe>, output: Arg<Index>) -> Graph {
    let mut graph = Graph::new();
    let mut ids = Vec::new();
    let place = |ids: &[NodeId], arg: &Arg<Index>| -> NodeArg {
        let choose = &mut |index: &Index| {
            Ok::<_, ()>(match ids.len() {
                0 => Arg::None,
                count => Arg::Value(ids[index.index(count)]),
            })
        };
        arg.try_flat_map(choose).expect("nothing fails")
    };
    for recipe in recipes {
        let mut args: Vec<_> = recipe.args.iter().map(|arg| place(&ids, arg)).collect();
        let mut kwargs: Kwargs<NodeId> =
            recipe.kwargs.iter().map(|(key, arg)| (key.clone(), place(&ids, arg))).collect();
        if matches!(recipe.op, Opcode::Placeholder | Opcode::GetAttr) {
            args.truncate(usize::from(recipe.op == Opcode::Placeholder));
            kwargs = Kwargs::new();
        }
        let id = match recipe.op {
            Opcode::CallFunction => graph.create_node(recipe.op, ops::add, args, kwargs, Some(&recipe.target)),
            Opcode::CallMethod => graph.create_node(recipe.op, "relu", args, kwargs, None),
            op => graph.create_node(op, recipe.target, args, kwargs, None),
        };
        graph.annotate(id, recipe.annotation);
        ids.push(id);
    }
    let output = place(&ids, &output);
    graph.output(output);
    graph
}

fn random_graph() -> impl Strategy<Value = Graph> {
    (prop::collection::vec(recipe(), 0..6), argument()).prop_map(|(recipes, output)| build(recipes, output))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_graph_agrees_with_its_model(edits in prop::collection::vec(edit(), 1..40)) {
        let (mut graph, mut model) = (Graph::new(), Model::default());
        for edit in edits {
            apply(&mut graph, &mut model, edit);
            agree(&graph, &model);
        }
    }

    #[test]
    fn what_is_printed_reads_back(graph in random_graph()) {
        graph.lint().expect("a random graph is in order");
        let text = graph.to_string();
        let read: Graph = text.parse().expect("what is printed parses");
        prop_assert_eq!(&read, &graph);
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn random_text_does_not_make_the_parser_panic(text in any::<String>(), line in "[%a-z_0-9 :=\\[\\](){}',.\\\\]{0,60}") {
        let _ = text.parse::<Graph>();
        let _ = format!("graph():\n    {line}\n return {line}").parse::<Graph>();
    }

    #[test]
    fn mutated_text_does_not_make_the_parser_panic(
        graph in random_graph(),
        changes in prop::collection::vec((any::<Index>(), prop::option::of(any::<char>()), any::<bool>()), 1..4),
    ) {
        let mut text: Vec<char> = graph.to_string().chars().collect();
        for (place, new, insert) in changes {
            let place = place.index(text.len().max(1)).min(text.len());
            if !insert && place < text.len() {
                text.remove(place);
            }
            text.splice(place..place, new);
        }
        if let Ok(read) = String::from_iter(text).parse::<Graph>() {
            let _ = read.violations(None);
            let again: Graph = read.to_string().parse().expect("what is printed parses");
            prop_assert_eq!(again, read);
        }
    }
}
