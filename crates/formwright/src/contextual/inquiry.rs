//! A question in the words of the command line, and its answer.

use serde::Deserialize;
use serde_json::{Value, json};

use super::linear::Failure;
use super::{Closest, Definition, Mixer, Set, closest, sums};
use crate::error::{Error, Result, nearest};
use crate::exact::Rat;
use crate::input::parse_json;
use crate::lattice::{Grid, Point};
use crate::network::Sequence;
use crate::show::{short, shown};

/// The default shape: tokens, coordinates and cells per side.
const SHAPE: (usize, usize, u64) = (3, 1, 4);

/// The most seeds of one question.
const MOST_SEEDS: usize = 10_000;

/// The most sequences of all seeds together.
const MOST_MAPPED: usize = 2_000_000;

/// The most knots of a continuous number.
const MOST_KNOTS: u64 = 100_000;

/// The most weights that a mixer draws.
const MOST_WEIGHTS: u128 = 1 << 20;

/// The options of `contextual` as they are written; every field has the name of its option.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inquiry {
    /// The mixer.
    pub mixer: String,
    /// `paper`, `permutation` or `columns`.
    pub definition: Option<String>,
    /// `grid`, `distinct`, `halfway` or `file:PATH`.
    pub set: Option<String>,
    /// The number of tokens.
    pub tokens: Option<usize>,
    /// The coordinates of a token.
    pub dims: Option<usize>,
    /// Cells per side.
    pub resolution: Option<u64>,
    /// True if a positional encoding is added.
    pub positional: bool,
    /// The number of seeds, from the mixer's own on.
    pub seeds: Option<usize>,
    /// The sequences themselves, `[sequences][tokens][coordinates]`, instead of `set`.
    pub sequences: Option<Value>,
}

/// Two tokens with their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The sequences.
    pub sequences: [Sequence; 2],
    /// The places of the tokens in them.
    pub tokens: [usize; 2],
    /// The numbers `q` of these tokens.
    pub values: [Rat; 2],
    /// The seed, if anything was drawn.
    pub seed: Option<u64>,
}

impl Pair {
    /// The distance of the numbers.
    pub fn distance(&self) -> Rat {
        (&self.values[0] - &self.values[1]).abs()
    }

    /// The relation of the tokens, in words.
    fn in_words(&self) -> &'static str {
        let [mut a, mut b] = self.sequences.clone();
        if a == b {
            return "two tokens of one sequence";
        }
        a.sort();
        b.sort();
        if a == b {
            "a sequence and a permutation of it"
        } else {
            "two sequences that are no permutations of each other"
        }
    }

    fn to_json(&self) -> Value {
        let token = |k: usize| json!({"sequence": self.sequences[k], "token": self.tokens[k], "value": self.values[k]});
        json!({"tokens": [token(0), token(1)], "seed": self.seed})
    }
}

/// The margins of several draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draws {
    /// The first seed.
    pub first: u64,
    /// The margin of each seed, in order, by the definition of the question.
    pub margins: Vec<Rat>,
}

impl Draws {
    /// The number of draws with a smaller margin.
    pub fn below(&self, margin: &Rat) -> usize {
        self.margins.iter().filter(|other| *other < margin).count()
    }

    /// The least, the middle and the largest margin.
    pub fn range(&self) -> [Rat; 3] {
        let mut sorted = self.margins.clone();
        sorted.sort();
        [0, sorted.len() / 2, sorted.len() - 1].map(|place| sorted[place].clone())
    }
}

/// The answer to a question.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The mixer.
    pub(crate) mixer: Mixer,
    /// True if positions are added.
    pub positional: bool,
    /// The set.
    pub(crate) set: Set,
    /// The definition of the question.
    pub definition: Definition,
    /// For every definition the closest two tokens that must differ, over all draws if there are several; `None` where
    /// no two must.
    pub found: [(Definition, Option<Pair>); 3],
    /// The draws, if the question has several.
    pub draws: Option<Draws>,
    /// The probability that a projection fails.
    pub failure: Option<Failure>,
}

impl Inquiry {
    /// Reads the options, as JSON.
    pub fn read(text: &str) -> Result<Self> {
        serde_json::from_value(parse_json(text, "the request")?)
            .map_err(|error| Error::input(format!("the options: {error}")))
    }

