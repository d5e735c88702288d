//! Collections that are filled beside plain values: what is plain stays plain.

use std::collections::{BTreeMap, HashMap};

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub names: Vec<String>,
    pub layers: Vec<fx::nn::Linear>,
    pub mode: &'static str,
}

fn append(list: &mut Vec<f64>, value: f64) -> usize {
    list.push(value);
    list.len()
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor, times: usize) -> Tensor {
        let mut seen = HashMap::new();
        let mut widths: BTreeMap<String, usize> = BTreeMap::new();
        let mut y = x.clone();
        for (layer, name) in self.layers.iter().zip(&self.names) {
            y = layer.forward(y);
            seen.insert(name, y.clone());
            widths.insert(name.into(), times);
            if seen.contains_key(&name) && widths.get(name).is_some() && name.len() > 2 {
                y = y.relu();
            }
        }
        let mut state = (0_usize, Vec::new());
        state.1.push(y.clone());
        state.0 += append(&mut vec![1.0], 2.0);
        for i in 0..state.0 {
            y = y * i as f64;
        }
        match state.0 {
            0 => y,
            _ if self.mode == "last" => y + &state.1[state.1.len() - 1],
            n => y * n as f64,
        }
    }
}
