//! Shortcuts for claims over integers. They only ever show that a sequence needs no examination of its own: what a
//! shortcut does not show, [`prove`](crate::prove) examines plainly, and only that can reject.
//!
//! - *Alike*: where order does not matter, keys and values are read once for every token of the alphabet, tokens that
//!   agree in everything that is still read or written are followed once, and the target's aggregates and sorted lists
//!   are made once a sequence.
//! - *Boxes*: otherwise, an output is looked at with some tokens unknown: their streams are the hull of all tokens'.
//!   What holds then holds for every sequence that agrees on the known tokens. Which tokens stay unknown longest is
//!   guessed by trying; a wrong guess costs time.

use std::collections::{BTreeSet, HashMap};

use crate::kernel::number::Range;
use crate::kernel::sum::{Row, Value};
use crate::prove::is_close;
use crate::read::certificate::Rational;
use crate::read::target::{Number, Target};
use crate::read::weights::{Layer, Network};
use crate::rules::points::{Program, Read};

/// Streams before the first attention: by token of the alphabet and place.
pub type Starts = [Vec<Vec<Value>>];

/// Facts that are the same for all sequences.
pub struct Common<'n> {
    pub program: &'n Program<'n>,
    pub target: &'n Target,
    pub bound: &'n Rational,
    /// The inputs of every token of the alphabet.
    pub alphabet: &'n [Vec<Range>],
    pub starts: &'n Starts,
    /// The first layer with attention.
    pub first: usize,
}

impl<'n> Common<'n> {
    fn network(&self) -> &'n Network {
        self.program.network
    }

    fn end(&self) -> usize {
        self.network().layers.len()
    }

    /// The stream of a token at a place. Without positions all places are one.
    fn start(&self, symbol: usize, place: usize) -> Option<&'n Vec<Value>> {
        let places = self.starts.get(symbol)?;
        places.get(place).or(places.first())
    }

    fn read(&self, z: &[Value]) -> Option<Read> {
        self.program.read(self.first, z).ok()
    }

    fn has_attention(&self) -> bool {
        self.first < self.end()
    }

    /// True if outputs are as close to the target as claimed.
    fn are_close(&self, got: &[Range], wanted: &[Number]) -> bool {
        got.len() == wanted.len() && got.iter().zip(wanted).all(|(got, wanted)| is_close(got, wanted, self.bound))
    }
}

/// The coordinates of a token that are read or written from a layer on, other than by keys and values of that layer.
fn live(network: &Network, from: usize) -> BTreeSet<usize> {
    let mut live = BTreeSet::new();
    let mut reads = |rows: &[Row]| live.extend(rows.iter().flat_map(|row| &row.weights).map(|(place, _)| *place));
    let mut writes = BTreeSet::new();
    reads(&network.read_out);
    for (at, layer) in network.layers.iter().enumerate().skip(from) {
        let written = |rows: &[Row]| -> Vec<usize> {
            rows.iter().enumerate().filter(|(_, row)| !row.is_zero()).map(|(place, _)| place).collect()
        };
        match layer {
            Layer::Attention(heads) => {
                for head in heads {
                    reads(&head.q);
                    writes.extend(written(&head.o));
                    if at > from {
                        reads(&head.k);
                        reads(&head.v);
                    }
                }
            }
            Layer::Mixers(mixers) => {
                for head in mixers.iter().map(|mixer| &mixer.head) {
                    reads(&head.q);
                    reads(&head.k);
                    reads(&head.v);
                    writes.extend(written(&head.o));
                }
            }
            Layer::FeedForward { units, gains } => {
                reads(units);
                writes.extend(written(gains));
            }
        }
    }
    live.append(&mut writes);
    live
}

/// *Alike*.
pub struct Alike<'n> {
    common: &'n Common<'n>,
    reads: Vec<Option<Read>>,
    /// For each token of the alphabet and place, the stream that stands for it.
    stands: Vec<Vec<usize>>,
    streams: Vec<&'n Vec<Value>>,
    /// True if the target depends on the token itself; `by_place`, if anything depends on its place.
    own: bool,
    by_place: bool,
}

