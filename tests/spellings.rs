//! What users of PyTorch write otherwise here, one line each; eager and traced give the same.

use fx::ops::options::*;
use fx::prelude::*;
use fx::{Arg, nn};
use indexmap::IndexMap;

/// What is computed outside, so it is neither recorded nor part of the state.
fn frequencies(count: usize) -> Tensor {
    Tensor::from_vec([count], (0..count).map(|i| 0.5_f32.powi(i as i32)).collect::<Vec<_>>())
}

#[traceable]
#[derive(Clone)]
struct Block {
    conv: nn::Conv2d,
}

#[traceable]
impl Block {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.conv.forward(x).relu()
    }
}

#[traceable]
struct Model {
    blocks: Vec<Block>,
    named: IndexMap<String, nn::Linear>,
    seen: Buffer,
    head: nn::Sequential<Vec<nn::AnyLayer>>,
    table: Parameter,
    groups: usize,
    last: Vec<nn::AnyLayer>,
    factors: Buffer,
}

#[traceable]
impl Model {
    fn new() -> Self {
        let mut head = nn::Sequential::new(vec![nn::AnyLayer::new(nn::Linear::new(4, 4))]);
        head.push(nn::GELU::new());
        Self {
            blocks: (0..2).map(|_| Block { conv: nn::Conv2d::new(4, 4, 3).padding(1) }).collect(),
            named: ["first", "second"].map(|name| (name.to_owned(), nn::Linear::new(4, 4))).into_iter().collect(),
            seen: Buffer::new(Tensor::randn([3, 4])),
            head,
            table: Parameter::new(Tensor::randn([3, 4])),
            groups: 2,
            // In the type of Rust's numbers.
            factors: Buffer::new(Tensor::from([1.0_f32, 0.5, 0.25, 2.0])),
            last: vec![nn::AnyLayer::new(nn::Tanh::new()), nn::AnyLayer::new(nn::Linear::new(4, 4))],
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = x.clone();
        for block in &self.blocks {
            x = block.forward(x);
        }
        // Sizes, borrowed where they are used again.
        let [n, c, h, w] = x.sizes();
        let shuffled = x.view((&n, self.groups, &c / self.groups, &h, &w)).transpose(1, 2).reshape((&n, &c, &h, &w));
        // Options of an op.
        let [a, b] = shuffled.chunk(1);
        let x = Tensor::cat_with([b, a], CatOptions::new().dim(1));
        let pooled = x.max_pool2d_with(2, MaxPool2dOptions::new().stride(1));
        let flat = pooled.flatten_with(FlattenOptions::new().start_dim(2));
        // Some dimensions, gone or kept.
        let means = flat.mean_dim([2]) * x.mean_keepdim([1, 2, 3]).reshape([-1, 1]);
        // Slices: from a place, every second one.
        let every_second = x.index((.., Arg::Slice(Box::new([Arg::Int(0), Arg::None, Arg::Int(2)]))));
        // A parameter as a tensor, and a tensor that is no state.
        let places = Tensor::arange(&n) % 3;
        let rows = self.table.value::<Tensor>().index(&places) + self.seen.value::<Tensor>().index(&places);
        // Where no tensor beside it says what it is: after a sign, between two of them, in a list with tensors.
        let signs = -self.table.value::<Tensor>() * &self.table + 0.5 * self.table.value::<Tensor>();
        let rows = rows + Tensor::cat([self.table.value(), signs]).index(&places);
        let mut halves = rows.chunk::<2>(-1).to_vec();
        halves.reverse();
        let mut rows = Tensor::cat_with(halves, CatOptions::new().dim(-1)) + x.index((Arg::Ellipsis, 0)).mean_dim([-1]);
        for linear in self.named.values() {
            rows = linear.forward(rows);
        }
        let scaled = rows * Tensor::constant(&frequencies(4));
        // Tensors come before numbers.
        let order = ((Tensor::arange(4) + 3) % 4).expand((&n, -1));
        let scaled = scaled.gather(&order, 1) + scaled.scatter(&order, &means, 1) * &self.factors;
        let mut y = self.head.forward(means + scaled + every_second.mean_keepdim([1, 2, 3]).reshape([-1, 1]));
        for layer in &self.last {
            y = layer.forward(&y);
        }
        y
    }
}

#[test]
fn spellings_of_pytorch() {
    let model = Model::new();
    let traced = fx::trace(&model).unwrap();
    for batch in [1, 2, 5] {
        let x = Tensor::randn([batch, 4, 5, 6]);
        let (eager, planned) = (model.forward(&x), traced.forward(&x).unwrap());
        assert!(eager.all_close(&planned, 1e-4, 1e-5), "off by {}", eager.max_abs_diff(&planned));
    }
}

/// A limit on one side records a clamp.
#[test]
fn limits() {
    let short = fx::trace_fn!(|x| x.clamp_min(0.5) + x.clamp_max(2)).unwrap();
    let long = fx::trace_fn!(|x| x.clamp(0.5, None) + x.clamp(None, 2)).unwrap();
    assert_eq!(short.graph(), long.graph());
    assert_eq!(Tensor::from([-1.0, 1.0, 3.0]).clamp_min(0.0).clamp_max(2.5), Tensor::from([0.0, 1.0, 2.5]));
}

/// Reductions over some dimensions record what their options do.
#[test]
fn reductions_over_dimensions() {
    let short = fx::trace_fn!(|x| {
        let gone = x.std_dim([1, 2]) + x.var_dim(-1).sum_dim(1);
        let (mean, std) = (x.mean_keepdim([1, 2]), x.std_keepdim([1, 2]));
        let kept = (&x - mean) / std + x.var_keepdim(0);
        (gone, kept)
    });
    let long = fx::trace_fn!(|x| {
        let gone = x.std_with(StdOptions::new().dim([1, 2]))
            + x.var_with(VarOptions::new().dim(-1)).sum_with(SumOptions::new().dim(1));
        // The options alone are imported: these are variables, not patterns of ops.
        let mean = x.mean_with(MeanOptions::new().dim([1, 2]).keepdim(true));
        let std = x.std_with(StdOptions::new().dim([1, 2]).keepdim(true));
        (gone, (&x - mean) / std + x.var_with(VarOptions::new().dim(0).keepdim(true)))
    });
    let (short, long) = (short.unwrap(), long.unwrap());
    assert_eq!(short.graph().to_string(), long.graph().to_string());
    let x = Tensor::randn([3, 4, 5]);
    let (gone, kept): (Tensor, Tensor) = short.forward_as(&x).unwrap();
    assert_eq!((gone.shape(), kept.shape()), (&[3][..], &[3, 4, 5][..]));
}

#[traceable]
fn grids(rows: &Tensor, columns: &Tensor) -> (Tensor, Tensor, (Tensor, Tensor, Tensor)) {
    let [x, y] = Tensor::meshgrid([columns, rows], "xy");
    let [i, j, k] = fx::functional::meshgrid([rows.clone(), columns.clone(), columns.clone()], "ij");
    (x, y, (i, j, k))
}

#[traceable]
fn badly_indexed(x: &Tensor) -> Tensor {
    let [x] = Tensor::meshgrid([x], "ji");
    x
}

/// Functions that are compositions of ops, by hand or as PyTorch gives them.
#[test]
fn compositions_of_ops() {
    let traced = fx::trace_fn!(grids).unwrap();
    for (rows, columns) in [(2, 3), (1, 4), (3, 1)] {
        let inputs = (Tensor::arange(rows), Tensor::arange(columns) * 10);
        let (x, y, (i, j, k)): (Tensor, Tensor, (Tensor, Tensor, Tensor)) = traced.forward_as(inputs).unwrap();
        let ones = Tensor::ones_with((rows, columns), OnesOptions::new().dtype(DType::I64));
        assert_eq!((x, y), (&ones * Tensor::arange(columns) * 10, ones * Tensor::arange(rows).reshape((-1, 1))));
        for (dim, grid) in [i, j, k].iter().enumerate() {
            let along = grid.movedim(dim as i64, 0).reshape((grid.shape()[dim] as i64, -1)).index((.., 0));
            assert_eq!(grid.shape(), [rows, columns, columns].map(|size| size as usize));
            assert_eq!(along, if dim == 0 { Tensor::arange(rows) } else { Tensor::arange(columns) * 10 });
            assert_eq!(&along.reshape([[-1, 1, 1], [1, -1, 1], [1, 1, -1]][dim]).expand_as(grid), grid);
        }
    }

    let traced = fx::trace_fn!(|a, b| {
        let near = a.pairwise_distance_with(&b, PairwiseDistanceOptions::new().p(f64::INFINITY).eps(0.0));
        (a.cross(&b, -1), a.cross(&b, 0), b.diff(2, 0), near)
    })
    .unwrap();
    let a = Tensor::from([[1.0, 2.0, -3.0], [0.5, 4.0, 1.0], [-2.0, 0.0, 1.5]]);
    let b = Tensor::from([[2.0, -1.0, 0.5], [3.0, 1.0, -1.0], [4.0, 2.5, 1.0]]);
    let (rows, columns, second, near): (Tensor, Tensor, Tensor, Tensor) = traced.forward_as((a, b)).unwrap();
    assert_eq!(rows, Tensor::from([[-2.0, -6.5, -5.0], [-5.0, 3.5, -11.5], [-3.75, 8.0, -5.0]]));
    assert_eq!(columns, Tensor::from([[8.0, 10.0, 2.5], [-8.0, -5.0, 3.75], [2.0, 6.0, 2.5]]));
    assert_eq!((second, near), (Tensor::from([[0.0, -0.5, 3.5]]), Tensor::from([3.5, 3.0, 6.0])));
}

#[test]
fn compositions_refuse_what_they_do_not_take() {
    let square = Tensor::rand([2, 2]);
    let errors = [
        fx::trace_fn!(badly_indexed).unwrap_err(),
        fx::trace_fn!(|x| x.channel_shuffle(0)).unwrap_err(),
        fx::trace_fn!(grids).unwrap().forward((square.clone(), square.clone())).unwrap_err(),
        fx::trace_fn!(|x| x.cross(&x, -1)).unwrap().forward(&square).unwrap_err(),
        fx::trace_fn!(|x| x.channel_shuffle(3)).unwrap().forward(Tensor::rand([1, 4, 2])).unwrap_err(),
    ];
    let messages = [
        "`indexing` is \"ij\" or \"xy\", not \"ji\"",
        "`groups` must be at least 1, found 0",
        "the number of dimensions is 2, where the program is written for 1",
        "the number of slices is 2, where the program is written for 3",
        "unflatten(f32[1, 4, 2])",
    ];
    for (error, message) in errors.iter().zip(messages) {
        assert!(error.to_string().contains(message) && error.to_string().contains("spellings.rs"), "{error}");
    }
}

/// An image, sampled where it is and turned; its windows, and what their sum is.
#[test]
fn grids_and_windows_of_images() {
    let traced = fx::trace_fn!(|x, theta| {
        let [n, c, h, w] = x.sizes();
        let grid = theta.affine_grid((n, c, &h, &w));
        let columns = x.im2col_with(3, Im2colOptions::new().padding(1));
        (x.grid_sample(&grid), columns.fold_with((h, w), 3, FoldOptions::new().padding(1)))
    })
    .unwrap();
    for size in [4, 5] {
        let x = Tensor::rand([1, 2, size, size]);
        let theta = Tensor::from([[[0.0_f32, -1.0, 0.0], [1.0, 0.0, 0.0]]]);
        let (turned, sums): (Tensor, Tensor) = traced.forward_as((x.clone(), theta)).unwrap();
        assert!(turned.all_close(&x.transpose(2, 3).flip([2]), 1e-5, 1e-5), "{turned:?} of {x:?}");
        let inner = [(); 2].iter().fold(sums / &x, |y, ()| y.narrow(2, 1, size - 2).transpose(2, 3));
        assert!(inner.all_close(&Tensor::full(inner.shape(), 9.0), 1e-5, 0.0));
    }
}
