use fx::nn;
use fx::passes::eliminate_common_subexpressions;
use fx::prelude::*;

use super::fill::floats;
use super::{check_close, module, parameters, support::check};

#[test]
fn equal_calls_are_made_once() {
    let mut module = module(
        "graph():
            %x : [num_users=4] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=w]
            %w_1 : [num_users=1] = get_attr[target=w]
            %add : [num_users=1] = call_function[target=add](args = (%x, %w), kwargs = {})
            %add_1 : [num_users=1] = call_function[target=add](args = (%x, %w_1), kwargs = {})
            %relu : [num_users=1] = call_method[target=relu](args = (%add,), kwargs = {})
            %relu_1 : [num_users=1] = call_function[target=relu](args = (%add_1,), kwargs = {})
            %clamp : [num_users=1] = call_method[target=clamp](args = (%x,), kwargs = {min: 0.0, max: nan})
            %clamp_1 : [num_users=1] = call_method[target=clamp](args = (%x,), kwargs = {max: nan, min: 0.0})
            return (relu, relu_1, clamp, clamp_1)",
        parameters([("w", Tensor::ones([2]))]),
    );
    let before = module.clone();
    assert_eq!(eliminate_common_subexpressions(&mut module).unwrap(), 4);
    check(
        module.graph(),
        "graph():
            %x : [num_users=2] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=w]
            %add : [num_users=1] = call_function[target=add](args = (%x, %w), kwargs = {})
            %relu : [num_users=1] = call_method[target=relu](args = (%add,), kwargs = {})
            %clamp : [num_users=1] = call_method[target=clamp](args = (%x,), kwargs = {min: 0.0, max: nan})
            return (relu, relu, clamp, clamp)",
    );
    check_close(&before, &module, &[floats("x", &[2])], 0.0, 0.0);
    assert_eq!(eliminate_common_subexpressions(&mut module).unwrap(), 0);
}

#[test]
fn random_calls_and_those_with_effects_are_not_merged() {
    #[traceable]
    struct Model {
        norm: nn::BatchNorm1d,
        linear: nn::Linear,
    }
    #[traceable]
    impl Model {
        fn forward(&self, x: &Tensor) -> Tensor {
            let noise = x.rand_like() + x.rand_like();
            let twice = self.linear.forward(x) + self.linear.forward(x);
            self.norm.forward(x) + self.norm.forward(x) + noise + twice
        }
    }
    let model = Model { norm: nn::BatchNorm1d::new(2), linear: nn::Linear::new(2, 2) };
    let mut module = fx::trace(&model).unwrap();
    assert_eq!(eliminate_common_subexpressions(&mut module).unwrap(), 1);
    model.eval();
    assert_eq!(eliminate_common_subexpressions(&mut module).unwrap(), 1);
    assert_eq!(module.graph().find_calls(fx::ops::rand_like).len(), 2);
}
