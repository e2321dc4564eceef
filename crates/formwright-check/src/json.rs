//! JSON, strictly: no duplicate names, nothing behind the value, nothing deeper than [`DEEPEST`]. Numbers stay texts.

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
const DEEPEST: usize = 200;

impl Json {
    /// The value that a whole text is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.space();
        if reader.peek().is_some() { Err(reader.fault("nothing more")) } else { Ok(value) }
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

    /// A count: digits without a leading 0.
    pub fn count(&self) -> Option<usize> {
        let Self::Number(digits) = self else { return None };
        (digits.bytes().all(|b| b.is_ascii_digit()) && digits.len() < 16).then(|| digits.parse().ok())?
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at = self.at.saturating_add(next.len_utf8());
        Some(next)
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|c| " \t\r\n".contains(c)) {
            self.next();
        }
    }

    fn fault(&self, expected: &str) -> String {
        let found = self.peek().map_or("the end".to_owned(), |c| format!("{c:?}"));
        format!("expected {expected} at byte {}, found {found}", self.at)
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        self.space();
        if self.peek() == Some(wanted) {
            self.next().map_or(Ok(()), |_| Ok(()))
        } else {
            Err(self.fault(&format!("{wanted:?}")))
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        self.space();
        if depth > DEEPEST {
            return Err(format!("values are nested deeper than {DEEPEST} at byte {}", self.at));
        }
        match self.peek() {
            Some('{') => {
                let mut object: Vec<(String, Json)> = Vec::new();
                let mut names = std::collections::BTreeSet::new();
                self.items('{', '}', |reader| {
                    let name = reader.string()?;
                    reader.expect(':')?;
                    if !names.insert(name.clone()) {
                        return Err(format!("the name {name:?} comes twice, again before byte {}", reader.at));
                    }
                    object.push((name, reader.value(depth.saturating_add(1))?));
                    Ok(())
                })?;
                Ok(Json::Object(object))
            }
            Some('[') => {
                let mut list = Vec::new();
                self.items('[', ']', |reader| reader.value(depth.saturating_add(1)).map(|value| list.push(value)))?;
                Ok(Json::List(list))
            }
            Some('"') => self.string().map(Json::Text),
            Some('-' | '0'..='9') => self.number(),
            _ => {
                let word = ["null", "true", "false"].into_iter().find(|word| self.rest().starts_with(word));
                let word = word.ok_or_else(|| self.fault("a value"))?;
                self.at = self.at.saturating_add(word.len());
                Ok(Json::Word(word))
            }
        }
    }

    fn items(
        &mut self,
        open: char,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        self.expect(open)?;
        self.space();
        if self.peek() == Some(close) {
            return self.expect(close);
        }
        loop {
            item(self)?;
            self.space();
            if self.peek() == Some(close) {
                return self.expect(close);
            }
            self.expect(',')?;
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let from = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit() || "+-.eE".contains(c)) {
            self.next();
        }
        let text = self.text.get(from..self.at).unwrap_or("");
        let bare = text.strip_prefix('-').unwrap_or(text);
        let whole = bare.split(['.', 'e', 'E']).next().unwrap_or("");
        if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) || bare.ends_with(['.', 'e', 'E', '+', '-'])
        {
            return Err(format!("{text:?} before byte {} is no number", self.at));
        }
        Ok(Json::Number(text.to_owned()))
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect('"')?;
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escaped()?),
                Some(c) if c >= ' ' => text.push(c),
                _ => return Err(self.fault("the rest of a text")),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        match self.next() {
            Some(c @ ('"' | '\\' | '/')) => Ok(c),
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some('r') => Ok('\r'),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some('u') => {
                let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                self.at = self.at.saturating_add(4);
                code.and_then(char::from_u32).ok_or_else(|| self.fault("a character"))
            }
            _ => Err(self.fault("an escaped character")),
        }
    }
}
