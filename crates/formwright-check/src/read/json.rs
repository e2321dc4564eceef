//! JSON, strictly: no duplicate names, nothing behind the value, nothing deeper than [`DEEPEST`]. Numbers stay texts.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json<'t> {
    /// `null`, `true` or `false`.
    Word(&'static str),
    /// A number, as it is written.
    Number(&'t str),
    /// A text.
    Text(Cow<'t, str>),
    /// A list.
    List(Vec<Json<'t>>),
    /// An object: names and values in their order.
    Object(Vec<(Cow<'t, str>, Json<'t>)>),
}

/// The most values that may enclose a value.
const DEEPEST: usize = 256;

/// The largest count is below this.
const COUNTS: usize = 1 << 31;

impl<'t> Json<'t> {
    /// The value that a whole text is.
    pub fn parse(bytes: &'t [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| format!("it is no text: {error}"))?;
        let mut reader = Reader { rest: text };
        let value = reader.value(0)?;
        reader.space();
        if reader.rest.is_empty() { Ok(value) } else { reader.fault("nothing more") }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The list, if it is one.
    pub fn list(&self) -> Option<&[Self]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    /// The object, if it is one.
    pub fn object(&self) -> Option<&[(Cow<'t, str>, Self)]> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// A value of an object by its name.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.object()?.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// An integer of section 1: digits, perhaps with a minus in front.
    pub fn integer(&self) -> Option<i64> {
        let Self::Number(text) = self else { return None };
        let limit = i64::try_from(COUNTS).unwrap_or(i64::MAX);
        text.parse().ok().filter(|integer: &i64| *text != "-0" && integer.saturating_abs() < limit)
    }

    /// A count: digits alone.
    pub fn count(&self) -> Option<usize> {
        self.integer().and_then(|integer| usize::try_from(integer).ok())
    }

    /// A short description of the value, however long it is.
    pub fn brief(&self) -> String {
        let cut = |text: &str| text.chars().take(60).collect::<String>();
        match self {
            Self::Word(word) => (*word).to_owned(),
            Self::Number(text) => cut(text),
            Self::Text(text) => format!("{:?}", cut(text)),
            Self::List(list) => format!("a list of {}", list.len()),
            Self::Object(object) => {
                let names = object.iter().take(4).map(|(name, _)| format!("{:?}", cut(name)));
                format!("an object with the names {}", names.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// The number at the beginning of a text, by the grammar of JSON: an integer, perhaps followed by decimals, perhaps by
/// an exponent.
fn number(text: &str) -> Option<(&str, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = usize::from(text.starts_with('-'));
    let rest = |length: usize| text.get(length..).unwrap_or("");
    length = length.saturating_add(match (rest(length).starts_with('0'), digits(rest(length))) {
        (_, 0) => return None,
        (true, _) => 1,
        (false, count) => count,
    });
    if rest(length).starts_with('.') {
        length = match digits(rest(length.saturating_add(1))) {
            0 => return None,
            count => length.saturating_add(1).saturating_add(count),
        };
    }
    if rest(length).starts_with(['e', 'E']) {
        length = length.saturating_add(1);
        length = length.saturating_add(usize::from(rest(length).starts_with(['+', '-'])));
        length = match digits(rest(length)) {
            0 => return None,
            count => length.saturating_add(count),
        };
    }
    text.split_at_checked(length)
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn fault<T>(&self, expected: &str) -> Result<T, String> {
        let found: String = self.rest.chars().take(20).collect();
        Err(format!("expected {expected}, found {found:?} ({} bytes before the end)", self.rest.len()))
    }

    /// Takes this off the front, after spaces, if it is there.
    fn take(&mut self, wanted: &str) -> bool {
        self.space();
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, depth: usize) -> Result<Json<'t>, String> {
        let deeper = depth.saturating_add(1);
        if depth > DEEPEST {
            return self.fault(&format!("values inside of at most {DEEPEST} others"));
        }
        if self.take("{") {
            let (mut object, mut names) = (Vec::new(), BTreeSet::new());
            self.items("}", |reader| {
                let name = if reader.take("\"") { reader.string()? } else { reader.fault("a name")? };
                if !names.insert(name.clone()) || !reader.take(":") {
                    let name: String = name.chars().take(60).collect();
                    return reader.fault(&format!(": behind the name {name:?}, which comes once"));
                }
                object.push((name, reader.value(deeper)?));
                Ok(())
            })?;
            return Ok(Json::Object(object));
        }
        if self.take("[") {
            let mut list = Vec::new();
            self.items("]", |reader| reader.value(deeper).map(|value| list.push(value)))?;
            return Ok(Json::List(list));
        }
        if self.take("\"") {
            return self.string().map(Json::Text);
        }
        if let Some(word) = ["null", "true", "false"].into_iter().find(|word| self.take(word)) {
            return Ok(Json::Word(word));
        }
        let Some((number, rest)) = number(self.rest) else { return self.fault("a value") };
        self.rest = rest;
        Ok(Json::Number(number))
    }

    fn items(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        if self.take(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.take(close) {
                return Ok(());
            }
            if !self.take(",") {
                return self.fault(&format!(", or {close}"));
            }
        }
    }

    /// The rest of a text after its first quote.
    fn string(&mut self) -> Result<Cow<'t, str>, String> {
        let mut text = Cow::Borrowed("");
        loop {
            let stop = self.rest.find(|c| c == '"' || c == '\\' || c < ' ').unwrap_or(self.rest.len());
            let (plain, rest) = self.rest.split_at_checked(stop).unwrap_or((self.rest, ""));
            if text.is_empty() {
                text = Cow::Borrowed(plain);
            } else {
                text.to_mut().push_str(plain);
            }
            self.rest = rest;
            if let Some(rest) = self.rest.strip_prefix('"') {
                self.rest = rest;
                return Ok(text);
            }
            let Some((c, rest)) = escaped(self.rest) else { return self.fault("the rest of a text") };
            text.to_mut().push(c);
            self.rest = rest;
        }
    }
}

const ESCAPES: [(&str, char); 8] = [
    ("\\\"", '"'),
    ("\\\\", '\\'),
    ("\\/", '/'),
    ("\\b", '\u{8}'),
    ("\\f", '\u{c}'),
    ("\\n", '\n'),
    ("\\r", '\r'),
    ("\\t", '\t'),
];

/// The character that an escape at the beginning of a text stands for. A character beyond 16 bits takes two escapes;
/// half of a pair is no character.
fn escaped(text: &str) -> Option<(char, &str)> {
    let unit = |text: &str| {
        let (digits, rest) = text.strip_prefix("\\u")?.split_at_checked(4)?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
        Some((u16::from_str_radix(digits, 16).ok()?, rest.len()))
    };
    if let Some((c, rest)) = ESCAPES.into_iter().find_map(|(escape, c)| Some((c, text.strip_prefix(escape)?))) {
        return Some((c, rest));
    }
    let behind = |left: usize| text.get(text.len().checked_sub(left)?..);
    let (first, left) = unit(text)?;
    if let Some(c) = char::from_u32(first.into()) {
        return Some((c, behind(left)?));
    }
    let (second, left) = unit(behind(left)?)?;
    let c = char::decode_utf16([first, second]).next()?.ok()?;
    Some((c, behind(left)?))
}
