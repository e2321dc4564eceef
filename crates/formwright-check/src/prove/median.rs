//! Claims in the supremum norm by the median of copies on shifted grids: rules *median*, *comparators* and *table with a
//! constant* of CERTIFICATE.md, section 6.
//!
//! Copy by copy, the network of what its registers depend on is run on the good parts of the cells of its grid, as for a
//! claim in `L^p`; and on each of them the target is enclosed, on pieces that are halved where that leaves it open.

use super::apart;
use super::{
    Case, Lattice, MOST_CLASSES, Overflow, Proof, Stop, Subject, at_most, declined, distance, finite, rejected, shown,
    valueless,
};
use crate::effort::Effort;
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::read::certificate::Median;
use crate::read::target::{Fault, Number};
use crate::rules::median::{self, MOST_COPIES, Start, are_apart, slice};
use crate::rules::points::Program;
use crate::sequences::Sequences;

/// The most times that pieces are halved.
const MOST_HALVINGS: usize = 1 << 10;

/// The most outputs of cells, of all grids together.
const MOST_OUTPUTS: usize = 1 << 20;

/// The most pieces of cells on which the target is enclosed, and the operations of the target there.
const MOST_PIECES: usize = 1 << 23;
const MOST_STEPS: usize = 1 << 30;

/// The cells whose pieces are looked at together, and the most pieces of them that are open at a time.
const AT_ONCE: usize = 1 << 12;
const MOST_OPEN: usize = 1 << 19;

/// A side of the good part of a cell: from one number to another.
type Side = (Ratio, Ratio);

/// A part of the good part of a cell, which is not settled.
struct Piece {
    /// The copy, and the case.
    of: (usize, usize),
    inputs: Vec<Vec<Range>>,
}

/// The copies: their sub-networks' outputs on good parts, and these good parts.
struct Copies {
    cases: Vec<Vec<Case>>,
    lattice: Lattice,
    /// By copy and cell of a side.
    sides: Vec<Vec<Side>>,
    /// By output: what the outputs of the network may be off from the median of exact numbers.
    off: Vec<Dyadic>,
}

impl Subject {
    /// Proves `finite`, `median` and `point`.
    pub(super) fn median(&self, effort: &Effort<'_>, median: &Median) -> Result<Proof, Stop> {
        let Some((low, high)) = self.target.domain.interval() else { return Err(declined("no box")) };
        self.defined_at_corners([&low.range(), &high.range()], self.certificate.tokens[1])?;
        let copies = self.copies(effort, median, (low, high))?;
        self.is_a_constant()?;
        let pieces = self.settle(effort, &copies)?;
        let cells = copies.cases.iter().map(Vec::len).fold(0, usize::saturating_add);
        let grids = median.copies.len();
        Ok(Proof {
            summary: format!(
                "the median of {grids} grids, {cells} outputs of cells up to symmetry, in {pieces} pieces"
            ),
        })
    }

