//! Options in messages.
//!
//! A message writes an option as `⟨norm⟩`, with a value as `⟨norm=l2⟩`, and knows no front end. What a user reads is made
//! of it where it leaves the program: `--norm l2` on a command line, `norm='l2'` in Python, `norm=l2` elsewhere. Text
//! between such brackets that is no option stays as it is.

/// A front end, by the way in which its users write options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Front {
    /// `norm=l2`, and `norm` without a value.
    Library,
    /// `--norm l2`.
    CommandLine,
    /// `norm='l2'`, `tokens=3`, `positional=True`.
    Python,
}

/// The options that are given or not, and have no value.
const FLAGS: [&str; 3] = ["force", "pack", "positional"];

impl Front {
    /// A message as the users of this front end read it.
    pub fn shows(self, message: &str) -> String {
        let mut shown = String::with_capacity(message.len());
        let mut rest = message;
        while let Some((before, option, behind)) = next(rest) {
            shown.push_str(before);
            shown.push_str(&self.option(option));
            rest = behind;
        }
        shown + rest
    }

    fn option(self, option: &str) -> String {
        match (self, option.split_once('=')) {
            (Self::Library, _) => option.to_owned(),
            (Self::CommandLine, Some((name, value))) => format!("--{name} {value}"),
            (Self::CommandLine, None) => format!("--{option}"),
            (Self::Python, Some((name, value))) => format!("{}={}", name.replace('-', "_"), literal(value)),
            (Self::Python, None) if FLAGS.contains(&option) => format!("{option}=True"),
            (Self::Python, None) => format!("{}=", option.replace('-', "_")),
        }
    }
}

/// A value in Python: a whole number, a name such as `L` that stands for one, or a string.
fn literal(value: &str) -> String {
    let stands = value.len() == 1 && value.bytes().all(|byte| byte.is_ascii_uppercase());
    if stands || value.bytes().all(|byte| byte.is_ascii_digit()) { value.to_owned() } else { format!("'{value}'") }
}

/// The first option of a message, with the text before it and the text behind it.
fn next(message: &str) -> Option<(&str, &str, &str)> {
    message.match_indices('⟨').find_map(|(start, open)| {
        let (option, behind) = message[start + open.len()..].split_once('⟩')?;
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        let is_option = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            && !option.contains(['⟨', '\n']);
        is_option.then(|| (&message[..start], option, behind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_front_end_shows_options_as_its_users_write_them() {
        let message = "⟨eps=1/10⟩ ⟨norm=l2⟩, ⟨tokens=3⟩, ⟨lipschitz=L⟩ or ⟨positional⟩; leave out ⟨as-printed⟩";
        let shown = [Front::Library, Front::CommandLine, Front::Python].map(|front| front.shows(message));
        assert_eq!(
            shown,
            [
                "eps=1/10 norm=l2, tokens=3, lipschitz=L or positional; leave out as-printed",
                "--eps 1/10 --norm l2, --tokens 3, --lipschitz L or --positional; leave out --as-printed",
                "eps='1/10' norm='l2', tokens=3, lipschitz=L or positional=True; leave out as_printed=",
            ]
        );
    }

    #[test]
    fn brackets_around_anything_else_stay() {
        for text in ["", "⟨", "⟩", "⟨⟩", "⟨=1⟩", "⟨-x⟩", "⟨Norm⟩", "⟨u, v⟩", "⟨norm", "norm⟩", "⟨a\nb⟩", "⟨x=\n⟩"]
        {
            assert_eq!(Front::CommandLine.shows(text), text);
        }
        assert_eq!(Front::CommandLine.shows("⟨u, v⟩ ⟨⟨norm⟩⟩"), "⟨u, v⟩ ⟨--norm⟩");
    }

    #[test]
    fn what_is_shown_has_no_option_left() {
        let once = Front::CommandLine.shows("⟨a⟩⟨b=⟩⟨c=d=e⟩");
        assert_eq!(once, "--a--b --c d=e");
        assert_eq!(Front::CommandLine.shows(&once), once);
    }
}