impl<'n> Alike<'n> {
    pub fn new(common: &'n Common<'n>) -> Self {
        let live = live(common.network(), common.first);
        let (mut streams, mut known) = (Vec::new(), HashMap::new());
        let mut stand = |stream: &'n Vec<Value>| {
            let seen: Vec<&Value> = live.iter().filter_map(|place| stream.get(*place)).collect();
            *known.entry(seen).or_insert_with(|| {
                streams.push(stream);
                streams.len().saturating_sub(1)
            })
        };
        let stands = common.starts.iter().map(|places| places.iter().map(&mut stand).collect()).collect();
        let read = |places: &Vec<Vec<Value>>| common.read(places.first()?);
        let reads = if common.has_attention() { common.starts.iter().map(read).collect() } else { Vec::new() };
        let [own, placed] = common.target.sees();
        let by_place = placed || common.network().positions.len() > 1;
        Self { common, reads, stands, streams, own, by_place }
    }

    /// The most streams that are followed for a sequence.
    pub fn followed(&self) -> usize {
        self.streams.len()
    }

    /// True if a sequence, given sorted, and all its orders have outputs as close to what is wanted as claimed:
    /// a number everywhere, or the target.
    pub fn shows(&self, class: &[usize], otherwise: Option<&Number>) -> bool {
        self.try_shows(class, otherwise).unwrap_or(false)
    }

    fn try_shows(&self, class: &[usize], otherwise: Option<&Number>) -> Option<bool> {
        let common = self.common;
        let stand = |symbol: usize, place: usize| {
            let places = self.stands.get(symbol)?;
            places.get(place).or(places.first()).copied()
        };
        // Streams with the output that is wanted of them: the token's place in the class, and its place in the order.
        let (mut wanted, mut followed) = (BTreeSet::new(), BTreeSet::new());
        for (at, symbol) in class.iter().enumerate() {
            if at > 0 && class.get(at.saturating_sub(1)) == Some(symbol) {
                continue;
            }
            followed.insert(stand(*symbol, 0)?);
            for place in 0..if self.by_place { class.len() } else { 1 } {
                let stream = stand(*symbol, place)?;
                followed.insert(stream);
                wanted.insert((place, if self.own { at } else { 0 }, stream));
            }
        }
        let followed: Vec<usize> = followed.into_iter().collect();
        let outputs = self.outputs(class, &followed, &stand)?;
        let inputs: Vec<Vec<Number>> =
            class.iter().map(|symbol| Some(exactly(common.alphabet.get(*symbol)?))).collect::<Option<_>>()?;
        let target = common.target.on(&inputs).ok()?;
        let (mut last, mut value) = (None, Vec::new());
        for (place, at, stream) in wanted {
            if last != Some((place, at)) {
                value = match otherwise {
                    Some(number) => vec![number.clone(); common.target.output_dims],
                    None => target.output(at, place).ok()?,
                };
                last = Some((place, at));
            }
            if !common.are_close(outputs.get(followed.binary_search(&stream).ok()?)?, &value) {
                return None;
            }
        }
        Some(true)
    }

    /// The outputs of streams among the tokens of a class.
    fn outputs(
        &self,
        class: &[usize],
        followed: &[usize],
        stand: &impl Fn(usize, usize) -> Option<usize>,
    ) -> Option<Vec<Vec<Range>>> {
        let (common, program) = (self.common, self.common.program);
        let streams = followed.iter().map(|stream| self.streams.get(*stream).map(|stream| (*stream).clone()));
        let mut tokens = streams.collect::<Option<Vec<_>>>()?;
        if common.has_attention() {
            let reads = class.iter().map(|symbol| Some((*symbol, self.reads.get(*symbol)?.as_ref()?)));
            program.attend(common.first, &mut tokens, 0, &reads.collect::<Option<Vec<_>>>()?).ok()?;
            // Keys of later layers are tokens that are followed.
            let key = |symbol: &usize| followed.binary_search(&stand(*symbol, 0)?).ok();
            let keys = class.iter().map(key).collect::<Option<Vec<_>>>()?;
            program.run(&mut tokens, &keys, common.first.saturating_add(1), common.end()).ok()?;
        }
        tokens.iter().map(|token| program.read_out(token).ok()).collect()
    }
}

