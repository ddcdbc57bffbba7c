//! Lexer: a text becomes tokens, each a kind and a byte range. Hidden tokens (space, comments) are kept, because the
//! snippets in error messages count them.
//!
//! Invariant: tokens follow each other without a gap, apart from kinds not kept; only the first error ends them early.
//!
//! Source: the token rules of Cassandra 5.0's grammar; where those overlap, Cassandra's lexer looks ahead a bounded number
//! of characters and then commits, and so do we: `12345678-1` is a broken UUID, not two integers.

use crate::token::{TokenKind, kind_of_word};

/// A kind and the bytes it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub start: u32,
    pub end: u32,
}

/// The first thing that is not a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LexError {
    /// Byte offset of the character that does not fit; the length of the text at its end.
    pub offset: usize,
    pub reason: LexReason,
}

/// Why a character does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LexReason {
    NoViableAlternative,
    Expected(&'static str),
    EmptyLoop,
}

/// All tokens up to the first error.
#[derive(Debug)]
pub(crate) struct Lexed {
    pub tokens: Vec<Token>,
    pub error: Option<LexError>,
}

/// What a mismatch says when several characters would have done.
const ONE_OF_SEVERAL: &str = "set null";

const UUID_GROUP_DIGITS: [usize; 5] = [8, 4, 4, 4, 12];

/// Splits the text and keeps the tokens that `keep` wants. Offsets are 32 bits wide: the caller refuses longer texts.
pub(crate) fn lex(text: &str, keep: impl Fn(TokenKind) -> bool) -> Lexed {
    // One token every four bytes is what ordinary statements have, spaces included.
    let mut tokens = Vec::with_capacity(text.len() / 4 + 4);
    let mut lexer = Lexer { bytes: text.as_bytes(), at: 0 };
    while lexer.at < lexer.bytes.len() {
        let start = lexer.at;
        match lexer.token() {
            Ok(kind) if !keep(kind) => {}
            Ok(kind) => tokens.push(Token { kind, start: offset32(start), end: offset32(lexer.at) }),
            Err(reason) => return Lexed { tokens, error: Some(LexError { offset: lexer.at, reason }) },
        }
    }
    Lexed { tokens, error: None }
}

fn offset32(offset: usize) -> u32 {
    u32::try_from(offset).expect("longer texts are refused before they are split")
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
}