    /// Answers the question. Sets and patterns may be read from files.
    pub fn answer(&self) -> Result<Answer> {
        let mixer: Mixer = self.mixer.parse()?;
        let definition = self.definition.as_deref().map_or(Ok(Definition::Paper), str::parse)?;
        self.check(&mixer)?;
        let set = self.set(&mixer)?;
        let first = mixer.seed();
        check_weights(&mixer, set.grid.tokens())?;
        let seeds = self.seeds(&mixer, set.points.len())?;
        let mut found = Definition::ALL.map(|definition| (definition, None::<Pair>));
        let mut margins = Vec::new();
        for step in 0..seeds {
            let seed = first.map(|first| first.wrapping_add(step));
            let drawn = seed.map_or_else(|| mixer.clone(), |seed| mixer.with_seed(seed));
            let values = drawn.values(&set, self.resolution.unwrap_or(SHAPE.2), self.positional)?;
            for (asked, best) in &mut found {
                let Some(pair) = closest(*asked, &set.points, &values) else { continue };
                let pair = told(&set, &values, &pair, seed);
                if *asked == definition {
                    margins.push(pair.distance());
                }
                if best.as_ref().is_none_or(|best| pair.distance() < best.distance()) {
                    *best = Some(pair);
                }
            }
        }
        let draws = first.filter(|_| seeds > 1 && !margins.is_empty()).map(|first| Draws { first, margins });
        let failure = matches!(mixer, Mixer::BProj { .. }).then(|| Failure::of(&set, self.positional)).flatten();
        Ok(Answer { mixer, positional: self.positional, set, definition, found, draws, failure })
    }

