//! Recurrent cells in loops: traced against eager, and what they refuse. `modules.rs` holds them against PyTorch.

// The expansion of `#[traceable]` names the facade.
extern crate fx_core as fx;

use fx::prelude::*;
use fx::trace::Leaves;
use fx::{Arg, GraphModule, Interpreter, Meta};
use fx_macros::traceable;
use fx_nn as nn;

const STEPS: usize = 3;

#[traceable]
struct Loop {
    rnn: nn::RNNCell,
    lstm: nn::LSTMCell,
    gru: nn::GRUCell,
}

#[traceable]
impl Loop {
    /// One cell after the other in each step, all without a state at first. `x`: `[STEPS, N, 4]` or `[STEPS, 4]`.
    fn forward(&self, x: &Tensor) -> (Tensor, Tensor) {
        let mut states: Option<(Tensor, (Tensor, Tensor), Tensor)> = None;
        for step in 0..STEPS {
            let x = x.select(0, step as i64);
            let next = match &states {
                None => {
                    let h = self.rnn.forward(x, None);
                    let (y, c) = self.lstm.forward(&h, None);
                    let z = self.gru.forward(&y, None);
                    (h, (y, c), z)
                }
                Some((h, (y, c), z)) => {
                    let h = self.rnn.forward(x, Some(h));
                    let (y, c) = self.lstm.forward(&h, Some((y.clone(), c.clone())));
                    let z = self.gru.forward(&y, Some(z));
                    (h, (y, c), z)
                }
            };
            states = Some(next);
        }
        match states {
            Some((h, (y, c), z)) => (h + y, c + z),
            None => (x.clone(), x.clone()),
        }
    }
}

fn model() -> Loop {
    Loop {
        rnn: nn::RNNCell::new(4, 5).nonlinearity("relu"),
        lstm: nn::LSTMCell::new(5, 5).bias(false),
        gru: nn::GRUCell::new(5, 5),
    }
}

fn flat(arg: &Arg<Tensor>) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    arg.for_each(&mut |tensor: &Tensor| tensors.push(tensor.clone()));
    tensors
}

#[test]
fn loops_are_unrolled() {
    let model = model();
    let leaves = fx::trace(&model).unwrap();
    let ops = fx::trace::trace_by(Leaves::None, &model, ()).unwrap();
    let calls = |module: &GraphModule, op| module.graph().nodes().filter(|(_, node)| node.op() == op).count();
    assert_eq!(calls(&leaves, Opcode::CallModule), 3 * STEPS);
    assert_eq!(calls(&ops, Opcode::CallModule), 0);
    // With and without a batch, by the same graphs.
    for shape in [vec![STEPS, 2, 4], vec![STEPS, 1, 4], vec![STEPS, 4]] {
        let x = Tensor::randn(shape.as_slice());
        let (first, second) = model.forward(&x);
        let metas: Vec<String> = [&first, &second].map(|tensor| Meta::from(tensor).to_string()).into();
        for module in [&leaves, &ops] {
            let args = || vec![Arg::Value(x.clone())];
            let interpreted = flat(&Interpreter::new(module).run(args()).unwrap());
            for results in [flat(&module.run(args()).unwrap()), interpreted] {
                for (result, expected) in results.iter().zip([&first, &second]) {
                    assert!(result.all_close(expected, 1e-5, 1e-6), "off by {}", result.max_abs_diff(expected));
                    assert_eq!(result.shape(), expected.shape());
                }
            }
            let mut inferred = Vec::new();
            let output = Interpreter::new(module).run(vec![Arg::Value(Meta::from(&x))]).unwrap();
            output.for_each(&mut |meta: &Meta| inferred.push(meta.to_string()));
            assert_eq!(inferred, metas);
        }
    }
    let text = ops.plan(Tensor::randn([STEPS, 2, 4])).unwrap().to_string();
    for kernel in ["rnn relu of 1 layers of 5", "lstm of 1 layers of 5", "gru of 1 layers of 5"] {
        assert_eq!(text.matches(kernel).count(), STEPS, "{text}");
    }
}

