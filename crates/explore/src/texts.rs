//! Texts as forms and numbers: most lines of code differ from another one only in their numbers, so a page has each form
//! once, and for each text its form and numbers.
//!
//! It is here because texts are most of a page. No meaning of a text is known.

use std::collections::HashMap;

use serde::Serialize;

/// Digits of a number that is taken out of a text, at most: the script reads it without loss.
const DIGITS: usize = 9;
/// The place of a number in a form.
const PLACE: char = '\0';

/// Texts in the order in which they were added.
#[derive(Serialize, Default)]
pub struct Texts {
    /// The stretches between the numbers of a form: one stretch more than it has numbers.
    forms: Vec<Vec<String>>,
    /// For each text its form.
    of: Vec<usize>,
    /// The numbers of all texts, one after the other.
    numbers: Vec<u32>,
    /// Forms by their stretches, with [`PLACE`] between them.
    #[serde(skip)]
    known: HashMap<String, usize>,
    /// The form of the text that is being added.
    #[serde(skip)]
    form: String,
}

impl Texts {
    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        // Its form could be taken for another one, so it has one of its own.
        if text.contains(PLACE) {
            self.of.push(self.forms.len());
            self.forms.push(vec![text.to_owned()]);
            return;
        }
        self.form.clear();
        let mut rest = text;
        while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
            let end = rest[start..].find(|letter: char| !letter.is_ascii_digit());
            let end = end.map_or(rest.len(), |end| start + end);
            let digits = &rest[start..end];
            self.form.push_str(&rest[..start]);
            // A number that begins with zero would not come back as it was.
            match digits.parse() {
                Ok(number) if digits.len() <= DIGITS && (digits == "0" || !digits.starts_with('0')) => {
                    self.numbers.push(number);
                    self.form.push(PLACE);
                }
                _ => self.form.push_str(digits),
            }
            rest = &rest[end..];
        }
        self.form.push_str(rest);
        let form = self.known.get(&self.form).copied().unwrap_or_else(|| {
            self.forms.push(self.form.split(PLACE).map(str::to_owned).collect());
            self.known.insert(self.form.clone(), self.forms.len() - 1);
            self.forms.len() - 1
        });
        self.of.push(form);
    }
}

impl<'a> FromIterator<&'a str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'a str>>(list: I) -> Texts {
        let mut texts = Texts::default();
        list.into_iter().for_each(|text| texts.push(text));
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts as the script makes them.
    fn expanded(texts: &Texts) -> Vec<String> {
        let mut numbers = texts.numbers.iter();
        let text = |&form: &usize| {
            let stretches = &texts.forms[form];
            let mut text = stretches[0].clone();
            for stretch in &stretches[1..] {
                text += &numbers.next().expect("a number").to_string();
                text += stretch;
            }
            text
        };
        texts.of.iter().map(text).collect()
    }

    #[test]
    fn texts_come_back() {
        let list = [
            "  r4 = IADD3 r2, r17 ; 12",
            "  r5 = IADD3 r9, r1 ; 13",
            "",
            "7",
            "0x0100 007 1234567890",
            "é12ü",
            "0",
        ];
        let texts: Texts = list.into_iter().collect();
        assert_eq!(expanded(&texts), list);
        assert_eq!(texts.of[..2], [0, 0], "one form");
        assert_eq!(texts.numbers[..8], [4, 3, 2, 17, 12, 5, 3, 9]);
    }
}
