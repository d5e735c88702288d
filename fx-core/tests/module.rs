//! State: parameters, buffers, state dicts, safetensors files.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fx_core::module::{Entry, Signature, Visit, Visitor, entries, module_at};
use fx_core::tensor::{load_safetensors, load_safetensors_bytes, load_safetensors_with, save_safetensors};
use fx_core::{
    Arg, Buffer, DType, ErrorKind, Kwargs, Module, Parameter, Proxy, Result, StateDict, StateDictExt, Tensor, Training,
};

#[track_caller]
fn check(actual: impl ToString, expected: &str) {
    assert_eq!(actual.to_string(), expected);
}

/// A module with state of every kind and no `forward`.
#[derive(Clone)]
struct Norm {
    weight: Parameter,
    mean: Buffer,
    num_batches_tracked: Buffer,
    training: Training,
    children: Vec<Norm>,
}

impl Norm {
    fn new(size: usize, children: Vec<Norm>) -> Self {
        Self {
            weight: Parameter::new(Tensor::filled([size], 1.0, DType::F32)),
            mean: Buffer::new(Tensor::filled([size], 0.0, DType::F32)),
            num_batches_tracked: Buffer::new(Tensor::scalar(0_i64)),
            training: Training::new(),
            children,
        }
    }
}

impl Visit for Norm {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        if visitor.module(path, self) {
            let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            self.weight.visit(&join("weight"), visitor);
            self.mean.visit(&join("mean"), visitor);
            self.num_batches_tracked.visit(&join("num_batches_tracked"), visitor);
            self.training.visit(&join("training"), visitor);
            self.children.visit(&join("children"), visitor);
        }
    }
}

impl Module for Norm {
    fn type_name(&self) -> &'static str {
        "Norm"
    }

    fn signature(&self) -> &'static Signature {
        &Signature { name: "Norm::forward", inputs: &[], types: &[], statics: &[] }
    }

    fn call_tensor(&self, _: Vec<Arg<Tensor>>, _: &Kwargs<Tensor>) -> Result<Arg<Tensor>> {
        Ok(Arg::None)
    }

    fn call_proxy(&self, _: Vec<Arg<Proxy>>, _: &Kwargs<Proxy>) -> Result<Arg<Proxy>> {
        Ok(Arg::None)
    }

    fn share(&self) -> Arc<dyn Module> {
        Arc::new(self.clone())
    }
}

