//! The windows of the value map: each replaces an id by a value.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::construct::yun::context::{Context, ContextMap};
use crate::construct::yun::lower::pack::{self, Window};
use crate::construct::yun::lower::{Lowering, Lowers, relus};
use crate::construct::yun::stages::{StageKind, checked};
use crate::construct::yun::{MAX_ID_BITS, centres, to_value};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::lower::{Format, Hidden, to_float};
use crate::network::{
    Activation, FeedForward, Generator, Layer, LayerKind, Piece, Piecewise, Sequence, StageSize, add, dot,
};
use crate::target::Target;

/// The order of the windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WindowOrder {
    /// By decreasing centre.
    DecreasingCentres,
    /// Context by context, lexicographic, and in it token by token: the order in which the lemma lists them.
    Listed,
}

/// The windows' parameters, and the target whose values they hold.
#[derive(Clone, Debug)]
pub(crate) struct ValueWindows {
    /// The lattice, the contexts and their ids.
    pub map: ContextMap,
    /// Half of a window's width: ½.
    pub half_width: Rat,
    /// The order.
    pub order: WindowOrder,
    /// Values are stored divided by `2^exponent`.
    pub exponent: usize,
    /// The number subtracted from a value before it is stored.
    pub offset: Rat,
    /// True if an irrational value is stored as a rational number near it, for floats.
    pub near: bool,
    /// The function.
    pub target: Arc<Target>,
}

/// The widest window that a file may contain: the closed form tries every integer in it.
const MAX_HALF_WIDTH: u32 = 1000;

/// The part of [`ValueWindows`] that is written to a file; the target has a file of its own.
#[derive(Serialize, Deserialize)]
struct Written {
    map: ContextMap,
    half_width: Rat,
    order: WindowOrder,
    exponent: usize,
    offset: Rat,
    near: bool,
}

impl Written {
    /// Refuses parameters that a hand-edited file may hold and that no layer can have.
    fn check(&self, grid: &Grid) -> std::result::Result<(), String> {
        let Self { map, half_width, exponent, .. } = self;
        if map.grid != *grid {
            return Err("its grid is not the model's".to_owned());
        }
        map.check()?;
        if *half_width <= Rat::ZERO || *half_width > Rat::from(MAX_HALF_WIDTH) {
            return Err(format!("the half-width {half_width} is not in (0, {MAX_HALF_WIDTH}]"));
        }
        if *exponent > MAX_ID_BITS {
            return Err(format!("the exponent {exponent} is above {MAX_ID_BITS}"));
        }
        Ok(())
    }
}

/// A context, its tokens after the contextual map, and what replaces them.
struct Entry {
    context: Context,
    mapped: Sequence,
    values: Sequence,
}

impl ValueWindows {
    fn rows(&self) -> usize {
        self.map.grid.dims()
    }

    /// `g_c(L)` and `A_L`.
    fn entry(&self, context: Context) -> Result<Entry> {
        let grid = &self.map.grid;
        let point: Vec<Vec<u64>> = context.columns.iter().map(|id| grid.column(id)).collect();
        let mut values = centres::stored_value(&self.target, grid, &point, &self.offset, self.exponent, self.near)?;
        for value in &mut values {
            value.resize(self.rows(), Rat::ZERO);
        }
        let mut mapped: Sequence = point.iter().map(|column| column.iter().map(|&k| Rat::from(k)).collect()).collect();
        for (token, column) in mapped.iter_mut().enumerate() {
            let position = self.map.position(token);
            let raised = Rat::from(grid.resolution()) * Rat::from(position);
            for z in column.iter_mut() {
                *z += &raised;
            }
            column[0] += &(&context.ids[token] - &context.before[token]);
        }
        Ok(Entry { context, mapped, values })
    }

    /// The largest entries of the stream in front of the windows, on the lattice, row by row; the first is the id
    /// itself and is bounded where it is used.
    fn entries(&self) -> Vec<Rat> {
        let grid = &self.map.grid;
        let highest = (0..grid.tokens()).map(|token| self.map.position(token)).max().unwrap_or(0) + 1;
        vec![Rat::from(highest) * Rat::from(grid.resolution()); self.rows()]
    }

    /// The change that the window of token `token` makes: `(A_L)_j - g_c(L)_j`.
    fn change(entry: &Entry, token: usize) -> Vec<Rat> {
        entry.values[token].iter().zip(&entry.mapped[token]).map(|(value, z)| value - z).collect()
    }

    fn layer(&self, entry: &Entry, token: usize) -> Layer {
        let half = &self.half_width;
        let phi = Piecewise::window(-half.clone(), half.clone(), false, Piece::constant(1), Piece::constant(0));
        let centre = entry.context.ids[token].clone();
        let change = Self::change(entry, token);
        let u = self.map.sweep.u.clone();
        Layer::FeedForward(FeedForward::unit(u, -centre, Activation::Piecewise(phi), change))
    }

