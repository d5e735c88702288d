//! Rules that hold for every row of the op table: documentation, names, and errors instead of panics.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fx_core::ops::function::OperandKind;
use fx_core::ops::{self, Elementwise, Function, families};
use fx_core::tensor::random::Generator;
use fx_core::value::Dim;
use fx_core::{Arg, DType, Kwargs, Meta, Tensor};

fn functions() -> impl Iterator<Item = Function> {
    families().iter().flat_map(|family| family.functions.iter().copied())
}

fn metas(args: &[Arg<Tensor>]) -> Vec<Arg<Meta>> {
    args.iter().map(|arg| arg.map(&mut |tensor| Meta::from(tensor))).collect()
}

/// Checks that a call is an error, with tensors and with shapes; gives the messages.
#[track_caller]
fn refused(function: Function, args: &[Arg<Tensor>], kwargs: &Kwargs<Tensor>) -> [String; 2] {
    let Err(call) = function.call(args, kwargs) else { panic!("{function} takes {args:?}, {kwargs:?}") };
    let shapes = kwargs.map(&mut |tensor| Meta::from(tensor));
    let Err(infer) = function.infer(&metas(args), &shapes) else { panic!("{function} infers {args:?}, {kwargs:?}") };
    [call.to_string(), infer.to_string()]
}

#[test]
fn every_row_is_documented() {
    for function in functions() {
        let doc = function.definition().doc.concat();
        assert!(!doc.trim().is_empty(), "{function} has no documentation");
        assert!(doc.trim_end().ends_with(['.', '`']), "the documentation of {function} is no sentence: {doc}");
    }
}

#[test]
fn names_are_unique_and_found() {
    let mut seen = HashSet::new();
    for function in functions() {
        assert!(seen.insert(function.name()), "{function} is declared twice");
        assert_eq!(Function::lookup(function.name()), Some(function));
        let mut arguments = HashSet::new();
        let definition = function.definition();
        let operands = definition.operands.iter().map(|operand| operand.name);
        for name in operands.chain(definition.attributes.iter().map(|attribute| attribute.name)) {
            assert!(arguments.insert(name), "{function} has two arguments named {name}");
        }
    }
    assert_eq!(Function::lookup("no_such_op"), None);
}

#[test]
fn missing_operands_are_errors() {
    for function in functions().filter(|function| {
        let required = |kind| !matches!(kind, OperandKind::Opt | OperandKind::Any);
        function.definition().operands.iter().any(|operand| required(operand.kind))
    }) {
        refused(function, &[], &Kwargs::new());
    }
}

#[test]
fn unknown_attributes_are_errors_that_name_them() {
    for function in functions() {
        let kwargs = Kwargs::from_iter([("no_such_attribute", Arg::Int(1))]);
        for message in refused(function, &[], &kwargs) {
            assert!(message.contains("no_such_attribute"), "{function}: {message}");
        }
    }
}

#[test]
fn operands_of_a_wrong_type_are_errors() {
    for function in functions() {
        let operands = function.definition().operands;
        for wrong in (0..operands.len()).filter(|i| operands[*i].kind != OperandKind::Any) {
            let args: Vec<Arg<Tensor>> = (0..operands.len())
                .map(|i| if i == wrong { Arg::from("text") } else { Arg::Value(Tensor::from([1.0_f32])) })
                .collect();
            refused(function, &args, &Kwargs::new());
        }
    }
}

#[test]
fn too_many_operands_are_errors() {
    for function in functions() {
        let count = function.definition().operands.len() + 1;
        refused(function, &vec![Arg::Value(Tensor::from([1.0_f32])); count], &Kwargs::new());
    }
}

