//! What goes into a traced function and comes out of it: tensors by value and by reference, tuples, lists, options,
//! structs of tensors, symbolic sizes.

mod support;

use fx::prelude::*;
use fx::value::Tree;
use support::check;

/// A structure of tensors.
#[traceable]
#[derive(Clone, Debug)]
struct Pair {
    left: Tensor,
    right: Tensor,
}

#[traceable]
#[derive(Clone)]
struct Everything {
    scale: Parameter,
}

#[traceable]
impl Everything {
    fn forward(
        &self,
        pair: (Tensor, Tensor),
        list: &[Tensor],
        optional: Option<&Tensor>,
        pair_of: Pair<Tensor>,
        owned: Tensor,
    ) -> (Tensor, Vec<Tensor>, Pair<Tensor>) {
        let mut sum = pair.0 + &pair.1;
        for x in list {
            sum += x;
        }
        if let Some(x) = optional {
            sum += x;
        }
        let scaled = owned * &self.scale;
        (sum, vec![pair.1, scaled.clone()], Pair { left: pair_of.right, right: pair_of.left + scaled })
    }
}

fn tensor(x: f32) -> Tensor {
    Tensor::from([x, 2.0 * x])
}

#[test]
fn eager_code_takes_and_gives_every_structure() {
    let module = Everything { scale: Parameter::new(tensor(10.0)) };
    let (sum, list, pair) = module.forward(
        (tensor(1.0), tensor(2.0)),
        &[tensor(3.0), tensor(4.0)],
        Some(&tensor(5.0)),
        Pair { left: tensor(6.0), right: tensor(7.0) },
        tensor(1.0),
    );
    assert_eq!(sum, tensor(15.0));
    assert_eq!(list[0], tensor(2.0));
    assert_eq!(pair.left, tensor(7.0));
    assert_eq!(pair.right.to_vec::<f32>(), [16.0, 52.0]);
}

#[test]
fn a_trace_takes_and_gives_every_structure() {
    let module = Everything { scale: Parameter::new(tensor(10.0)) };
    let forms = fx::trace::InputForms::new().list("list", 2).absent("optional");
    let traced = fx::trace::trace_by(forms, &module, ()).unwrap();
    check(
        traced.graph(),
        "graph():
            %pair : [num_users=2] = placeholder[target=pair]
            %list : [num_users=2] = placeholder[target=list]
            %optional : [num_users=0] = placeholder[target=optional](default=None)
            %pair_of : [num_users=2] = placeholder[target=pair_of]
            %owned : [num_users=1] = placeholder[target=owned]
            %getitem : [num_users=1] = call_function[target=getitem](args = (%list, 0), kwargs = {count: 2})
            %getitem_1 : [num_users=1] = call_function[target=getitem](args = (%list, 1), kwargs = {count: 2})
            %getitem_2 : [num_users=1] = call_function[target=getitem](args = (%pair, 0), kwargs = {count: 2})
            %getitem_3 : [num_users=2] = call_function[target=getitem](args = (%pair, 1), kwargs = {count: 2})
            %getitem_4 : [num_users=1] = call_function[target=getitem](args = (%pair_of, 0), kwargs = {count: 2})
            %getitem_5 : [num_users=1] = call_function[target=getitem](args = (%pair_of, 1), kwargs = {count: 2})
            %add : [num_users=1] = call_function[target=add](args = (%getitem_2, %getitem_3), kwargs = {})
            %add_1 : [num_users=1] = call_function[target=add](args = (%add, %getitem), kwargs = {})
            %add_2 : [num_users=1] = call_function[target=add](args = (%add_1, %getitem_1), kwargs = {})
            %scale : [num_users=1] = get_attr[target=scale]
            %mul : [num_users=2] = call_function[target=mul](args = (%owned, %scale), kwargs = {})
            %add_3 : [num_users=1] = call_function[target=add](args = (%getitem_4, %mul), kwargs = {})
            return (add_2, [getitem_3, mul], (getitem_5, add_3))",
    );
    let pair = || (tensor(1.0), tensor(2.0));
    let list = [tensor(3.0), tensor(4.0)];
    let both = || Pair { left: tensor(6.0), right: tensor(7.0) };
    let (sum, outputs, swapped) = module.forward(pair(), &list, None, both(), tensor(1.0));
    let (traced_sum, traced_outputs, traced_swapped): (Tensor, Vec<Tensor>, Pair<Tensor>) =
        traced.forward_as((pair().to_arg(), &list[..], None::<Tensor>, both().to_arg(), tensor(1.0))).unwrap();
    assert_eq!((traced_sum, traced_outputs), (sum, outputs));
    assert_eq!((traced_swapped.left, traced_swapped.right), (swapped.left, swapped.right));
    let error = fx::trace(&module).unwrap_err().to_string();
    assert!(error.contains("InputForms"), "{error}");
    let error = fx::trace_fn!(|x| (x.relu(), x)).unwrap().forward(tensor(1.0)).unwrap_err().to_string();
    assert!(error.contains("expected a tensor, found a tuple") && error.contains("forward_as"), "{error}");
    // The rows of a tensor are no tuple.
    let one = fx::trace_fn!(|x| x.relu()).unwrap();
    let error = one.forward_as::<(Tensor, Tensor)>(Tensor::zeros([2, 4])).unwrap_err().to_string();
    assert!(error.contains("expected 2 elements, found a value") && error.contains("one tensor"), "{error}");
}

