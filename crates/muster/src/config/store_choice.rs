//! The choice of a store. Its password is never shown (I6).

use std::fmt;

/// Choice of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreChoice {
    /// In the data directory.
    Sqlite,
    /// Nowhere.
    Memory,
    /// In a database that servers share.
    Postgres(DatabaseUrl),
}

/// The address of a database. Shown, it is without its password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseUrl(String);

impl StoreChoice {
    /// Reads what a setting says; `None` where it is none of them.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "sqlite" => Some(Self::Sqlite),
            "memory" => Some(Self::Memory),
            url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Some(Self::Postgres(DatabaseUrl(url.to_owned())))
            }
            _ => None,
        }
    }
}

impl DatabaseUrl {
    /// The address itself, for where it is needed.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.0))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text as it may be shown: whatever could be a password in an address is left out, rather too much than too little.
pub(crate) fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    // A password may hold any character, an @ that was not written as %40 too.
    let (who, place) = rest.rsplit_once('@').map_or((None, rest), |(who, place)| (Some(who), place));
    let who = who.map_or_else(String::new, |who| match who.split_once(':') {
        Some((user, _)) => format!("{user}:…@"),
        None => format!("{who}@"),
    });
    let (place, parameters) = place.split_once('?').unwrap_or((place, ""));
    let parameters: Vec<_> = parameters.split('&').map(without_value).collect();
    let mark = if parameters == [""] { "" } else { "?" };
    format!("{scheme}://{who}{place}{mark}{}", parameters.join("&"))
}

fn without_value(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if name.contains("pass") => format!("{name}=…"),
        _ => parameter.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I6: the password in an address is never shown, however it is written.
    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://u:hunter2@h/db", "postgres://u:…@h/db"),
            (
                "postgresql://u:hun@ter2/x@h1,h2:5433/db?sslmode=require",
                "postgresql://u:…@h1,h2:5433/db?sslmode=require",
            ),
            ("postgres://u@h/db", "postgres://u@h/db"),
            (
                "postgres:///db?host=/run&password=hunter2&user=u",
                "postgres:///db?host=/run&password=…&user=u",
            ),
            ("postgres://u:hunter2@h/db?sslpassword=hunter2", "postgres://u:…@h/db?sslpassword=…"),
            ("postgress://u:hunter2@h", "postgress://u:…@h"),
            ("postgres://u:hunter2@h/db?options=a@b", "postgres://u:…@b"),
            ("sqlite", "sqlite"),
        ] {
            assert_eq!(without_password(url), shown);
            if let Some(choice @ StoreChoice::Postgres(_)) = StoreChoice::read(url) {
                assert!(!format!("{choice:?}").contains("ter2"), "{choice:?}");
            }
        }
    }

    /// I1: three places, and nothing else.
    #[test]
    fn there_are_three_places() {
        assert_eq!(StoreChoice::read("sqlite"), Some(StoreChoice::Sqlite));
        assert_eq!(StoreChoice::read("memory"), Some(StoreChoice::Memory));
        assert!(matches!(StoreChoice::read("postgresql://h/db"), Some(StoreChoice::Postgres(_))));
        for other in ["", "Sqlite", "mysql://h/db", "postgres", "postgres:/h"] {
            assert_eq!(StoreChoice::read(other), None, "{other}");
        }
    }
}