#[test]
fn symbolic_sizes_pass_through() {
    let n = Dim::symbol("N", 1);
    let x = || Arg::Value(Meta::tensor([n.clone(), Dim::Int(10)], DType::F32));
    let classes = Arg::Value(Meta::tensor([n.clone()], DType::I64));
    let sizes = || Arg::Tuple(vec![Arg::Value(Meta::Int(n.clone())), Arg::Int(4)]);
    let none = Kwargs::new();
    check("zeros", &[], &Kwargs::from_iter([("size", sizes())]), "f32[N, 4]");
    check("arange", &[], &Kwargs::from_iter([("end", Arg::Value(Meta::Int(n.clone())))]), "i64[N]");
    check("randn_like", &[x()], &none, "f32[N, 10]");
    check("index_select", &[x(), classes.clone()], &Kwargs::from_iter([("dim", Arg::Int(1))]), "f32[N, N]");
    check("argsort", &[x()], &none, "i64[N, 10]");
    check("cdist", &[x(), x()], &none, "f32[N, N]");
    let image = Arg::Value(Meta::tensor([Dim::Int(2), Dim::Int(3), n.clone(), Dim::Int(8)], DType::F32));
    let kernel = || ("kernel_size", Arg::Tuple(vec![Arg::Int(1), Arg::Int(2)]));
    let grid = Arg::Value(Meta::tensor([Dim::Int(2), n.clone(), Dim::Int(5), Dim::Int(2)], DType::F32));
    check("grid_sample", &[image.clone(), grid], &none, "f32[2, 3, N, 5]");
    let theta = Arg::Value(Meta::tensor([Dim::Int(2), Dim::Int(2), Dim::Int(3)], DType::F32));
    let size = [Arg::Int(2), Arg::Int(3), Arg::Value(Meta::Int(n.clone())), Arg::Int(4)];
    let size = Kwargs::from_iter([("size", Arg::Tuple(size.to_vec()))]);
    check("affine_grid", &[theta], &size, "f32[2, N, 4, 2]");
    check("im2col", &[image], &Kwargs::from_iter([kernel()]), "f32[2, 6, 7*N]");
    let columns = Arg::Value(Meta::tensor([Dim::Int(2), Dim::Int(6), &n * 3], DType::F32));
    check("fold", &[columns], &Kwargs::from_iter([kernel(), ("output_size", sizes())]), "f32[2, 3, N, 4]");
    let each = Kwargs::from_iter([("reduction", Arg::from("none"))]);
    check("cross_entropy", &[x(), classes], &each, "f32[N]");
}

#[track_caller]
fn check(name: &str, args: &[Arg<Meta>], kwargs: &Kwargs<Meta>, expected: &str) {
    let function = Function::lookup(name).expect("a function of the table");
    let Ok(Arg::Value(meta)) = function.infer(args, kwargs) else { panic!("{name} infers no tensor") };
    assert_eq!(meta.to_string(), expected);
}

/// Arguments at random, right or wrong, from a seed.
struct Fuzz(Generator);

