//! Requests arrive as lines; one that is too long is skipped, not kept.

use std::io::{self, BufRead, Read};

pub const MAX_LINE: usize = 1 << 20;

pub enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads one line without its end; skips the rest of one that is too long.
pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    loop {
        line.clear();
        let limit = MAX_LINE as u64 + 1;
        if input.by_ref().take(limit).read_until(b'\n', line)? == 0 {
            return Ok(Line::End);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > MAX_LINE {
            input.skip_until(b'\n')?;
            return Ok(Line::TooLong);
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Line::Whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_skipped_to_its_end() {
        let mut text = vec![b'x'; MAX_LINE + 10];
        text.extend(b"\n{}\n\n  \nlast");
        let mut input = io::BufReader::new(&text[..]);
        let mut line = Vec::new();
        assert!(matches!(
            read_line(&mut input, &mut line),
            Ok(Line::TooLong)
        ));
        assert!(matches!(read_line(&mut input, &mut line), Ok(Line::Whole)));
        assert_eq!(line, b"{}");
        assert!(matches!(read_line(&mut input, &mut line), Ok(Line::Whole)));
        assert_eq!(line, b"last");
        assert!(matches!(read_line(&mut input, &mut line), Ok(Line::End)));
    }
}