/// A path for a file of this test, in a folder of its own.
fn file(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("fx-module-{}-{test}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    folder.join("model.safetensors")
}

fn remove(path: &std::path::Path) {
    fs::remove_dir_all(path.parent().expect("it has a folder")).expect("the folder is ours");
}

/// A tensor of each element type.
fn all_types() -> StateDict {
    let tensor = |dtype| Tensor::from([[1.0_f32, 0.0, 2.5], [127.0, -3.0, 0.25]]).to_dtype(dtype);
    DType::ALL.into_iter().map(|dtype| (format!("t.{dtype}"), tensor(dtype))).collect()
}

fn save(path: &std::path::Path, state: &StateDict) -> Result<()> {
    save_safetensors(path, state.iter().map(|(name, tensor)| (name.as_str(), tensor)), None)
}

#[test]
fn a_parameter_is_shared_by_its_handles() {
    let weight = Parameter::new(Tensor::from([1.0_f32, 2.0]));
    let other = weight.clone();
    other.set(Tensor::from([3_i64, 4])).expect("the shape is the same");
    assert_eq!(weight.tensor(), Tensor::from([3.0_f32, 4.0]));
    assert_eq!((weight.id(), weight.version()), (other.id(), 1));
    let error = weight.set(Tensor::from([1.0_f32])).expect_err("the shape differs");
    check(error.message(), "a tensor of shape [1] cannot replace one of [2]");
    assert_eq!((error.kind(), weight.version()), (ErrorKind::State, 1));
    check(format!("{weight:?} {:?}", Buffer::new(Tensor::scalar(true))), "Parameter(f32[2]) Buffer(bool[])");
}

#[test]
fn a_tree_is_walked_in_order() {
    let root = Norm::new(2, vec![Norm::new(3, Vec::new()), Norm::new(4, Vec::new())]);
    let paths: Vec<_> = entries(&root)
        .into_iter()
        .filter(|(_, entry)| matches!(entry, Entry::Module(_) | Entry::Parameter(_)))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(paths, ["weight", "children.0", "children.0.weight", "children.1", "children.1.weight"]);
    assert!(module_at(&root, "children.1").is_some() && module_at(&root, "").is_some());
    assert!(module_at(&root, "children.2").is_none() && module_at(&root, "weight").is_none());
    assert_eq!(root.num_parameters(), 9);
    root.eval();
    assert!(!root.training.get() && !root.children[1].training.get());
    root.children[0].train();
    assert!(!root.training.get() && root.children[0].training.get());
}

#[test]
fn shared_parameters_count_once() {
    let child = Norm::new(3, Vec::new());
    assert_eq!(Norm::new(2, vec![child.clone(), child]).num_parameters(), 5);
}

#[test]
fn a_state_dict_is_loaded() {
    let (from, to) = (Norm::new(2, vec![Norm::new(3, Vec::new())]), Norm::new(2, vec![Norm::new(3, Vec::new())]));
    from.children[0].weight.set(Tensor::from([5.0_f32, 6.0, 7.0])).expect("the shape is the same");
    let mut state = from.state_dict();
    state.shift_remove("num_batches_tracked");
    state.insert("other.num_batches_tracked".to_owned(), Tensor::scalar(3_i64));
    to.load_state_dict(&state).expect("it fits");
    assert_eq!(to.state_dict(), from.state_dict());
}

#[test]
fn all_that_does_not_fit_is_listed_and_nothing_is_changed() {
    let module = Norm::new(2, vec![Norm::new(3, Vec::new())]);
    let before = module.state_dict();
    let mut state = before.clone();
    state.insert("weight".to_owned(), Tensor::from([9.0_f32, 9.0]));
    state.shift_remove("mean");
    state.insert("children.0.weight".to_owned(), Tensor::from([[1.0_f32]]));
    state.insert("children.0.mean".to_owned(), Tensor::from([1.0_f32; 4]));
    state.insert("bias".to_owned(), Tensor::from([1.0_f32]));
    let error = module.load_state_dict(&state).expect_err("four entries are wrong");
    let expected = "the state does not fit Norm, 4 entries are wrong:
  missing: `mean` [2]
  misshapen: `children.0.weight` is [1, 1], the model has [3]
  misshapen: `children.0.mean` is [4], the model has [3]
  extra: `bias` [1]";
    check(error.message(), expected);
    assert_eq!((error.kind(), module.state_dict()), (ErrorKind::State, before));
}

#[test]
fn all_types_go_through_a_file() {
    let path = file("types");
    let mut state = all_types();
    state.insert("empty".to_owned(), Tensor::from_vec([0, 3], Vec::<f32>::new()));
    state.insert("scalar".to_owned(), Tensor::scalar(-0.0_f64));
    save(&path, &state).expect("it can be written");
    let read = load_safetensors(&path).expect("it can be read");
    assert_eq!(read, state);
    for (name, tensor) in &state {
        assert_eq!((read[name].dtype(), read[name].shape()), (tensor.dtype(), tensor.shape()));
    }
    let again = load_safetensors(&path).expect("it can be read");
    assert!(read.keys().eq(again.keys()));
    remove(&path);
}

/// The format's own library reads what is written, and writes what is read.
#[test]
fn files_are_those_of_the_library() {
    use safetensors::{Dtype, SafeTensors, tensor::TensorView};
    let path = file("library");
    let state = all_types();
    let texts = HashMap::from([("format".to_owned(), "pt \"\u{e9}\"\n".to_owned())]);
    let tensors = state.iter().map(|(name, tensor)| (name.as_str(), tensor));
    save_safetensors(&path, tensors, Some(texts.clone())).expect("it can be written");
    let ours = fs::read(&path).expect("it can be read");
    let read = SafeTensors::deserialize(&ours).expect("it is a safetensors file");
    let types = [
        (DType::Bool, Dtype::BOOL),
        (DType::U8, Dtype::U8),
        (DType::I8, Dtype::I8),
        (DType::I32, Dtype::I32),
        (DType::I64, Dtype::I64),
        (DType::F16, Dtype::F16),
        (DType::BF16, Dtype::BF16),
        (DType::F32, Dtype::F32),
        (DType::F64, Dtype::F64),
    ];
    assert_eq!((types.len(), read.len()), (DType::ALL.len(), DType::ALL.len()));
    for (dtype, stored) in types {
        let tensor = read.tensor(&format!("t.{dtype}")).expect("all types are there");
        assert_eq!((tensor.dtype(), tensor.shape()), (stored, &[2, 3][..]));
    }
    let numbers = [1.0_f32, 0.0, 2.5, 127.0, -3.0, 0.25];
    let bytes: Vec<u8> = numbers.into_iter().flat_map(f32::to_le_bytes).collect();
    assert_eq!(read.tensor("t.f32").expect("it is there").data(), bytes);
    let views: Vec<(String, TensorView<'_>)> = read.tensors();
    let theirs = safetensors::serialize(views, Some(texts.clone().into_iter().collect())).expect("they can be written");
    let start = |file: &[u8]| 8 + u64::from_le_bytes(file[..8].try_into().expect("there are eight bytes")) as usize;
    assert_eq!(ours[start(&ours)..], theirs[start(&theirs)..], "tensors lie in the same order");
    fs::write(&path, theirs).expect("it can be written");
    let (tensors, read) = load_safetensors_with(&path).expect("it can be read");
    assert_eq!((tensors, read), (state, texts));
    remove(&path);
}

#[test]
fn a_view_is_written_as_it_is_seen() {
    use fx_core::prelude::*;
    let path = file("view");
    let matrix = Tensor::from([[1_i32, 2, 3], [4, 5, 6]]);
    let state: StateDict = [("t".to_owned(), matrix.t())].into_iter().collect();
    save(&path, &state).expect("it can be written");
    assert_eq!(load_safetensors(&path).expect("it can be read")["t"], Tensor::from([[1_i32, 4], [2, 5], [3, 6]]));
    remove(&path);
}

/// A large parameter is read when it is needed, from the file as it was.
#[test]
#[cfg(unix)]
fn a_large_parameter_is_read_late() {
    const SIZE: usize = 1 << 14;
    let path = file("late");
    let (from, to) = (Norm::new(SIZE, Vec::new()), Norm::new(SIZE, Vec::new()));
    let numbers = Tensor::from_vec([SIZE], (0..SIZE).map(|i| i as f32).collect());
    from.weight.set(numbers.clone()).expect("the shape is the same");
    from.save_safetensors(&path).expect("it can be written");
    to.load_safetensors(&path).expect("it fits");
    assert_eq!(to.weight.version(), 1);
    // A file that takes its place is another one, and so is none.
    Norm::new(3, Vec::new()).save_safetensors(&path).expect("it can be written");
    assert_eq!(to.weight.tensor(), numbers);
    from.save_safetensors(&path).expect("it can be written");
    to.load_safetensors(&path).expect("it fits");
    to.save_safetensors(&path).expect("what is not read yet is read before");
    assert_eq!(load_safetensors(&path).expect("it can be read")["weight"], numbers);
    // One that is written to is noticed.
    to.load_safetensors(&path).expect("it fits");
    let mut bytes = fs::read(&path).expect("it can be read");
    bytes.push(0);
    fs::write(&path, bytes).expect("it can be written");
    let panic = std::panic::catch_unwind(|| to.weight.tensor()).expect_err("the file is another");
    let message = panic.downcast_ref::<String>().expect("a message");
    let name = path.display().to_string();
    assert!([name.as_str(), "`weight`", "was written after"].iter().all(|what| message.contains(what)), "{message}");
    remove(&path);
}

#[test]
fn a_module_goes_through_a_file() {
    let path = file("module");
    let (from, to) = (Norm::new(2, Vec::new()), Norm::new(2, Vec::new()));
    from.weight.set(Tensor::from([5.0_f32, 6.0])).expect("the shape is the same");
    from.save_safetensors(&path).expect("it can be written");
    to.load_safetensors(&path).expect("it fits");
    assert_eq!(to.state_dict(), from.state_dict());
    remove(&path);
}

#[test]
fn a_missing_file_is_named() {
    let path = file("missing");
    let error = load_safetensors(&path).expect_err("there is no file");
    assert!(error.message().contains("model.safetensors"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Io);
    remove(&path);
    let error = save(&path, &all_types()).expect_err("there is no folder");
    assert!(error.message().contains("model.safetensors"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Io);
}

#[test]
fn a_truncated_file_is_an_error_at_any_length() {
    let path = file("truncated");
    save(&path, &all_types()).expect("it can be written");
    let bytes = fs::read(&path).expect("it can be read");
    for length in 0..bytes.len() {
        assert!(load_safetensors_bytes(&bytes[..length]).is_err(), "{length} bytes");
    }
    fs::write(&path, &bytes[..bytes.len() - 1]).expect("it can be written");
    let error = load_safetensors(&path).expect_err("a byte is missing");
    assert!(error.message().contains("model.safetensors"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Format);
    remove(&path);
}

/// Checks that a file with this header and eight bytes of data is refused.
#[track_caller]
fn refused(header: &str, message: &str) {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([0; 8]);
    let error = load_safetensors_bytes(&bytes).expect_err("the header is wrong");
    assert!(error.message().contains(message), "{error}");
}

#[test]
fn a_hostile_header_is_refused() {
    let entry = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    let format = "not a safetensors file";
    refused(&entry("F32", "[3]", "[0,8]"), format);
    refused(&entry("F32", "[2]", "[0,16]"), format);
    refused(&entry("F32", "[2]", "[8,0]"), format);
    refused(&entry("F32", "[4294967296,4294967296,4]", "[0,8]"), format);
    refused(&entry("F99", "[2]", "[0,8]"), "the tensor `a` has the element type F99");
    refused(&entry("F32", "[2]", "[0]"), "`a` has no dtype, shape and data_offsets");
    refused(r#"{"a":3}"#, "`a` has no dtype, shape and data_offsets, but 3");
    refused(r#"{"__metadata__":{"epoch":3}}"#, "`epoch` of its metadata is no text, but 3");
    refused(r#"{"__metadata__":["epoch"]}"#, "its metadata are no texts with names");
    refused("[]", format);
    refused(&entry("U64", "[1]", "[0,8]"), "the tensor `a` has the element type U64");
    refused(&entry("F32", "[-2]", "[0,8]"), format);
    refused("{", format);
    refused("", format);
    let overlapping = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
        "b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
    refused(overlapping, format);
    for length in [u64::MAX, 1 << 40, 100_000_001, 9] {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(b"{}");
        assert!(load_safetensors_bytes(&bytes).is_err(), "a header of {length} bytes");
    }
}

#[test]
fn names_in_a_file_are_unique() {
    let path = file("unique");
    let tensor = Tensor::from([1.0_f32]);
    let error = save_safetensors(&path, [("a", &tensor), ("a", &tensor)], None).expect_err("`a` is there twice");
    assert!(error.message().ends_with("two tensors are named `a`"), "{error}");
    let error = save_safetensors(&path, [("__metadata__", &tensor)], None).expect_err("the name is taken");
    assert!(error.message().ends_with("no tensor can be named `__metadata__`"), "{error}");
    remove(&path);
}

#[test]
fn a_file_is_replaced_as_a_whole() {
    let path = file("whole");
    let states: Vec<StateDict> = (0..4)
        .map(|i| [("t".to_owned(), Tensor::filled([1000 * (i + 1)], i as i64, DType::I64))].into_iter().collect())
        .collect();
    save(&path, &states[0]).expect("it can be written");
    std::thread::scope(|scope| {
        for state in &states {
            scope.spawn(|| (0..20).for_each(|_| save(&path, state).expect("it can be written")));
        }
        for _ in 0..40 {
            let read = load_safetensors(&path).expect("the file is whole at any time");
            assert!(states.contains(&read));
        }
    });
    let left = fs::read_dir(path.parent().expect("it has a folder")).expect("the folder is ours").count();
    assert_eq!(left, 1);
    // A folder cannot be replaced by a file: the error leaves nothing beside it.
    let folder = path.with_extension("folder");
    fs::create_dir(&folder).expect("the folder is ours");
    fs::write(folder.join("inside"), "").expect("the folder is ours");
    save(&folder, &states[0]).expect_err("there is a folder");
    let left = fs::read_dir(path.parent().expect("it has a folder")).expect("the folder is ours").count();
    assert_eq!(left, 2);
    remove(&path);
}

/// A lazy parameter of three zeros that counts how often it was made.
fn counted() -> (Parameter, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let lazy = Parameter::lazy(&[3], DType::F32, move || {
        count.fetch_add(1, Ordering::Relaxed);
        Tensor::filled([3], 0.0, DType::F32)
    });
    (lazy, made)
}

#[test]
fn a_lazy_tensor_is_made_once_when_read() {
    let (lazy, made) = counted();
    let other = lazy.clone();
    assert_eq!((lazy.shape(), lazy.dtype(), made.load(Ordering::Relaxed)), (vec![3], DType::F32, 0));
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| other.tensor()))));
    check(lazy.tensor(), "tensor([0.0000, 0.0000, 0.0000], f32)");
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[test]
fn a_lazy_tensor_that_is_set_first_is_never_made() {
    let (lazy, made) = counted();
    lazy.set(Tensor::filled([3], 2.0, DType::F32)).unwrap();
    check(lazy.tensor(), "tensor([2.0000, 2.0000, 2.0000], f32)");
    assert_eq!(made.load(Ordering::Relaxed), 0);
}

#[test]
#[should_panic(expected = "a tensor is made with the shape that it was said to have")]
fn a_lazy_tensor_of_another_shape_panics() {
    Parameter::lazy(&[2], DType::F32, || Tensor::scalar(0.0_f32)).tensor();
}
