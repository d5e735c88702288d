//! DLRM with tables of which each impression has one row: Naumov et al. (2019).

use engine_fx::{Forward, Result, Work, is_eager, planned, tensor};
use fx::nn::{self, AnyLayer, Sequential};
use fx::ops::{CatOptions, StackOptions};
use fx::prelude::*;

type Layers = Sequential<Vec<AnyLayer>>;

#[traceable]
#[derive(Clone)]
struct Dlrm {
    tables: Vec<nn::Embedding>,
    bottom: Layers,
    top: Layers,
}

fn layers(widths: &[usize]) -> Layers {
    let mut layers = Sequential::new(vec![]);
    for pair in widths.windows(2) {
        layers.push(nn::Linear::new(pair[0], pair[1]));
        layers.push(nn::ReLU::new());
    }
    layers
}

#[traceable]
impl Dlrm {
    fn new(rows: usize, dim: usize, tables: usize) -> Self {
        let mut top = layers(&[dim + (tables + 1) * tables / 2, 512, 256]);
        top.push(nn::Linear::new(256, 1));
        Self {
            tables: (0..tables).map(|_| nn::Embedding::new(rows, dim)).collect(),
            bottom: layers(&[13, 512, 256, dim]),
            top,
        }
    }

    fn forward(&self, dense: &Tensor, rows: &Tensor) -> Tensor {
        let x = self.bottom.forward(dense);
        let mut features = vec![x.clone()];
        for (i, table) in self.tables.iter().enumerate() {
            features.push(table.forward(rows.select(1, i as i64)));
        }
        let all = Tensor::stack_with(features, StackOptions::new().dim(1));
        let products = all.matmul(all.transpose(1, 2));
        let mut parts = vec![x];
        for row in 1..=self.tables.len() as i64 {
            parts.push(products.select(1, row).narrow(1, 0, row));
        }
        self.top.forward(Tensor::cat_with(parts, CatOptions::new().dim(1))).sigmoid()
    }
}

/// The impressions of a work, again and again.
pub(crate) fn impressions(work: &Work, dense: &Tensor) -> Result<Forward> {
    let model = Dlrm::new(20000, 64, 26);
    model.load_safetensors(work.weights())?;
    model.eval();
    let rows = tensor(&work.more[0]);
    if is_eager(work)? {
        return Ok(Box::new(move |dense| Ok(model.forward(dense, &rows))));
    }
    let traced = planned(fx::trace(&model)?, work, (dense, &rows))?;
    Ok(Box::new(move |dense| traced.forward((dense, &rows))))
}
