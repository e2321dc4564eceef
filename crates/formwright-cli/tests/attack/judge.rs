//! Decides whether a claim is true: the compiler reads the weights and the target, and its evaluators run both. Nothing
//! is shared with the checker.

use formwright::artifact::tensors::Skeleton;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::network::{FloatNetwork, Run};
use formwright::target::{Source, Target};
use serde_json::{Value, json};

use super::artifacts::Artifact;
use super::shuffled::{Shuffle, trace};
use super::{Random, syntax};

/// The claim of three files, as the compiler understands them.
pub struct Subject {
    network: FloatNetwork,
    engine: Engine,
    target: Target,
    domain: Domain,
    lengths: (usize, usize),
    bound: Rat,
}

enum Domain {
    /// The integers from one to before the other; and what is claimed where tokens are equal, if that is something of its own.
    Integers(i64, i64, Option<Rat>),
    /// A box, and `p`.
    Box(f64, f64, i32),
    /// Every point of a box.
    Everywhere(f64, f64),
}

/// The verdict on a claim.
#[derive(Clone, Debug)]
pub enum Truth {
    /// No execution that was tried contradicts it.
    Holds,
    /// This does.
    Fails(String),
    /// The compiler does not read the files.
    Unread(String),
}

/// A sequence, or a cell, at which a claim is not met, and by how much an entry is off; infinite where there is no value.
pub struct Wrong {
    pub sequence: Vec<Vec<i64>>,
    pub off: f64,
}

/// How many orders of the sums are tried besides the engine's own.
const ORDERS: u64 = 2;

/// Filters compare whole places, so that `j <= i + c` is `j <= i + floor(c)`, and `j < i + c` is `j < i + ceil(c)`; the compiler's reader takes
/// whole numbers alone, behind the index.
fn whole_filters(node: &mut Value, inside: bool) {
    if let Some([_, of, filter]) = node.get_mut("aggregate").and_then(Value::as_array_mut).map(Vec::as_mut_slice) {
        whole_filters(of, false);
        return whole_filters(filter, true);
    }
    if let Some([op, a, b]) = node.get_mut("compare").and_then(Value::as_array_mut).map(Vec::as_mut_slice) {
        let down = ["less-equal", "greater"].contains(&op.as_str().unwrap_or_default());
        let up = ["less", "greater-equal"].contains(&op.as_str().unwrap_or_default());
        if inside && (down || up) {
            match (a == "running", b == "running") {
                (true, false) => round(b, up),
                (false, true) => round(a, down),
                _ => {}
            }
        }
    }
    match node {
        Value::Array(parts) => parts.iter_mut().for_each(|part| whole_filters(part, inside)),
        Value::Object(parts) => parts.values_mut().for_each(|part| whole_filters(part, inside)),
        _ => {}
    }
}

/// A number, or a sum or a difference of such.
fn number(node: &Value) -> Option<Rat> {
    if let Some([op, a, b]) = node.get("binary").and_then(Value::as_array).map(Vec::as_slice) {
        let (a, b) = (number(a)?, number(b)?);
        return match op.as_str()? {
            "add" => Some(a + b),
            "sub" => Some(a - b),
            _ => None,
        };
    }
    node.get("number")?.as_str()?.parse().ok()
}

/// Rounds the number in `c`, `i + c` or `i - c`, so that all of it is rounded up or down.
fn round(node: &mut Value, up: bool) {
    if let Some(number) = number(node) {
        let whole = if up { -(-number).floor() } else { number.floor() };
        *node = json!({"number": whole.to_string()});
    } else if let Some([op, a, b]) = node.get_mut("binary").and_then(Value::as_array_mut).map(Vec::as_mut_slice) {
        match (op.as_str(), a == "index", b == "index") {
            (Some("add"), true, _) => round(b, up),
            (Some("add"), _, true) => {
                round(a, up);
                std::mem::swap(a, b);
            }
            (Some("sub"), true, _) => round(b, !up),
            _ => {}
        }
    }
}

