//! Why a path or a pattern is refused, and what to write instead.

use crate::refusal::Code;
use std::fmt;

use super::{ALTERNATIVES_MAX, PATH_BYTES_MAX, PATTERN_BYTES_MAX, PATTERN_DEPTH_MAX};

/// The reason a path or a pattern was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatternError {
    Empty,
    /// A path to a file named the root of the repository itself.
    Root,
    /// A leading `/`; callers relativise before parsing.
    Absolute,
    /// A path longer than [`PATH_BYTES_MAX`].
    PathTooLong,
    /// A pattern longer than [`PATTERN_BYTES_MAX`], as written or normalised.
    PatternTooLong,
    /// A backslash, which is neither a separator nor an escape here.
    Backslash,
    /// A backslash in a listed path that begins no escape.
    Escape,
    /// A control character, given as its code point.
    ControlCharacter(char),
    /// A `..` that leaves the root of the repository.
    OutsideRoot,
    /// A `..` after a segment with a glob, which no text rule can resolve.
    ParentAfterGlob,
    /// A `.` or `..` segment inside braces.
    DotSegmentInBraces,
    /// A `[` without its `]` in the same segment.
    UnclosedClass,
    /// A class without members.
    EmptyClass,
    /// A class range whose ends are the wrong way round.
    ReversedRange(char, char),
    /// A `{` without its `}`.
    UnclosedBrace,
    /// A `}` without its `{`.
    UnopenedBrace,
    /// Braces nested deeper than [`PATTERN_DEPTH_MAX`].
    TooDeep,
    /// A choice of alternatives in which everything may be left out.
    EmptyAlternative,
    /// More alternatives than can be compared quickly.
    TooComplex,
    /// More alternatives than [`ALTERNATIVES_MAX`].
    TooManyAlternatives,
}

impl PatternError {
    /// Returns the code that a caller is refused with.
    #[must_use]
    pub fn code(self) -> Code {
        let is_bound = matches!(self, Self::TooComplex | Self::TooManyAlternatives);
        if is_bound { Code::LimitExceeded } else { Code::InvalidInput }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Empty => "path is empty: name a path, or '.' for the whole repository",
            Self::Root => "path is the repository root: name a file or directory below it",
            Self::Absolute => "path starts with '/': write it relative to the repository root",
            Self::PathTooLong => {
                return write!(f, "path is longer than {PATH_BYTES_MAX} bytes: shorten it");
            }
            Self::PatternTooLong => {
                return write!(
                    f,
                    "pattern is longer than {PATTERN_BYTES_MAX} bytes: \
                     use several patterns or a shorter glob"
                );
            }
            Self::Backslash => "path has a backslash: separate with '/', escape like [*]",
            Self::Escape => {
                "path has a backslash: separate with '/', and write a backslash that is part of a name as \\\\"
            }
            Self::ControlCharacter(c) => {
                return write!(
                    f,
                    "path has the control character U+{:04X}: remove it",
                    u32::from(*c)
                );
            }
            Self::OutsideRoot => "path leaves the repository: remove the leading '..'",
            Self::ParentAfterGlob => {
                "pattern has '..' after a glob: write the path without the '..'"
            }
            Self::DotSegmentInBraces => {
                "pattern has an alternative with a '.' or '..' segment: write that alternative without it"
            }
            Self::UnclosedClass => {
                "pattern has an unclosed '[': close it in the same segment or write [[]"
            }
            Self::EmptyClass => "pattern has an empty '[]': list characters or write [[]",
            Self::ReversedRange(lo, hi) => {
                return write!(f, "pattern has the reversed range {lo}-{hi}: write {hi}-{lo}");
            }
            Self::UnclosedBrace => "pattern has an unclosed '{': close it or write [{]",
            Self::UnopenedBrace => "pattern has a '}' without a '{': open it or write [}]",
            Self::TooDeep => {
                return write!(
                    f,
                    "pattern nests braces deeper than {PATTERN_DEPTH_MAX}: write several patterns"
                );
            }
            Self::EmptyAlternative => {
                "pattern has an alternative that is empty: remove it, \
                 or write '.' for the whole repository"
            }
            Self::TooManyAlternatives => {
                return write!(
                    f,
                    "pattern has more than {ALTERNATIVES_MAX} alternatives: write several patterns"
                );
            }
            Self::TooComplex => "pattern has too many alternatives: write several patterns",
        };
        f.write_str(text)
    }
}

impl std::error::Error for PatternError {}
