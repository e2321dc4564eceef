//! The median of shifted grids, exactly: layers = closed form = a median that is taken outside, in fractions, of values in
//! cells that are found here anew; and within the proved bound, at walls, next to them, anywhere.

use std::sync::Arc;

use super::support::{GENERIC, GENERIC_POSITIONAL, Random, Triple, expression, grid};
use formwright::artifact;
use formwright::compile::{Asked, Model, compile};
use formwright::construct::median::MEDIAN;
use formwright::construct::median::built::{Median, build};
use formwright::construct::median::shifts::Shifts;
use formwright::construct::sumcode::{Options, Values};
use formwright::error::Result;
use formwright::eval::{exact, indexed};
use formwright::exact::{Int, Rat};
use formwright::interval::Up;
use formwright::lattice::Grid;
use formwright::network::{Layer, Sequence};
use formwright::plan::compile_first;
use formwright::target::{Source, Table, Target};

/// The shifted grids of a box as the theorem has them.
pub struct Reference<'a> {
    pub target: &'a Target,
    pub grid: Grid,
}

impl Reference<'_> {
    pub fn copies(&self) -> usize {
        2 * self.grid.tokens() * self.grid.dims() + 1
    }

    pub fn side(&self) -> Rat {
        (self.grid.high() - self.grid.low()) / Rat::from(self.grid.resolution())
    }

    fn begin(&self, copy: usize) -> Rat {
        self.grid.low().clone() - self.side() * Rat::new(2 * copy + 1, 2 * self.copies())
    }

    /// All walls of all grids that are inside of the box.
    pub fn walls(&self) -> Vec<Rat> {
        let (low, high) = (self.grid.low(), self.grid.high());
        let wall = |copy, wall: u64| self.begin(copy) + self.side() * Rat::from(wall);
        let all = (0..self.copies()).flat_map(|copy| (0..=self.grid.resolution() + 1).map(move |k| wall(copy, k)));
        all.filter(|wall| low <= wall && wall <= high).collect()
    }

    /// The value of a cell's copy: where the target is taken for a coordinate.
    fn centre(&self, copy: usize, x: &Rat) -> Rat {
        let (low, high) = (self.grid.low().clone(), self.grid.high().clone());
        let (begin, side) = (self.begin(copy), self.side());
        let from = &begin + &side * Rat::from(((x - &begin) / side.clone()).floor());
        let to = &from + &side;
        let margin = side / Rat::from(2 * self.copies());
        let ends = |margin: &Rat| ((&from + margin).max(low.clone()), (&to - margin).min(high.clone()));
        let (mut a, mut b) = ends(&margin);
        if a == b {
            (a, b) = ends(&Rat::ZERO);
        }
        (a + b) / Rat::from(2)
    }

    /// The output of every copy.
    pub fn values(&self, x: &[Vec<Rat>]) -> Vec<Sequence> {
        let value = |copy| {
            let centre = |x: &Rat| self.centre(copy, x);
            let centres: Sequence = x.iter().map(|token| token.iter().map(centre).collect()).collect();
            self.target.evaluate(&centres).expect("a value")
        };
        (0..self.copies()).map(value).collect()
    }

    /// Their medians.
    pub fn median(&self, x: &[Vec<Rat>]) -> Sequence {
        let values = self.values(x);
        let middle = |token: usize, k: usize| {
            let mut all: Vec<&Rat> = values.iter().map(|value| &value[token][k]).collect();
            all.sort();
            all[all.len() / 2].clone()
        };
        let outputs = values[0][0].len();
        (0..x.len()).map(|token| (0..outputs).map(|k| middle(token, k)).collect()).collect()
    }

    /// How many copies have a coordinate of `x` nearer than a margin to a wall of theirs.
    pub fn spoiled(&self, x: &[Vec<Rat>]) -> usize {
        let margin = self.side() / Rat::from(2 * self.copies());
        let near = |copy: usize, x: &Rat| {
            let from = ((x - &self.begin(copy)) / self.side()).fraction() * self.side();
            from < margin || &self.side() - &from < margin
        };
        (0..self.copies()).filter(|copy| x.iter().flatten().any(|x| near(*copy, x))).count()
    }
}

