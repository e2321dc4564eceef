//! Reads `config.json`: exactly the settings of a class, each with a value that is named.

use super::Class;
use crate::kernel::number::{Dyadic, Ratio};
use crate::read::certificate::HostCertificate;
use crate::read::json::Json;

/// The value that a setting must have.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// `null`, `true` or `false`.
    Word(&'static str),
    /// A text.
    Text(&'static str),
    /// The number 0.
    Zero,
    /// The number 1.
    One,
    /// A count that the tensors have.
    Count(Side),
    /// A count.
    Whole(usize),
    /// The number that is added to a variance.
    Eps,
    /// Rotations by angles of 0.
    Rest,
    /// The same by the names of kinds of layers.
    Rests(&'static [&'static str]),
    /// The same text for every block.
    Each(&'static str),
}

/// A side of the tensors.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// `D`
    Width,
    /// The number of blocks.
    Blocks,
    /// The number of heads.
    Heads,
    /// The number of units.
    Hidden,
    /// The number of positions.
    Positions,
    /// The rows of a head.
    HeadSize,
}

/// The settings of a host.
#[derive(Clone, Debug)]
pub struct Config {
    /// `D`
    pub width: usize,
    /// The number of blocks.
    pub blocks: usize,
    /// The number of heads, and the rows of each.
    pub heads: usize,
    /// `d`
    pub head_size: usize,
    /// `√d`, if scores are divided by it, or 1.
    pub root: Dyadic,
    /// The number of units.
    pub hidden: usize,
    /// The number of positions.
    pub positions: usize,
    /// The number of words, and of those that are tokens.
    pub words: usize,
    pub tokens: usize,
    /// The number of outputs.
    pub outputs: usize,
    /// The number that is added to a variance.
    pub eps: Ratio,
}

/// Sizes that are not decided here.
pub enum Misfit {
    /// Settings that are not those of the class.
    Wrong(String),
    /// Sizes of another form.
    Other(String),
}

fn wrong<T>(what: impl Into<String>) -> Result<T, Misfit> {
    Err(Misfit::Wrong(what.into()))
}

/// The most by which a number may be shifted by its exponent.
const EXPONENTS: u32 = 400;

/// A number of JSON, exactly.
fn number(value: &Json<'_>) -> Option<Ratio> {
    let Json::Number(text) = value else { return None };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    let power = Ratio::whole(10).power(exponent.unsigned_abs()).filter(|_| exponent.unsigned_abs() <= EXPONENTS)?;
    let mantissa = Ratio::number(mantissa)?;
    if exponent < 0 { mantissa.over(&power) } else { Some(mantissa.times(&power)) }
}

impl Config {
    /// Reads the settings; there are so many tokens.
    pub fn read(bytes: &[u8], class: &Class, certificate: &HostCertificate, tokens: usize) -> Result<Self, Misfit> {
        let json = Json::parse(bytes).map_err(Misfit::Wrong)?;
        let Some(fields) = json.object() else { return wrong("it is no object") };
        let claim = &certificate.claim;
        let outputs = if certificate.labels.is_empty() { claim.output_dims } else { certificate.labels.len() };
        let eps = class.eps.and_then(|power| Ratio::ONE.over(&Ratio::whole(10).power(power)?));
        let mut reader = Reader { json: &json, known: Vec::new(), sides: [None; 6], blocks: Vec::new(), eps };
        if claim.double && !class.double {
            return wrong(format!("{} computes in single precision, whatever its weights are", class.name));
        }
        let dtype = if claim.double { "float64" } else { "float32" };
        let texts = [("model_type", class.name), ("attn_implementation", "eager"), ("dtype", dtype)];
        texts.iter().try_for_each(|(name, text)| reader.text(name, text))?;
        let architectures = reader.value("architectures")?.list();
        if !architectures.is_some_and(|list| matches!(list, [one] if one.text() == Some(class.architecture))) {
            return wrong(format!("architectures: expected [{:?}]", class.architecture));
        }
        let words = if class.outputs.1 { tokens.max(outputs) } else { tokens };
        if class.outputs.1 && !certificate.labels.is_empty() && outputs < words {
            return wrong(format!("{outputs} labels, and scores of {words} words"));
        }
        if reader.value("vocab_size")?.count() != Some(words) {
            return wrong(format!("vocab_size: expected {words}"));
        }
        reader.labels(outputs)?;
        class.settings.iter().try_for_each(|(name, setting)| reader.setting(name, *setting))?;
        if let Some((name, _)) = fields.iter().find(|(name, _)| !reader.known.contains(&&**name)) {
            return wrong(format!("{name:?} is no setting that is known"));
        }
        let (sides, kinds, eps) = (reader.sides, reader.blocks, reader.eps);
        let [width, blocks, heads, hidden, positions, head_size] = sides.map(Option::unwrap_or_default);
        let (positions, head_size) = (
            sides[4].map_or(claim.tokens[1], |_| positions),
            sides[5].map_or(width.checked_div(heads).unwrap_or(0), |_| head_size),
        );
        if [blocks, heads, hidden, head_size].contains(&0) || head_size.saturating_mul(heads) != width {
            return wrong(format!("{blocks} blocks, {hidden} units, {heads} heads of a width of {width}"));
        }
        if class.rotated && !head_size.is_multiple_of(2) {
            return wrong(format!("heads of {head_size}, of which rotations make more"));
        }
        if let Some(kinds) = kinds.iter().find(|kinds| **kinds != blocks) {
            return wrong(format!("kinds of {kinds} blocks, of which there are {blocks}"));
        }
        if positions != claim.tokens[1] {
            return wrong(format!("{positions} positions, and {} tokens at most", claim.tokens[1]));
        }
        let eps = eps.ok_or_else(|| Misfit::Wrong("nothing is added to a variance".to_owned()))?;
        let (Some(root), Some(_)) = (root_of(head_size), root_of(width / 2).filter(|_| width.is_multiple_of(2))) else {
            return Err(Misfit::Other(format!(
                "a width of {width} and heads of {head_size}, where 2·4^k and 4^j are decided"
            )));
        };
        let root = if class.scaled { root } else { Dyadic::ONE };
        Ok(Self { width, blocks, heads, head_size, root, hidden, positions, words, tokens, outputs, eps })
    }
}

