//! Warnings that a client gets with a submitted run (Q6, Q15).

use crate::RunState;
use muster_model::{Millis, Scope, Strangers};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use utoipa::ToSchema;

/// A run that is in its queue.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SubmittedRun {
    /// The run and where it stands.
    #[serde(flatten)]
    pub state: RunState,
    /// What it names that nobody knows yet; absent where there is no such thing. The run was taken all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// One thing that is probably not as it was meant.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// `unknown_pc`, `unknown_device`, `unknown_label`, or `no_device` where nothing matches at all.
    pub code: Cow<'static, str>,
    /// What is not known; of labels, `key=value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is known and much like it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
    /// The same in a sentence.
    pub message: String,
}

/// The warnings of a run with that scope; an active run without a device waits for `grace`.
#[must_use]
pub fn show_warnings(scope: &Scope, found: &Strangers, grace: Millis) -> Vec<Warning> {
    let (code, what) = match scope {
        // A fleet may come after its first run: nothing is misspelt.
        Scope::All => return Vec::new(),
        Scope::Workers(_) => ("unknown_pc", "no node is called"),
        Scope::Devices(_) => ("unknown_device", "no device is called"),
        Scope::Labels(_) => ("unknown_label", "no device has the label"),
    };
    let known: Vec<(String, &str)> = found.known.iter().map(|one| (one.to_lowercase(), &**one)).collect();
    let unknown = found.unknown.iter().map(|name| {
        let near = near(name, &known);
        let meant = near.as_ref().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Warning {
            code: code.into(),
            name: Some(name.to_string()),
            did_you_mean: near,
            message: format!("{what} {name}{meant}"),
        }
    });
    unknown.chain((found.targets == 0).then(|| no_device(grace))).collect()
}

fn no_device(grace: Millis) -> Warning {
    let seconds = grace.0 / 1000;
    let message = format!(
        "no device in service matches now; when its turn comes the run holds its queue for {seconds} s and then fails unless one \
         appears"
    );
    Warning { code: "no_device".into(), name: None, did_you_mean: None, message }
}

/// The known name most like an unknown one, if any is much like it; of several, the first. Each is told in small letters
/// as well: those are compared.
fn near(name: &str, known: &[(String, &str)]) -> Option<String> {
    let name = name.to_lowercase();
    let mut best = (LIKE_MIN, None);
    for (small, one) in known {
        let likeness = strsim::jaro_winkler(small, &name);
        if likeness > best.0 {
            best = (likeness, Some(*one));
        }
    }
    best.1.map(str::to_owned)
}

/// Below it, two names have little in common.
const LIKE_MIN: f64 = 0.85;

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Name;

    fn found(unknown: &[&str], known: &[&str], targets: u32) -> Strangers {
        let boxed = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
        Strangers { unknown: boxed(unknown), known: boxed(known), targets }
    }

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    /// Q6: a name that nobody has is told, with the one that was probably meant and with what will happen.
    #[test]
    fn a_typo_is_told() {
        let scope = Scope::Workers([name("PC-O1")].into());
        let told = show_warnings(&scope, &found(&["PC-O1"], &["PC-01", "rack-7"], 0), Millis::from_secs(120));
        let codes: Vec<&str> = told.iter().map(|warning| &*warning.code).collect();
        assert_eq!(codes, ["unknown_pc", "no_device"]);
        assert_eq!(told[0].message, "no node is called PC-O1; did you mean PC-01?");
        assert_eq!(told[0].did_you_mean.as_deref(), Some("PC-01"));
        assert!(told[1].message.contains("for 120 s"), "{}", told[1].message);
        let scope = Scope::Labels([(name("rack"), name("A"))].into());
        let told = show_warnings(&scope, &found(&["rack=A"], &["rack=a", "rack=b"], 0), Millis(0));
        assert_eq!(told[0].message, "no device has the label rack=A; did you mean rack=a?");
        let scope = Scope::Devices([name("zzz")].into());
        let told = show_warnings(&scope, &found(&["zzz"], &["d1"], 3), Millis(0));
        assert_eq!((told.len(), told[0].message.as_str()), (1, "no device is called zzz"));
    }

    /// Q6: what is known, and a run for everything, needs no word.
    #[test]
    fn what_is_known_needs_no_word() {
        let scope = Scope::Workers([name("PC-01")].into());
        assert_eq!(show_warnings(&scope, &found(&[], &[], 1), Millis(0)), []);
        assert_eq!(show_warnings(&Scope::All, &found(&[], &[], 0), Millis(0)), []);
    }
}