trait Fraction {
    fn fraction(&self) -> Rat;
}

impl Fraction for Rat {
    fn fraction(&self) -> Rat {
        self - &Rat::from(self.floor())
    }
}

/// Coordinates that matter: every wall, as near to it as one likes, a margin off, half way between; and the ends.
pub fn coordinates(reference: &Reference<'_>) -> Vec<Rat> {
    let (low, high) = (reference.grid.low().clone(), reference.grid.high().clone());
    let margin = reference.side() / Rat::from(2 * reference.copies());
    let near = Rat::new(1, 1_u64 << 40);
    let mut all = vec![low.clone(), &high - &near];
    for wall in reference.walls() {
        for off in [Rat::ZERO, near.clone(), margin.clone(), &margin - &near, &margin / &Rat::from(2)] {
            all.extend([&wall + &off, &wall - &off]);
        }
    }
    all.retain(|x| low <= *x && *x < high);
    all.sort();
    all.dedup();
    all
}

/// Sequences of such coordinates: every one where there are two, some where there are more.
pub fn sequences(reference: &Reference<'_>, most: usize) -> Vec<Sequence> {
    let (n, d) = (reference.grid.tokens(), reference.grid.dims());
    let all = coordinates(reference);
    let shaped = |flat: Vec<Rat>| flat.chunks(d).map(<[Rat]>::to_vec).collect();
    if n * d == 2 && all.len() * all.len() <= most {
        return all.iter().flat_map(|x| all.iter().map(|y| shaped(vec![x.clone(), y.clone()]))).collect();
    }
    let mut random = Random::new(2026);
    let mut draw = || all[usize::try_from(random.below(all.len() as u64)).expect("an index")].clone();
    (0..most).map(|_| shaped((0..n * d).map(|_| draw()).collect())).collect()
}

fn options(values: Values, positional: bool) -> Options {
    Options { values, positional, ..Options::of(&MEDIAN) }
}

fn median(source: &Source, triple: Triple, options: &Options) -> (Arc<Target>, Grid, Median) {
    let grid = grid(triple);
    let target = Arc::new(source.target(grid.dims()).expect("a target"));
    let shifts = Shifts::new(&grid, triple.2).expect("grids");
    let built = build(&shifts, &target, options, None, None).expect("a network");
    (target, grid, built)
}

#[test]
fn layers_closed_form_and_a_median_outside_agree_everywhere() {
    let mut points = 0;
    for (text, positional) in [(GENERIC, false), (GENERIC_POSITIONAL, true)] {
        for triple in [(2, 1, 2), (2, 1, 3), (3, 1, 2), (2, 2, 2)] {
            for values in Values::ALL {
                let (target, grid, built) = median(&expression(text), triple, &options(values, positional));
                let reference = Reference { target: &target, grid };
                let inputs = sequences(&reference, if values == Values::OneBlock { 400 } else { 40 });
                let traces = exact::trace_batch(&built.network, &inputs).expect("a run");
                let bound = Rat::from_f64(built.budget.bound).expect("finite");
                for (k, x) in inputs.iter().enumerate() {
                    for ((stage, states), (_, state)) in
                        traces.iter().zip(indexed::trace(&built.network, x).expect("a run"))
                    {
                        assert_eq!(states[k], state, "after {stage}, input {x:?}");
                    }
                    let output = built.network.read_out(&traces.last().expect("stages").1[k]);
                    assert_eq!(output, reference.median(x), "{triple:?} {values} {positional} at {x:?}");
                    let wanted = target.evaluate(x).expect("a value");
                    for (found, wanted) in output.iter().flatten().zip(wanted.iter().flatten()) {
                        assert!((found - wanted).abs() <= bound, "{triple:?} at {x:?}: {found}, not {wanted}");
                    }
                    points += 1;
                }
            }
        }
    }
    assert!(points > 4_000, "{points}");
}

