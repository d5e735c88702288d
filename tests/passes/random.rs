//! Random graphs of random shapes: every pass keeps their numbers, files hold them, and inferred shapes are those of a run.

use std::collections::HashMap;

use fx::passes::{infer_shapes, propagate_shapes};
use fx::prelude::*;
use fx::value::Dim;
use fx::{Arg, GraphModule, Meta};
use proptest::prelude::*;

use super::all_passes::{PASSES, check_pass};
use super::random_graphs::{Case, a_quarter, args, cases, errors, exact, interpreted, require};

/// What is known of each node.
fn metas(module: &GraphModule) -> Vec<(String, Arg<Meta>)> {
    let meta = |node: &fx::graph::Node| Some((node.name().to_owned(), node.meta().shape()?.clone()));
    module.graph().nodes().filter_map(|(_, node)| meta(node)).collect()
}

proptest! {
    #![proptest_config(a_quarter())]

    #[test]
    fn random_passes_keep_the_numbers_of_random_networks(
        case in cases(),
        passes in prop::collection::vec(prop::sample::select(PASSES.to_vec()), 1..5),
    ) {
        let Case { module, inputs } = &case;
        let wanted = exact(module, inputs, DType::F32);
        let rounding = errors(&interpreted(module, inputs).unwrap(), &wanted);
        let mut changed = module.clone();
        for pass in &passes {
            check_pass(*pass, &mut changed);
            prop_assert!(!changed.code().contains("compile_error!"), "{}: {}", pass.0, changed.code());
        }
        let off = errors(&interpreted(&changed, inputs).unwrap(), &wanted);
        let names: Vec<_> = passes.iter().map(|(name, _)| *name).collect();
        require(&off, &rounding, 1e-4, &format!("after {names:?}"))?;

        let file = std::env::temp_dir().join(format!("fx_passes_random_{}.fx", std::process::id()));
        changed.save(&file).unwrap();
        let loaded = GraphModule::load(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        prop_assert_eq!(loaded.graph(), changed.graph());
        // What lay as a view lies in order, and sums round otherwise.
        require(&errors(&interpreted(&loaded, inputs).unwrap(), &wanted), &rounding, 1e-4, "loaded")?;
    }

    #[test]
    fn inferred_shapes_of_random_graphs_are_those_of_a_run(
        case in cases(),
        symbolic in prop::collection::vec(prop::bool::weighted(0.3), 15),
    ) {
        let Case { module, inputs } = &case;
        let mut run = module.clone();
        propagate_shapes(&mut run, args(inputs)).unwrap();
        let wanted = metas(&run);
        let of = |x: &Tensor| Meta::tensor(x.shape().iter().copied(), x.dtype());
        let mut inferred = module.clone();
        infer_shapes(&mut inferred, inputs.iter().map(of)).unwrap();
        prop_assert_eq!(&metas(&inferred), &wanted);

        // Some of the sizes as symbols, which may be too little to know for what a graph does.
        let (mut sizes, mut symbolic) = (HashMap::new(), symbolic.into_iter());
        let mut size = |size: &usize| match symbolic.next() {
            Some(true) => {
                let name = format!("S{}", sizes.len());
                sizes.insert(name.clone(), *size as i64);
                Dim::symbol(&name, 1)
            }
            _ => Dim::from(*size),
        };
        let symbols: Vec<Meta> =
            inputs.iter().map(|x| Meta::tensor(x.shape().iter().map(&mut size).collect::<Vec<_>>(), x.dtype())).collect();
        let Ok(found) = infer_shapes(&mut inferred, symbols) else { return Ok(()) };
        let known = |dim: &Dim| dim.substitute(&|name| sizes.get(name).copied().map(Dim::Int));
        // A size that is not known is no 1 for what looks for such.
        let is_one = |dim: &Dim| dim.as_int().is_none() && known(dim) == Dim::Int(1);
        let has_ones = |meta: &Meta| meta.as_tensor().is_some_and(|tensor| tensor.shape.iter().any(is_one));
        let mut ones = false;
        metas(&inferred).iter().for_each(|(_, meta)| meta.for_each(&mut |meta: &Meta| ones |= has_ones(meta)));
        if !ones && found.assumptions.equal.iter().all(|(a, b)| known(a) == known(b)) {
            let put = |meta: Arg<Meta>| meta.map(&mut |meta| meta.map_sizes(known));
            let found: Vec<_> = metas(&inferred).into_iter().map(|(name, meta)| (name, put(meta))).collect();
            prop_assert_eq!(&found, &wanted, "with {:?}: {:?}", sizes, metas(&inferred));
        }
    }
}
