//! Macros for what follows from the declaration of a type.

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

/// Shows these types in debug output as their text form.
macro_rules! debug_as_display {
    ($($type:ty),*) => {$(
        impl core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }
    )*};
}

/// Makes the content of these variants their enum.
macro_rules! from_contents {
    ($type:ident: $($variant:ident($content:ty)),*) => {$(
        impl From<$content> for $type {
            fn from(content: $content) -> Self {
                Self::$variant(content)
            }
        }
    )*};
}
