//! Credentials for services outside: from the environment, never from a file, and never passed to programs (C0).

use std::{env, ffi::OsStr, ffi::OsString, fmt};

/// The tokens of C0; what is not set stays off.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    /// `SLACK_BOT_TOKEN`: posts and reads.
    pub slack_bot: Option<String>,
    /// `SLACK_SIGNING_SECRET`: proves that an event comes from Slack.
    pub slack_signing: Option<String>,
    /// `GITHUB_TOKEN`: reads notifications.
    pub github: Option<String>,
    /// `JIRA_EMAIL`: whose token it is, where the site wants to know.
    pub jira_email: Option<String>,
    /// `JIRA_API_TOKEN`: searches.
    pub jira_api: Option<String>,
}

impl Tokens {
    /// Reads the tokens; `variable` looks one up in the environment. An empty one counts as none.
    #[must_use]
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let token = |name| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        Self {
            slack_bot: token("SLACK_BOT_TOKEN"),
            slack_signing: token("SLACK_SIGNING_SECRET"),
            github: token("GITHUB_TOKEN"),
            jira_email: token("JIRA_EMAIL"),
            jira_api: token("JIRA_API_TOKEN"),
        }
    }
}

/// Shows which are set, never what they are.
impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("SLACK_BOT_TOKEN", &self.slack_bot),
            ("SLACK_SIGNING_SECRET", &self.slack_signing),
            ("GITHUB_TOKEN", &self.github),
            ("JIRA_EMAIL", &self.jira_email),
            ("JIRA_API_TOKEN", &self.jira_api),
        ];
        let set = all.iter().filter(|(_, token)| token.is_some()).map(|(name, _)| name);
        formatter.write_str("Tokens ")?;
        formatter.debug_list().entries(set).finish()
    }
}

/// The environment of programs that a court starts: its own, without what opens doors (C16).
#[must_use]
pub fn bare_environment() -> Vec<(OsString, OsString)> {
    env::vars_os().filter(|(name, _)| !is_withheld(name)).collect()
}

fn is_withheld(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let is_ours = name.starts_with("MUSTER_") && SECRET_ENDS.iter().any(|end| name.ends_with(end));
    is_ours || WITHHELD.contains(&name.as_str())
}

const WITHHELD: [&str; 6] = [
    "SLACK_BOT_TOKEN",
    "SLACK_SIGNING_SECRET",
    "GITHUB_TOKEN",
    "JIRA_EMAIL",
    "JIRA_API_TOKEN",
    "NODE_AGENT_SHARED_SECRET",
];
/// Endings of our variables that hold secrets.
const SECRET_ENDS: [&str; 3] = ["TOKEN", "SECRET", "PASSWORD"];

#[cfg(test)]
mod tests {
    use super::*;

    /// C0: tokens come from their variables; one that is empty is none, and none is ever shown.
    #[test]
    fn tokens_come_from_the_environment_and_stay_unseen() {
        let tokens = Tokens::from_environment(|name| match name {
            "JIRA_EMAIL" => Some("  ".to_owned()),
            "SLACK_BOT_TOKEN" => None,
            name => Some(format!("hidden-{name}\n")),
        });
        assert_eq!(tokens.github.as_deref(), Some("hidden-GITHUB_TOKEN"));
        assert_eq!(tokens.jira_api.as_deref(), Some("hidden-JIRA_API_TOKEN"));
        assert_eq!(tokens.slack_signing.as_deref(), Some("hidden-SLACK_SIGNING_SECRET"));
        assert_eq!((&tokens.jira_email, &tokens.slack_bot), (&None, &None));
        let shown = format!("{tokens:?}");
        assert_eq!(shown, r#"Tokens ["SLACK_SIGNING_SECRET", "GITHUB_TOKEN", "JIRA_API_TOKEN"]"#);
    }

    /// C16: programs get none of the tokens of C0, nor what opens the coordinator.
    #[test]
    fn programs_get_no_tokens() {
        for name in [
            "SLACK_BOT_TOKEN",
            "SLACK_SIGNING_SECRET",
            "GITHUB_TOKEN",
            "JIRA_EMAIL",
            "JIRA_API_TOKEN",
            "MUSTER_TOKEN",
            "MUSTER_ADMIN_TOKEN",
            "MUSTER_ENROL_SECRET",
            "MUSTER_PASSWORD",
            "NODE_AGENT_SHARED_SECRET",
        ] {
            assert!(is_withheld(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "HOME", "MUSTER_SERVER", "MUSTER_TASK_ID", "SLACK_DEFAULT_CHANNEL"] {
            assert!(!is_withheld(OsStr::new(name)), "{name}");
        }
        assert!(bare_environment().iter().any(|(name, _)| name == "PATH"));
    }
}
