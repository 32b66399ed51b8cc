//! Enums whose variants have a word: in tables, on the wire, in labels of metrics.

/// Declares an enum with the word of each variant beside it.
///
/// `ALL`, `as_str` and `from_word` follow from the declaration, so a variant without a word does not compile, and a word
/// that is written can be read.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $type {
            /// All of them, in the order of their declaration.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word for it, in tables and on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// The variant of a word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
