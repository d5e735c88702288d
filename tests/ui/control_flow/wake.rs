//! What follows from a fault is no fault: one error for each of them.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    layers: Vec<fx::nn::Linear>,
    weight: Parameter,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor, xs: &[Tensor]) -> Tensor {
        let n = x.len();
        for i in 0..n {
            let _ = &xs[i];
        }
        let data = x.to_vec::<f32>();
        let total: f32 = data.iter().map(|a| a * 2.0).sum();
        let shape = x.shape();
        let half = shape[0] / 2;
        let y = x.reshape((half, -1)) * total;
        let first = x[0];
        let z = first.relu() + y;
        let scale = x.item() as f64;
        let root = scale.sqrt() * 2.0;
        let width = x.size(0) as usize;
        let zeros = vec![0.0; width];
        let rows: Vec<Tensor> = x.iter().map(|row| row.relu()).collect();
        let (a, b) = x;
        let sum = a + b;
        let factor = if x.sum() > 0.0 { 1 } else { 2 };
        let parts: Vec<Tensor> = (0..x.size(0)).map(|i| x.select(0, i)).collect();
        let name = format!("{}", x.sum());
        match x.dtype() {
            DType::F32 => return x / name.len() as f64,
            _ => {}
        }
        let order = x.sum().partial_cmp(&y.sum()).unwrap();
        if order == std::cmp::Ordering::Less {
            return z;
        }
        let changed = x.add_(y);
        let routed = self.layers[x.argmax()].forward(changed.relu());
        self.weight = Parameter::new(Tensor::zeros([3]));
        z * root + routed + sum + Tensor::stack(rows) + Tensor::stack(parts) + factor as f64 + zeros[0]
    }
}

fn main() {}