    /// Checks the grids, and runs every copy on the good parts of the cells of its own.
    fn copies(&self, effort: &Effort<'_>, median: &Median, (low, high): (&Ratio, &Ratio)) -> Result<Copies, Stop> {
        let wrong = |what: String| rejected("median", what);
        let Self { certificate, network, .. } = self;
        let [tokens, most] = certificate.tokens;
        if tokens != most || certificate.cells == 0 {
            return Err(declined("a median for several numbers of tokens, or without cells"));
        }
        let (inputs, count) = (tokens.saturating_mul(certificate.dims), median.copies.len());
        let needed = inputs.saturating_mul(2).saturating_add(1);
        if count != needed {
            return Err(wrong(format!("{count} grids, and {inputs} inputs of a sequence need {needed}")));
        }
        at_most(count, MOST_COPIES, "grids")?;
        let [margin, other] = &certificate.margins;
        let shifts: Vec<Ratio> = median.copies.iter().map(|copy| copy.shift.exact.clone()).collect();
        if margin.exact != other.exact {
            return Err(declined("the cells of a median with two margins"));
        }
        are_apart(&shifts, &margin.exact).map_err(wrong)?;
        let layers = certificate
            .layers_of(median.blocks)
            .ok_or_else(|| wrong("fewer blocks than its copies have".to_owned()))?;
        let lattice = Lattice::new(certificate.cells.saturating_add(1), certificate.dims)?;
        let classes = Sequences::new(lattice.symbols, tokens, self.order_free).count;
        at_most(classes.saturating_mul(tokens).saturating_mul(count), MOST_OUTPUTS, "outputs of cells of all grids")?;
        let sides = shifts.iter().map(|shift| sides((low, high), certificate.cells, shift, &margin.exact));
        let sides: Vec<Vec<Side>> = sides.collect::<Option<_>>().ok_or_else(|| declined("a box without a length"))?;
        let anywhere = self.registers_anywhere(median, layers, &low.range().hull(&high.range()))?;
        let mut cases = Vec::new();
        for (copy, sides) in median.copies.iter().zip(&sides) {
            let sliced = Self {
                certificate: certificate.clone(),
                network: slice(network, layers, &copy.registers),
                target: self.target.clone(),
                order_free: self.order_free,
            };
            cases.push(sliced.on_good_parts(effort, &lattice, sides)?);
        }
        let starts = starts(median, &cases, anywhere);
        let behind = network.layers.get(layers..).unwrap_or(&[]);
        let off = median::median(behind, &network.read_out, starts, count, network.format).map_err(wrong)?;
        Ok(Copies { cases, lattice, sides, off })
    }

    /// The numbers of the copies' registers for any inputs of the box, copy by copy.
    fn registers_anywhere(&self, median: &Median, layers: usize, inputs: &Range) -> Result<Vec<Vec<Range>>, Stop> {
        // Nothing overflows, up to the end.
        self.anywhere(&Program::new(&self.network), inputs).map_err(finite)?;
        let of = |registers: &[usize]| -> Result<Vec<Range>, Overflow> {
            let sliced = Self {
                certificate: self.certificate.clone(),
                network: slice(&self.network, layers, registers),
                target: self.target.clone(),
                order_free: self.order_free,
            };
            sliced.anywhere(&Program::new(&sliced.network), inputs)
        };
        median.copies.iter().map(|copy| of(&copy.registers).map_err(finite)).collect()
    }

    /// The outputs of a copy on the good parts of all cells, up to symmetry.
    fn on_good_parts(&self, effort: &Effort<'_>, lattice: &Lattice, sides: &[Side]) -> Result<Vec<Case>, Stop> {
        let [tokens, _] = self.certificate.tokens;
        let classes = Sequences::new(lattice.symbols, tokens, self.order_free);
        self.can_start(lattice.symbols, tokens)?;
        self.within_limits(lattice.symbols, tokens, classes.count, None)?;
        let program = if effort.plain { Program::plain(&self.network) } else { Program::new(&self.network) };
        let good = |symbol: usize| lattice.digits(symbol).map(|digit| sides.get(digit).map(range)).collect();
        let starts = self.starts(effort, &program, lattice.symbols, good)?;
        let cases = effort.of_all(0..classes.count, || {
            let (mut walk, program, starts) = (classes.walk(), &program, &starts);
            move |class| self.cases(program, starts, walk.to(class))
        })?;
        Ok(cases.into_iter().flatten().collect())
    }

    /// Shows that all copies are as near to the target, on the good parts of their cells, as the bound leaves. Returns
    /// how many pieces it took.
    fn settle(&self, effort: &Effort<'_>, copies: &Copies) -> Result<usize, Stop> {
        let mut done = 0_usize;
        for (copy, cases) in copies.cases.iter().enumerate() {
            let whole = |(at, case): (usize, &Case)| {
                let inputs = copies.inputs(copy, case).iter().map(|token| token.iter().map(range).collect()).collect();
                Piece { of: (copy, at), inputs }
            };
            let mut all = cases.iter().enumerate().map(whole);
            loop {
                let open: Vec<Piece> = all.by_ref().take(AT_ONCE).collect();
                if open.is_empty() {
                    break;
                }
                done = self.settle_some(effort, copies, open, done)?;
            }
        }
        Ok(done)
    }

