//! Lemma 5: the quantiser.

use super::support::{GENERIC, GENERIC_POSITIONAL, Random, exact_network, theorem2, theorem3};
use formwright::compile::Model;
use formwright::eval::exact;
use formwright::exact::Rat;
use formwright::network::Sequence;

/// The state after the layers of the first stage.
fn quantised(model: &Model, x: &Sequence) -> Sequence {
    let stage = &exact_network(model).stages[0];
    assert_eq!(stage.name, "quantise");
    let mut state = exact_network(model).embed(x);
    stage.generator.layers().for_each(|layer| exact::apply(&layer.expect("a layer"), &mut state));
    state
}

#[test]
fn every_coordinate_goes_to_its_cell_or_to_the_flag() {
    for triple in [(2, 1, 4), (2, 2, 3), (3, 1, 5), (2, 3, 2)] {
        let model = theorem2(GENERIC, triple);
        let flag = -Rat::from(model.grid.resolution()) * Rat::from(model.grid.points());
        let mut random = Random::new(5);
        for _ in 0..200 {
            let mut x = random.sequence(&model.grid, -1, 2);
            x[0][0] = [Rat::ONE, Rat::ZERO, Rat::new(1, 2), Rat::new(-1, 1_000_000)]
                [usize::try_from(random.below(4)).expect("small")]
            .clone();
            for (z, x) in quantised(&model, &x).iter().flatten().zip(x.iter().flatten()) {
                let inside = *x >= Rat::ZERO && *x < Rat::ONE;
                let expected =
                    if inside { Rat::from((x * &Rat::from(model.grid.resolution())).floor()) } else { flag.clone() };
                assert_eq!(*z, expected, "{x}");
            }
        }
    }
}

#[test]
fn with_positions_every_coordinate_goes_to_its_cell_above_its_position() {
    let model = theorem3(GENERIC_POSITIONAL, (3, 2, 4));
    let mut random = Random::new(6);
    for _ in 0..200 {
        let x = random.sequence(&model.grid, 0, 1);
        let state = quantised(&model, &x);
        for (token, position) in [(0, 2), (1, 0), (2, 1)] {
            for (z, x) in state[token].iter().zip(&x[token]) {
                assert_eq!(*z, Rat::from((x * &Rat::from(4)).floor()) + Rat::from(4 * position));
            }
        }
    }
}
