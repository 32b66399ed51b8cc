//! Enums whose variants have a word: in tables, in files, on the wire, in labels of metrics.

/// Declares an enum with the word of each variant beside it.
///
/// `ALL`, `as_str` and `from_word` follow from the declaration, so a variant without a word does not compile, and a word
/// that is written can be read.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $type:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$meta])*
        $vis enum $type {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $type {
            /// All of them, in the order of their declaration.
            $vis const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word for it, in tables and on the wire.
            #[must_use]
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// The variant of a word.
            #[must_use]
            $vis fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
