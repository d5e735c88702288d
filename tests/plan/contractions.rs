//! Einstein's notation in a plan: products, sums and attention, as if they had been written as such.

use fx::Proxy;
use fx::prelude::*;

use super::check;

/// The plan of an equation of parts of `x` and of known tensors, which gives what the interpreter gives.
macro_rules! plan_of {
    ($shape:expr, |$x:ident| $body:expr) => {{
        let module = fx::trace_fn!(|$x| $body).unwrap();
        let x = Tensor::randn($shape);
        check(&module, &x);
        module.plan(&x).unwrap().to_string()
    }};
}

/// Sees that an equation has kernels alone, and what they are.
macro_rules! contracted {
    ($shape:expr, $text:literal, |$x:ident| $body:expr) => {
        let text = plan_of!($shape, |$x| $body);
        assert!(!text.contains("  op ") && text.contains($text), "{text}");
    };
}

#[test]
fn products_of_values() {
    contracted!([4, 5, 6], "4 products 5 x 6 x 5", |x| Proxy::einsum([&x, &x], "bij,bkj->bik"));
    contracted!([4, 5, 6], "4 products 5 x 6 x 5", |x| Proxy::einsum([&x, &x], "...ij,...kj->...ki"));
    contracted!([4, 5, 6], "1 products 20 x 6 x 20", |x| Proxy::einsum([&x, &x], "abk,cdk->abcd"));
    contracted!([4, 5, 6], "1 products 4 x 30 x 4", |x| Proxy::einsum([&x, &x], "aij,bij->ab"));
    // A dimension that does not lie beside another is one of the stack.
    contracted!([4, 5, 6], "4 products 6 x 5 x 24", |x| Proxy::einsum([&x, &x.permute([1, 0, 2])], "aib,icd->acbd"));
}

#[test]
fn products_with_weights() {
    let weight = Tensor::randn([6, 2, 3]);
    let weight = || Proxy::constant(&weight);
    contracted!([4, 5, 6], "linear 6 to 6", |x| Proxy::einsum([x, weight()], "bsd,dhk->bshk"));
    contracted!([4, 5, 6], "linear 6 to 6", |x| Proxy::einsum([weight(), x], "dhk,bsd->bshk"));
    contracted!([4, 2, 3], "linear 6 to 6", |x| Proxy::einsum([x, weight()], "bhk,dhk->bd"));
    // Experts, each with a weight.
    contracted!([6, 4, 2], "6 products 4 x 2 x 3 with known ones", |x| Proxy::einsum([x, weight()], "ecd,edf->ecf"));
    contracted!([5, 6, 4, 2], "30 products 4 x 2 x 3 with known ones", |x| {
        Proxy::einsum([x, weight()], "becd,edf->becf")
    });
    contracted!([5, 4, 2], "6 products 20 x 2 x 3 with known ones", |x| Proxy::einsum([x, weight()], "bsd,edf->bsef"));
}

#[test]
fn products_without_sums() {
    contracted!([3, 4, 5], "mul + mul", |x| {
        let (a, b) = (x.select(0, 0), x.select(0, 1));
        Proxy::einsum([&a, &b.narrow(0, 0, 3), &a], "ij,kj,ij->ikj")
    });
    contracted!([4, 1], "mul", |x| Proxy::einsum([&x, &x], "ij,kl->ikjl"));
    // What is chained is read once more.
    contracted!([4, 5], "mul", |x| {
        let y = x.exp();
        Proxy::einsum([&y, &x, &y], "ij,ij,ij->ij")
    });
}

/// With dimensions of size 1 that repeat, labels that are summed on their own, and diagonals.
#[test]
fn equations_of_any_form() {
    for equation in [
        "abc,abc->",
        "abc,abc->abc",
        "abc,dbc->a",
        "abc,dec->ea",
        "abb,acc->abc",
        "abc,cba->b",
        "aab,bcd->d",
        "abc,def->",
    ] {
        for shape in [[3, 3, 3], [1, 3, 3], [3, 1, 1]] {
            let is_diagonal = equation.contains("aa") || equation.contains("bb");
            if shape == [3, 3, 3] || !is_diagonal {
                plan_of!(shape, |x| Proxy::einsum([&x, &(&x + 1.0)], equation));
            }
        }
    }
    for equation in ["abc->bca", "abc->", "abc->ac", "aaa->a", "abc"] {
        plan_of!([3, 3, 3], |x| Proxy::einsum([x], equation));
    }
    plan_of!([3, 0, 5], |x| Proxy::einsum([&x, &x], "abc,abd->cd"));
    plan_of!([3, 4, 5], |x| Proxy::einsum([&x.narrow(2, 0, 1), &x, &x.narrow(1, 0, 1)], "abc,abc,abd->cd"));
}

#[test]
fn attention_in_letters() {
    // Heads that lie between queries and their numbers, and that lie before both.
    contracted!([2, 7, 4, 6], "attention of 4 heads, 7 x 7", |x| {
        let (keys, values) = (&x * 2.0, &x + 1.0);
        let scores = Proxy::einsum([&x, &keys], "bqhd,bkhd->bhqk") * 0.3;
        Proxy::einsum([scores.softmax(-1), values], "bhqk,bkhd->bqhd")
    });
    contracted!([2, 4, 7, 6], "attention of 4 heads, 7 x 7", |x| {
        let (keys, values) = (&x * 2.0, &x + 1.0);
        let scores = Proxy::einsum([&x, &keys], "bhqd,bhkd->bhqk") * 0.3;
        Proxy::einsum([scores.softmax(-1), values], "bhqk,bhkd->bhqd")
    });
    // What is read twice in one equation is not only weights.
    contracted!([2, 4, 7, 7], "softmax", |x| {
        let scores = Proxy::einsum([&x, &x], "bhqd,bhkd->bhqk").softmax(-1);
        Proxy::einsum([&scores, &x, &scores], "bhqk,bhkd,bhqd->bhqd")
    });
}
