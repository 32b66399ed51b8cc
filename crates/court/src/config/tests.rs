use super::*;
use std::{fs, path::Path};

/// A court with these files; what is said of it.
fn read(files: &[(&str, &str)]) -> Result<Court, String> {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("generals")).unwrap();
    for (name, text) in files {
        fs::write(home.path().join(name), text).unwrap();
    }
    Court::read(home.path()).map_err(|error| error.to_string())
}

fn refusal(files: &[(&str, &str)]) -> String {
    read(files).expect_err("this must be refused")
}

/// C0: every key is optional; what is not configured is off.
#[test]
fn an_empty_file_is_a_court() {
    let court = read(&[("court.toml", "")]).unwrap();
    assert_eq!(court, Court::default());
    let Settings { envoy, sentinel, king, chamberlain, retention } = court.settings;
    assert_eq!((envoy.to, envoy.listen, envoy.base_url), (Outlet::Stdout, None, None));
    assert!(sentinel.github.is_none() && sentinel.jira.is_none() && sentinel.command.is_empty());
    assert_eq!((king.default_channel, king.obey_health), (None, false));
    let limits = [chamberlain.every_s, chamberlain.yellow_percent, chamberlain.orange_percent];
    assert_eq!((limits, chamberlain.red_percent), ([30.0, 60.0, 80.0], 90.0));
    assert_eq!(retention.events_days, 30.0);
}

/// C0, C19: the king obeys the host's health only if it is told to; a key that is nearly right is an error.
#[test]
fn health_is_obeyed_on_request() {
    let king = |text: &str| read(&[("court.toml", text)]).map(|court| court.settings.king.obey_health);
    assert_eq!(king("[king]"), Ok(false));
    assert_eq!(king("[king]\nobey_health = true"), Ok(true));
    for (text, named) in [("obey_healths = true", "obey_healths"), ("obey_health = 'yes'", "boolean")] {
        assert!(king(&format!("[king]\n{text}")).unwrap_err().contains(named), "{text}");
    }
}

/// C0, C16, C22: what a general has if its file does not say.
#[test]
fn a_general_needs_only_its_command() {
    let court = read(&[
        ("court.toml", ""),
        (
            "generals/gen-pr.toml",
            "subscribes = ['a.b']\ncommand = ['true']\n[[schedules]]\nname = 'n'\ncron = '* * * * *'\ntask_type = 't'",
        ),
        ("generals/notes.txt", "not a general"),
    ]);
    let court = court.unwrap();
    let general = &court.generals["gen-pr"];
    assert_eq!((general.max_soldiers, general.retries, general.retry_after_s), (3, 2, 60.0));
    assert_eq!(general.executor, Executor::Command);
    assert_eq!((general.schedules[0].timezone.as_str(), general.schedules[0].missed), ("UTC", Missed::Skip));
    assert_eq!(court.owner_of("a.b").map(|owner| owner.name.as_str()), Some("gen-pr"));
    assert_eq!(court.owner_of("a"), None);
}

/// C0: without `court.toml` there is no court, and the way to one is told.
#[test]
fn no_court_is_told_how_to_make_one() {
    let refusal = Court::read(Path::new("/nowhere/court")).unwrap_err().to_string();
    assert!(refusal.contains("muster court init --home /nowhere/court"), "{refusal}");
}

/// C0: a key that nobody knows, a word or type that is none: the file and the key are named.
#[test]
fn what_is_not_understood_is_named() {
    for (text, words) in [
        ("[chamberlain]\nevry_s = 3", ["evry_s", "every_s"]),
        ("[chamber]\n", ["chamber", "chamberlain"]),
        ("[envoy]\nto = 'mail'", ["mail", "slack"]),
        ("[envoy]\ntoken = 'xoxb'", ["token", "base_url"]),
        ("[sentinel.jira]\nbase_url = 'http://a'", ["jql", "sentinel.jira"]),
        ("[retention]\nevents_days = 'x'", ["events_days", "string"]),
        ("[king\n", ["line 1", "king"]),
    ] {
        let refusal = refusal(&[("court.toml", text)]);
        assert!(refusal.contains("court.toml: "), "{refusal}");
        assert!(words.iter().all(|word| refusal.contains(word)), "{refusal}");
    }
    let refusal = refusal(&[("court.toml", ""), ("generals/a.toml", "command = ['x']\nretry = 3")]);
    assert!(refusal.contains("generals/a.toml: ") && refusal.contains("retry_after_s"), "{refusal}");
}

