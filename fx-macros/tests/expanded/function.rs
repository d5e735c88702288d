#[doc = r" Where the guards stand: what may be traced, and must be plain Rust."]
pub fn guarded<TracedTensor: ::fx::__private::Value>(xs: &[TracedTensor], limit: usize) -> TracedTensor
where
    for<'__fx> &'__fx TracedTensor: ::fx::__private::RefOps<TracedTensor>,
    ::core::primitive::f64: ::fx::__private::ScalarOps<TracedTensor>,
    ::core::primitive::i64: ::fx::__private::ScalarOps<TracedTensor>,
    for<'__fx> &'__fx ::fx::__private::Parameter: ::fx::__private::ScalarOps<TracedTensor>,
    for<'__fx> &'__fx ::fx::__private::Buffer: ::fx::__private::ScalarOps<TracedTensor>,
{
    #[allow(unused_imports, reason = "which of them is used depends on the types")]
    use ::fx::__private::{
        PlainCompare as _, PlainGuard as _, TracedCompare as _, TracedGuard as _, TracedIterable as _, Untraceable as _,
    };
    let mut sum = TracedTensor::zeros([3]);
    for (i, x) in xs.iter().enumerate() {
        if i < limit && xs.len() > 2 {
            sum += x * i as f64;
        }
    }
    assert!(::fx::__private::plain(::fx::__private::compare(&sum.sum(), &0.0).gt()).condition());
    sum
}
#[doc(hidden)]
#[allow(non_camel_case_types, dead_code, reason = "it has the name of the function that it stands for")]
pub struct guarded {}
#[automatically_derived]
impl ::fx::__private::TraceableFn for guarded {
    type Static = (usize,);
    const SIGNATURE: ::fx::__private::Signature = ::fx::__private::Signature {
        name: ::core::concat!(::core::module_path!(), "::", "guarded"),
        inputs: &["xs"],
        types: &["&[Tensor]"],
        statics: &["limit"],
    };
    fn invoke<TracedTensor: ::fx::__private::Value>(
        __args: &mut ::fx::__private::Arguments<TracedTensor>,
        (limit,): Self::Static,
    ) -> ::fx::__private::Result<::fx::__private::Arg<TracedTensor>>
    where
        for<'__fx> &'__fx TracedTensor: ::fx::__private::RefOps<TracedTensor>,
        ::core::primitive::f64: ::fx::__private::ScalarOps<TracedTensor>,
        ::core::primitive::i64: ::fx::__private::ScalarOps<TracedTensor>,
        for<'__fx> &'__fx ::fx::__private::Parameter: ::fx::__private::ScalarOps<TracedTensor>,
        for<'__fx> &'__fx ::fx::__private::Buffer: ::fx::__private::ScalarOps<TracedTensor>,
    {
        let xs = <::std::vec::Vec<TracedTensor> as ::fx::__private::Tree<TracedTensor>>::from_next(__args)?;
        ::core::result::Result::Ok(<TracedTensor as ::fx::__private::Tree<TracedTensor>>::to_arg(&guarded(&xs, limit)))
    }
}
const _: ::core::option::Option<Tensor> = ::core::option::Option::None;
