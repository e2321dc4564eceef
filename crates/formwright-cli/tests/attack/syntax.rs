//! The syntax of `target.json` as a text of the target language, so that a target that was changed there can be evaluated.

use serde_json::Value;

/// The integers that a target lives on, if it does.
pub fn integers(file: &Value) -> Option<(i64, i64)> {
    let ends = file["ast"]["domain"]["integers"].as_array()?;
    Some((ends.first()?.as_i64()?, ends.get(1)?.as_i64()?))
}

/// The whole target; `None` where the language has no words for it.
pub fn text(ast: &Value) -> Option<String> {
    let lets = ast["lets"].as_array().into_iter().flatten();
    let lets = lets.map(|b| Some(format!("let {} = {}; ", b["name"].as_str()?, expression(&b["value"])?)));
    let body = match (&ast["body"]["each"], &ast["body"]["coordinates"]) {
        (Value::Null, Value::Array(all)) => format!("[{}]", list(all)?),
        (each, Value::Null) => expression(each)?,
        _ => return None,
    };
    let text = lets.collect::<Option<String>>()? + &body;
    let domain = &ast["domain"];
    Some(match (domain["interval"].as_array(), domain["integers"].as_array()) {
        (Some(ends), None) => format!("{text} on [{}, {}]", ends.first()?.as_str()?, ends.get(1)?.as_str()?),
        (None, Some(ends)) => format!("{text} on integers {}..{}", ends.first()?.as_i64()?, ends.get(1)?.as_i64()?),
        _ => return None,
    })
}

fn list(all: &[Value]) -> Option<String> {
    Some(all.iter().map(expression).collect::<Option<Vec<_>>>()?.join(", "))
}

/// A number as the language writes it: a fraction there is a quotient of two numbers, so only decimals are one.
fn number(text: &str) -> Option<String> {
    let Some((above, below)) = text.split_once('/') else { return Some(text.to_owned()) };
    let (above, below): (u128, u128) = (above.parse().ok()?, below.parse().ok()?);
    let places = (1..38).find(|places| 10_u128.pow(*places).is_multiple_of(below))?;
    let scaled = above.checked_mul(10_u128.pow(places) / below)?;
    Some(format!("{scaled}e-{places}"))
}

fn expression(e: &Value) -> Option<String> {
    if let Some(word) = e.as_str() {
        let words = [("token", "x"), ("index", "i"), ("running", "j"), ("length", "n")];
        return words.into_iter().find_map(|(name, short)| (name == word).then(|| short.to_owned()));
    }
    let (kind, content) = e.as_object().filter(|object| object.len() == 1)?.iter().next()?;
    let part = |k: usize| expression(content.get(k)?);
    let name = |k: usize| content.get(k)?.as_str();
    let joined = |word: &str, a: usize| Some(format!("({} {word} {})", part(a)?, part(a + 1)?));
    match kind.as_str() {
        "number" => number(content.as_str()?),
        "negate" => Some(format!("(-{})", expression(content)?)),
        "power" => Some(format!("({})^{}", part(0)?, content.get(1)?.as_u64()?)).map(|power| format!("({power})")),
        "gather" => Some(format!("x[{}]", expression(content)?)),
        "bound" => Some(content.as_str()?.to_owned()),
        "gather-bound" => Some(format!("{}[{}]", name(0)?, part(1)?)),
        "coordinate" => Some(format!("{}.{}", part(0)?, content.get(1)?.as_u64()?)),
        "binary" => {
            let signs = [("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"), ("mod", "mod")];
            joined(signs.into_iter().find(|(word, _)| Some(*word) == name(0))?.1, 1)
        }
        "compare" => {
            let signs = [
                ("less", "<"),
                ("less-equal", "<="),
                ("greater", ">"),
                ("greater-equal", ">="),
                ("equal", "=="),
                ("not-equal", "!="),
            ];
            joined(signs.into_iter().find(|(word, _)| Some(*word) == name(0))?.1, 1)
        }
        "and" | "or" => joined(kind, 0),
        "not" => Some(format!("(not {})", expression(content)?)),
        "if" => Some(format!("(if {} then {} else {})", part(0)?, part(1)?, part(2)?)),
        "call" => Some(format!("{}({})", name(0)?, list(content.get(1)?.as_array()?)?)),
        "aggregate" => match content.get(2)? {
            Value::Null => Some(format!("{}({})", name(0)?, part(1)?)),
            filter => Some(format!("{}({}, {})", name(0)?, part(1)?, expression(filter)?)),
        },
        "sort" => Some(format!("sort({})", expression(content)?)),
        "table" => {
            let entries = content.get(1)?.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
            Some(format!("table({}; {})", part(0)?, entries.join(", ")))
        }
        _ => None,
    }
}