/// An option is a collection of at most one, and whether there is one is known.
#[traceable]
#[allow(for_loops_over_fallibles, reason = "this is what the test is of")]
fn of_options(x: &Tensor, h: Option<&Tensor>, c: Option<&Tensor>) -> Tensor {
    let mut y = match h.zip(c) {
        Some((h, c)) => x * h + c,
        None => x.clone(),
    };
    for c in c {
        y -= c * 2.0;
    }
    y
}

#[test]
fn options_are_collections() {
    let (x, h, c) = (tensor(1.0), tensor(3.0), tensor(5.0));
    let all = fx::trace_fn!(of_options).unwrap();
    assert_eq!(all.forward((&x, &h, &c)).unwrap(), of_options(&x, Some(&h), Some(&c)));
    assert_eq!(of_options(&x, Some(&h), Some(&c)).to_vec::<f32>(), [-2.0, 2.0]);
    assert_eq!(of_options(&x, None, Some(&c)).to_vec::<f32>(), [-9.0, -18.0]);
    let one = fx::trace_fn!(|x, c| of_options(&x, None, Some(&c))).unwrap();
    assert_eq!(one.forward((&x, &c)).unwrap(), of_options(&x, None, Some(&c)));
}

#[traceable]
#[derive(Clone)]
struct Sizes {
    flag: bool,
}

#[traceable]
impl Sizes {
    fn forward(&self, x: &Tensor) -> Tensor {
        let rows = x.size(0);
        let half = (&rows * 2 + 4) / 2 - 2;
        x.reshape((half, -1))
    }
}

#[test]
fn one_trace_serves_every_size() {
    let traced = fx::trace(&Sizes { flag: true }).unwrap();
    check(
        traced.graph(),
        "graph():
            %x : [num_users=2] = placeholder[target=x]
            %size : [num_users=1] = call_method[target=size](args = (%x,), kwargs = {dim: 0})
            %mul : [num_users=1] = call_function[target=mul](args = (%size, 2), kwargs = {})
            %add : [num_users=1] = call_function[target=add](args = (%mul, 4), kwargs = {})
            %floor_divide : [num_users=1] = call_function[target=floor_divide](args = (%add, 2), kwargs = {})
            %sub : [num_users=1] = call_function[target=sub](args = (%floor_divide, 2), kwargs = {})
            %reshape : [num_users=1] = call_method[target=reshape](args = (%x,), kwargs = {shape: (%sub, -1)})
            return reshape",
    );
    for rows in [1, 3, 5] {
        let y = traced.forward(Tensor::ones([rows, 2, 2])).unwrap();
        assert_eq!(y.shape(), [rows, 4]);
    }
}

#[traceable]
#[derive(Clone)]
struct Operators {
    weight: Parameter,
    mean: Buffer,
}

#[traceable]
impl Operators {
    fn forward(&self, x: &Tensor, y: Tensor) -> Tensor {
        let a = x + &y + &self.weight;
        let b = &self.weight * x - &self.mean;
        let c = 2.0 / x + 1.0 - a % 2.0;
        let mut d = -(b * c);
        d -= 1.0;
        d *= &self.weight;
        d /= 2 + y;
        (x > 0.0) * &d + (1 - x) * (!(x >= 1.0) & (x != 2.0)) * d
    }
}

