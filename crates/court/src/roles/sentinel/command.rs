//! A program that prints one event as JSON per line (C18, C23).

use super::{Notice, Reading, Source, SourceError};
use crate::{
    Clock, Document, Fault, Folder, Id,
    config::{self, bare_environment, seconds},
    folder::sentence,
};
use jiff::Timestamp;
use muster_proof::sha256_hex;
use muster_worker_kit::process::{Ending, Guards, ProcessEnd, Program, wait_for_earlier_guards};
use std::{io, pin::pin, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// A program, and what it is run with.
pub(super) struct Command {
    folder: Arc<Folder>,
    /// `command.NAME`: what its events have for a source where they name none.
    name: String,
    argv: Vec<String>,
    limit: Duration,
    guards: Guards,
    is_first: bool,
}

/// The end and the output of a program.
struct ProgramRun {
    end: ProcessEnd,
    printed: Vec<u8>,
    is_late: bool,
}

impl Command {
    pub(super) fn new(
        folder: Arc<Folder>,
        name: &str,
        settings: &config::CommandSource,
        guards: &Guards,
    ) -> Self {
        // One lock for each: who waits for the earlier life of one program does not wait for another program.
        let lock = guards.lock.with_file_name(format!("source-{name}.lock"));
        Self {
            folder,
            name: format!("command.{name}"),
            argv: settings.command.clone(),
            limit: seconds(settings.poll_s).clamp(LIMIT_MIN, LIMIT_MAX),
            guards: Guards { lock, ..guards.clone() },
            is_first: true,
        }
    }

    async fn run(&self, stop: &CancellationToken) -> io::Result<ProgramRun> {
        let program =
            Program { argv: &self.argv, directory: self.folder.home(), environment: bare_environment() };
        let cancel = stop.child_token();
        let mut printed = Vec::new();
        let mut hear = |bytes: &[u8]| {
            if printed.len() <= OUTPUT_BYTES_MAX {
                printed.extend_from_slice(bytes);
            } else {
                // Nothing that it could still print would be taken.
                cancel.cancel();
            }
        };
        let (end, is_late) = {
            let mut run = pin!(self.guards.run_heard(&program, &cancel, &mut hear));
            tokio::select! {
                end = &mut run => (end, false),
                () = tokio::time::sleep(self.limit) => {
                    cancel.cancel();
                    (run.await, true)
                }
            }
        };
        Ok(ProgramRun { end: end?, printed, is_late })
    }

    /// Takes in some lines; one that is no event is set apart and holds up no other.
    fn take(&self, lines: &[&[u8]], reading: &mut Reading, now: Timestamp) -> Result<(), Fault> {
        for line in lines {
            match reading.take_one(&self.folder, self.notice(line), now) {
                Err(Fault::Invalid(reason)) if reading.tally().refused <= KEPT_LINES_MAX => {
                    self.refuse(line, &reason)?;
                }
                Err(Fault::Invalid(_)) => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn notice(&self, line: &[u8]) -> Notice {
        let mut event = Document::parse(line).map_err(|error| error.to_string())?;
        if !event.has("source") {
            event.set("source", &self.name);
        }
        Ok(event)
    }

    /// The name of what is kept of it: its own, or where that is too long its beginning and what tells it from others.
    fn record(&self) -> Id {
        let short = || format!("{}-{}", self.beginning(), &sha256_hex(self.name.as_bytes())[..HASH_CHARS]);
        Id::parse(&self.name).or_else(|_| Id::parse(&short())).expect("the parts of an id are one")
    }

    fn beginning(&self) -> &str {
        self.name.get(..NAME_BYTES_MAX).unwrap_or(&self.name)
    }

    /// Sets a line apart under a name that is its own: one that is printed at every turn is there once.
    fn refuse(&self, line: &[u8], reason: &str) -> Result<(), Fault> {
        tracing::warn!(source = self.name, reason = sentence(reason), "a line of a program is no event");
        let (hash, kept) = (sha256_hex(line), line.get(..KEPT_BYTES_MAX).unwrap_or(line));
        let name = format!("{}-{}", self.beginning(), &hash[..HASH_CHARS]);
        let name = Id::parse(&name).expect("the parts of an id are one");
        let reason = format!("a line that {} printed is no event: {reason}", self.name);
        self.folder.reject_bytes(&name, kept, &reason)
    }

    /// Says what went wrong with a program, for whoever wrote it.
    fn complaint(&self, ran: &ProgramRun) -> Option<String> {
        let stderr = String::from_utf8_lossy(&ran.end.stderr);
        let tail: Vec<char> = stderr.trim_end().chars().rev().take(STDERR_CHARS_MAX).collect();
        let tail = sentence(&tail.into_iter().rev().collect::<String>());
        match ran.end.ending {
            _ if ran.is_late => {
                Some(format!("it took longer than {} s and was ended: {tail}", self.limit.as_secs()))
            }
            _ if ran.printed.len() > OUTPUT_BYTES_MAX => {
                Some(format!("it printed more than {OUTPUT_BYTES_MAX} bytes and was ended"))
            }
            Ending::Exited(0) | Ending::Cancelled => None,
            Ending::Exited(code) => Some(format!("it ended with {code}: {tail}")),
        }
    }
}

impl Source for Command {
    fn name(&self) -> &str {
        &self.name
    }

    async fn look(&mut self, stop: &CancellationToken) -> Result<Option<Duration>, SourceError> {
        let failed = |error: io::Error| SourceError::Failed(format!("it cannot be run: {error}"));
        if self.is_first {
            let waited = stop.run_until_cancelled(wait_for_earlier_guards(&self.guards.lock)).await;
            waited.unwrap_or(Ok(())).map_err(failed)?;
            self.is_first = false;
        }
        let ran = self.run(stop).await.map_err(failed)?;
        let mut reading = Reading::begin(&self.folder, &self.record())?;
        for some in ran.whole_lines().chunks(LINES_AT_ONCE) {
            self.take(some, &mut reading, Clock.now())?;
            // Others live in this thread too.
            tokio::task::yield_now().await;
        }
        if ran.end.ending != Ending::Exited(0) {
            reading.keep_known();
        }
        reading.end(&self.folder, Document::new())?;
        if let Some(complaint) = self.complaint(&ran) {
            tracing::warn!(source = self.name, "a program went wrong: {complaint}");
        }
        Ok(None)
    }
}

impl ProgramRun {
    /// The lines that were printed, without a last one that may have been cut short.
    fn whole_lines(&self) -> Vec<&[u8]> {
        let is_cut = self.printed.len() > OUTPUT_BYTES_MAX || self.end.ending == Ending::Cancelled;
        let last_end = || self.printed.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let whole = if is_cut { last_end() } else { self.printed.len() };
        let lines = self.printed.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
        lines.filter(|line| !line.trim_ascii().is_empty()).collect()
    }
}

const LIMIT_MIN: Duration = Duration::from_secs(10);
const LIMIT_MAX: Duration = Duration::from_secs(60);
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Number of invalid lines kept per run: a program that prints only nonsense must not fill the disk.
const KEPT_LINES_MAX: u64 = 20;
const LINES_AT_ONCE: usize = 20;
const KEPT_BYTES_MAX: usize = 64 * 1024;
const NAME_BYTES_MAX: usize = 150;
const HASH_CHARS: usize = 16;
const STDERR_CHARS_MAX: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;
    use crate::roles::sentinel::tests::{Scene, guards};
    use std::fs::File;

    fn source(scene: &Scene, argv: &[&str]) -> Command {
        let command = argv.iter().map(|word| (*word).to_owned()).collect();
        let settings = config::CommandSource { command, poll_s: 60.0 };
        Command::new(Arc::clone(&scene.folder), "ci", &settings, &guards(scene))
    }

    async fn look(scene: &Scene, script: &str) -> Result<Option<Duration>, SourceError> {
        source(scene, &["sh", "-c", script]).look(&CancellationToken::new()).await
    }

    /// Shared locks of guards would keep this one out.
    fn assert_nothing_left(command: &Command) {
        File::open(&command.guards.lock).unwrap().try_lock().unwrap();
    }

    /// C8, C18: each line is an event; what it lacks is filled in, what it has is kept, a repeat is dropped.
    #[tokio::test]
    async fn lines_become_events() {
        let scene = Scene::new();
        let script = r#"
            echo '{"id": "evt-ci-1", "type": "ci.failed", "payload": {"n": 1.50}}'
            echo
            echo '{"id": "evt-ci-2", "type": "ci.failed", "payload": {}, "source": "own", "priority": "high", "x": [1]}'
            printf '%s' '{"id": "evt-ci-3", "type": "ci.failed", "payload": {}}'"#;
        look(&scene, script).await.unwrap();
        look(&scene, script).await.unwrap();
        assert_eq!(scene.pending(), ["evt-ci-1", "evt-ci-2", "evt-ci-3"]);
        let first = scene.event("evt-ci-1");
        assert_eq!(
            (first.text("source").as_deref(), first.raw("payload")),
            (Some("command.ci"), Some(r#"{"n": 1.50}"#))
        );
        let second = scene.event("evt-ci-2");
        assert_eq!((second.text("source").as_deref(), second.raw("x")), (Some("own"), Some("[1]")));
        assert!(scene.rejected().is_empty());
    }

    /// C8, C18: what a program still prints when the court's files are pruned does not happen again, though a run between
    /// failed; what has no id of its own happens each time it is printed.
    #[tokio::test]
    async fn what_was_pruned_does_not_happen_again() {
        let scene = Scene::new();
        let named = r#"echo '{"id": "evt-ci-1", "type": "t", "payload": {}}'"#;
        let nameless = r#"echo '{"type": "t", "payload": {}}'"#;
        look(&scene, named).await.unwrap();
        scene.folder.remove(Place::EventsPending, &Id::parse("evt-ci-1").unwrap()).unwrap();
        for script in [named, "exit 1", named] {
            look(&scene, script).await.unwrap();
            assert!(scene.pending().is_empty(), "{script}");
        }
        look(&scene, &format!("{nameless}; {nameless}")).await.unwrap();
        look(&scene, nameless).await.unwrap();
        assert_eq!(scene.pending().len(), 3);
        assert_eq!(scene.record("command.ci").unwrap().raw("seen"), Some("[]"));
    }

    /// C12, C23: a line that is no event is set apart with a reason, once however often it is printed, and holds up no other;
    /// nothing in it is obeyed.
    #[tokio::test]
    async fn other_lines_are_set_apart() {
        let scene = Scene::new();
        let script = r#"
            echo 'no json $(touch obeyed)'
            echo '{"id": "../../escaped", "type": "t", "payload": {}}'
            head -c 2000000 /dev/zero | tr '\0' 'x'; echo
            printf '\377\n'
            echo '{"id": "evt-ci-1", "type": "t", "payload": {}}'"#;
        look(&scene, script).await.unwrap();
        look(&scene, script).await.unwrap();
        assert_eq!(scene.pending(), ["evt-ci-1"]);
        let rejected = scene.rejected();
        assert_eq!(rejected.len(), 8, "{rejected:?}");
        for name in rejected {
            let text = std::fs::read(scene.path().join("rejected").join(&name)).unwrap();
            assert!(name.starts_with("command.ci-") && (1..=KEPT_BYTES_MAX).contains(&text.len()), "{name}");
            assert!(
                !name.ends_with(".reason")
                    || text.starts_with(b"a line that command.ci printed is no event: ")
            );
        }
        assert!(!scene.path().join("obeyed").exists() && !scene.path().join("escaped.json").exists());
    }

    /// C23: one that prints nonsense without end is ended, and fills neither the memory nor the disk.
    #[tokio::test]
    async fn endless_output_is_cut() {
        let scene = Scene::new();
        let mut command = source(&scene, &["sh", "-c", "while :; do seq 1 1000; done"]);
        let ran = command.run(&CancellationToken::new()).await.unwrap();
        assert!(ran.printed.len() < OUTPUT_BYTES_MAX + 100_000, "{}", ran.printed.len());
        assert!(command.complaint(&ran).unwrap().contains("printed more than"));
        assert_nothing_left(&command);
        command.look(&CancellationToken::new()).await.unwrap();
        assert_eq!(scene.rejected().len() as u64, 2 * KEPT_LINES_MAX);
    }

    /// C18: one that fails is told with what it complained of; what it printed before counts.
    #[tokio::test]
    async fn failures_are_told_and_what_was_printed_counts() {
        let scene = Scene::new();
        let line = r#"echo '{"id": "evt-ci-1", "type": "t", "payload": {}}'"#;
        let command =
            source(&scene, &["sh", "-c", &format!("{line}; printf 'no\\033[2J luck\\n' >&2; exit 3")]);
        let ran = command.run(&CancellationToken::new()).await.unwrap();
        assert_eq!(command.complaint(&ran).as_deref(), Some("it ended with 3: no [2J luck"));
        look(&scene, &format!("{line}; exit 3")).await.unwrap();
        assert_eq!(scene.pending(), ["evt-ci-1"]);
        let missing = source(&scene, &["/no/such/program"]);
        let ran = missing.run(&CancellationToken::new()).await.unwrap();
        assert!(missing.complaint(&ran).unwrap().contains("/no/such/program"));
    }

    /// C18: one that does not end is ended with all its children, after its time or when the sentinel stops; a line that was
    /// cut short is no event.
    #[tokio::test]
    async fn programs_end_in_time() {
        let scene = Scene::new();
        let mut late = source(&scene, &["sh", "-c", "setsid sleep 1000 & sleep 1000"]);
        late.limit = Duration::from_millis(50);
        let ran = late.run(&CancellationToken::new()).await.unwrap();
        assert!(late.complaint(&ran).unwrap().contains("longer than"));
        assert_nothing_left(&late);

        let bell = scene.path().join("bell");
        assert!(std::process::Command::new("mkfifo").arg(&bell).status().unwrap().success());
        let script = r#"
            echo '{"id": "evt-ci-1", "type": "t", "payload": {}}'
            printf '%s' '{"id": "evt-ci-2", "type": "t", "payload": {}}'
            echo > bell; setsid sleep 1000 & sleep 1000"#;
        let mut endless = source(&scene, &["sh", "-c", script]);
        let stop = CancellationToken::new();
        let rung = tokio::task::spawn_blocking(move || std::fs::read(bell).unwrap());
        let (looked, _) = tokio::join!(endless.look(&stop), async {
            rung.await.unwrap();
            stop.cancel();
        });
        looked.unwrap();
        assert_nothing_left(&endless);
        assert_eq!(scene.pending(), ["evt-ci-1"]);
    }

    /// C0, C23: programs run in the court's home, without the tokens of whoever started it; no shell reads their arguments.
    #[tokio::test]
    async fn programs_get_no_tokens() {
        if std::env::var_os("JIRA_API_TOKEN").is_none() {
            // An environment cannot be changed safely from within: this test starts itself once more, with one.
            let mut again = std::process::Command::new(std::env::current_exe().unwrap());
            again.args(["--exact", "roles::sentinel::command::tests::programs_get_no_tokens"]);
            again.env("JIRA_API_TOKEN", "hidden").env("MUSTER_TOKEN", "hidden").env("SEEN", "yes");
            return assert!(again.status().unwrap().success());
        }
        let scene = Scene::new();
        let script = r#"env > seen; printf '%s' "$1" > argument"#;
        source(&scene, &["sh", "-c", script, "sh", "$(id) `id` ; {} %s"])
            .look(&CancellationToken::new())
            .await
            .unwrap();
        let seen = std::fs::read_to_string(scene.path().join("seen")).unwrap();
        assert!(seen.contains("SEEN=yes") && !seen.contains("hidden"), "{seen}");
        let argument = std::fs::read_to_string(scene.path().join("argument")).unwrap();
        assert_eq!(argument, "$(id) `id` ; {} %s");
    }
}
