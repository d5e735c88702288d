//! Every pass on random graphs of random shapes, and files that hold them.

use fx::GraphModule;
use fx::prelude::*;
use proptest::prelude::*;

use super::all_passes::{PASSES, check_pass};
use super::random_graphs::{Case, a_quarter, cases, errors, exact, interpreted, require};

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
}