impl Fuzz {
    fn below(&mut self, high: i64) -> i64 {
        self.0.integer(0, high)
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as i64) as usize]
    }

    fn tensor(&mut self, alike: bool) -> Tensor {
        let ndim = if alike { self.pick(&[1, 2, 3, 4]) } else { self.below(6) };
        let shape: Vec<usize> = (0..ndim)
            .map(|_| if alike { self.pick(&[2, 4, 1]) } else { self.pick(&[0, 1, 2, 3, 5]) } as usize)
            .collect();
        let dtype = if alike { self.pick(&[DType::F32, DType::I64, DType::F32]) } else { self.pick(&DType::ALL) };
        let special = [f64::NAN, f64::INFINITY, -1.0, 1e30];
        let elements = (0..shape.iter().product::<usize>())
            .map(|_| if self.below(12) == 0 { self.pick(&special) } else { self.below(4) as f64 })
            .collect();
        let tensor = Tensor::from_vec(shape, elements).to_dtype(dtype);
        if tensor.ndim() > 1 && self.below(4) == 0 { fx_core::tensor::view::transpose(&tensor, 0, 1) } else { tensor }
    }

    fn operand(&mut self, kind: OperandKind, alike: bool) -> Arg<Tensor> {
        match kind {
            OperandKind::Opt if self.below(2) == 0 => Arg::None,
            OperandKind::Num if self.below(3) == 0 => self.number(),
            OperandKind::Many => Arg::List((0..self.below(5)).map(|_| Arg::Value(self.tensor(alike))).collect()),
            OperandKind::Any if self.below(3) == 0 => Arg::Tuple((0..self.below(3)).map(|_| self.index()).collect()),
            _ => Arg::Value(self.tensor(alike)),
        }
    }

    fn index(&mut self) -> Arg<Tensor> {
        match self.below(5) {
            0 => Arg::None,
            1 => Arg::Ellipsis,
            2 => Arg::Value(self.tensor(false)),
            3 => Arg::Slice(Box::new([self.bound(), self.bound(), self.bound()])),
            _ => Arg::Int(self.pick(&[0, 1, -1, 7, i64::MIN])),
        }
    }

    fn bound(&mut self) -> Arg<Tensor> {
        if self.below(2) == 0 { Arg::None } else { Arg::Int(self.pick(&[0, 1, 2, -1, -9, i64::MAX, i64::MIN])) }
    }

    fn number(&mut self) -> Arg<Tensor> {
        match self.below(3) {
            0 => Arg::Int(self.pick(&[0, 1, 2, -1, -7, i64::MAX, i64::MIN])),
            1 => Arg::Float(self.pick(&[0.0, 0.5, 1.0, 2.0, -1.5, f64::NAN, f64::INFINITY])),
            _ => Arg::Bool(self.below(2) == 0),
        }
    }

    /// Small where it may be the size of something.
    fn int(&mut self) -> i64 {
        self.pick(&[0, 1, 1, 2, 2, 3, -1, -2, 4, -5, 9])
    }

    fn ints(&mut self) -> Arg<Tensor> {
        if self.below(4) == 0 {
            return Arg::Int(self.int());
        }
        Arg::Tuple((0..self.below(5)).map(|_| Arg::Int(self.int())).collect())
    }

    fn attribute(&mut self, kind: &str) -> Arg<Tensor> {
        if self.below(20) == 0 {
            return if self.below(2) == 0 { Arg::None } else { self.number() };
        }
        let words = [
            "mean",
            "sum",
            "none",
            "max",
            "amax",
            "prod",
            "same",
            "constant",
            "reflect",
            "circular",
            "tanh",
            "nearest",
            "bilinear",
            "floor",
            "relu",
            "replicate",
            "ij,jk->ik",
            "i...->...",
            "->",
            ",,",
            "bad",
        ];
        match kind.strip_prefix("opt_").unwrap_or(kind) {
            "flag" => Arg::Bool(self.below(2) == 0),
            "int" if self.below(10) == 0 => Arg::Int(self.pick(&[i64::MAX, i64::MIN])),
            "int" | "size" => Arg::Int(self.int()),
            "float" => Arg::Float(self.pick(&[0.0, 0.5, 1.0, 2.0, -1.5, 1e-5, f64::NAN, f64::INFINITY])),
            "scalar" | "number" => self.number(),
            "dtype" => Arg::DType(self.pick(&DType::ALL)),
            "string" => Arg::from(self.pick(&words)),
            "floats" => Arg::Tuple((0..self.below(4)).map(|_| Arg::Float(self.pick(&[0.5, 2.0, 0.0]))).collect()),
            _ if self.below(12) == 0 => Arg::from(self.pick(&words)),
            _ if self.below(12) == 0 => Arg::Int(self.pick(&[i64::MAX, i64::MIN])),
            _ => self.ints(),
        }
    }

    /// A call of `function`; `alike` operands fit each other more often.
    fn call(&mut self, function: Function) -> (Vec<Arg<Tensor>>, Kwargs<Tensor>) {
        let definition = function.definition();
        let alike = self.below(2) == 0;
        let mut args: Vec<_> = definition.operands.iter().map(|operand| self.operand(operand.kind, alike)).collect();
        if self.below(3) == 0 && args.len() > 1 {
            args[1] = args[0].clone();
        }
        let mut kwargs = Kwargs::new();
        for attribute in definition.attributes {
            if attribute.default.is_none() || self.below(2) == 0 {
                kwargs.insert(attribute.name, self.attribute(attribute.kind));
            }
        }
        (args, kwargs)
    }
}

