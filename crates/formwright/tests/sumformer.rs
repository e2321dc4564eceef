//! The Sumformer by itself, as a Transformer, and Lemma 2.9.

use super::support::{Random, exact_network, theorem2};
use formwright::construct::sumformer::transformer::transformer;
use formwright::eval::exact;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::lower::as_it_is;
use formwright::network::{Affine, Layer, Precision, Sequence, Sumformer, TokenNetwork, equivariant, semi_invariant};

fn number(random: &mut Random) -> Rat {
    Rat::new(i64::try_from(random.below(33)).expect("small") - 16, 8)
}

fn token_network(random: &mut Random, sizes: &[usize]) -> TokenNetwork {
    let layer = |random: &mut Random, inputs: usize, outputs: usize| Affine {
        weight: (0..outputs).map(|_| (0..inputs).map(|_| number(random)).collect()).collect(),
        bias: (0..outputs).map(|_| number(random)).collect(),
    };
    TokenNetwork::new(sizes.windows(2).map(|pair| layer(random, pair[0], pair[1])).collect()).expect("a network")
}

/// Token dimension, hidden layers of φ, latent dimension, hidden layers of ψ, output dimension.
type Shape = (usize, &'static [usize], usize, &'static [usize], usize);

const SHAPES: [Shape; 6] = [
    (1, &[3], 2, &[4], 1),
    (2, &[], 1, &[], 3),
    (1, &[2, 5, 3], 4, &[], 2),
    (3, &[], 2, &[6, 2], 1),
    (2, &[4, 4], 3, &[3, 7, 2], 2),
    (1, &[1], 1, &[1], 1),
];

fn sumformers() -> impl Iterator<Item = (Sumformer, Random)> {
    SHAPES.iter().enumerate().map(|(seed, (dims, phi, latent, psi, outputs))| {
        let mut random = Random::new(seed as u64 + 1);
        let phi = token_network(&mut random, &[&[*dims], *phi, &[*latent]].concat());
        let psi = token_network(&mut random, &[&[dims + latent], *psi, &[*outputs]].concat());
        (Sumformer::new(phi, psi).expect("a Sumformer"), random)
    })
}

fn sequence(random: &mut Random, tokens: usize, dims: usize) -> Sequence {
    (0..tokens).map(|_| (0..dims).map(|_| number(random)).collect()).collect()
}

#[test]
fn a_sumformer_is_what_its_definition_says() {
    // φ(x) = (R(x), R(-x)), ψ(x, Σ) = x - Σ_1 + Σ_2 / 2, by hand.
    let int = |rows: &[&[i64]]| rows.iter().map(|row| row.iter().map(|x| Rat::from(*x)).collect()).collect();
    let zeros = |count: usize| vec![Rat::ZERO; count];
    let phi = TokenNetwork::new(vec![
        Affine { weight: int(&[&[1], &[-1]]), bias: zeros(2) },
        Affine { weight: int(&[&[1, 0], &[0, 1]]), bias: zeros(2) },
    ]);
    let psi =
        TokenNetwork::new(vec![Affine { weight: vec![vec![Rat::ONE, -Rat::ONE, Rat::new(1, 2)]], bias: zeros(1) }]);
    let sumformer = Sumformer::new(phi.expect("φ"), psi.expect("ψ")).expect("a Sumformer");
    let x: Sequence = [3, -4, 1].map(|x| vec![Rat::from(x)]).to_vec();
    let outputs: Vec<Rat> = sumformer.run(&x).concat();
    assert_eq!(outputs, [Rat::from(1), Rat::from(-6), Rat::from(-1)]);
    assert_eq!((sumformer.latent(), sumformer.dims(), sumformer.output_dims()), (2, 1, 1));
    assert_eq!(sumformer.parameters().to_string(), "14");
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let affine = |rows: usize, columns: usize| Affine {
        weight: vec![vec![Rat::ONE; columns]; rows],
        bias: vec![Rat::ZERO; rows],
    };
    let refused = |layers: Vec<Affine>| TokenNetwork::new(layers).expect_err("no network").headline().to_owned();
    assert_eq!(refused(vec![]), "a token-wise network has no layer");
    assert_eq!(refused(vec![affine(2, 1), affine(1, 3)]), "layer 1 reads 3 numbers, and layer 0 gives 2");
    assert_eq!(refused(vec![Affine { bias: vec![], ..affine(2, 1) }]), "layer 0 has 2 rows and 0 biases");
    assert_eq!(refused(vec![affine(0, 1)]), "the weights of layer 0 are no matrix");
    let one = |rows, columns| TokenNetwork::new(vec![affine(rows, columns)]).expect("a network");
    let error = Sumformer::new(one(2, 1), one(1, 2)).expect_err("ψ does not read the sum");
    assert_eq!(error.headline(), "ψ reads 2 numbers, and a token and the sum are 3");
}

