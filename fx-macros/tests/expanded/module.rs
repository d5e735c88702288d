pub struct MyModule {
    param: Parameter,
    linear: nn::Linear,
    do_activation: bool,
}
#[automatically_derived]
impl ::fx::__private::Visit for MyModule {
    #[inline]
    fn visit<'__fx>(&'__fx self, path: &::core::primitive::str, visitor: &mut dyn ::fx::__private::Visitor<'__fx>) {
        #[allow(unused_imports, reason = "for the fields that are hyper-parameters")]
        use ::fx::__private::HyperField as _;
        if visitor.module(path, self) {
            ::fx::__private::Field(&self.param).visit_field(path, "param", visitor);
            ::fx::__private::Field(&self.linear).visit_field(path, "linear", visitor);
            ::fx::__private::Field(&self.do_activation).visit_field(path, "do_activation", visitor);
        }
    }
}
#[automatically_derived]
impl ::fx::__private::Module for MyModule {
    #[inline]
    fn type_name(&self) -> &'static ::core::primitive::str {
        "MyModule"
    }
    #[inline]
    fn is_leaf(&self) -> ::core::primitive::bool {
        false
    }
    #[inline]
    fn repr_arguments(&self) -> ::std::string::String {
        #[allow(unused_imports, reason = "for modules without methods of their own")]
        use ::fx::__private::DefaultDescription as _;
        self.extra_repr()
    }
    #[inline]
    fn constructor_source(&self) -> ::core::option::Option<::std::string::String> {
        #[allow(unused_imports, reason = "for modules without methods of their own")]
        use ::fx::__private::DefaultDescription as _;
        ::core::convert::Into::into(self.constructor())
    }
    #[inline]
    fn signature(&self) -> &'static ::fx::__private::Signature {
        #[allow(unused_imports, reason = "for modules without a forward")]
        use ::fx::__private::NoForward as _;
        ::fx::__private::Forward(self).signature()
    }
    #[inline]
    fn call_tensor(
        &self,
        args: ::std::vec::Vec<::fx::__private::Arg<::fx::__private::Tensor>>,
        kwargs: &::fx::__private::Kwargs<::fx::__private::Tensor>,
    ) -> ::fx::__private::Result<::fx::__private::Arg<::fx::__private::Tensor>> {
        #[allow(unused_imports, reason = "for modules without a forward")]
        use ::fx::__private::NoForward as _;
        ::fx::__private::Forward(self).call::<::fx::__private::Tensor>(args, kwargs)
    }
    #[inline]
    fn call_proxy(
        &self,
        args: ::std::vec::Vec<::fx::__private::Arg<::fx::__private::Proxy>>,
        kwargs: &::fx::__private::Kwargs<::fx::__private::Proxy>,
    ) -> ::fx::__private::Result<::fx::__private::Arg<::fx::__private::Proxy>> {
        #[allow(unused_imports, reason = "for modules without a forward")]
        use ::fx::__private::NoForward as _;
        ::fx::__private::Forward(self).call::<::fx::__private::Proxy>(args, kwargs)
    }
    #[inline]
    fn share(&self) -> ::fx::__private::Arc<dyn ::fx::__private::Module> {
        ::fx::__private::Arc::new(MyModule {
            param: ::fx::__private::FieldType::share(&self.param),
            linear: ::fx::__private::FieldType::share(&self.linear),
            do_activation: ::fx::__private::FieldType::share(&self.do_activation),
        })
    }
}
