//! The arguments of a print format, one by one. The driver's function counts them, and reads each from memory. The
//! printed text is not a result of a kernel and is not created here.

/// An argument of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    /// Its size, which is its alignment as well.
    pub bytes: u32,
    /// It is the address of a string.
    pub is_string: bool,
}

/// The arguments of a format, in order. A width or a precision given as `*` is one as well.
pub(crate) fn values(format: &[u8]) -> Vec<Value> {
    let mut values = Vec::new();
    let mut letters = format.iter().copied().peekable();
    while let Some(letter) = letters.next() {
        if letter != b'%' {
            continue;
        }
        let mut bytes = 4;
        while let Some(letter) = letters.next_if(|letter| b"-+ #.*0123456789hljzt".contains(letter)) {
            match letter {
                b'*' => values.push(Value { bytes: 4, is_string: false }),
                b'l' | b'j' | b'z' | b't' => bytes = 8,
                _ => {}
            }
        }
        let kind = letters.next();
        let bytes = match kind {
            Some(b'd' | b'i' | b'u' | b'x' | b'X' | b'o') => bytes,
            Some(b'c') => 4,
            Some(b'p' | b's' | b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A') => 8,
            _ => continue,
        };
        values.push(Value { bytes, is_string: kind == Some(b's') });
    }
    values
}

#[cfg(test)]
mod tests {
    use super::{Value, values};

    #[track_caller]
    fn takes(format: &str, bytes: &[u32]) {
        let found: Vec<u32> = values(format.as_bytes()).iter().map(|value| value.bytes).collect();
        assert_eq!(found, bytes, "{format}");
    }

    #[test]
    fn values_of_formats() {
        takes("", &[]);
        takes("100%% of %", &[]);
        takes("%d %5u|%-3x|%c%%", &[4, 4, 4, 4]);
        takes("%lld %hd %zu %p", &[8, 4, 8, 8]);
        takes("%f %8.3e %lg", &[8, 8, 8]);
        takes("%*.*f%q", &[4, 4, 8]);
        assert_eq!(
            values(b"%s%d"),
            [Value { bytes: 8, is_string: true }, Value { bytes: 4, is_string: false }]
        );
    }
}
