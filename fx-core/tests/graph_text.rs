//! The text form: printed as torch.fx prints, and read back to an equal graph.

use fx_core::graph::{Graph, NodeArg, NodeId, Opcode};
use fx_core::{Arg, DType, ErrorKind, Kwargs, ops};

#[track_caller]
fn check(actual: impl ToString, expected: &str) {
    assert_eq!(actual.to_string(), expected);
}

/// Checks the text, and that it reads back to an equal graph.
#[track_caller]
fn round_trip(graph: &Graph, expected: &str) {
    check(graph, expected);
    let read: Graph = expected.parse().expect("what is printed parses");
    assert_eq!(&read, graph);
    check(read, expected);
}

/// Checks the message and the place of a parse error.
#[track_caller]
fn fails(text: &str, message: &str, place: &str) {
    let error = text.parse::<Graph>().expect_err("this does not parse");
    check(error.message().lines().next().unwrap_or_default(), message);
    check(error.location().unwrap_or_default(), place);
}

/// The graph of torch.fx's own first example.
fn example() -> Graph {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let param = graph.get_attr("param");
    let add = graph.call_function(ops::add, [x, param]);
    let linear = graph.call_module("linear", [add]);
    let kwargs: Kwargs<NodeId> = [("min", Arg::Float(0.0)), ("max", Arg::Float(1.0))].into_iter().collect();
    let clamp = graph.call(Opcode::CallMethod, "clamp", [linear], kwargs);
    graph.output(clamp);
    graph
}

#[test]
fn a_graph_prints_as_in_torch_fx() {
    let expected = "graph():
    %x : [num_users=1] = placeholder[target=x]
    %param : [num_users=1] = get_attr[target=param]
    %add : [num_users=1] = call_function[target=add](args = (%x, %param), kwargs = {})
    %linear : [num_users=1] = call_module[target=linear](args = (%add,), kwargs = {})
    %clamp : [num_users=1] = call_method[target=clamp](args = (%linear,), kwargs = {min: 0.0, max: 1.0})
    return clamp";
    round_trip(&example(), expected);
    let mut graph = example();
    let x = graph.find("x").expect("there is one");
    graph.inserting_before(x, |g| g.call_function(ops::add, [NodeArg::Value(x), 1.into()]));
    check(
        graph.format_node(graph.node_ids()[0]),
        "%add_1 : [num_users=0] = call_function[target=add](args = (%x, 1), kwargs = {})",
    );
}

#[test]
fn a_graph_prints_as_a_table() {
    let expected = "\
opcode         name    target  args         kwargs
-------------  ------  ------  -----------  ----------------------
placeholder    x       x       ()           {}
get_attr       param   param   ()           {}
call_function  add     add     (x, param)   {}
call_module    linear  linear  (add,)       {}
call_method    clamp   clamp   (linear,)    {min: 0.0, max: 1.0}
output         output  output  (clamp,)     {}";
    let lines =
        |text: &str| text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    let (actual, expected) = (lines(&example().tabular()), lines(expected));
    assert_eq!((&actual[0], &actual[2..]), (&expected[0], &expected[2..]));
    let table = example().tabular();
    let column = |line: &str, word: &str| line.find(word).expect("it is there");
    let rows: Vec<_> = table.lines().collect();
    assert_eq!(column(rows[0], "kwargs"), column(rows[6], "{min"));
    assert!(rows[1].chars().all(|c| c == '-' || c == ' '));
}

#[test]
fn all_arguments_read_back() {
    let mut graph = Graph::new();
    let x = graph.placeholder_with_default("x", 3);
    graph.annotate(x, Some("Option<Tensor>".to_owned()));
    let node = |graph: &mut Graph, arg: NodeArg| graph.call_method("relu", [x.into(), arg]);
    node(&mut graph, Arg::List(vec![Arg::None, Arg::Bool(true), Arg::Bool(false), Arg::Int(i64::MIN)]));
    node(&mut graph, Arg::Tuple(vec![Arg::Float(1.0), Arg::Float(-0.0), Arg::Float(1e-5), Arg::Float(1e16)]));
    node(&mut graph, Arg::Tuple(vec![Arg::Float(f64::NAN), Arg::Float(f64::INFINITY), Arg::Float(-f64::INFINITY)]));
    node(&mut graph, Arg::List(vec!["mean".into(), "it's".into(), "a\nb\u{7}é\\".into(), "".into(), "inf".into()]));
    node(&mut graph, Arg::Tuple(vec![Arg::Slice(Box::new([x.into(), Arg::None, 2.into()])), Arg::Ellipsis]));
    let kwargs = [("dtype", DType::BF16.into()), ("odd key", Arg::Dict(Kwargs::new()))].into_iter().collect();
    let last = graph.call(Opcode::CallMethod, "sum", [x], kwargs);
    graph.output(Arg::Dict(
        [("a", last.into()), ("b", Arg::Tuple(vec!["x".into(), DType::F32.into()]))].into_iter().collect(),
    ));
    let expected = r"graph():
    %x : Option<Tensor> [num_users=6] = placeholder[target=x](default=3)
    %relu : [num_users=0] = call_method[target=relu](args = (%x, [None, True, False, -9223372036854775808]), kwargs = {})
    %relu_1 : [num_users=0] = call_method[target=relu](args = (%x, (1.0, -0.0, 1e-05, 1e+16)), kwargs = {})
    %relu_2 : [num_users=0] = call_method[target=relu](args = (%x, (nan, inf, -inf)), kwargs = {})
    %relu_3 : [num_users=0] = call_method[target=relu](args = (%x, [mean, 'it\'s', 'a\nb\u{7}é\\', '', 'inf']), kwargs = {})
    %relu_4 : [num_users=0] = call_method[target=relu](args = (%x, (slice(%x, None, 2), Ellipsis)), kwargs = {})
    %sum_1 : [num_users=1] = call_method[target=sum](args = (%x,), kwargs = {dtype: torch.bfloat16, 'odd key': {}})
    return {a: sum_1, b: ('x', torch.float32)}"
        .replace("sum_1", "sum");
    round_trip(&graph, &expected);
}