fn say(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Subject {
    pub fn read(artifact: &Artifact) -> Result<Self, String> {
        let text = std::str::from_utf8(&artifact.certificate).map_err(say)?;
        let words = |first: &str| -> Result<Vec<&str>, String> {
            let line = text.lines().find_map(|line| line.strip_prefix(first)?.strip_prefix(' '));
            Ok(line.ok_or_else(|| format!("no line of {first}"))?.split(' ').collect())
        };
        let count = |word: &str| word.parse::<usize>().map_err(say);
        let tokens = words("tokens")?.into_iter().map(count).collect::<Result<Vec<_>, _>>()?;
        let &[least, most] = tokens.as_slice() else { return Err("no two numbers of tokens".into()) };
        let dims = count(words("dims")?[0])?;
        let side = |name: &str| Ok::<Value, String>(json!(count(words(name)?[0])?));
        let coordinate = |k: usize| json!({"name": k.to_string(), "meaning": ""});
        let skeleton = json!({
            "precision": words("execution")?[1],
            "tokens": most,
            "lengths": (least != most).then_some([least, most]),
            "dims": dims,
            "output_dims": side("output-dims")?,
            "positions": words("positions")? != ["0"],
            "coordinates": (0..count(words("width")?[0])?).map(coordinate).collect::<Vec<_>>(),
            "stages": runs(text, most)?.iter().enumerate().flat_map(|(k, _)| stages(k)).collect::<Vec<_>>(),
            "runs": runs(text, most)?,
        });
        let skeleton: Skeleton = serde_json::from_value(skeleton).map_err(say)?;
        let network = skeleton.read(&artifact.weights, "the weights").map_err(say)?;
        let engine = Engine::new(&network).and_then(|engine| engine.with_threads(1)).map_err(say)?;
        let mut file: Value = serde_json::from_slice(&artifact.target).map_err(say)?;
        whole_filters(&mut file, false);
        let source = source(file)?;
        let target = source.target(dims).map_err(say)?;
        let rational = |word: &str| word.parse::<Rat>().map_err(say);
        let (over, norm) = (words("over")?, words("norm")?);
        let domain = match (over.as_slice(), norm.as_slice(), syntax::integers(&source.to_json())) {
            (["integers"], ["sup"], Some((from, to))) => Domain::Integers(from, to, None),
            (["distinct-integers", other], ["sup"], Some((from, to))) => {
                Domain::Integers(from, to, Some(rational(other)?))
            }
            (["box"], ["lp", p], None) => {
                let (low, high) = source.cube();
                Domain::Box(low.to_f64(), high.to_f64(), p.parse().map_err(say)?)
            }
            (["box"], ["sup"], None) => {
                let (low, high) = source.cube();
                Domain::Everywhere(low.to_f64(), high.to_f64())
            }
            _ => return Err(format!("a claim over {over:?} in {norm:?}")),
        };
        let bound = rational(words("bound")?[0])?;
        Ok(Self { network, engine, target, domain, lengths: (least, most), bound })
    }

    /// The outputs of the network in the engine and in so many other orders.
    fn executions(&self, batch: &[Vec<Vec<f64>>], orders: u64) -> Result<Vec<Vec<Vec<Vec<f64>>>>, String> {
        let mut all = vec![self.engine.run(batch).map_err(say)?];
        for seed in 1..=orders {
            let mut shuffle = Shuffle::new(seed);
            let last = |x: &Vec<Vec<f64>>| trace(&self.network, x, &mut shuffle).pop().map(|(_, output)| output);
            all.push(batch.iter().map(last).collect::<Option<_>>().ok_or("no output")?);
        }
        Ok(all)
    }

    /// Every sequence of integers at which the claim is not met. Of a claim about a box: every cell, of so many a side, whose middle is so far off that
    /// the claim is not met if the whole cell is. In the engine and in so many other orders.
    pub fn wrong(&self, cells: usize, orders: u64) -> Result<Vec<Wrong>, String> {
        match &self.domain {
            Domain::Integers(from, to, otherwise) => self.wrong_points((*from, *to), otherwise.as_ref(), orders),
            Domain::Box(low, high, p) => self.wrong_cells((*low, *high, *p), cells),
            Domain::Everywhere(..) => Err("a claim at every point has no cells".to_owned()),
        }
    }

    /// How far outputs are from the target at some sequences, in the engine and in so many other orders; infinite where there is no value.
    pub fn off(&self, batch: &[Vec<Vec<f64>>], orders: u64) -> Result<Vec<f64>, String> {
        // The other evaluator is one of softmax.
        let orders = if self.network.runs.iter().all(is_softmax) { orders } else { 0 };
        let executions = self.executions(batch, orders)?;
        let bound = self.bound.to_f64();
        let one = |(place, x): (usize, &Vec<Vec<f64>>)| {
            let Ok(wanted) = self.target.evaluate_f64(x) else { return f64::INFINITY };
            let entries = || executions.iter().flat_map(|y| y[place].concat().into_iter().zip(&wanted));
            let off = entries().fold(0.0, |most, (y, f)| if (y - f).abs() <= most { most } else { (y - f).abs() });
            if off <= bound { off } else { self.certainly_off(x, executions.iter().map(|y| &y[place])) }
        };
        Ok(batch.iter().enumerate().map(one).collect())
    }

    /// The same without doubles.
    fn certainly_off<'y>(&self, x: &[Vec<f64>], outputs: impl Iterator<Item = &'y Vec<Vec<f64>>>) -> f64 {
        let exact = |x: &Vec<f64>| x.iter().map(|x| Rat::from_f64(*x)).collect::<Option<Vec<_>>>();
        let exact: Option<Vec<_>> = x.iter().map(exact).collect();
        let Some(wanted) = exact.and_then(|x| self.target.evaluate_near(&x).ok()) else { return f64::INFINITY };
        let wanted = wanted.concat();
        let off = |y: f64, f: &Rat| Rat::from_f64(y).map_or(f64::INFINITY, |y| (y - f.clone()).abs().to_f64());
        outputs.flat_map(|y| y.concat().into_iter().zip(&wanted)).map(|(y, f)| off(y, f)).fold(0.0, f64::max)
    }

    /// The numbers of tokens at which a claim for every point is tried.
    pub fn lengths(&self) -> Vec<usize> {
        let (least, most) = self.lengths;
        let mut lengths: Vec<usize> =
            [least, 2, 3, 7, 33, most.min(33)].into_iter().filter(|n| least <= *n && *n <= most).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// Sequences of so many tokens: corners, nearly equal tokens, and random ones.
    pub fn scattered(&self, tokens: usize, count: usize, random: &mut Random) -> Vec<Vec<Vec<f64>>> {
        let dims = self.network.dims();
        let (low, high, whole) = match self.domain {
            Domain::Box(low, high, _) | Domain::Everywhere(low, high) => (low, high, false),
            Domain::Integers(from, to, _) => (real(from), real(to - 1), true),
        };
        let at = |share: f64| if whole { (low + (high - low) * share).round() } else { low + (high - low) * share };
        let mut all = Vec::new();
        for k in 0..count {
            let (kind, odd, share) = (k % 6, random.below(tokens * dims), real(random.below(1 << 20)) / real(1 << 20));
            let mut entry = |place: usize| match kind {
                0 => at(real(k / 6 % 2)),
                1 => at(if place == odd { real(k / 6 % 2) } else { real(1 - k / 6 % 2) }),
                2 => at(real(random.below(2))),
                3 => at(if place == odd { real(random.below(1 << 20)) / real(1 << 20) } else { share }),
                _ => at(real(random.below((1 << 20) + 1)) / real(1 << 20)),
            };
            let flat: Vec<f64> = (0..tokens * dims).map(&mut entry).collect();
            all.push(flat.chunks(dims).map(<[f64]>::to_vec).collect());
        }
        all
    }

    /// Searches for a point at which the claim is not met: at corners, at random, and from the worst of them upwards.
    fn anywhere(&self) -> Result<Truth, String> {
        let (bound, mut random) = (self.bound.to_f64(), Random::new(1));
        for tokens in self.lengths() {
            let mut batch = self.scattered(tokens, if tokens < 33 { 120 } else { 24 }, &mut random);
            let mut off = self.off(&batch, ORDERS)?;
            for step in 1..8 {
                let worst = (0..batch.len()).max_by(|a, b| off[*a].total_cmp(&off[*b])).ok_or("no points")?;
                if off[worst] > bound {
                    return Ok(Truth::Fails(format!("at {:?} it is off by {:e}", batch[worst], off[worst])));
                }
                let Domain::Everywhere(low, high) = self.domain else { break };
                let reach = (high - low) / f64::from(1 << step);
                let moved = |random: &mut Random, x: &Vec<Vec<f64>>| -> Vec<Vec<f64>> {
                    let mut entry = |x: &f64| {
                        let way = real(random.below(3)) - 1.0;
                        (x + way * reach).clamp(low, high)
                    };
                    x.iter().map(|token| token.iter().map(&mut entry).collect()).collect()
                };
                batch = (0..24).map(|_| moved(&mut random, &batch[worst])).chain([batch[worst].clone()]).collect();
                off = self.off(&batch, ORDERS)?;
            }
        }
        Ok(Truth::Holds)
    }

    /// The tokens before the feed-forward layer of a run, and its network.
    pub fn before(&self, run: usize, x: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
        let states = trace(&self.network, x, &mut Shuffle::new(0));
        let behind = states.iter().position(|(name, _)| *name == forward(run))?;
        states.get(behind.checked_sub(1)?).map(|(_, state)| state.clone())
    }

    /// The claimed bound.
    pub fn bound(&self) -> f64 {
        self.bound.to_f64()
    }

    fn wrong_points(&self, (from, to): (i64, i64), otherwise: Option<&Rat>, orders: u64) -> Result<Vec<Wrong>, String> {
        let mut wrong = Vec::new();
        for tokens in self.lengths.0..=self.lengths.1 {
            let sequences = self.sequences(&(from..to).collect::<Vec<_>>(), tokens);
            let inputs = |x: &Vec<Vec<i64>>| x.iter().map(|token| token.iter().map(|k| real(*k)).collect()).collect();
            let executions = self.executions(&sequences.iter().map(inputs).collect::<Vec<_>>(), orders)?;
            for (place, sequence) in sequences.into_iter().enumerate() {
                let exact: Vec<Vec<Rat>> =
                    sequence.iter().map(|token| token.iter().map(|k| Rat::from(*k)).collect()).collect();
                let equal = (1..tokens).any(|t| sequence[..t].contains(&sequence[t]));
                let wanted = match otherwise {
                    Some(other) if equal => Ok(vec![vec![other.clone(); self.network.output_dims()]; tokens]),
                    _ => self.target.evaluate_near(&exact),
                };
                let off = wanted.ok().and_then(|wanted| {
                    let entries = executions.iter().flat_map(|y| y[place].concat().into_iter().zip(wanted.concat()));
                    let off = entries.map(|(y, f)| Some((Rat::from_f64(y)? - f).abs())).collect::<Option<Vec<_>>>()?;
                    off.into_iter().reduce(Rat::max)
                });
                if off.as_ref().is_none_or(|off| *off > self.bound) {
                    wrong.push(Wrong { sequence, off: off.map_or(f64::INFINITY, |off| off.to_f64()) });
                }
            }
        }
        Ok(wrong)
    }

    fn wrong_cells(&self, (low, high, p): (f64, f64, i32), cells: usize) -> Result<Vec<Wrong>, String> {
        let tokens = self.lengths.0;
        let side = (high - low) / real(cells);
        let volume = side.powi(i32::try_from(tokens * self.network.dims()).map_err(say)?);
        let all = self.sequences(&(0..i64::try_from(cells).map_err(say)?).collect::<Vec<_>>(), tokens);
        let middle = |k: &i64| low + (real(*k) + 0.5) * side;
        let middles: Vec<Vec<Vec<f64>>> =
            all.iter().map(|cell| cell.iter().map(|token| token.iter().map(middle).collect()).collect()).collect();
        let outputs = self.engine.run(&middles).map_err(say)?;
        let mut wrong = Vec::new();
        for ((sequence, x), y) in all.into_iter().zip(&middles).zip(&outputs) {
            let wanted = self.target.evaluate_f64(x).map_err(say)?;
            let off = y.concat().iter().zip(&wanted).map(|(y, f)| (y - f).abs()).fold(0.0, f64::max);
            if off * volume.powf(1.0 / f64::from(p)) > self.bound.to_f64() {
                wrong.push(Wrong { sequence, off });
            }
        }
        Ok(wrong)
    }

    /// All sequences with entries of these.
    fn sequences(&self, values: &[i64], tokens: usize) -> Vec<Vec<Vec<i64>>> {
        let dims = self.network.dims();
        let split = |flat: Vec<i64>| flat.chunks(dims).map(<[i64]>::to_vec).collect();
        tuples(values, tokens * dims).into_iter().map(split).collect()
    }

    /// `(∫ Σ |y - f|^p)^{1/p}`, by the middles of `cells` cells a side and by as many random points; the larger of the two estimates.
    fn estimate(&self, (low, high, p): (f64, f64, i32), cells: usize) -> Result<f64, String> {
        let (tokens, dims) = (self.lengths.0, self.network.dims());
        let side = (high - low) / real(cells);
        let middles: Vec<f64> = (0..cells).map(|k| low + (real(k) + 0.5) * side).collect();
        let mut random = Random::new(1);
        let mut anywhere = || low + (high - low) * real(random.below(1 << 30)) / real(1 << 30);
        let middles = tuples(&middles, tokens * dims);
        let scattered: Vec<Vec<f64>> = middles.iter().map(|x| x.iter().map(|_| anywhere()).collect()).collect();
        let volume = (high - low).powi(i32::try_from(tokens * dims).map_err(say)?);
        let mut largest: f64 = 0.0;
        for points in [middles, scattered] {
            let batch: Vec<Vec<Vec<f64>>> =
                points.iter().map(|flat| flat.chunks(dims).map(<[f64]>::to_vec).collect()).collect();
            let wanted =
                batch.iter().map(|x| self.target.evaluate_f64(x).map_err(say)).collect::<Result<Vec<_>, _>>()?;
            for outputs in self.executions(&batch, ORDERS)? {
                let off = |(y, f): (f64, &f64)| (y - f).abs().powi(p);
                let powers = outputs.iter().zip(&wanted).flat_map(|(y, f)| y.concat().into_iter().zip(f).map(off));
                let mean = powers.sum::<f64>() / real(points.len());
                largest = largest.max(if mean.is_finite() { mean } else { f64::INFINITY });
            }
        }
        Ok((largest * volume).powf(1.0 / f64::from(p)))
    }

    /// The estimate over a box that is first cut as finely as `cells` cells a side make it worth; finer if that contradicts the claim.
    fn integral(&self, domain: (f64, f64, i32), cells: usize) -> Result<Truth, String> {
        if self.lengths.0 != self.lengths.1 {
            return Err("a box for several numbers of tokens".into());
        }
        let bound = self.bound.to_f64();
        let mut measured = f64::INFINITY;
        for finer in [3, 9, 27] {
            measured = self.estimate(domain, finer * cells)?;
            if measured <= bound {
                return Ok(Truth::Holds);
            }
        }
        Ok(Truth::Fails(format!("the error is about {measured:e}, claimed at most {bound:e}")))
    }

    /// True if an estimate over the box contradicts the claim; a claim about points is not asked.
    pub fn exceeds(&self, cells: usize) -> bool {
        let Domain::Box(low, high, p) = self.domain else { return true };
        self.estimate((low, high, p), 3 * cells).is_ok_and(|measured| measured > self.bound.to_f64())
    }

    /// True if there are too many sequences of integers to look at each.
    fn are_many(&self, values: i64) -> bool {
        let entries = i32::try_from(self.lengths.1 * self.network.dims()).unwrap_or(i32::MAX);
        real(values).powi(entries) > 4096.0
    }

    /// The evaluators' judgment of the claim.
    pub fn truth(&self, cells: usize) -> Truth {
        let judged = match self.domain {
            Domain::Box(low, high, p) => self.integral((low, high, p), cells),
            Domain::Everywhere(..) => self.anywhere(),
            Domain::Integers(from, to, None) if self.are_many(to - from) => self.anywhere(),
            Domain::Integers(..) => self.wrong(cells, ORDERS).map(|wrong| match wrong.first() {
                None => Truth::Holds,
                Some(Wrong { sequence, off }) => Truth::Fails(format!("at {sequence:?} it is off by {off:e}")),
            }),
        };
        judged.unwrap_or_else(Truth::Unread)
    }
}

/// Decides whether the claim of these files is true; boxes are looked at in cells of so many a side, and finer.
pub fn judge(artifact: &Artifact, cells: usize) -> Truth {
    match Subject::read(artifact) {
        Ok(subject) => subject.truth(cells),
        Err(why) => Truth::Unread(why),
    }
}

/// A small whole number.
fn real(k: impl TryInto<i32>) -> f64 {
    k.try_into().map(f64::from).ok().expect("a small number")
}

/// All tuples of these values, the first entry most significant.
fn tuples<T: Clone>(values: &[T], length: usize) -> Vec<Vec<T>> {
    (0..length).fold(vec![Vec::new()], |shorter, _| {
        shorter
            .iter()
            .flat_map(|start| values.iter().map(|v| [start.as_slice(), std::slice::from_ref(v)].concat()))
            .collect()
    })
}

/// The stages of a run: its attention, and its feed-forward layer.
fn stages(run: usize) -> [Value; 2] {
    [format!("attention {run}"), forward(run)].map(|name| json!({"name": name, "statement": "", "meaning": ""}))
}

fn forward(run: usize) -> String {
    format!("feed-forward {run}")
}

fn is_softmax(run: &Run) -> bool {
    run.attention.as_ref().is_none_or(|part| part.kind.name() == "softmax")
}

/// The function of a file, with the text that its syntax has: a file's own text is for people.
fn source(mut file: Value) -> Result<Source, String> {
    if file["kind"] == "table" {
        file["symmetry"] = json!("none");
    } else {
        file["text"] = syntax::text(&file["ast"]).ok_or("a target that the language has no words for")?.into();
    }
    Source::from_json("target", &file).map_err(say)
}

/// The runs of a certificate, as a skeleton has them.
fn runs(text: &str, tokens: usize) -> Result<Vec<Value>, String> {
    let mut runs: Vec<Value> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<i64>().map_err(say);
        match words.as_slice() {
            ["run", blocks, parts @ ..] => {
                let mut run = json!({"blocks": number(blocks)?});
                let stage = 2 * runs.len();
                if let ["attention", kind, heads, head_size, value_size, size, ..] = parts {
                    let [heads, head_size, value_size] = [number(heads)?, number(head_size)?, number(value_size)?];
                    run["attention"] = json!(
                        {"stage": stage, "heads": heads, "head_size": head_size, "value_size": value_size, "masks": []}
                    );
                    match *kind {
                        "softmax" => {}
                        "average" => run["attention"]["kind"] = json!(kind),
                        _ => run["attention"]["kind"] = json!({*kind: {"size": number(size)?}}),
                    }
                }
                if let [.., "ff", hidden] = parts {
                    run["feed_forward"] = json!({"stage": stage + 1, "hidden": number(hidden)?});
                }
                runs.push(run);
            }
            ["mask", low, high, from, to, first] => {
                let limit = |word: &str| if word == "*" { Ok(Value::Null) } else { number(word).map(Value::from) };
                let mask = json!({
                    "relative": [limit(low)?, limit(high)?],
                    "absolute": [limit(from)?, limit(to)?],
                    "first": *first == "yes",
                });
                let masks = runs.last_mut().and_then(|run| run["attention"]["masks"].as_array_mut());
                masks.ok_or("a mask of no run")?.push(mask);
            }
            ["connections", _] => {
                let run = runs.last_mut().ok_or("connections of no run")?;
                run["attention"]["connections"] = json!([]);
            }
            ["sees", keys @ ..] => {
                let keys = keys.iter().map(|key| number(key)).collect::<Result<Vec<_>, _>>()?;
                let cycle = runs.last_mut().and_then(|run| run["attention"]["connections"].as_array_mut());
                let cycle = cycle.ok_or("connections of no run")?;
                match cycle.last_mut().and_then(Value::as_array_mut) {
                    Some(layer) if layer.len() < tokens => layer.push(json!(keys)),
                    _ => cycle.push(json!([keys])),
                }
            }
            _ => {}
        }
    }
    Ok(runs)
}
