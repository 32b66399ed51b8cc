//! Required and forbidden fields of each kind of step (N22).

use super::{
    Step, StepKind,
    parse::{Fields, MS_MAX, Problem, WorkflowError, near},
    reason_named, template,
};
use muster_model::FailureReason;
use serde_json::Value;

/// Refuses a step that could never work, or that says something nobody would read.
pub(crate) fn check_step(fields: &Fields<'_>, step: &Step) -> Result<(), WorkflowError> {
    check_command(fields, step)?;
    check_action(fields, step)?;
    check_templates(fields, step)?;
    check_params(fields, step)?;
    check_scripts(fields, step)?;
    if step.kind == StepKind::Adb { check_adb(fields, step) } else { Ok(()) }
}

fn check_command(fields: &Fields<'_>, step: &Step) -> Result<(), WorkflowError> {
    let wanted = matches!(step.kind, StepKind::Adb | StepKind::Command);
    match (wanted, step.command.is_empty()) {
        (true, true) => Err(fields.missing("command")),
        (false, false) => Err(fields.contradiction("command is for the kinds adb and command")),
        _ if wanted && step.command.first().is_some_and(String::is_empty) => {
            Err(fields.contradiction("command begins with an empty word"))
        }
        _ => Ok(()),
    }
}

fn check_action(fields: &Fields<'_>, step: &Step) -> Result<(), WorkflowError> {
    match (step.kind == StepKind::Vendor, step.action.is_some()) {
        (true, false) => Err(fields.missing("action")),
        (false, true) => Err(fields.contradiction("action is for the kind vendor")),
        _ => Ok(()),
    }
}

fn check_templates(fields: &Fields<'_>, step: &Step) -> Result<(), WorkflowError> {
    let mut texts: Vec<&str> = step.command.iter().chain(&step.action).map(String::as_str).collect();
    step.params.values().for_each(|value| collect_texts(value, &mut texts));
    match texts.into_iter().find_map(|text| template::parse(text).err()) {
        Some(problem) => Err(fields.contradiction(problem.to_string())),
        None => Ok(()),
    }
}

fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => members.values().for_each(|member| collect_texts(member, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn check_params(fields: &Fields<'_>, step: &Step) -> Result<(), WorkflowError> {
    if step.params.get("critical").is_some_and(|critical| !critical.is_boolean()) {
        return Err(fields.contradiction("params.critical must be true or false"));
    }
    if let Some(reason) = step.params.get("failure_reason") {
        check_reason(fields, reason)?;
    }
    match step.kind {
        StepKind::Sleep => known_params(fields, step, &["ms"]).and_then(|()| check_sleep(fields, step)),
        StepKind::Assert => {
            known_params(fields, step, &["equals", "contains"]).and_then(|()| check_assert(fields, step))
        }
        StepKind::Upload => {
            known_params(fields, step, &["kind"]).and_then(|()| texts_only(fields, step, &["kind"]))
        }
        StepKind::Adb | StepKind::Vendor | StepKind::Command => Ok(()),
    }
}

fn check_reason(fields: &Fields<'_>, reason: &Value) -> Result<(), WorkflowError> {
    let word = reason.as_str().unwrap_or_default();
    if reason_named(word).is_some() {
        return Ok(());
    }
    let words: Vec<&str> = FailureReason::ALL.iter().map(|reason| reason.as_str()).collect();
    let (key, found) = ("params.failure_reason".to_owned(), reason.to_string());
    let expected = format!("one of {}", words.join(", "));
    Err(fields.error(Problem::Unfit { key, expected, found, near: near(word, &words) }))
}

/// Refuses params that a step of the agent's own would never read; other kinds hand theirs on.
fn known_params(fields: &Fields<'_>, step: &Step, own: &[&str]) -> Result<(), WorkflowError> {
    let known = [own, &["critical", "failure_reason"]].concat();
    let Some(key) = step.params.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let near = near(key, &known).map(|near| format!("params.{near}"));
    Err(fields.error(Problem::UnknownKey { key: format!("params.{key}"), near }))
}

fn check_sleep(fields: &Fields<'_>, step: &Step) -> Result<(), WorkflowError> {
    let fits = match step.params.get("ms") {
        None => return Err(fields.missing("params.ms")),
        Some(Value::String(text)) => text.contains("{{"),
        Some(value) => value.as_u64().is_some_and(|ms| ms <= MS_MAX),
    };
    let expected = || format!("params.ms must be a whole number from 0 to {MS_MAX} or hold a {{{{KEY}}}}");
    if fits { Ok(()) } else { Err(fields.contradiction(expected())) }
}

fn check_assert(fields: &Fields<'_>, step: &Step) -> Result<(), WorkflowError> {
    let says_something = ["equals", "contains"].iter().any(|key| step.params.contains_key(*key));
    if !says_something {
        return Err(fields.contradiction("assert needs params.equals or params.contains"));
    }
    texts_only(fields, step, &["equals", "contains"])
}

fn texts_only(fields: &Fields<'_>, step: &Step, keys: &[&str]) -> Result<(), WorkflowError> {
    let wrong = keys.iter().find(|key| step.params.get(**key).is_some_and(|value| !value.is_string()));
    wrong.map_or(Ok(()), |key| Err(fields.contradiction(format!("params.{key} must be a text"))))
}

fn check_adb(fields: &Fields<'_>, step: &Step) -> Result<(), WorkflowError> {
    let first = step.command.first().map(String::as_str).unwrap_or_default();
    if !ADB_WORDS.contains(&first) {
        let (key, found) = ("command".to_owned(), format!("\"{first}\" first"));
        let expected = format!("one of {} and what follows it", ADB_WORDS.join(", "));
        return Err(fields.error(Problem::Unfit { key, expected, found, near: near(first, ADB_WORDS) }));
    }
    Ok(())
}

/// Refuses values inside a shell's script: there they would be read anew, and a run's parameters could name programs
/// to run. Handed to the script as arguments they are safe.
fn check_scripts(fields: &Fields<'_>, step: &Step) -> Result<(), WorkflowError> {
    let is_shell = |word: &String| SHELLS.contains(&word.rsplit('/').next().unwrap_or_default());
    let words = step.command.iter().skip_while(|word| !is_shell(word)).skip(1);
    let mut script = words.skip_while(|word| !(word.starts_with('-') && word.ends_with('c'))).skip(1);
    match script.next().filter(|script| script.contains("{{")) {
        Some(_) => Err(fields.contradiction(
            "a shell's script cannot hold {{KEY}}; hand it over: [\"sh\", \"-c\", \"echo $1\", \"sh\", \"{{KEY}}\"]",
        )),
        None => Ok(()),
    }
}

/// Commands that the adb driver knows.
const ADB_WORDS: &[&str] = &["get-state", "shell", "exec-out"];
const SHELLS: &[&str] = &["sh", "ash", "bash", "dash", "ksh", "mksh", "zsh", "su"];

#[cfg(test)]
mod tests {
    use crate::workflow::parse;

    fn refusal(step: &str) -> String {
        let text = format!("timeoutMs = 1000\n[[steps]]\nid = 'A'\ntimeoutMs = 1\n{step}");
        let refusal =
            parse("w", "w.toml", &text).map(|_| "none".to_owned()).unwrap_or_else(|error| error.to_string());
        refusal.trim_start_matches("w.toml, step A: ").to_owned()
    }

    /// N22: each kind has what it needs, and nothing that it would not read.
    #[test]
    fn each_kind_has_what_it_needs() {
        for (step, expected) in [
            ("kind = 'adb'", "command is missing"),
            ("kind = 'command'", "command is missing"),
            ("kind = 'command'\ncommand = ['']", "command begins with an empty word"),
            ("kind = 'vendor'", "action is missing"),
            ("kind = 'vendor'\naction = 'x'\ncommand = ['x']", "command is for the kinds adb and command"),
            ("kind = 'upload'\naction = 'x'", "action is for the kind vendor"),
            ("kind = 'sleep'", "params.ms is missing"),
            ("kind = 'sleep'\nparams.ms = 0", "none"),
            ("kind = 'sleep'\nparams.ms = '{{PAUSE}}'", "none"),
            (
                "kind = 'sleep'\nparams = { ms = 1, mss = 1 }",
                "unknown key params.mss; did you mean params.ms?",
            ),
            ("kind = 'assert'", "assert needs params.equals or params.contains"),
            ("kind = 'assert'\nparams.contains = 'x'", "none"),
            ("kind = 'assert'\nparams.equals = 1", "params.equals must be a text"),
            ("kind = 'upload'\nparams.kind = 'report'", "none"),
            ("kind = 'upload'\nparams.critical = 1", "params.critical must be true or false"),
            ("kind = 'command'\ncommand = ['{{x']", "{{ without }} in \"{{x\""),
            ("kind = 'command'\ncommand = ['x']\nparams.a.b = ['{{']", "{{ without }} in \"{{\""),
        ] {
            assert_eq!(refusal(step), expected, "{step}");
        }
        assert!(refusal("kind = 'sleep'\nparams.ms = -1").starts_with("params.ms must be a whole number"));
        assert!(refusal("kind = 'sleep'\nparams.ms = '5'").starts_with("params.ms must be a whole number"));
    }

    /// N13: a step can only name reasons of the contract.
    #[test]
    fn a_reason_is_one_of_the_contracts() {
        let step = |reason| format!("kind = 'upload'\nparams.failure_reason = '{reason}'");
        assert_eq!(refusal(&step("adb_offline")), "none");
        assert!(refusal(&step("adb_of_line")).ends_with("not \"adb_of_line\"; did you mean adb_offline?"));
    }

    /// N22: only what the adb driver understands.
    #[test]
    fn adb_commands_begin_with_a_known_word() {
        let adb = |words| refusal(&format!("kind = 'adb'\ncommand = {words}"));
        assert_eq!(adb("['get-state']"), "none");
        assert_eq!(adb("['shell', 'input', 'text', '{{TEXT}}']"), "none");
        assert_eq!(
            adb("['sell']"),
            "command must be one of get-state, shell, exec-out and what follows it, not \"sell\" first; \
             did you mean shell?"
        );
        assert!(adb("['{{X}}', 'ls']").starts_with("command must be one of"));
    }

    /// N22: no value where a shell would read it anew.
    #[test]
    fn scripts_hold_no_values() {
        for (step, is_refused) in [
            ("kind = 'adb'\ncommand = ['shell', 'sh', '-c', 'echo {{X}}']", true),
            ("kind = 'adb'\ncommand = ['shell', 'su', '-c', 'echo {{X}}']", true),
            ("kind = 'command'\ncommand = ['/bin/bash', '-x', '-ec', 'echo {{X}}']", true),
            ("kind = 'command'\ncommand = ['env', 'sh', '-c', 'echo {{X}}']", true),
            ("kind = 'adb'\ncommand = ['shell', 'sh', '-c', 'echo $1', 'sh', '{{X}}']", false),
            ("kind = 'command'\ncommand = ['ping', '-c', '{{COUNT}}']", false),
        ] {
            assert_eq!(refusal(step).starts_with("a shell's script cannot hold"), is_refused, "{step}");
        }
    }
}