fn describe(arg: &Arg<Tensor>) -> String {
    format!("{:?}", arg.map(&mut |tensor| Meta::from(tensor)))
}

/// Runs one call; what went wrong, if it panicked or gave something else than was inferred.
fn attempt(function: Function, args: &[Arg<Tensor>], kwargs: &Kwargs<Tensor>) -> Option<String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let meta = function.check(args, kwargs).ok()?;
        let result = function.call(args, kwargs).ok()?;
        let found = result.map(&mut |tensor| Meta::from(tensor));
        // Where an operand is unknown, the result is too, or it is what it is for this one.
        for i in 0..args.len() {
            let mut metas = metas(args);
            metas[i] = Arg::Value(Meta::Unknown);
            let inferred = function.infer(&metas, &kwargs.map(&mut |tensor| Meta::from(tensor))).ok()?;
            if inferred != Arg::Value(Meta::Unknown) && inferred != found {
                return Some(format!("{inferred:?} was inferred without operand {i}, {found:?} came out"));
            }
        }
        let mut known = true;
        meta.for_each(&mut |meta| known &= *meta != Meta::Unknown);
        // As text, in which NaN is equal to itself.
        let (meta, found) = (format!("{meta:?}"), format!("{found:?}"));
        (known && found != meta).then(|| format!("{meta} was inferred, {found} came out"))
    }));
    outcome.unwrap_or_else(|_| Some("panicked".to_owned()))
}

#[test]
fn no_call_panics_and_results_are_as_inferred() {
    let mut fuzz = Fuzz(Generator::new(1));
    let mut faults = Vec::new();
    for function in functions() {
        for _ in 0..300 {
            let (args, kwargs) = fuzz.call(function);
            if let Some(fault) = attempt(function, &args, &kwargs) {
                let args: Vec<_> = args.iter().map(describe).collect();
                let kwargs: Vec<_> = kwargs.iter().map(|(key, arg)| format!("{key} = {}", describe(arg))).collect();
                faults.push(format!("{function}({}; {}): {fault}", args.join(", "), kwargs.join(", ")));
                break;
            }
        }
    }
    assert!(faults.is_empty(), "{} ops break the rules:\n{}", faults.len(), faults.join("\n"));
}

/// What is like its first operand is so whatever the others are.
#[test]
fn results_are_known_where_they_do_not_depend_on_what_is_unknown() {
    let x = || Arg::Value(Meta::tensor([3, 4], DType::F32));
    let unknown = || Arg::Value(Meta::Unknown);
    let like = [
        ops::scatter,
        ops::scatter_add,
        ops::scatter_reduce,
        ops::index_add,
        ops::index_copy,
        ops::index_fill,
        ops::fake_quantize_per_tensor_affine,
    ];
    let rows: Vec<_> = functions().filter(|function| function.definition().like_input).collect();
    assert_eq!(rows, like);
    for function in like {
        let kwargs = Kwargs::from_iter([("dim", Arg::Int(0))]);
        assert_eq!(function.infer(&[x(), unknown(), unknown()], &kwargs).unwrap(), x(), "{function}");
        assert_eq!(function.infer(&[unknown(), x(), x()], &kwargs).unwrap(), unknown(), "{function}");
    }
    assert_eq!(ops::add.infer(&[x(), unknown()], &Kwargs::new()).unwrap(), unknown());
}

/// Integers that f32 does not have.
#[test]
fn three_operands_keep_large_integers() {
    let large = Tensor::from([(1_i64 << 24) + 1, (1 << 40) + 1]);
    let (one, two) = (Tensor::from([1_i64, 1]), Tensor::from([2_i64, 2]));
    let sum = large.addcmul(&one, &two);
    assert_eq!((sum.dtype(), sum.to_vec::<i64>()), (DType::I64, vec![(1 << 24) + 3, (1 << 40) + 3]));
}
