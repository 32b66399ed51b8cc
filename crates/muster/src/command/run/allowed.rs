//! `--allow-failures N|N%`: how many devices may be missing (Q7b).

use std::str::FromStr;

/// A bound for the devices of a run that did not complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AllowedFailures {
    /// So many devices.
    Count(u64),
    /// So many percent of all rows of the run.
    Percent(f64),
}

impl AllowedFailures {
    /// Whether so many missing devices of a run with so many rows are within the bound.
    pub(super) fn covers(self, missing: u64, rows: u64) -> bool {
        match self {
            Self::Count(most) => missing <= most,
            #[allow(clippy::cast_precision_loss, reason = "counts of rows stay far below 2^53")]
            Self::Percent(percent) => missing as f64 * 100.0 <= percent * rows as f64,
        }
    }
}

impl FromStr for AllowedFailures {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str =
            "expected a number of devices such as 3, or a percentage from 0% to 100% such as 2.5%";
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Self::Count).map_err(|_| WRONG);
        };
        let percent: f64 = percent.parse().map_err(|_| WRONG)?;
        if (0.0..=100.0).contains(&percent) { Ok(Self::Percent(percent)) } else { Err(WRONG) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Q7b: a bound is a number of devices or a percentage of all rows.
    #[test]
    fn a_bound_is_a_count_or_a_percentage() {
        assert_eq!("3".parse(), Ok(AllowedFailures::Count(3)));
        assert_eq!("2.5%".parse(), Ok(AllowedFailures::Percent(2.5)));
        for wrong in ["", "%", "-1", "-1%", "101%", "1.5", "three", "NaN%", "inf%"] {
            assert!(wrong.parse::<AllowedFailures>().is_err(), "{wrong}");
        }
        assert!(AllowedFailures::Percent(1.0).covers(3, 300));
        assert!(!AllowedFailures::Percent(1.0).covers(4, 300));
    }
}