    /// The same for some cells, where so many pieces were looked at before.
    fn settle_some(
        &self,
        effort: &Effort<'_>,
        copies: &Copies,
        mut open: Vec<Piece>,
        before: usize,
    ) -> Result<usize, Stop> {
        let [tokens, _] = self.certificate.tokens;
        let (mut done, mut halvings) = (before, 0_usize);
        while !open.is_empty() {
            done = done.saturating_add(open.len());
            let steps = done.saturating_mul(self.target.work(tokens));
            let enough = at_most(done, MOST_PIECES, "pieces of cells")
                .and_then(|()| at_most(steps, MOST_STEPS, "steps of the target"))
                .and_then(|()| at_most(open.len(), MOST_OPEN, "pieces of cells at once"))
                .and_then(|()| at_most(halvings, MOST_HALVINGS, "times that cells are halved"));
            if let Err(Stop::Declined(reason)) = enough {
                let place = open.first().map_or(String::new(), |piece| shown(&piece.inputs));
                return Err(declined(format!("{}, to enclose the target on {place}", reason.what)));
            }
            let settled = effort.of_all(0..open.len(), || {
                let open = &open;
                move |at| open.get(at).map_or(Ok(true), |piece| self.is_settled(piece, copies))
            })?;
            let left = open.into_iter().zip(settled).filter(|(_, settled)| !settled);
            open = left.flat_map(|(piece, _)| halves(piece)).collect();
            halvings = halvings.saturating_add(1);
        }
        Ok(done)
    }

    /// True if a copy's output is near enough to the target on a piece of a cell; false if that is open.
    fn is_settled(&self, piece: &Piece, copies: &Copies) -> Result<bool, Stop> {
        let (copy, at) = piece.of;
        let Some(case) = copies.cases.get(copy).and_then(|cases| cases.get(at)) else { return Ok(true) };
        let inside = self.target.domain.inside();
        let within = piece.inputs.iter().flatten().all(|x| inside.lo <= x.lo && x.hi <= inside.hi);
        let wanted = if self.target.resolution().is_some() {
            self.of_table(&copies.inputs(copy, case), case.token)?
        } else {
            match self.target.output(&piece.inputs, case.token) {
                Ok(output) => output.iter().map(Number::range).collect(),
                Err(Fault::Unclear(_)) => return Ok(false),
                // Ends are rounded outwards: what is beyond the box is nobody's fault.
                Err(_) if !within => return Ok(false),
                Err(fault) => {
                    return Err(valueless(fault, &format!("on {}, token {}", shown(&piece.inputs), case.token)));
                }
            }
        };
        if wanted.len() != case.output.len() || copies.off.len() != case.output.len() {
            return Err(rejected("target", format!("{} outputs of {}", wanted.len(), case.output.len())));
        }
        let bound = &self.certificate.bound.range.lo;
        let mut settled = true;
        for (c, ((got, wanted), off)) in case.output.iter().zip(&wanted).zip(&copies.off).enumerate() {
            if &distance(got, wanted) + off <= *bound {
                continue;
            }
            // Of a table nothing is enclosed more narrowly.
            if (within && &apart(got, wanted).lo + off > *bound) || self.target.resolution().is_some() {
                let (inputs, token) = (shown(&piece.inputs), case.token);
                return Err(rejected(
                    "point",
                    format!(
                        "on {inputs}, token {token}, coordinate {c} the copy of grid {copy} gives {got}, the target is in {wanted}, and {off} is lost behind it; claimed at most {bound}"
                    ),
                ));
            }
            settled = false;
        }
        Ok(settled)
    }