    /// The tokens of a context in the order of its windows.
    fn token_order(&self, context: &Context) -> Vec<usize> {
        let mut tokens: Vec<usize> = (0..context.ids.len()).collect();
        if self.order == WindowOrder::DecreasingCentres {
            tokens.sort_by(|&a, &b| context.ids[b].cmp(&context.ids[a]));
        }
        tokens
    }

    /// True if the window `(a, token)` stands before the window `(b, other)`.
    fn before(&self, (a, token): (&Context, usize), (b, other): (&Context, usize)) -> bool {
        match self.order {
            WindowOrder::DecreasingCentres => a.ids[token] > b.ids[other],
            WindowOrder::Listed => (&a.columns, token) < (&b.columns, other),
        }
    }

    /// The first window, among those after `passed`, that holds `id`. Most often it belongs to the context `near`,
    /// which is tried before the id is decoded.
    fn next(&self, passed: Option<&(Context, usize)>, id: &Rat, near: Option<&Context>) -> Option<(Context, usize)> {
        // -½ ≤ id - c < ½
        let mut first: Option<(Context, usize)> = None;
        let mut centre = Rat::from((id + &self.half_width).floor());
        while centre > id - &self.half_width {
            let known = near.and_then(|context| Some((context.clone(), context.token_with(&centre)?)));
            if let Some((context, token)) = known.or_else(|| self.map.locate(&centre)) {
                let behind = passed.is_none_or(|(last, other)| self.before((last, *other), (&context, token)));
                let earlier = first.as_ref().is_none_or(|(best, other)| self.before((&context, token), (best, *other)));
                if behind && earlier {
                    first = Some((context, token));
                }
            }
            centre -= &Rat::ONE;
        }
        first
    }
}

impl Generator for ValueWindows {
    fn width(&self) -> usize {
        self.rows()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let layers = Int::from(self.map.grid.tokens()) * self.map.count();
        let nonzeros = &layers * Int::from(2 * self.rows() + 1);
        StageSize { units: layers.clone(), layers, heads: 0, head_size: 0, hidden: 1, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let contexts = match self.order {
            WindowOrder::DecreasingCentres => self.map.descending(),
            WindowOrder::Listed => self.map.lexicographic(),
        };
        Box::new(contexts.flat_map(move |context| match self.entry(context) {
            Err(error) => vec![Err(error)],
            Ok(entry) => {
                let tokens = self.token_order(&entry.context);
                tokens.into_iter().map(|token| Ok(self.layer(&entry, token))).collect()
            }
        }))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        // The tokens of a sequence share their context: it is looked up and evaluated once.
        let mut last: Option<Entry> = None;
        for token in &mut state {
            let mut passed = None;
            loop {
                let near = last.as_ref().map(|entry| &entry.context);
                let Some((context, place)) = self.next(passed.as_ref(), &dot(&self.map.sweep.u, token), near) else {
                    break;
                };
                let entry = match last.take().filter(|entry| entry.context == context) {
                    Some(entry) => entry,
                    None => self.entry(context.clone())?,
                };
                add(token, &Self::change(&entry, place));
                last = Some(entry);
                passed = Some((context, place));
            }
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        to_value(&Written {
            map: self.map.clone(),
            half_width: self.half_width.clone(),
            order: self.order,
            exponent: self.exponent,
            offset: self.offset.clone(),
            near: self.near,
        })
    }
}

impl Lowers for ValueWindows {
    /// A window has four units, which read and write all rows.
    fn literal_nonzeros(&self) -> Int {
        self.size().layers * Int::from(8 * self.rows() + 4)
    }

    fn blocks(&self, layers: &[FeedForward], lowering: &Lowering) -> Result<(Vec<FeedForward>, Rat)> {
        let Format { precision, hidden, .. } = lowering.format;
        let entries = self.entries();
        let windows: Vec<Window> = layers.iter().filter_map(Window::of).collect();
        if hidden != Hidden::Literal {
            return pack::pack_values(&windows, &self.map.sweep.u, hidden, &entries, precision);
        }
        let mut blocks = relus(&to_float::id_ramp(), layers);
        for (block, window) in blocks.iter_mut().zip(&windows) {
            pack::round_window(block, &window.centre, &entries, precision);
        }
        Ok((pack::pack(blocks, hidden), Rat::ZERO))
    }
}

impl StageKind for ValueWindows {
    const NAME: &'static str = "values";

    fn statement(&self) -> &'static str {
        "lemma7"
    }

    fn meaning(&self) -> String {
        match self.exponent {
            0 => "each id is replaced by the target's value, one window an id".to_owned(),
            k => format!("each id is replaced by the target's value divided by 2^{k}, one window an id"),
        }
    }

    fn read(parameters: Value, grid: &Grid, target: &Arc<Target>) -> std::result::Result<Self, String> {
        let Written { map, half_width, order, exponent, offset, near } =
            checked(parameters, |written: &Written| written.check(grid))?;
        Ok(Self { map, half_width, order, exponent, offset, near, target: Arc::clone(target) })
    }
}