    /// Refuses options that the mixer does not have.
    fn check(&self, mixer: &Mixer) -> Result<()> {
        match mixer {
            Mixer::Sumformer { .. } if self.positional => {
                Err(Error::input("a Sumformer has no positions: φ is the same for every token")
                    .note("try", "sum-code ⟨positional⟩, whose codes are not"))
            }
            Mixer::Sumformer { .. } => match (self.dims, self.resolution) {
                (Some(dims), _) if dims != 1 => Err(one_coordinate(dims)),
                (_, Some(knots)) if knots > MOST_KNOTS => Err(Error::declined(format!("φ would have {knots} knots"))
                    .note("limit", MOST_KNOTS.to_string())
                    .note("try", "a smaller ⟨resolution⟩, which is their number")),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The number of draws.
    fn seeds(&self, mixer: &Mixer, sequences: usize) -> Result<u64> {
        let seeds = self.seeds.unwrap_or(1);
        if seeds != 1 && mixer.seed().is_none() {
            return Err(Error::input(format!("⟨seeds={seeds}⟩, but nothing is drawn for {mixer}"))
                .note("drawn", "bproj, sepconv, sumformer, linformer:k:gaussian"));
        }
        if seeds == 0 || seeds > MOST_SEEDS {
            return Err(Error::input(format!("⟨seeds⟩ is {seeds}, expected 1 to {MOST_SEEDS}")));
        }
        if seeds.saturating_mul(sequences) > MOST_MAPPED {
            return Err(Error::declined(format!("{seeds} draws on {sequences} sequences each"))
                .note("limit", format!("{MOST_MAPPED} together"))
                .note("try", format!("⟨seeds={}⟩", MOST_MAPPED / sequences)));
        }
        Ok(seeds as u64)
    }

    /// The set.
    fn set(&self, mixer: &Mixer) -> Result<Set> {
        let drawn = if let Mixer::Sumformer { seed } = mixer { Some(*seed) } else { None };
        let named = self.set.as_deref().unwrap_or(if drawn.is_some() { "halfway" } else { "grid" });
        let listed = match (&self.sequences, named.strip_prefix("file:")) {
            (Some(sequences), _) => Some(Set::from_json(sequences, "that are given")?),
            (None, path) => path.map(Set::from_file).transpose()?,
        };
        if let Some(set) = listed {
            return self.fits(mixer, &set).map(|()| set);
        }
        let (tokens, dims, resolution) = SHAPE;
        let (tokens, dims) = (self.tokens.unwrap_or(tokens), self.dims.unwrap_or(dims));
        let grid = Grid::unit(tokens, dims, self.resolution.unwrap_or(resolution))?;
        match (named, drawn) {
            ("grid", _) => Set::of_grid(grid, false),
            ("distinct", _) => Set::of_grid(grid, true),
            ("halfway", Some(seed)) if self.seeds.is_none_or(|seeds| seeds == 1) => sums::halfway(&grid, seed),
            ("halfway", Some(_)) => {
                Err(Error::input("⟨seeds⟩ with ⟨set=halfway⟩, which is another set for every seed")
                    .note("try", "⟨set=grid⟩, or one seed after the other"))
            }
            ("halfway", None) => {
                Err(Error::input(format!("⟨set=halfway⟩ is for sumformer, not for {mixer}")).note("try", "⟨set=grid⟩"))
            }
            (other, _) => {
                let known = ["grid", "distinct", "halfway"];
                let error = Error::input(format!("'{other}' is no set of sequences"))
                    .note("known", "grid, distinct, file:PATH; halfway for sumformer");
                Err(error.note("try", format!("⟨set={}⟩", nearest(other, known).unwrap_or("grid"))))
            }
        }
    }

    /// Refuses options that contradict a list of sequences.
    fn fits(&self, mixer: &Mixer, set: &Set) -> Result<()> {
        let (tokens, dims) = (set.grid.tokens(), set.grid.dims());
        for (option, asked, found) in [("tokens", self.tokens, tokens), ("dims", self.dims, dims)] {
            if let Some(asked) = asked.filter(|asked| *asked != found) {
                return Err(Error::input(format!("⟨{option}⟩ is {asked}, and the sequences of the set have {found}"))
                    .note("try", format!("leave ⟨{option}⟩ out")));
            }
        }
        match mixer {
            Mixer::Sumformer { .. } if dims != 1 => Err(one_coordinate(dims)),
            Mixer::Sumformer { .. } => Ok(()),
            _ if self.resolution.is_some() => Err(Error::input("⟨resolution⟩, and the set has its own numbers")
                .note("reason", "the grid is the coarsest on which they are whole")
                .note("try", "leave ⟨resolution⟩ out")),
            _ => Ok(()),
        }
    }
}

/// Declines a mixer that would draw too many weights.
fn check_weights(mixer: &Mixer, tokens: usize) -> Result<()> {
    let Some(by) = mixer.weighted_sum() else { return Ok(()) };
    let weights = by.choice.size as u128 * tokens as u128;
    if weights <= MOST_WEIGHTS {
        return Ok(());
    }
    Err(Error::declined(format!("{mixer} would draw {weights} weights for {tokens} tokens"))
        .note("limit", MOST_WEIGHTS.to_string())
        .note(
            "try",
            format!("{}:{}:{}", by.kind(), MOST_WEIGHTS / tokens as u128, by.kind.variant().unwrap_or_default()),
        ))
}

fn one_coordinate(dims: usize) -> Error {
    Error::declined(format!("sumformer is here for tokens of one coordinate, and they have {dims}"))
        .note("try", "⟨dims=1⟩")
}

fn told(set: &Set, values: &[Vec<Rat>], pair: &Closest, seed: Option<u64>) -> Pair {
    let places = &pair.places;
    Pair {
        sequences: [0, 1].map(|k| set.sequence(places[k].0)),
        tokens: [0, 1].map(|k| places[k].1),
        values: [0, 1].map(|k| values[places[k].0][places[k].1].clone()),
        seed,
    }
}

impl Answer {
    /// The closest two tokens that must differ, by the definition of the question.
    pub fn closest(&self) -> Option<&Pair> {
        self.by(self.definition)
    }

    fn by(&self, definition: Definition) -> Option<&Pair> {
        self.found.iter().find(|(other, _)| *other == definition).and_then(|(_, pair)| pair.as_ref())
    }

    /// True if the mapping is contextual by a definition.
    pub fn holds(&self, definition: Definition) -> bool {
        self.by(definition).is_none_or(|pair| !pair.distance().is_zero())
    }

    /// Two tokens that share a number and must not, if there are any. They are those of the weakest definition that
    /// fails, which are the strongest evidence.
    pub fn counterexample(&self) -> Option<&Pair> {
        let failing = Definition::ALL.into_iter().rev().find(|definition| !self.holds(*definition))?;
        if self.holds(self.definition) { None } else { self.by(failing) }
    }

    /// `contextual` or `not-contextual`.
    pub fn verdict(&self) -> &'static str {
        if self.holds(self.definition) { "contextual" } else { "not-contextual" }
    }

    /// The strongest definition that holds.
    pub fn strongest(&self) -> Option<Definition> {
        Definition::ALL.into_iter().find(|definition| self.holds(*definition))
    }

    /// The verdict in a sentence, with its badge.
    pub fn in_words(&self) -> String {
        let (mixer, definition) = (&self.mixer, self.definition);
        let drawn = self.draws.as_ref().map_or_else(String::new, |draws| format!(" in {} draws", draws.margins.len()));
        let verdict = match (self.counterexample(), self.closest()) {
            (Some(pair), _) => format!("not contextual ({definition}): {} share a number{drawn}", pair.in_words()),
            (None, Some(pair)) => format!("contextual ({definition}), margin {}{drawn}", short(&pair.distance())),
            (None, None) => format!("contextual ({definition}): no two tokens must differ"),
        };
        format!("exact-on-grid: {mixer} is {verdict}")
    }

    /// Further remarks, a sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let (false, Some(weaker)) = (self.holds(self.definition), self.strongest()) {
            let why = match self.definition {
                _ if !self.mixer.is_equivariant(self.positional) => "",
                Definition::Paper => "; without positions, a sequence and its permutations share their numbers",
                _ => "; without positions, equal tokens of a sequence share a number",
            };
            remarks.push(format!("by the definition '{weaker}' it is contextual{why}"));
        }
        let zero = |point: &Point| point.iter().flatten().all(|cell| *cell == 0);
        match &self.mixer {
            Mixer::BProj { .. } if !self.positional && self.set.points.iter().any(zero) => {
                remarks.push(
                    "the sequence of zeros has q = 0 under every W_P: ⟨positional⟩, or ⟨set=distinct⟩, is without it"
                        .to_owned(),
                );
            }
            Mixer::Sumformer { .. } if self.holds(Definition::Columns) => {
                remarks.push(
                    "on these sequences; between them some t has 2φ(t) = φ(0) + φ(N-1): ⟨set=halfway⟩".to_owned(),
                );
            }
            Mixer::Attention { .. } if !self.positional && !self.holds(Definition::Columns) => remarks.push(
                "Lemma 6 is about sequences of distinct columns (⟨set=distinct⟩), where its stack is contextual up to \
                 permutations: equal columns without positions look alike to every head, however many are stacked, and \
                 ⟨positional⟩ makes all columns distinct"
                    .to_owned(),
            ),
            Mixer::FeedForward => remarks.push(
                "token-wise: two sequences that share a column at its place share its number, whatever the layers are"
                    .to_owned(),
            ),
            _ => {}
        }
        remarks
    }

