//! The front end: what `#[traceable]` makes of models, from struct to graph and back to numbers.

mod support;

use fx::prelude::*;
use support::check;

#[traceable]
#[derive(Clone)]
struct MyModule {
    param: Parameter,
    linear: Scale,
    do_activation: bool,
}

#[traceable(leaf)]
#[derive(Clone)]
struct Scale {
    weight: Parameter,
}

#[traceable]
impl Scale {
    fn new() -> Self {
        Self { weight: Parameter::new(Tensor::from([1.0_f32, 2.0, 3.0, 4.0])) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.weight
    }
}

#[traceable]
impl MyModule {
    fn new() -> Self {
        Self {
            param: Parameter::new(Tensor::from_vec([3, 4], (0..12).map(|x| x as f32 / 6.0 - 1.0).collect())),
            linear: Scale::new(),
            do_activation: true,
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.linear.forward(x + &self.param).clamp(0.0, 1.0);
        if self.do_activation { y.relu() } else { y }
    }
}

#[test]
fn the_first_example() {
    let module = MyModule::new();
    let x = Tensor::from_vec([3, 4], vec![0.25_f32; 12]);
    let eager = module.forward(&x);
    let traced = fx::trace(&module).unwrap();
    check(
        traced.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %param : [num_users=1] = get_attr[target=param]
            %add : [num_users=1] = call_function[target=add](args = (%x, %param), kwargs = {})
            %linear : [num_users=1] = call_module[target=linear](args = (%add,), kwargs = {})
            %clamp : [num_users=1] = call_method[target=clamp](args = (%linear,), kwargs = {min: 0.0, max: 1.0})
            %relu : [num_users=1] = call_method[target=relu](args = (%clamp,), kwargs = {})
            return relu",
    );
    assert_eq!(traced.forward(&x).unwrap(), eager);
}

#[traceable]
fn masked(x: &Tensor, y: Tensor, twice: bool) -> Tensor {
    let mut z = (x > 0.0) * x + 2.0 * y;
    if twice {
        z += x;
    }
    z
}

#[test]
fn free_functions_and_closures() {
    let traced = fx::trace_fn!(masked, (true,)).unwrap();
    check(
        traced.graph(),
        "graph():
            %x : [num_users=3] = placeholder[target=x]
            %y : [num_users=1] = placeholder[target=y]
            %gt : [num_users=1] = call_function[target=gt](args = (%x, 0.0), kwargs = {})
            %mul : [num_users=1] = call_function[target=mul](args = (%gt, %x), kwargs = {})
            %mul_1 : [num_users=1] = call_function[target=mul](args = (2.0, %y), kwargs = {})
            %add : [num_users=1] = call_function[target=add](args = (%mul, %mul_1), kwargs = {})
            %add_1 : [num_users=1] = call_function[target=add](args = (%add, %x), kwargs = {})
            return add_1",
    );
    let closure = fx::trace_fn!(|a, b| a.relu() + b).unwrap();
    check(
        closure.graph(),
        "graph():
            %a : [num_users=1] = placeholder[target=a]
            %b : [num_users=1] = placeholder[target=b]
            %relu : [num_users=1] = call_method[target=relu](args = (%a,), kwargs = {})
            %add : [num_users=1] = call_function[target=add](args = (%relu, %b), kwargs = {})
            return add",
    );
}