type LexResult = Result<TokenKind, LexReason>;

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn take(&mut self, count: usize, kind: TokenKind) -> LexResult {
        self.at += count;
        Ok(kind)
    }

    fn skip_while(&mut self, mut accept: impl FnMut(u8) -> bool) -> usize {
        let start = self.at;
        while self.peek(0).is_some_and(&mut accept) {
            self.at += 1;
        }
        self.at - start
    }

    fn token(&mut self) -> LexResult {
        let Some(first) = self.peek(0) else { return Err(LexReason::NoViableAlternative) };
        match (first, self.peek(1)) {
            (b' ' | b'\t' | b'\n' | b'\r', _) => {
                self.skip_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
                Ok(TokenKind::Whitespace)
            }
            (b'-', Some(b'-')) | (b'/', Some(b'/')) => self.line_comment(),
            (b'/', Some(b'*')) => self.block_comment(),
            (b'-', Some(b'=')) => self.take(2, TokenKind::MinusEq),
            (b'-', Some(b'0'..=b'9')) => self.number(),
            (b'-', Some(b'n' | b'N')) => self.word_after_minus("nan", TokenKind::NegativeNan),
            (b'-', Some(b'i' | b'I')) => self.word_after_minus("infinity", TokenKind::NegativeInfinity),
            (b'-', Some(b'P')) => self.negative_iso_duration(),
            (b'\'', _) => self.string(),
            (b'$', _) => self.dollar_string(),
            (b'"', _) => self.quoted_name(),
            (b'0'..=b'9', _) => self.number(),
            (b'a'..=b'z' | b'A'..=b'Z', _) => self.word(),
            (b'.', Some(b'.')) => self.take(2, TokenKind::Range),
            (b'+', Some(b'=')) => self.take(2, TokenKind::PlusEq),
            (b'<', Some(b'=')) => self.take(2, TokenKind::LtEq),
            (b'>', Some(b'=')) => self.take(2, TokenKind::GtEq),
            (b'!', Some(b'=')) => self.take(2, TokenKind::NotEq),
            (b'!', _) => {
                self.at += 1;
                Err(LexReason::Expected("'='"))
            }
            (single, _) => self.single(single),
        }
    }

    fn single(&mut self, byte: u8) -> LexResult {
        let kind = match byte {
            b'?' => TokenKind::QuestionMark,
            b'%' => TokenKind::Percent,
            b'(' => TokenKind::LeftParen,
            b')' => TokenKind::RightParen,
            b'+' => TokenKind::Plus,
            b',' => TokenKind::Comma,
            b'-' => TokenKind::Minus,
            b'.' => TokenKind::Dot,
            b'/' => TokenKind::Slash,
            b':' => TokenKind::Colon,
            b';' => TokenKind::Semicolon,
            b'<' => TokenKind::Lt,
            b'=' => TokenKind::Eq,
            b'>' => TokenKind::Gt,
            b'[' => TokenKind::LeftBracket,
            b'*' => TokenKind::Star,
            b']' => TokenKind::RightBracket,
            b'{' => TokenKind::LeftBrace,
            b'}' => TokenKind::RightBrace,
            _ => return Err(LexReason::NoViableAlternative),
        };
        self.take(1, kind)
    }

    /// Needs its line end: a comment that the end of the text cuts short is an error in Cassandra.
    fn line_comment(&mut self) -> LexResult {
        self.skip_while(|byte| byte != b'\n' && byte != b'\r');
        if self.at == self.bytes.len() {
            Err(LexReason::Expected(ONE_OF_SEVERAL))
        } else {
            self.take(1, TokenKind::Comment)
        }
    }

    fn block_comment(&mut self) -> LexResult {
        self.at += 2;
        loop {
            self.skip_while(|byte| byte != b'*');
            match (self.peek(0), self.peek(1)) {
                (None, _) => return Err(LexReason::Expected("'*'")),
                (_, Some(b'/')) => return self.take(2, TokenKind::MultilineComment),
                (_, None) => {
                    self.at += 1;
                    return Err(LexReason::Expected("'/'"));
                }
                _ => self.at += 1,
            }
        }
    }

    /// `-NaN` and `-Infinity`: after the first letter Cassandra expects the rest.
    fn word_after_minus(&mut self, word: &str, kind: TokenKind) -> LexResult {
        self.at += 1;
        for expected in word.bytes() {
            if self.peek(0).is_none_or(|byte| byte.to_ascii_lowercase() != expected) {
                return Err(LexReason::Expected(ONE_OF_SEVERAL));
            }
            self.at += 1;
        }
        Ok(kind)
    }

    fn string(&mut self) -> LexResult {
        self.at += 1;
        loop {
            self.skip_while(|byte| byte != b'\'');
            match (self.peek(0), self.peek(1)) {
                (None, _) => return Err(LexReason::Expected("'''")),
                (_, Some(b'\'')) => self.at += 2,
                _ => return self.take(1, TokenKind::StringLiteral),
            }
        }
    }

    /// `$$ … $$`.
    fn dollar_string(&mut self) -> LexResult {
        if self.peek(1) != Some(b'$') {
            self.at += 1;
            return Err(LexReason::Expected("'$'"));
        }
        let body = self.at + 2;
        self.at = body;
        loop {
            self.skip_while(|byte| byte != b'$');
            match (self.peek(0), self.peek(1)) {
                (_, Some(b'$')) => return self.take(2, TokenKind::StringLiteral),
                (None, _) => {
                    self.at = self.unclosed_dollar_string_end(body);
                    return Err(LexReason::Expected("'$'"));
                }
                _ => self.at += 1,
            }
        }
    }

    /// Where Cassandra misses the closing sign: it reads all but the last character as content, and expects the sign
    /// there.
    fn unclosed_dollar_string_end(&self, body: usize) -> usize {
        let length = self.bytes.len();
        let is_start = |at: &usize| self.bytes.get(*at).is_some_and(|byte| byte & 0xC0 != 0x80);
        match (body..length).rev().find(is_start) {
            Some(last) if self.bytes.get(last) != Some(&b'$') => last,
            _ => length,
        }
    }

    fn quoted_name(&mut self) -> LexResult {
        self.at += 1;
        if self.peek(0).is_none() {
            return Err(LexReason::NoViableAlternative);
        }
        if self.peek(0) == Some(b'"') && self.peek(1) != Some(b'"') {
            return self.take(1, TokenKind::EmptyQuotedName);
        }
        loop {
            self.skip_while(|byte| byte != b'"');
            match (self.peek(0), self.peek(1)) {
                (None, _) => return Err(LexReason::Expected("'\"'")),
                (_, Some(b'"')) => self.at += 2,
                _ => return self.take(1, TokenKind::QuotedName),
            }
        }
    }

    fn word(&mut self) -> LexResult {
        if let Some(length) = self.iso_duration(0) {
            return self.take(length, TokenKind::DurationLiteral);
        }
        if let Some(result) = self.uuid() {
            return result;
        }
        if self.peek(0) == Some(b'P')
            && let Some(result) = self.broken_alternative_duration(0)
        {
            return result;
        }
        let start = self.at;
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        if word == b"expr" && self.peek(0) == Some(b'(') {
            return self.take(1, TokenKind::ExprParen);
        }
        Ok(kind_of_word(word))
    }

    /// A UUID when the next characters can be nothing else, whether it is complete or broken. A word of eight
    /// hexadecimal digits followed by `-` and another hexadecimal digit commits.
    fn uuid(&mut self) -> Option<LexResult> {
        let hex = |ahead: usize| self.peek(ahead).is_some_and(|byte| byte.is_ascii_hexdigit());
        if !(0..8).all(hex) || self.peek(8) != Some(b'-') {
            return None;
        }
        // A word may end after eight letters and be followed by a minus; a number too. One more digit decides.
        Some(self.uuid_groups())
    }

    /// Reads the five groups, or stops at the first character that is not one.
    fn uuid_groups(&mut self) -> LexResult {
        for (index, digits) in UUID_GROUP_DIGITS.into_iter().enumerate() {
            if index > 0 {
                if self.peek(0) != Some(b'-') {
                    return Err(LexReason::Expected("'-'"));
                }
                self.at += 1;
            }
            for _ in 0..digits {
                if !self.peek(0).is_some_and(|byte| byte.is_ascii_hexdigit()) {
                    return Err(LexReason::Expected(ONE_OF_SEVERAL));
                }
                self.at += 1;
            }
        }
        Ok(TokenKind::UuidLiteral)
    }

    /// Integer, float, duration, hexadecimal number, or a UUID that starts with a digit.
    fn number(&mut self) -> LexResult {
        let negative = usize::from(self.peek(0) == Some(b'-'));
        let digits = self.count_digits(negative);
        let after = negative + digits;
        if negative == 0 {
            if digits == 1 && self.peek(0) == Some(b'0') && matches!(self.peek(1), Some(b'x' | b'X')) {
                self.at += 2;
                self.skip_while(|byte| byte.is_ascii_hexdigit());
                return Ok(TokenKind::HexNumber);
            }
            if let Some(result) = self.uuid() {
                return result;
            }
            if digits < 8 && self.commits_to_uuid(digits) {
                return self.uuid_groups();
            }
        }
        match self.peek(after) {
            Some(b'.') if self.peek(after + 1) == Some(b'.') && self.peek(after + 2) != Some(b'.') => {
                self.take(after, TokenKind::Integer)
            }
            Some(b'.') if self.peek(after + 1) == Some(b'.') => self.take(after + 1, TokenKind::FloatLiteral),
            Some(b'.') => {
                self.at += after + 1;
                self.skip_while(|byte| byte.is_ascii_digit());
                self.exponent()
            }
            Some(b'e' | b'E') => {
                // "1e" may still become a UUID: Cassandra finds no token at all. Longer numbers can only be floats.
                let undecided = negative == 0 && digits < UUID_GROUP_DIGITS[0];
                if undecided && !matches!(self.peek(after + 1), Some(b'0'..=b'9' | b'+' | b'-')) {
                    self.at += after + 1;
                    return Err(LexReason::NoViableAlternative);
                }
                self.at += after;
                self.exponent()
            }
            Some(_) => self.duration(after),
            None => self.take(after, TokenKind::Integer),
        }
    }

    /// Whether what follows fewer than eight digits is only found in a UUID.
    fn commits_to_uuid(&self, digits: usize) -> bool {
        let mut at = digits;
        let mut may_be_float = true;
        while at < 8 {
            match self.peek(at).map(|byte| byte.to_ascii_lowercase()) {
                Some(b'a' | b'b' | b'c' | b'f') => return true,
                Some(b'd') => {
                    may_be_float = false;
                    let more = self.count_digits(at + 1);
                    if more == 0 {
                        return at < 7 && self.peek(at + 1).is_some_and(|byte| byte.is_ascii_hexdigit());
                    }
                    at += 1 + more;
                }
                Some(b'e') if !may_be_float => return true,
                Some(b'e') => {
                    let more = self.count_digits(at + 1);
                    if more == 0 {
                        return at < 7 && self.peek(at + 1).is_some_and(|byte| byte.is_ascii_hexdigit());
                    }
                    let next = at + 1 + more;
                    return next < 8 && self.peek(next).is_some_and(|byte| byte.is_ascii_hexdigit());
                }
                _ => return false,
            }
        }
        false
    }

    fn exponent(&mut self) -> LexResult {
        if !matches!(self.peek(0), Some(b'e' | b'E')) {
            return Ok(TokenKind::FloatLiteral);
        }
        self.at += 1;
        if matches!(self.peek(0), Some(b'+' | b'-')) {
            self.at += 1;
        }
        match self.skip_while(|byte| byte.is_ascii_digit()) {
            0 => Err(LexReason::EmptyLoop),
            _ => Ok(TokenKind::FloatLiteral),
        }
    }

    /// `1y2mo…`, `at` being the end of the first run of digits; an integer when no unit follows.
    fn duration(&mut self, at: usize) -> LexResult {
        let mut end = at;
        loop {
            match self.duration_unit(end) {
                Unit::Bytes(length) => end += length,
                Unit::None if end == at => return self.take(at, TokenKind::Integer),
                Unit::None => {
                    self.at += end;
                    return Err(LexReason::NoViableAlternative);
                }
                Unit::Broken { width } => {
                    self.at += end + width;
                    return Err(LexReason::Expected(ONE_OF_SEVERAL));
                }
            }
            let digits = self.count_digits(end);
            if digits == 0 {
                return self.take(end, TokenKind::DurationLiteral);
            }
            end += digits;
        }
    }

    fn duration_unit(&self, at: usize) -> Unit {
        let lower = |ahead: usize| self.peek(ahead).map(|byte| byte.to_ascii_lowercase());
        match (lower(at), lower(at + 1)) {
            (Some(b'm'), Some(b'o' | b's')) => Unit::Bytes(2),
            (Some(b'u' | b'n'), Some(b's')) => Unit::Bytes(2),
            (Some(b'u' | b'n'), _) => Unit::Broken { width: 1 },
            (Some(b'y' | b'w' | b'd' | b'h' | b'm' | b's'), _) => Unit::Bytes(1),
            // U+00B5, the micro sign, in UTF-8.
            (Some(0xC2), Some(0xB5)) if lower(at + 2) == Some(b's') => Unit::Bytes(3),
            (Some(0xC2), Some(0xB5)) => Unit::Broken { width: 2 },
            _ => Unit::None,
        }
    }

    fn count_digits(&self, from: usize) -> usize {
        let rest = self.bytes.get(self.at + from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    fn negative_iso_duration(&mut self) -> LexResult {
        if let Some(length) = self.iso_duration(1) {
            return self.take(length, TokenKind::DurationLiteral);
        }
        if let Some(result) = self.broken_alternative_duration(1) {
            return result;
        }
        // The sign commits to a duration: the error stands where the text stops being one.
        self.at += 2;
        self.skip_while(|byte| byte.is_ascii_digit());
        if self.peek(0) == Some(b'T') {
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        Err(LexReason::NoViableAlternative)
    }

    /// Length of an ISO 8601 duration that starts `sign` bytes from here, sign included. The designators are upper case.
    fn iso_duration(&self, sign: usize) -> Option<usize> {
        if self.peek(sign) != Some(b'P') {
            return None;
        }
        if let Some(length) = self.alternative_duration(sign) {
            return Some(length);
        }
        let mut at = sign + 1;
        let date_end = self.designators(at, b"YMD");
        if date_end == at {
            let digits = self.count_digits(at);
            if digits > 0 && self.peek(at + digits) == Some(b'W') {
                let end = at + digits + 1;
                return (!self.goes_on_as_word(end)).then_some(end);
            }
        }
        at = date_end;
        if self.peek(at) == Some(b'T') {
            let time_end = self.designators(at + 1, b"HMS");
            if time_end > at + 1 && !self.goes_on_as_word(time_end) {
                return Some(time_end);
            }
            return None;
        }
        (at > sign + 1 && !self.goes_on_as_word(at)).then_some(at)
    }

    /// Unsigned `P1Y2` is a word, not a duration and a number.
    fn goes_on_as_word(&self, at: usize) -> bool {
        self.peek(0) == Some(b'P') && self.peek(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// `1Y2M…`: each designator at most once, in order. Returns where it ends.
    fn designators(&self, from: usize, letters: &[u8]) -> usize {
        let mut at = from;
        for letter in letters {
            let digits = self.count_digits(at);
            if digits > 0 && self.peek(at + digits) == Some(*letter) {
                at += digits + 1;
            }
        }
        at
    }

    /// `P0001-02-03T04:05:06`.
    fn alternative_duration(&self, sign: usize) -> Option<usize> {
        let template = ALTERNATIVE_DURATION.iter().enumerate();
        let fits = template.into_iter().all(|(index, expected)| self.fits_template(sign + 1 + index, *expected));
        fits.then_some(sign + 1 + ALTERNATIVE_DURATION.len())
    }

    fn fits_template(&self, at: usize, expected: u8) -> bool {
        match expected {
            b'9' => self.peek(at).is_some_and(|byte| byte.is_ascii_digit()),
            sign => self.peek(at) == Some(sign),
        }
    }

    /// `P` and four digits with a minus commit to the alternative form.
    fn broken_alternative_duration(&mut self, sign: usize) -> Option<LexResult> {
        if self.count_digits(sign + 1) != 4 || self.peek(sign + 5) != Some(b'-') {
            return None;
        }
        let broken = (0..ALTERNATIVE_DURATION.len()).find(|index| {
            let expected = ALTERNATIVE_DURATION.get(*index).copied().unwrap_or(0);
            !self.fits_template(sign + 1 + index, expected)
        })?;
        self.at += sign + 1 + broken;
        Some(Err(LexReason::Expected(match ALTERNATIVE_DURATION.get(broken) {
            Some(b'-') => "'-'",
            Some(b'T') => "'T'",
            Some(b':') => "':'",
            _ => ONE_OF_SEVERAL,
        })))
    }
}

/// Digits stand for themselves as `9`.
const ALTERNATIVE_DURATION: &[u8] = b"9999-99-99T99:99:99";

enum Unit {
    Bytes(usize),
    None,
    /// So many bytes of a unit, and then something else.
    Broken {
        width: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let lexed = lex(text, |kind| !kind.is_hidden());
        assert_eq!(lexed.error, None, "{text}");
        lexed.tokens.iter().map(|token| token.kind).collect()
    }

    #[test]
    fn ambiguous_beginnings_become_what_cassandra_takes_them_for() {
        use TokenKind as T;
        for (text, expected) in [
            ("1..2", vec![T::Integer, T::Range, T::Integer]),
            ("1...2", vec![T::FloatLiteral, T::Range, T::Integer]),
            ("1.x", vec![T::FloatLiteral, T::Ident]),
            ("a-1", vec![T::Ident, T::Integer]),
            ("-x", vec![T::Minus, T::Ident]),
            ("-NaN", vec![T::NegativeNan]),
            ("P1Y", vec![T::DurationLiteral]),
            ("p1y", vec![T::Ident]),
            ("P1YT", vec![T::Ident]),
            ("1y2mo", vec![T::DurationLiteral]),
            ("1yx", vec![T::DurationLiteral, T::Ident]),
            ("1e500000-e29b-41d4-a716-446655440000", vec![T::UuidLiteral]),
            ("abcdef12", vec![T::Ident]),
            ("expr(", vec![T::ExprParen]),
            ("EXPR(", vec![T::Ident, T::LeftParen]),
            ("\"\"", vec![T::EmptyQuotedName]),
            ("\"\"\"a\"", vec![T::QuotedName]),
            ("$$a$b$$", vec![T::StringLiteral]),
            ("true1", vec![T::Ident]),
            ("/* */a--x\n//y\r", vec![T::Ident]),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_cover_the_text_without_a_gap() {
        let text = "SELECT 'é' /* x */ FROM t WHERE a = 0xAB AND b=1.5e-3";
        let lexed = lex(text, |_| true);
        let mut end = 0;
        for token in &lexed.tokens {
            assert_eq!(token.start, end);
            end = token.end;
        }
        assert_eq!(end as usize, text.len());
    }

    #[test]
    fn what_commits_to_a_uuid_or_an_exponent_is_not_taken_back() {
        for (text, offset) in [("12345678-1 ", 10), ("1a ", 2), ("1e ", 2), ("1.5e ", 4), ("1y2 ", 3), ("--x", 3)] {
            assert_eq!(lex(text, |_| true).error.map(|error| error.offset), Some(offset), "{text}");
        }
    }
}