/// The theorem's count: no point spoils more than `m` copies, and some point spoils `m`.
#[test]
fn at_most_half_of_the_copies_are_spoiled_anywhere() {
    let target = expression("x").target(1).expect("a target");
    for triple in [(2, 1, 3), (3, 1, 2), (4, 1, 2)] {
        let reference = Reference { target: &target, grid: grid(triple) };
        let most = sequences(&reference, 3_000).iter().map(|x| reference.spoiled(x)).max();
        assert_eq!(most, Some(triple.0));
    }
}

/// Sizes are formulas.
#[test]
fn stages_count_their_layers_and_weights() {
    for (triple, positional) in [((2, 1, 3), false), ((3, 1, 2), false), ((2, 2, 2), false), ((2, 1, 2), true)] {
        let text = if positional { GENERIC_POSITIONAL } else { GENERIC };
        let (_, _, built) = median(&expression(text), triple, &options(Values::OneBlock, positional));
        for stage in &built.network.stages {
            let size = stage.generator.size();
            let (mut layers, mut units, mut hidden, mut nonzeros) = (0, 0, 0, 0);
            for layer in stage.generator.layers() {
                layers += 1;
                let rows: Vec<Vec<Rat>> = match layer.expect("a layer") {
                    Layer::FeedForward(layer) => {
                        assert!(layer.w1.iter().all(|row| row.len() == built.network.width()));
                        units += layer.b1.len();
                        hidden = hidden.max(layer.b1.len());
                        [layer.w1, layer.w2, vec![layer.b1, layer.b2]].concat()
                    }
                    Layer::Attention(layer) => {
                        assert_eq!(layer.heads.len(), built.shifts.copies(), "one layer, a head a grid");
                        let heads = layer.heads.into_iter();
                        heads.flat_map(|head| [head.q, head.k, head.v, head.o, vec![head.q_bias]].concat()).collect()
                    }
                };
                nonzeros += rows.iter().flatten().filter(|entry| !entry.is_zero()).count();
            }
            assert_eq!((size.layers, size.units, size.hidden), (Int::from(layers), Int::from(units), hidden));
            assert!(size.nonzeros >= Int::from(nonzeros), "{}: {nonzeros}", stage.name);
        }
        assert_eq!(built.network.size().attention_layers, Int::ONE);
        assert_eq!(built.network.size().blocks, Int::from(built.network.blocks().count()));
    }
}

/// The oscillation counts what a cell serves and no more: of a function of one slope it is that times `mh/K`, and it is met.
#[test]
fn the_bound_of_a_linear_function_is_its_slope_times_the_reach() {
    for triple in [(2, 1, 5), (3, 1, 4), (2, 2, 3)] {
        let (target, grid, built) = median(&expression("x"), triple, &options(Values::OneBlock, false));
        let (m, copies) = (triple.0 * triple.1, 2 * triple.0 * triple.1 + 1);
        let reach = Rat::new(m, copies) / Rat::from(triple.2);
        let bound = Rat::from_f64(built.budget.bound).expect("finite");
        assert!(bound >= reach && bound <= &reach + &Rat::new(1, 1_u64 << 40), "{triple:?}: {bound}");
        let reference = Reference { target: &target, grid };
        let mut worst = Rat::ZERO;
        for x in sequences(&reference, 2_000) {
            let output = reference.median(&x);
            for (found, wanted) in output.iter().flatten().zip(x.iter().flatten()) {
                worst = worst.max((found - wanted).abs());
            }
        }
        assert!(worst <= reach && Up::from(&worst).get() > 0.3 * built.budget.bound, "{triple:?}: {worst}");
    }
}