#[test]
fn odd_targets_and_annotations_read_back() {
    let mut graph = Graph::new();
    let x = graph.placeholder("a]b\nc");
    graph.annotate(x, Some("List[num_users=2]".to_owned()));
    let y = graph.placeholder("'");
    graph.annotate(y, Some(String::new()));
    let z = graph.placeholder("");
    graph.output(Arg::List(vec![x.into(), y.into(), z.into()]));
    let expected = r"graph():
    %a_b_c : 'List[num_users=2]' [num_users=1] = placeholder[target='a]b\nc']
    %_unnamed :  [num_users=1] = placeholder[target='\'']
    %_unnamed_1 : [num_users=1] = placeholder[target=]
    return [a_b_c, _unnamed, _unnamed_1]";
    round_trip(&graph, expected);
}

#[test]
fn equality_is_of_calls_not_of_numbers() {
    let graph = |x: f64| {
        let mut graph = Graph::new();
        graph.output(x);
        graph
    };
    assert_eq!(graph(f64::NAN), graph(f64::NAN));
    assert_ne!(graph(0.0), graph(-0.0));
    assert_ne!(graph(1.0), graph(2.0));
    let mut annotated = example();
    let x = annotated.find("x").expect("there is one");
    annotated.annotate(x, Some("f32".to_owned()));
    assert_ne!(annotated, example());
    let mut renamed = example();
    let output = renamed.output_node().expect("there is one");
    renamed.rename(output, "result");
    assert_eq!(renamed, example());
}

#[test]
fn a_parse_error_shows_the_place() {
    fails("graf():", "expected `graph():`", "line 1, column 1");
    let line = |text: &str| format!("graph():\n    %x : [num_users=0] = placeholder[target=x]\n\n    {text}");
    fails(&line("x = 1"), "expected `%`", "line 4, column 5");
    fails(&line("%y : [num_users=1] = jump[target=a]"), "there is no opcode `jump`", "line 4, column 30");
    let call =
        |args: &str| line(&format!("%y : [num_users=0] = call_method[target=relu](args = {args}, kwargs = {{}})"));
    fails(&call("(%z,)"), "%z is used before it is defined", "line 4, column 61");
    fails(&call("(1 2)"), "expected `,` or `)`", "line 4, column 60");
    fails(&call("('a)"), "expected a closing quote", "line 4, column 60");
    fails(&call("[1]"), "expected a tuple of arguments", "line 4, column 61");
    fails(&call("(1x,)"), "expected a number", "line 4, column 61");
    fails(&call("(torch.f3,)"), "there is no element type named `torch.f3`", "line 4, column 67");
    let function = line("%y : [num_users=0] = call_function[target=fly](args = (), kwargs = {})");
    fails(&function, "there is no function `fly`", "line 4, column 75");
    fails(&line("%x : [num_users=0] = placeholder[target=x]"), "the name `x` is taken or no name", "line 4, column 47");
    fails(&line("return x y"), "expected the end of the line", "line 4, column 13");
    let error = call("(1x,)").parse::<Graph>().expect_err("1x is no number");
    let caret = error.message().lines().last().map_or(0, |line| line.find('^').map_or(0, |place| place + 1));
    assert_eq!((caret, error.kind()), (61, ErrorKind::Format));
    assert!("".parse::<Graph>().is_err());
    let deep = call(&format!("({}{})", "[".repeat(100_000), "]".repeat(100_000)));
    check(deep.parse::<Graph>().is_err(), "true");
}
