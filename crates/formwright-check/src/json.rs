//! JSON, strictly: no duplicate names, nothing behind the value, nothing deeper than [`DEEPEST`]. Numbers stay texts.

use std::collections::BTreeSet;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`, `true` or `false`.
    Word(&'static str),
    /// A number, as it is written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object: names and values in their order.
    Object(Vec<(String, Json)>),
}

/// How deep values may be nested.
const DEEPEST: usize = 256;

impl Json {
    /// The value that a whole text is.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
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
    pub fn object(&self) -> Option<&[(String, Self)]> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// A value of an object by its name.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.object()?.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// A count: digits alone. No number begins with a plus.
    pub fn count(&self) -> Option<usize> {
        if let Self::Number(digits) = self { digits.parse().ok() } else { None }
    }
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

    /// Takes this off the front, behind spaces, if it is there.
    fn take(&mut self, wanted: &str) -> bool {
        self.space();
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes off all characters up to one that is not meant.
    fn until(&mut self, stop: impl Fn(char) -> bool) -> &'t str {
        let (front, rest) = self.rest.split_at(self.rest.find(stop).unwrap_or(self.rest.len()));
        self.rest = rest;
        front
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        let deeper = depth.saturating_add(1);
        if depth > DEEPEST {
            return self.fault("fewer values inside of each other");
        }
        if self.take("{") {
            let (mut object, mut names) = (Vec::new(), BTreeSet::new());
            self.items("}", |reader| {
                let name = if reader.take("\"") { reader.string()? } else { reader.fault("a name")? };
                if !names.insert(name.clone()) || !reader.take(":") {
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
        let number = self.until(|c| !c.is_ascii_digit() && !"+-.eE".contains(c));
        let whole = number.strip_prefix('-').unwrap_or(number).split(['.', 'e', 'E']).next().unwrap_or("");
        let plain =
            whole == "0" || (!whole.starts_with('0') && !whole.is_empty() && whole.bytes().all(|b| b.is_ascii_digit()));
        if plain && number.ends_with(|c: char| c.is_ascii_digit()) {
            Ok(Json::Number(number.to_owned()))
        } else {
            self.fault("a value")
        }
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

    /// The rest of a text behind its first quote.
    fn string(&mut self) -> Result<String, String> {
        let mut text = String::new();
        loop {
            text.push_str(self.until(|c| c == '"' || c == '\\' || c < ' '));
            if let Some(rest) = self.rest.strip_prefix('"') {
                self.rest = rest;
                return Ok(text);
            }
            let simple = [("\\\"", '"'), ("\\\\", '\\'), ("\\/", '/'), ("\\n", '\n'), ("\\t", '\t'), ("\\r", '\r')];
            let code =
                self.rest.strip_prefix("\\u").and_then(|rest| rest.split_at_checked(4)).and_then(|(digits, rest)| {
                    let code = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
                    Some((code.and_then(char::from_u32)?, rest))
                });
            let simple = simple.into_iter().find_map(|(escape, c)| Some((c, self.rest.strip_prefix(escape)?)));
            let Some((c, rest)) = simple.or(code) else { return self.fault("the rest of a text") };
            text.push(c);
            self.rest = rest;
        }
    }
}