/// C0, C19: numbers that cannot be meant are refused by name.
#[test]
fn wrong_numbers_are_named() {
    for (text, key) in [
        ("[envoy]\nreplies_poll_s = 0", "envoy.replies_poll_s"),
        ("[envoy]\nreplies_poll_s = nan", "envoy.replies_poll_s"),
        ("[chamberlain]\nevery_s = -1", "chamberlain.every_s"),
        ("[chamberlain]\nevery_s = 300", "chamberlain.every_s"),
        ("[chamberlain]\nred_percent = -5", "chamberlain.red_percent"),
        ("[chamberlain]\nyellow_percent = nan", "chamberlain.yellow_percent"),
        (
            "[chamberlain]\nyellow_percent = 85",
            "chamberlain.yellow_percent is 85, and chamberlain.orange_percent",
        ),
        ("[chamberlain]\nred_percent = 70", "chamberlain.red_percent only 70"),
        ("[chamberlain]\nyellow_percent = 95\norange_percent = 101", "chamberlain.red_percent only 90"),
        ("[sentinel.github]\npoll_s = 0", "sentinel.github.poll_s"),
        ("[sentinel.command.a]\ncommand = []", "sentinel.command.a.command"),
        ("[sentinel.command.\"../a\"]\ncommand = ['x']", "../a"),
        ("[retention]\nrejected_days = -1", "retention.rejected_days"),
    ] {
        let refusal = refusal(&[("court.toml", text)]);
        assert!(refusal.contains("court.toml: ") && refusal.contains(key), "{refusal}");
    }
    for (text, key) in [
        ("subscribes = ['a']", "command"),
        ("command = ['x']\nexecutor = 'job'", "command"),
        ("command = ['x']\nmax_soldiers = 0", "max_soldiers"),
        ("command = ['x']\nretries = 1000", "retries"),
        ("command = ['x']\ntimeout_s = 0", "timeout_s"),
        ("command = ['x']\nretry_after_s = -1", "retry_after_s"),
        ("command = ['x']\nsubscribes = ['a.b', 'c', 'a.b']", "subscribes names \"a.b\" twice"),
        (
            "command = ['x']\n[[schedules]]\nname = 'a/b'\ncron = '* * * * *'\ntask_type = 't'",
            "schedules.name",
        ),
    ] {
        let refusal = refusal(&[("court.toml", ""), ("generals/a.toml", text)]);
        assert!(refusal.contains("generals/a.toml: ") && refusal.contains(key), "{refusal}");
    }
    for limits in
        ["yellow_percent = 101\norange_percent = inf", "yellow_percent = 80", "yellow_percent = 101"]
    {
        assert!(read(&[("court.toml", &format!("[chamberlain]\n{limits}"))]).is_ok(), "{limits}");
    }
}

/// C0, C13: one owner per type; both are named. Schedules have one name per court.
#[test]
fn two_owners_are_refused() {
    let owner = "subscribes = ['a.b', 'a.c']\ncommand = ['x']";
    assert!(read(&[("court.toml", ""), ("generals/one.toml", owner)]).is_ok());
    let refused = refusal(&[("court.toml", ""), ("generals/one.toml", owner), ("generals/two.toml", owner)]);
    assert!(["one", "two", "a.b"].iter().all(|word| refused.contains(word)), "{refused}");

    let clock = "command = ['x']\n[[schedules]]\nname = 'morning'\ncron = '0 9 * * *'\ntask_type = 't'";
    let refused = refusal(&[("court.toml", ""), ("generals/one.toml", clock), ("generals/two.toml", clock)]);
    assert!(["one", "two", "morning"].iter().all(|word| refused.contains(word)), "{refused}");
}

/// C0, C23: a general's name is its file's, and cannot lead elsewhere.
#[test]
fn a_generals_name_is_an_id() {
    let refused = refusal(&[("court.toml", ""), ("generals/-rf x.toml", "command = ['x']")]);
    assert!(refused.contains("-rf x.toml"), "{refused}");
}

/// C0: every key is optional, and so is the file; but another directory is not made a court by a slip.
#[test]
fn a_court_may_have_no_file() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(Court::read(home.path()).unwrap(), Court::default());
    std::fs::write(home.path().join("thesis.tex"), "").unwrap();
    let refused = Court::read(home.path()).unwrap_err().to_string();
    assert!(refused.contains("muster court init"), "{refused}");
    assert!(Court::read(&home.path().join("nowhere")).is_err());
    std::fs::create_dir(home.path().join("generals")).unwrap();
    assert_eq!(Court::read(home.path()).unwrap(), Court::default());
}