    /// The values of a table where a good part meets it; with a Lipschitz constant, those that a function may have there
    /// that has the table's values at centres.
    fn of_table(&self, part: &[Vec<Side>], token: usize) -> Result<Vec<Range>, Stop> {
        let resolution = self.target.resolution().unwrap_or(1);
        let cells = Ratio::whole(resolution);
        let place = |x: &Ratio| x.times(&cells).floor().place().unwrap_or(0).min(resolution.saturating_sub(1));
        let dims = self.certificate.dims;
        let flat: Vec<&Side> = part.iter().flatten().collect();
        let ends: Vec<(usize, usize)> = flat.iter().map(|(from, to)| (place(from), place(to))).collect();
        let met =
            ends.iter().map(|(from, to)| to.saturating_sub(*from).saturating_add(1)).fold(1, usize::saturating_mul);
        at_most(met, MOST_CLASSES, "cells of the table that a cell meets")?;
        let mut found: Option<Vec<Range>> = None;
        let mut digits: Vec<usize> = ends.iter().map(|(from, _)| *from).collect();
        for _ in 0..met {
            let tokens: Vec<&[usize]> = digits.chunks(dims).collect();
            let entry = self.target.entry(&tokens, token).ok_or_else(no_entry)?;
            let entry = match &self.certificate.lipschitz {
                Some(constant) => {
                    let far = farthest(&flat, &digits, &cells).times(&constant.exact).range().hi;
                    entry.iter().map(|value| value + &Range::around_zero(&far)).collect()
                }
                None => entry,
            };
            let both = |(a, b): (&Range, &Range)| {
                // A function with these values is in all of these ranges: where they do not meet there is none.
                if self.certificate.lipschitz.is_some() { a.clone().meet(b) } else { a.hull(b) }
            };
            found = Some(found.map_or_else(|| entry.clone(), |found| found.iter().zip(&entry).map(both).collect()));
            for (digit, (from, to)) in digits.iter_mut().zip(&ends).rev() {
                if *digit < *to {
                    *digit = digit.saturating_add(1);
                    break;
                }
                *digit = *from;
            }
        }
        Ok(found.unwrap_or_default())
    }