/// Inputs that are known.
fn exactly(inputs: &[Range]) -> Vec<Number> {
    inputs.iter().cloned().map(Number::of).collect()
}

/// *Boxes*, for sequences of one length.
pub struct Boxes<'n> {
    common: &'n Common<'n>,
    tokens: usize,
    /// For each token: by place, what its stream can be if it is not known, and what heads read there.
    any: Vec<(Vec<Value>, Option<Read>)>,
    reads: Vec<Vec<Option<Read>>>,
    /// The inputs of a token that is not known.
    inputs: Vec<Number>,
    /// For each output token, the tokens in the order in which they become known.
    order: Vec<Vec<usize>>,
    /// The last layer with attention, and whether it is the first.
    last: usize,
    is_shallow: bool,
}

/// A worker's knowledge of boxes: those that are shown, and the depths at which it pays to look at boxes.
#[derive(Default)]
pub struct Seen {
    shown: HashMap<(usize, Vec<usize>), bool>,
    /// By output token and depth: the boxes that were tried, and the sequences that need not be examined since.
    tried: HashMap<(usize, usize), [usize; 2]>,
}

impl<'n> Boxes<'n> {
    pub fn new(common: &'n Common<'n>, tokens: usize) -> Option<Self> {
        let places = common.starts.first()?.len();
        let hull = |all: Vec<&Vec<Value>>| {
            let (first, rest) = all.split_first()?;
            let both = |a: Vec<Value>, b: &&Vec<Value>| a.iter().zip(b.iter()).map(|(a, b)| a.hull(b)).collect();
            Some(rest.iter().fold((*first).clone(), both))
        };
        let read = |z: &[Value]| if common.has_attention() { common.read(z) } else { None };
        let any = |place: usize| {
            let stream = hull(common.starts.iter().map(|places| places.get(place)).collect::<Option<_>>()?)?;
            let read = read(&stream);
            Some((stream, read))
        };
        let any = (0..places).map(any).collect::<Option<Vec<_>>>()?;
        let reads = common.starts.iter().map(|places| places.iter().map(|z| read(z)).collect()).collect();
        let (first, rest) = common.alphabet.split_first()?;
        let inputs = rest.iter().fold(first.clone(), |a, b| a.iter().zip(b).map(|(a, b)| a.hull(b)).collect());
        let inputs = inputs.into_iter().map(Number::of).collect();
        let last = common.network().layers.iter().rposition(|layer| !matches!(layer, Layer::FeedForward { .. }));
        let last = last.unwrap_or(common.first);
        let is_shallow = last == common.first;
        let mut boxes = Self { common, tokens, any, reads, inputs, order: Vec::new(), last, is_shallow };
        boxes.order = (0..tokens).map(|token| boxes.guess(token)).collect();
        Some(boxes)
    }

    /// Starting from a sequence, lets one token after another be unknown, the one first that leaves least doubt. The
    /// last one becomes known first.
    fn guess(&self, token: usize) -> Vec<usize> {
        let middle = self.common.alphabet.len() / 2;
        let mut known = vec![Some(middle); self.tokens];
        let mut order = Vec::new();
        while order.len() < self.tokens {
            let rest = (0..self.tokens).filter(|t| !order.contains(t));
            let freed = |t: &usize| {
                let mut known = known.clone();
                known.get_mut(*t).into_iter().for_each(|symbol| *symbol = None);
                (!self.holds(token, &known), usize::MAX.saturating_sub(t.abs_diff(token)))
            };
            let Some(next) = rest.min_by_key(freed) else { break };
            known.get_mut(next).into_iter().for_each(|symbol| *symbol = None);
            order.push(next);
        }
        order.reverse();
        order
    }

    /// True if all outputs of a sequence are shown to be as close to the target as claimed, by boxes.
    pub fn shows(&self, sequence: &[usize], seen: &mut Seen) -> bool {
        (0..self.tokens).all(|token| self.shows_token(token, sequence, seen))
    }