    /// The mixer and the set, in words.
    pub fn subject(&self) -> String {
        let positions = if self.positional { ", with positions" } else { "" };
        format!("{}: {}{positions}\non {}", self.mixer, self.mixer.about(), self.set.words)
    }

    /// The output of `formwright contextual --json`.
    pub fn to_json(&self) -> Value {
        let row = |(definition, pair): &(Definition, Option<Pair>)| json!({"definition": definition.name(), "contextual": self.holds(*definition), "margin": pair.as_ref().map(Pair::distance)});
        let grid = &self.set.grid;
        let mut document = json!({
            "mixer": self.mixer.to_string(),
            "positional": self.positional,
            "verdict": self.verdict(),
            "badge": "exact-on-grid",
            "definition": self.definition.name(),
            "sequences": self.set.points.len().to_string(),
            "set": self.set.words,
            "tokens": grid.tokens(),
            "dims": grid.dims(),
            "definitions": self.found.iter().map(row).collect::<Vec<_>>(),
            "remarks": self.remarks(),
        });
        match (self.counterexample(), self.closest()) {
            (Some(pair), _) => document["counterexample"] = pair.to_json(),
            (None, pair) => {
                document["margin"] = json!(pair.map(Pair::distance));
                document["margin_rounded"] = json!(pair.map(|pair| pair.distance().to_f64()));
                document["closest"] = json!(pair.map(Pair::to_json));
            }
        }
        if let Some(draws) = &self.draws {
            document["draws"] = json!({"first_seed": draws.first, "margins": draws.margins});
        }
        if let Some(failure) = &self.failure {
            let row = |kappa: &Rat| json!({"probability": kappa, "margin": failure.margin(kappa)});
            document["failure"] = json!(Failure::PROBABILITIES.map(|[a, b]| row(&Rat::new(a, b))));
        }
        document
    }

    /// The two tokens of a pair, `sequence, place, number` each.
    pub fn shown(pair: &Pair) -> [(Vec<Vec<String>>, usize, String); 2] {
        [0, 1].map(|k| (shown(&pair.sequences[k]), pair.tokens[k], short(&pair.values[k])))
    }
}
