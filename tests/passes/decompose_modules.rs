use fx::nn;
use fx::passes::decompose_modules;
use fx::prelude::*;
use fx::trace::Leaves;

use super::fill::{fill, floats};
use super::{check_close, support::check};

#[traceable]
struct Model {
    conv: nn::Conv2d,
    norm: nn::BatchNorm2d,
    lstm: nn::LSTM,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.norm.forward(self.conv.forward(x));
        let (output, _) = self.lstm.forward(y.flatten_with(fx::ops::FlattenOptions::new().start_dim(2)), None);
        output
    }
}

fn model() -> Model {
    let model = Model { conv: nn::Conv2d::new(1, 2, 3), norm: nn::BatchNorm2d::new(2), lstm: nn::LSTM::new(4, 3) };
    fill(&model);
    model.eval();
    model
}

#[test]
fn modules_become_functions_of_their_parameters() {
    let model = nn::Sequential::new((nn::Linear::new(2, 3), nn::ReLU::new()));
    let mut module = fx::trace(&model).unwrap();
    assert_eq!(decompose_modules(&mut module).unwrap(), 2);
    check(
        module.graph(),
        "graph():
            %input : [num_users=1] = placeholder[target=input]
            %_0_weight : [num_users=1] = get_attr[target=0.weight]
            %_0_bias : [num_users=1] = get_attr[target=0.bias]
            %linear : [num_users=1] = call_function[target=linear](args = (%input, %_0_weight, %_0_bias), kwargs = {})
            %relu : [num_users=1] = call_function[target=relu](args = (%linear,), kwargs = {})
            return relu",
    );
    assert!(module.state().modules.is_empty());
}

#[test]
fn as_a_trace_without_leaves() {
    let model = model();
    let mut module = fx::trace(&model).unwrap();
    let before = module.clone();
    assert_eq!(decompose_modules(&mut module).unwrap(), 3);
    let traced = fx::trace::trace_by(Leaves::None, &model, ()).unwrap();
    let calls = |module: &fx::GraphModule| {
        let calls =
            module.graph().nodes().map(|(_, node)| format!("{} {} {}", node.op(), node.target(), node.args().len()));
        calls.collect::<Vec<_>>().join("\n")
    };
    check(calls(&module), &calls(&traced));
    check_close(&before, &module, &[floats("x", &[2, 1, 4, 4])], 0.0, 0.0);
    assert_eq!(decompose_modules(&mut module).unwrap(), 0);
}

/// Nodes come from the line that called the module, and from within it.
#[test]
fn locations_and_module_stacks_are_kept() {
    let mut module = fx::trace(&model()).unwrap();
    let (line, stack) = {
        let graph = module.graph();
        let meta = graph[graph.find("conv").unwrap()].meta();
        (meta.location().cloned().unwrap(), meta.module_stack().len())
    };
    decompose_modules(&mut module).unwrap();
    let graph = module.graph();
    let meta = graph[graph.find("conv2d").unwrap()].meta();
    assert_eq!(meta.module_stack().last().unwrap().path, "conv");
    assert_eq!(meta.module_stack().len(), stack + 1);
    assert_eq!((&*line.file, meta.location()), (file!(), Some(&line)));
}

/// A module that is a graph itself becomes part of the graph.
#[test]
fn graphs_within_graphs_are_one_again() {
    #[traceable]
    struct Outer {
        inner: fx::GraphModule,
    }
    #[traceable]
    impl Outer {
        fn forward(&self, x: &Tensor) -> Tensor {
            x + 1.0
        }
    }
    let inner = fx::trace(&nn::Sequential::new((nn::Linear::new(2, 2), nn::ReLU::new()))).unwrap();
    let mut module = fx::trace(&Outer { inner }).unwrap();
    let inner = std::sync::Arc::new(fx::trace(&nn::Linear::new(2, 2)).unwrap());
    module
        .edit_with_state(|graph, state| {
            state.modules.insert("inner".into(), inner);
            let add = graph.find("add").unwrap();
            let call = graph.inserting_after(add, |graph| graph.call_module("inner", [add]));
            graph.replace_all_uses_with(add, call);
            graph.replace_input_with(call, call, add);
            Ok(())
        })
        .unwrap();
    let before = module.clone();
    assert_eq!(decompose_modules(&mut module).unwrap(), 1);
    assert!(module.graph().find_nodes(Opcode::CallModule, "inner").is_empty());
    // A graph that is called runs by its plan, which adds in another order.
    check_close(&before, &module, &[floats("x", &[3, 2])], 1e-5, 1e-6);
}