/// Exactly: layer by layer, in closed form and by definition; sizes as they are counted.
#[test]
fn its_transformer_has_one_attention_layer_and_computes_the_same() {
    for (sumformer, mut random) in sumformers() {
        for tokens in [1, 2, 5] {
            let network = transformer(&sumformer, tokens).expect("a Transformer");
            let size = network.size();
            assert_eq!(size.attention_layers.to_string(), "1");
            let blocks = sumformer.phi().layers().len() + sumformer.psi().layers().len();
            assert_eq!(size.blocks.to_string(), blocks.to_string());
            let layers: Vec<Layer> = network.layers().map(|(_, layer)| layer.expect("a layer")).collect();
            let units: usize =
                layers.iter().map(|layer| if let Layer::FeedForward(layer) = layer { layer.b1.len() } else { 0 }).sum();
            let stated: usize = network
                .stages
                .iter()
                .map(|stage| stage.generator.size().units.to_string().parse::<usize>().expect("a count"))
                .sum();
            assert_eq!(units, stated);
            let x = sequence(&mut random, tokens, sumformer.dims());
            let wanted = sumformer.run(&x);
            assert_eq!(exact::run(&network, &x).expect("layer by layer"), wanted);
            let closed = network.stages.iter().try_fold(network.embed(&x), |z, stage| stage.generator.closed_form(z));
            assert_eq!(network.read_out(&closed.expect("in closed form")), wanted);
        }
    }
}

/// Small dyadic weights and three hidden layers at most: doubles are exact but for `fl(1/n) · n`.
#[test]
fn its_float_network_computes_the_same_but_for_rounding() {
    for (sumformer, mut random) in sumformers() {
        for (tokens, precision, close) in
            [(4, Precision::F64, 0.0), (7, Precision::F64, 1e-12), (4, Precision::F32, 1e-3)]
        {
            let network = transformer(&sumformer, tokens).expect("a Transformer");
            let float = as_it_is(&network, precision).expect("a float network");
            let x = sequence(&mut random, tokens, sumformer.dims());
            let near: Vec<Vec<f64>> = x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
            let outputs = Engine::new(&float).expect("an engine").run(&[near]).expect("outputs").concat();
            let wanted = sumformer.run(&x);
            for (y, wanted) in outputs.iter().flatten().zip(wanted.iter().flatten()) {
                let wanted = wanted.to_f64();
                assert!((y - wanted).abs() <= close * wanted.abs().max(1.0), "{y} for {wanted} in {precision}");
            }
        }
    }
}

#[test]
fn a_network_with_scores_is_not_taken_as_it_is() {
    let model = theorem2("x", (2, 1, 2));
    let error = as_it_is(exact_network(&model), Precision::F64).expect_err("it has windows");
    assert!(error.headline().contains("stage 'quantise'"), "{error}");
}

fn permuted(x: &[Vec<Rat>], order: &[usize]) -> Sequence {
    order.iter().map(|place| x[*place].clone()).collect()
}

/// A few permutations of `0..n`: a swap of each pair and a rotation.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![(0..n).map(|k| (k + 1) % n).collect()];
    for a in 0..n {
        for b in 0..a {
            let mut order: Vec<usize> = (0..n).collect();
            order.swap(a, b);
            all.push(order);
        }
    }
    all
}

fn is_equivariant(f: impl Fn(&[Vec<Rat>]) -> Sequence, x: &[Vec<Rat>]) -> bool {
    permutations(x.len()).iter().all(|order| f(&permuted(x, order)) == permuted(&f(x), order))
}

fn is_semi_invariant(g: impl Fn(&[Rat], &[Vec<Rat>]) -> Vec<Rat>, x: &[Vec<Rat>]) -> bool {
    permutations(x.len() - 1).iter().all(|order| g(&x[0], &permuted(&x[1..], order)) == g(&x[0], &x[1..]))
}

/// Lemma 2.9, both ways, on Sumformers; and what it says no to.
#[test]
fn semi_invariant_functions_are_the_equivariant_ones() {
    for (sumformer, mut random) in sumformers() {
        let x = sequence(&mut random, 4, sumformer.dims());
        let f = |x: &[Vec<Rat>]| sumformer.run(x);
        assert!(is_equivariant(f, &x));
        let g = semi_invariant(f);
        assert!(is_semi_invariant(&g, &x));
        let again = equivariant(&g);
        assert_eq!(again(&x), f(&x), "an equivariant function is what its first token makes of it");
        assert!(is_equivariant(again, &x));
    }
    let x: Sequence = [1, 2, 4, 8].map(|x| vec![Rat::from(x)]).to_vec();
    let second = |x: &[Rat], others: &[Vec<Rat>]| vec![&x[0] + &others[0][0]];
    assert!(!is_semi_invariant(second, &x), "it sees which of the others comes first");
    assert!(!is_equivariant(equivariant(second), &x), "and so does its sequence function");
    let reversed = |x: &[Vec<Rat>]| x.iter().rev().cloned().collect::<Sequence>();
    assert!(!is_equivariant(reversed, &x));
    assert!(!is_semi_invariant(semi_invariant(reversed), &x));
    let weighted = |x: &[Rat], others: &[Vec<Rat>]| vec![&x[0] * &others.iter().map(|other| &other[0]).sum::<Rat>()];
    assert!(is_semi_invariant(weighted, &x) && is_equivariant(equivariant(weighted), &x));
}