    fn shows_token(&self, token: usize, sequence: &[usize], seen: &mut Seen) -> bool {
        let Some(order) = self.order.get(token) else { return false };
        let mut known = vec![None; self.tokens];
        let mut prefix = Vec::new();
        for depth in 0..=self.tokens {
            if let Some(t) = depth.checked_sub(1).and_then(|last| order.get(last)) {
                let Some(symbol) = sequence.get(*t) else { return false };
                known.get_mut(*t).into_iter().for_each(|place| *place = Some(*symbol));
                prefix.push(*symbol);
            }
            if depth == self.tokens {
                // One output of a known sequence is less work than all only if no other token has to be followed.
                return self.is_shallow && self.holds(token, &known);
            }
            let key = (token, prefix.clone());
            let [tried, saved] = seen.tried.entry((token, depth)).or_default();
            match seen.shown.get(&key) {
                Some(true) => {
                    *saved = saved.saturating_add(1);
                    return true;
                }
                Some(false) => {}
                // Every token of the alphabet gets a chance; then boxes have to have spared as many sequences.
                None if *tried > self.common.alphabet.len().saturating_add(*saved) => {}
                None => {
                    *tried = tried.saturating_add(1);
                    let shown = self.holds(token, &known);
                    seen.shown.insert(key, shown);
                    if shown {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// True if an output is as close to the target as claimed, whatever the tokens are that are not known.
    fn holds(&self, token: usize, known: &[Option<usize>]) -> bool {
        self.try_holds(token, known).unwrap_or(false)
    }

    fn try_holds(&self, token: usize, known: &[Option<usize>]) -> Option<bool> {
        let (common, inputs) = (self.common, known.iter());
        let inputs = inputs.map(|symbol| match symbol {
            Some(symbol) => Some(exactly(common.alphabet.get(*symbol)?)),
            None => Some(self.inputs.clone()),
        });
        let inputs = inputs.collect::<Option<Vec<_>>>()?;
        let wanted = common.target.on(&inputs).ok()?.output(token, token).ok()?;
        let got = self.output(token, known)?;
        Some(common.are_close(&got, &wanted))
    }

    /// The output of a token, whatever the tokens are that are not known.
    fn output(&self, token: usize, known: &[Option<usize>]) -> Option<Vec<Range>> {
        let (common, program) = (self.common, self.common.program);
        let place = |t: usize| if t < self.any.len() { t } else { 0 };
        let stream = |t: usize| match known.get(t)? {
            Some(symbol) => common.start(*symbol, t).cloned(),
            None => self.any.get(place(t)).map(|(stream, _)| stream.clone()),
        };
        let one = |z: &[Value]| program.read_out(z).ok();
        let (first, end) = (common.first, common.end());
        if !common.has_attention() {
            return one(&stream(token)?);
        }
        let read = |t: usize| match known.get(t)? {
            Some(symbol) => self.reads.get(*symbol)?.get(place(t))?.as_ref(),
            None => self.any.get(place(t))?.1.as_ref(),
        };
        let reads = (0..self.tokens).map(|t| Some((t, read(t)?))).collect::<Option<Vec<_>>>()?;
        let last = self.last;
        if self.is_shallow {
            let mut own = [stream(token)?];
            program.attend(first, &mut own, token, &reads).ok()?;
            program.run(&mut own, &[], first.saturating_add(1), end).ok()?;
            return one(own.first()?);
        }
        // The other tokens are followed as far as they are read.
        let mut tokens = (0..self.tokens).map(stream).collect::<Option<Vec<_>>>()?;
        let keys: Vec<usize> = (0..self.tokens).collect();
        program.attend(first, &mut tokens, 0, &reads).ok()?;
        program.run(&mut tokens, &keys, first.saturating_add(1), last).ok()?;
        let reads = tokens.iter().map(|z| program.read(last, z).ok()).collect::<Option<Vec<_>>>()?;
        let reads: Vec<(usize, &Read)> = reads.iter().enumerate().collect();
        let mut own = [tokens.get(token)?.clone()];
        program.attend(last, &mut own, token, &reads).ok()?;
        program.run(&mut own, &[], last.saturating_add(1), end).ok()?;
        one(own.first()?)
    }
}