/// The root of a power of 4.
fn root_of(x: usize) -> Option<Dyadic> {
    let power = i64::from(x.trailing_zeros());
    (x.is_power_of_two() && power.rem_euclid(2) == 0).then(|| Dyadic::power_of_two(power / 2))
}

struct Reader<'j> {
    json: &'j Json<'j>,
    known: Vec<&'static str>,
    sides: [Option<usize>; 6],
    /// How many blocks settings speak of.
    blocks: Vec<usize>,
    eps: Option<Ratio>,
}

impl<'j> Reader<'j> {
    fn value(&mut self, name: &'static str) -> Result<&'j Json<'j>, Misfit> {
        self.known.push(name);
        self.json.get(name).map_or_else(|| wrong(format!("{name:?} is missing")), Ok)
    }

    fn text(&mut self, name: &'static str, wanted: &str) -> Result<(), Misfit> {
        let value = self.value(name)?;
        if value.text() == Some(wanted) {
            return Ok(());
        }
        wrong(format!("{name:?} is {}, expected {wanted:?}", value.brief()))
    }

    /// A text for each output, and its number for each text.
    fn labels(&mut self, outputs: usize) -> Result<(), Misfit> {
        let (names, numbers) = (self.value("id2label")?.object(), self.value("label2id")?.object());
        let (Some(names), Some(numbers)) = (names, numbers) else {
            return wrong("id2label or label2id is no object");
        };
        if names.len() != outputs || numbers.len() != outputs {
            return wrong(format!(
                "{} labels, and {} ids of labels, for {outputs} outputs",
                names.len(),
                numbers.len()
            ));
        }
        for id in 0..outputs {
            let name = names.iter().find(|(known, _)| *known == id.to_string()).and_then(|(_, name)| name.text());
            let back = name.and_then(|name| numbers.iter().find(|(known, _)| known == name));
            if back.and_then(|(_, back)| back.count()) != Some(id) {
                return wrong(format!("label {id} is missing, or its name is not that of {id}"));
            }
        }
        Ok(())
    }

    fn setting(&mut self, name: &'static str, setting: Setting) -> Result<(), Misfit> {
        let value = self.value(name)?;
        let fault = |wanted: &str| wrong(format!("{name:?} is {}, expected {wanted}", value.brief()));
        match setting {
            Setting::Text(text) => return self.text(name, text),
            Setting::Word(word) if *value == Json::Word(word) => {}
            Setting::Word(word) => return fault(word),
            Setting::Zero if number(value) == Some(Ratio::ZERO) => {}
            Setting::Zero => return fault("0"),
            Setting::One if number(value) == Some(Ratio::ONE) => {}
            Setting::One => return fault("1"),
            Setting::Whole(whole) if value.count() == Some(whole) => {}
            Setting::Whole(whole) => return fault(&whole.to_string()),
            Setting::Count(side) => {
                let Some(count) = value.count() else { return fault("a count") };
                let [width, blocks, heads, hidden, positions, head_size] = &mut self.sides;
                let slot = match side {
                    Side::Width => width,
                    Side::Blocks => blocks,
                    Side::Heads => heads,
                    Side::Hidden => hidden,
                    Side::Positions => positions,
                    Side::HeadSize => head_size,
                };
                if slot.is_some_and(|known| known != count) {
                    return fault("what another setting says");
                }
                *slot = Some(count);
            }
            Setting::Eps => match number(value).filter(|eps| !eps.is_negative()) {
                Some(eps) => self.eps = Some(eps),
                None => return fault("a number that is not negative"),
            },
            Setting::Rest if rests(value) => {}
            Setting::Rests(kinds) if of_kinds(value, kinds) => {}
            Setting::Rest | Setting::Rests(_) => return fault("rotations whose frequencies are divided by 1e300"),
            Setting::Each(kind) => match value.list().filter(|all| all.iter().all(|one| one.text() == Some(kind))) {
                Some(all) => self.blocks.push(all.len()),
                None => return fault(kind),
            },
        }
        Ok(())
    }
}

/// True of rotations whose frequencies are 0 in single precision.
fn rests(value: &Json<'_>) -> bool {
    let is = |name: &str, wanted: Option<Ratio>| wanted.is_some() && value.get(name).and_then(number) == wanted;
    value.object().is_some_and(|fields| fields.len() == 3)
        && value.get("rope_type").and_then(Json::text) == Some("linear")
        && is("rope_theta", Some(Ratio::whole(10_000)))
        && is("factor", Ratio::whole(10).power(300))
}

fn of_kinds(value: &Json<'_>, kinds: &[&str]) -> bool {
    value.object().is_some_and(|fields| fields.len() == kinds.len())
        && kinds.iter().all(|kind| value.get(kind).is_some_and(rests))
}