/// A table without a constant: the bound is about the table, jumps and all, and holds at and next to its own walls.
#[test]
fn tables_are_met_within_their_jumps() {
    let mut random = Random::new(5);
    for (triple, cells) in [((2, 1, 3), 3), ((2, 1, 4), 6), ((3, 1, 2), 2), ((2, 2, 2), 2)] {
        let grid = grid(triple);
        let source = Source::table("random", random.equivariant_table(&grid));
        let target = Arc::new(source.target(grid.dims()).expect("a target"));
        let shifts = Shifts::new(&grid, cells).expect("grids");
        let built = build(&shifts, &target, &options(Values::OneBlock, false), None, None).expect("a network");
        let bound = Rat::from_f64(built.budget.bound).expect("finite");
        let reference = Reference { target: &target, grid: shifts.whole.clone() };
        let mut inputs = sequences(&reference, 300);
        let near = Rat::new(1, 1 << 30);
        for point in grid.all_points() {
            // The corners of the table's cells, and next to them.
            let corner = |k: &u64| Rat::new(*k, triple.2) + near.clone();
            inputs.push(point.iter().map(|column| column.iter().map(corner).collect()).collect());
        }
        for x in &inputs {
            let (output, wanted) =
                (indexed::run(&built.network, x).expect("a run"), target.evaluate(x).expect("a value"));
            assert_eq!(output, reference.median(x));
            for (found, wanted) in output.iter().flatten().zip(wanted.iter().flatten()) {
                assert!((found - wanted).abs() <= bound, "{triple:?} at {x:?}");
            }
        }
    }
}

/// With a constant the bound is about every function that has it and the table's values: here about three of them.
#[test]
fn a_table_with_a_constant_stands_for_every_function_with_its_values() {
    for (text, constant) in [("max(x)", 1), ("abs(x - 1/3)", 1), ("x * mean(x)", 2)] {
        for (resolution, cells) in [(4, 4), (8, 8), (8, 24), (8, 5)] {
            let function = expression(text).target(1).expect("a target");
            let grid = grid((2, 1, resolution));
            let values = grid.all_points().map(|point| function.evaluate(&grid.centre(&point)).expect("a value"));
            let table = Table::new(grid.clone(), 1, values.collect()).expect("a table");
            let target = Arc::new(Source::table("sampled", table).target(1).expect("a target"));
            let shifts = Shifts::new(&grid, cells).expect("grids");
            let stated = Rat::from(constant);
            let built = build(&shifts, &target, &options(Values::OneBlock, false), None, Some(&stated));
            let built = built.expect("a network");
            assert!(built.budget.assumptions[0].contains("the table holds the values"));
            let bound = Rat::from_f64(built.budget.bound).expect("finite");
            let reference = Reference { target: &target, grid: shifts.whole.clone() };
            let mut worst = Rat::ZERO;
            for x in sequences(&reference, 1_500) {
                let (output, wanted) =
                    (indexed::run(&built.network, &x).expect("a run"), function.evaluate(&x).expect("a value"));
                for (found, wanted) in output.iter().flatten().zip(wanted.iter().flatten()) {
                    worst = worst.max((found - wanted).abs());
                }
            }
            assert!(worst <= bound, "{text} {resolution} {cells}: {worst} above {bound}");
            assert!(worst.clone() * Rat::from(8) >= bound, "{text} {resolution} {cells}: {worst} is far below {bound}");
        }
    }
}

fn asked(source: Source, options: &Asked) -> Result<Model> {
    let request = options.request(source)?;
    if request.is_left_to_plan() { compile_first(&request) } else { compile(&request) }
}

/// Where there is no circuit, the plan takes it; what is written is read back, and what is edited is known.
#[test]
fn the_plan_takes_it_where_there_is_no_circuit_and_folders_are_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let placed = "(if x < 1/2 then x else 1 - x) + i / 2";
    for (text, positional, precision) in
        [("if x < 1/2 then x else 1 - x", false, "f32"), (placed, true, "f64"), (placed, true, "exact")]
    {
        let options = Asked {
            tokens: Some(2),
            eps: Some("1/3".to_owned()),
            precision: Some(precision.to_owned()),
            ..Asked::default()
        };
        let model = asked(expression(text), &options).expect(text);
        assert_eq!((model.family(), model.precision(), model.is_positional()), ("median", precision, positional));
        let claim = model.claim().expect("a claim");
        assert!(claim.starts_with("every output is within") && claim.contains("[0, 1]^(1×2)"), "{claim}");
        let sup = model.built.supremum().expect("a bound").bound;
        assert!(sup <= 1.0 / 3.0);
        assert!(model.measured().expect("a search").is_none_or(|found| found.value > 0.0 && found.value <= sup));
        let dir = folder.path().join(format!("{text} {precision}").replace('/', "-"));
        artifact::write(&model, &dir).expect("a folder");
        let read = artifact::read(&dir).expect("the model");
        assert!(!read.is_edited() && read.claim() == model.claim() && read.float() == model.float());
        assert_eq!(read.summary().expect("a summary"), model.summary().expect("a summary"));
        let file = dir.join("model.json");
        let written = std::fs::read_to_string(&file).expect("model.json");
        let built: &Median = model.built.of().expect("a median");
        let cells = built.shifts.whole.resolution();
        let (right, wrong) = (format!("\"cells\": {cells},"), format!("\"cells\": {},", cells + 1));
        assert!(written.contains(&right), "{right}");
        std::fs::write(&file, written.replace(&right, &wrong)).expect("model.json");
        assert!(
            artifact::read(&dir).is_ok_and(|read| read.is_edited() && read.claim().is_none()) || precision == "exact"
        );
    }
}