#[test]
fn operators_work_on_every_mix() {
    let module = Operators { weight: Parameter::new(tensor(0.5)), mean: Buffer::new(tensor(0.25)) };
    let (x, y) = (tensor(0.75), tensor(3.0));
    let traced = fx::trace(&module).unwrap();
    assert_eq!(traced.forward((&x, &y)).unwrap(), module.forward(&x, &y));
    let retraced = fx::trace::transform(&traced, fx::interpreter::NoHooks).unwrap();
    assert_eq!(retraced.graph().to_string(), traced.graph().to_string());
}

/// Sizes stand beside a tensor, and are negated by reference.
#[test]
fn sizes_are_operands_of_tensors() {
    #[traceable]
    fn f(x: &Tensor) -> Tensor {
        let n = x.size(0);
        let y = -(x - n.clone()) + x.relu() * n.clone() - x / n.clone() + x % n.clone();
        y - (x + n.clone()) + x.narrow(0, -&n, 1).sum()
    }
    let x = tensor(2.0);
    let by_number = |x: f32| {
        let y = 2.0 - x + 2.0 * x - x / 2.0 + x % 2.0;
        y - (x + 2.0) + 2.0
    };
    assert!(f(&x).all_close(&Tensor::from([by_number(2.0), by_number(4.0)]), 1e-6, 1e-6));
    let traced = fx::trace_fn!(f).unwrap();
    let shapes =
        fx::passes::infer_shapes(&mut traced.clone(), [fx::Meta::tensor([fx::value::Dim::symbol("N", 1)], DType::F32)]);
    assert_eq!(shapes.unwrap().output.as_value().unwrap().to_string(), "f32[N]");
    for x in [x, Tensor::from([0.5_f32, 3.0, 7.0])] {
        assert_eq!(traced.forward(&x).unwrap(), f(&x));
    }
}

#[traceable]
#[derive(Clone)]
struct Constants {
    offset: f64,
}

#[traceable]
impl Constants {
    fn forward(&self, x: &Tensor) -> Tensor {
        let noise = Tensor::zeros((x.size(0), 2));
        x + noise + Tensor::full([2], self.offset)
    }
}

#[test]
fn constructors_are_recorded() {
    let traced = fx::trace(&Constants { offset: 1.5 }).unwrap();
    check(
        traced.graph(),
        "graph():
            %x : [num_users=2] = placeholder[target=x]
            %size : [num_users=1] = call_method[target=size](args = (%x,), kwargs = {dim: 0})
            %zeros : [num_users=1] = call_function[target=zeros](args = (), kwargs = {size: (%size, 2)})
            %add : [num_users=1] = call_function[target=add](args = (%x, %zeros), kwargs = {})
            %full : [num_users=1] = call_function[target=full](args = (), kwargs = {size: (2,), fill_value: 1.5})
            %add_1 : [num_users=1] = call_function[target=add](args = (%add, %full), kwargs = {})
            return add_1",
    );
}

/// Sums rows in plain Rust, which no trace sees.
#[fx::wrap]
fn plain_sum(x: &Tensor, factor: f64) -> Tensor {
    let total: f32 = x.to_vec::<f32>().iter().sum();
    Tensor::from([total * factor as f32])
}

#[traceable]
fn calls_wrapped(x: &Tensor) -> Tensor {
    plain_sum(x, 2.0) + 1.0
}

#[test]
fn wrapped_functions_are_one_node() {
    let traced = fx::trace_fn!(calls_wrapped).unwrap();
    check(
        traced.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %plain_sum : [num_users=1] = call_function[target=structures::plain_sum](args = (%x,), kwargs = {factor: 2.0})
            %add : [num_users=1] = call_function[target=add](args = (%plain_sum, 1.0), kwargs = {})
            return add",
    );
    assert_eq!(traced.forward(tensor(1.0)).unwrap(), Tensor::from([7.0_f32]));
    let parsed: fx::Graph = traced.graph().to_string().parse().unwrap();
    assert_eq!(parsed.to_string(), traced.graph().to_string());
}
