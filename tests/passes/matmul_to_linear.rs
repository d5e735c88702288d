use fx::passes::matmul_to_linear;

use super::fill::floats;
use super::{check_close, module, parameters, support::check};

#[test]
fn products_with_parameters_become_layers() {
    let state = parameters([("w", floats("w", &[4, 3])), ("b", floats("b", &[3])), ("v", floats("v", &[3, 2]))]);
    let mut module = module(
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=w]
            %b : [num_users=1] = get_attr[target=b]
            %v : [num_users=1] = get_attr[target=v]
            %matmul : [num_users=1] = call_function[target=matmul](args = (%x, %w), kwargs = {})
            %add : [num_users=1] = call_function[target=add](args = (%b, %matmul), kwargs = {})
            %matmul_1 : [num_users=1] = call_function[target=matmul](args = (%add, %v), kwargs = {})
            return matmul_1",
        state,
    );
    let before = module.clone();
    assert_eq!(matmul_to_linear(&mut module).unwrap(), 2);
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=w]
            %b : [num_users=1] = get_attr[target=b]
            %v : [num_users=1] = get_attr[target=v]
            %transpose : [num_users=1] = call_function[target=transpose](args = (%w,), kwargs = {dim0: 0, dim1: 1})
            %linear : [num_users=1] = call_function[target=linear](args = (%x, %transpose, %b), kwargs = {})
            %transpose_1 : [num_users=1] = call_function[target=transpose](args = (%v,), kwargs = {dim0: 0, dim1: 1})
            %linear_1 : [num_users=1] = call_function[target=linear](args = (%linear, %transpose_1), kwargs = {})
            return linear_1",
    );
    check_close(&before, &module, &[floats("x", &[2, 4])], 1e-5, 1e-6);
    assert_eq!(matmul_to_linear(&mut module).unwrap(), 0);
}

/// A product of two values, of stacks, with a sum that is used elsewhere or of another shape.
#[test]
fn other_products_and_sums_stay() {
    let state = || {
        parameters([
            ("w", floats("w", &[3, 3])),
            ("s", floats("s", &[2, 3, 3])),
            ("b", floats("b", &[1, 3])),
            ("c", floats("c", &[3])),
        ])
    };
    let count = |calls: &str| {
        let text = format!(
            "graph():
            %x : [num_users=0] = placeholder[target=x]
            %w : [num_users=0] = get_attr[target=w]
            %s : [num_users=0] = get_attr[target=s]
            %b : [num_users=0] = get_attr[target=b]
            %c : [num_users=0] = get_attr[target=c]
{calls}"
        );
        let mut module = module(&text, state());
        let before = module.clone();
        let count = matmul_to_linear(&mut module).unwrap();
        check_close(&before, &module, &[floats("x", &[3, 3])], 1e-5, 1e-6);
        (count, module.graph().find("add").is_some())
    };
    let call = |name: &str, args: &str| {
        format!("            %{name} : [num_users=0] = call_function[target={name}](args = ({args}), kwargs = {{}})\n")
    };
    let end = |name: &str| format!("            return {name}");
    assert_eq!(count(&(call("matmul", "%x, %x") + &end("matmul"))), (0, false));
    assert_eq!(count(&(call("matmul", "%x, %s") + &end("matmul"))), (0, false));
    let product = call("matmul", "%x, %w");
    assert_eq!(count(&(product.clone() + &call("add", "%matmul, %b") + &end("add"))), (1, true));
    assert_eq!(count(&(product.clone() + &call("add", "%matmul, %c") + &end("(add, matmul)"))), (1, true));
    assert_eq!(count(&(product + &call("add", "%matmul, %c") + &end("add"))), (1, false));
}