/// A table in the supremum norm, with a constant and without; and what is refused says why.
#[test]
fn tables_have_a_claim_and_refusals_their_reason() {
    let grid = grid((2, 1, 8));
    let function = expression("max(x)").target(1).expect("a target");
    let values = || grid.all_points().map(|point| function.evaluate(&grid.centre(&point)).expect("a value")).collect();
    let table = || Source::table("sampled", Table::new(grid.clone(), 1, values()).expect("a table"));
    let sup = |eps: &str| Asked {
        norm: Some("sup".to_owned()),
        eps: Some(eps.to_owned()),
        precision: Some("f64".to_owned()),
        ..Asked::default()
    };
    let stated = asked(table(), &Asked { lipschitz: Some("1".to_owned()), ..sup("1/8") }).expect("a model");
    assert!(stated.claim().is_some_and(|claim| claim.contains("of the function that is meant")));
    let claimed = stated.stated().expect("a claim").expect("a claim");
    assert!(claimed.assumptions[0].contains("the table holds the values") && claimed.bound <= 0.125);
    // The table itself jumps by an eighth, at corners too.
    let itself = asked(table(), &sup("0.126")).expect("a model");
    assert!(itself.claim().is_some_and(|claim| claim.contains("of the target")));
    assert!(asked(table(), &sup("1/9")).is_err());
    let exact = Asked { norm: Some("sup".to_owned()), ..Asked::default() };
    assert_eq!(asked(table(), &exact).expect("a model").precision(), "exact");

    let named = |name: &str| Asked {
        construction: Some(name.to_owned()),
        tokens: Some(2),
        eps: Some("1/3".to_owned()),
        ..Asked::default()
    };
    let refused = |source: Source, options: &Asked| asked(source, options).expect_err("refused").to_string();
    let one_grid = refused(expression("max(x) - x"), &named("sum-code"));
    assert!(one_grid.contains("not in the supremum norm") && one_grid.contains("median"), "{one_grid}");
    let theorem2 = refused(expression("max(x) - x"), &named("yun"));
    assert!(theorem2.contains("it is 0 on cells with equal columns"), "{theorem2}");
    let ordered = refused(expression("sort(x)"), &named("median"));
    assert!(
        ordered.contains("not permutation-equivariant") && ordered.contains("median without positions"),
        "{ordered}"
    );
    let integers = refused(expression("max(x) on integers 0..4"), &named("median"));
    assert!(integers.contains("on integers a sum of codes is exact"), "{integers}");
    let one_token = refused(expression("x"), &Asked { tokens: Some(1), ..named("median") });
    assert!(one_token.contains("at least 2 tokens"), "{one_token}");
    let jump =
        refused(expression("if x < 1/2 then 0 else 1"), &Asked { eps: Some("1/4".to_owned()), ..named("median") });
    assert!(jump.contains("is not met"), "{jump}");
    let everywhere = refused(expression("x"), &Asked { domain: Some("all".to_owned()), ..named("median") });
    assert!(everywhere.contains("median is certified on its box only"), "{everywhere}");
}