    /// Checks that there is a function of which the claim speaks, if it is about all with a Lipschitz constant: between
    /// neighbours, also across corners, a table changes by no more. Then it does so between any two cells, which are as
    /// many steps apart as is their distance.
    fn is_a_constant(&self) -> Result<(), Stop> {
        let Some(constant) = &self.certificate.lipschitz else { return Ok(()) };
        let Some(resolution) = self.target.resolution() else {
            return Err(rejected("claim", "a Lipschitz constant, and the target is no table"));
        };
        let ([tokens, _], dims) = (self.certificate.tokens, self.certificate.dims);
        let sides = u32::try_from(tokens.saturating_mul(dims)).unwrap_or(u32::MAX);
        let (cells, ways) = (resolution.saturating_pow(sides), 3_usize.saturating_pow(sides));
        at_most(cells.saturating_mul(ways), MOST_PIECES, "pairs of neighbours of a table")?;
        let most = constant.exact.over(&Ratio::whole(resolution)).ok_or_else(no_entry)?;
        let lattice = Lattice { side: resolution, dims: tokens.saturating_mul(dims), symbols: cells };
        let steps = Lattice { side: 3, dims: tokens.saturating_mul(dims), symbols: ways };
        for cell in 0..cells {
            let digits: Vec<usize> = lattice.digits(cell).collect();
            // Half of the ways are those of the others, back.
            for way in 0..ways / 2 {
                let to = digits.iter().zip(steps.digits(way));
                let to: Option<Vec<usize>> =
                    to.map(|(digit, step)| digit.saturating_add(step).checked_sub(1)).collect();
                let Some(to) = to.filter(|to| to.iter().all(|digit| *digit < resolution)) else { continue };
                for token in 0..tokens {
                    let entry = |digits: &[usize]| {
                        self.target.exact_entry(&digits.chunks(dims).collect::<Vec<_>>(), token).ok_or_else(no_entry)
                    };
                    let (a, b) = (entry(&digits)?, entry(&to)?);
                    if let Some((a, b)) = a.iter().zip(b).find(|(a, b)| a.minus(b).absolute() > most) {
                        return Err(rejected(
                            "claim",
                            format!(
                                "the table has {a} in cell {digits:?} and {b} in cell {to:?}: no function with the Lipschitz constant {constant} has these values"
                            ),
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// A cell of which a table says nothing.
fn no_entry() -> Stop {
    rejected("target", "a cell of the table that is not there")
}

impl Copies {
    /// The good part of a case's cell.
    fn inputs(&self, copy: usize, case: &Case) -> Vec<Vec<Side>> {
        let side = |digit: usize| self.sides.get(copy)?.get(digit).cloned();
        case.sequence.iter().map(|symbol| self.lattice.digits(*symbol).filter_map(side).collect()).collect()
    }
}

fn range((from, to): &Side) -> Range {
    from.range().hull(&to.range())
}

/// The good parts of the sides of a grid's cells, inside of the box.
fn sides((low, high): (&Ratio, &Ratio), cells: usize, shift: &Ratio, margin: &Ratio) -> Option<Vec<Side>> {
    let side = high.minus(low).over(&Ratio::whole(cells))?;
    let part = |cell: usize| {
        let from = Ratio::whole(cell).minus(shift);
        let at = |cells: &Ratio| low.plus(&side.times(cells));
        let (from, to) = (at(&from.plus(margin)), at(&from.plus(&Ratio::ONE).minus(margin)));
        (from.max(low.clone()), to.min(high.clone()))
    };
    Some((0..=cells).map(part).collect())
}

/// The copies' registers, with what they hold anywhere and on good parts.
fn starts(median: &Median, cases: &[Vec<Case>], anywhere: Vec<Vec<Range>>) -> Vec<Start> {
    let mut starts = Vec::new();
    for (copy, ((own, cases), anywhere)) in median.copies.iter().zip(cases).zip(anywhere).enumerate() {
        for (output, (register, anywhere)) in own.registers.iter().zip(anywhere).enumerate() {
            let outputs = cases.iter().filter_map(|case| case.output.get(output));
            let good = outputs.cloned().reduce(|a, b| a.hull(&b)).unwrap_or(Range::ZERO);
            starts.push(Start { register: *register, copy, output, anywhere, good });
        }
    }
    starts
}

/// The largest distance of a point of a part from the centre of a cell of a table.
fn farthest(part: &[&Side], digits: &[usize], cells: &Ratio) -> Ratio {
    let half = Ratio::ONE.over(&Ratio::whole(2)).unwrap_or(Ratio::ZERO);
    let far = |((from, to), digit): (&&Side, &usize)| {
        let centre = Ratio::whole(*digit).plus(&half).over(cells).unwrap_or(Ratio::ZERO);
        from.minus(&centre).absolute().max(to.minus(&centre).absolute())
    };
    part.iter().zip(digits).map(far).fold(Ratio::ZERO, |a, b| if a < b { b } else { a })
}

/// Both halves of a piece, along its longest side.
fn halves(piece: Piece) -> [Piece; 2] {
    let Piece { of, inputs } = piece;
    let long = inputs
        .iter()
        .enumerate()
        .flat_map(|(t, token)| token.iter().enumerate().map(move |(c, side)| (&side.hi - &side.lo, t, c)));
    // The first of the longest.
    let longest = long.reduce(|a, b| if b.0 > a.0 { b } else { a });
    let (t, c) = longest.map_or((0, 0), |(_, t, c)| (t, c));
    let cut = |half: fn(&Range, &Dyadic) -> Range| {
        let mut inputs = inputs.clone();
        if let Some(side) = inputs.get_mut(t).and_then(|token| token.get_mut(c)) {
            let middle = &(&side.lo + &side.hi) * &Dyadic::power_of_two(-1);
            *side = half(side, &middle);
        }
        Piece { of, inputs }
    };
    [
        cut(|side, middle| Range { lo: side.lo.clone(), hi: middle.clone() }),
        cut(|side, middle| Range { lo: middle.clone(), hi: side.hi.clone() }),
    ]
}
