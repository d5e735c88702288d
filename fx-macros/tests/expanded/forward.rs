impl MyModule {
    pub fn new() -> Self {
        Self { param: Parameter::new(Tensor::rand([3, 4])), linear: nn::Linear::new(4, 5), do_activation: true }
    }
    #[track_caller]
    pub fn forward<TracedTensor: ::fx::__private::Value>(
        &self,
        x: impl ::fx::__private::Input<TracedTensor>,
        scale: f64,
    ) -> TracedTensor
    where
        for<'__fx> &'__fx TracedTensor: ::fx::__private::RefOps<TracedTensor>,
        ::core::primitive::f64: ::fx::__private::ScalarOps<TracedTensor>,
        ::core::primitive::i64: ::fx::__private::ScalarOps<TracedTensor>,
        for<'__fx> &'__fx ::fx::__private::Parameter: ::fx::__private::ScalarOps<TracedTensor>,
        for<'__fx> &'__fx ::fx::__private::Buffer: ::fx::__private::ScalarOps<TracedTensor>,
    {
        let x: &TracedTensor = &::fx::__private::Input::into_value(x);
        ::fx::__private::ModuleCall::<TracedTensor>::new().input(x).fixed("scale", &scale).run::<TracedTensor>(
            self,
            move || {
                #[allow(unused_imports, reason = "which of them is used depends on the types")]
                use ::fx::__private::{PlainCompare as _, TracedCompare as _};
                let y = self.linear.forward(x + &self.param).clamp(0.0, 1.0);
                if self.do_activation { y.relu() } else { (::fx::__private::compare(&y, &0.0).gt()) * y * scale }
            },
        )
    }
}
#[automatically_derived]
impl ::fx::__private::Capture for MyModule {
    type Static = (f64,);
    const SIGNATURE: ::fx::__private::Signature = ::fx::__private::Signature {
        name: ::core::concat!(::core::module_path!(), "::", "forward"),
        inputs: &["x"],
        types: &["&Tensor"],
        statics: &["scale"],
    };
    fn invoke<TracedTensor: ::fx::__private::Value>(
        &self,
        __args: &mut ::fx::__private::Arguments<TracedTensor>,
        (scale,): Self::Static,
    ) -> ::fx::__private::Result<::fx::__private::Arg<TracedTensor>>
    where
        for<'__fx> &'__fx TracedTensor: ::fx::__private::RefOps<TracedTensor>,
        ::core::primitive::f64: ::fx::__private::ScalarOps<TracedTensor>,
        ::core::primitive::i64: ::fx::__private::ScalarOps<TracedTensor>,
        for<'__fx> &'__fx ::fx::__private::Parameter: ::fx::__private::ScalarOps<TracedTensor>,
        for<'__fx> &'__fx ::fx::__private::Buffer: ::fx::__private::ScalarOps<TracedTensor>,
    {
        let x = <TracedTensor as ::fx::__private::Tree<TracedTensor>>::from_next(__args)?;
        ::core::result::Result::Ok({
            #[allow(unused_imports, reason = "for results that are refused")]
            use ::fx::__private::NoStructure as _;
            let __output = self.forward(x, scale);
            ::fx::__private::Structure::<TracedTensor, _>::of(&__output).to_arg(&__output)
        })
    }
    fn as_module(&self) -> &dyn ::fx::__private::Module {
        self
    }
}
const _: ::core::option::Option<Tensor> = ::core::option::Option::None;