/// A loop over a cell is the layer over the sequence.
#[test]
fn steps_are_those_of_the_layer() {
    let (cell, layer) = (nn::LSTMCell::new(4, 3), nn::LSTM::new(4, 3));
    for (name, parameter) in fx::module::entries(&cell) {
        let fx::module::Entry::Parameter(parameter) = parameter else { continue };
        layer.parameter(&format!("{name}_l0")).unwrap().set(parameter.tensor()).unwrap();
    }
    let x = Tensor::randn([STEPS, 2, 4]);
    let (_, (h, c)) = layer.forward(&x, None);
    let mut states = None;
    for step in 0..STEPS {
        states = Some(cell.forward(x.select(0, step as i64), states));
    }
    let (last_h, last_c) = states.unwrap();
    assert!(last_h.all_close(&h.select(0, 0), 1e-5, 1e-6) && last_c.all_close(&c.select(0, 0), 1e-5, 1e-6));
}

#[test]
fn parameters_are_within_one_over_the_root_of_the_hidden_size() {
    let cells: [&dyn Module; 3] = [&nn::RNNCell::new(40, 16), &nn::LSTMCell::new(40, 16), &nn::GRUCell::new(40, 16)];
    for cell in cells {
        for (name, entry) in fx::module::entries(cell) {
            let fx::module::Entry::Parameter(parameter) = entry else { continue };
            let largest = parameter.tensor().abs().amax().item().to_f64();
            assert!((0.15..=0.25).contains(&largest), "{name}: {largest}");
        }
    }
    let cell = nn::GRUCell::new(4, 3);
    let before = cell.bias_ih.as_ref().map(Parameter::tensor);
    assert_eq!(cell.bias(true).bias_ih.map(|bias| bias.tensor()), before, "biases that are there stay");
}

#[test]
fn constructors_are_written() {
    let source = |cell: &dyn Module| cell.constructor_source().unwrap();
    assert_eq!(source(&nn::LSTMCell::new(4, 3)), "nn::LSTMCell::new(4, 3)");
    assert_eq!(source(&nn::GRUCell::new(4, 3).bias(false)), "nn::GRUCell::new(4, 3).bias(false)");
    let rnn = nn::RNNCell::new(4, 3).nonlinearity("relu");
    assert_eq!(source(&rnn), r#"nn::RNNCell::new(4, 3).nonlinearity("relu")"#);
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let (rnn, lstm) = (fx::trace(&nn::RNNCell::new(4, 3)).unwrap(), fx::trace(&nn::LSTMCell::new(4, 3)).unwrap());
    let run = |module: &GraphModule, args: Vec<Arg<Tensor>>| module.run(args).map(|_| ()).map_err(|e| e.to_string());
    let zeros = |shape: &[usize]| Arg::Value(Tensor::zeros(shape));
    assert_eq!(run(&rnn, vec![zeros(&[2, 4]), zeros(&[2, 3])]), Ok(()));
    assert_eq!(run(&rnn, vec![zeros(&[4]), zeros(&[3])]), Ok(()));
    // More dimensions, inputs of another size, a state of another batch or size, or one without a batch.
    let cases: [[&[usize]; 2]; 6] = [
        [&[2, 2, 4], &[2, 2, 3]],
        [&[2, 5], &[2, 3]],
        [&[2, 4], &[1, 3]],
        [&[2, 4], &[2, 4]],
        [&[2, 4], &[3]],
        [&[4], &[1, 3]],
    ];
    for [input, state] in cases {
        let error = run(&rnn, vec![zeros(input), zeros(state)]).unwrap_err();
        assert!(error.contains("rnn("), "{error}");
        let error = run(&lstm, vec![zeros(input), Arg::Tuple(vec![zeros(state), zeros(state)])]).unwrap_err();
        assert!(error.contains("lstm("), "{error}");
    }
    let other = nn::RNNCell::new(4, 3).nonlinearity("sigmoid");
    let error = run(&fx::trace(&other).unwrap(), vec![zeros(&[2, 4]), zeros(&[2, 3])]).unwrap_err();
    assert!(error.contains("sigmoid"), "{error}");
}
