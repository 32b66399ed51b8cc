//! Files that are nobody's: half written, or of no valid name; and what people may want to know.

use super::{Findings, PATIENCE, Stuck, Suspect, Visit, sentence, word, written};
use crate::{
    Fault, Id, Kind, Place,
    folder::{TEMPORARY, TEMPORARY_AGE_MAX},
    layout::{OTHERS, REJECTED},
    roles::chamberlain::{self, Colour},
};
use jiff::{SignedDuration, Timestamp};
use std::{ffi::OsStr, fs, path::Path};

impl Visit<'_> {
    pub(super) fn leftovers(&self, findings: &mut Findings) -> Result<(), Fault> {
        for place in Place::all() {
            self.strays(place, findings)?;
        }
        for path in OTHERS.into_iter().chain(["state", "."]) {
            self.temporaries(path, findings);
        }
        findings.stuck.extend(self.strangers()?);
        findings.notes.extend(self.rejected());
        let questions = self.folder.listed(Place::QuestionsOpen)?.len();
        if questions > 0 {
            findings.notes.push(format!("{questions} questions wait for people: see `muster court inbox`"));
        }
        let health = chamberlain::health(self.folder, self.now);
        if health != Colour::Green {
            findings.notes.push(format!("the host's health counts as {}", health.word()));
        }
        Ok(())
    }

    fn strays(&self, place: Place, findings: &mut Findings) -> Result<(), Fault> {
        self.temporaries(place.path(), findings);
        for name in self.folder.names(place)?.iter().filter(|name| Id::of_file(name).is_none()) {
            let since = written(&self.folder.directory(place).join(name));
            if since.is_some() && self.is_late(since, PATIENCE) {
                findings.stuck.push(misnamed(place, name, since));
            }
        }
        Ok(())
    }

    fn temporaries(&self, path: &'static str, findings: &mut Findings) {
        let entries = fs::read_dir(self.folder.path(path)).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_temporary(&entry.file_name())) {
            let since = written(&entry.path());
            if since.is_some() && self.is_late(since, TEMPORARY_AGE_MAX) {
                findings.stuck.push(unfinished(path, &entry.file_name(), since));
            }
        }
    }

    /// Results of the last day that belong to no task; older ones may have outlived theirs.
    fn strangers(&self) -> Result<Vec<Stuck>, Fault> {
        let late = self.suspects(Place::Results, PATIENCE)?.into_iter();
        let kept_days = self.court.settings.retention.tasks_days.clamp(0.0, 1.0);
        let kept = A_DAY.min(SignedDuration::from_secs_f64(kept_days * A_DAY.as_secs_f64()));
        let recent = late.filter(|(_, since)| !self.is_late(*since, kept));
        let homeless = recent.filter(|(id, _)| self.folder.find(Kind::Task, id).is_none());
        let stranger = |(id, since): (Id, Option<Timestamp>)| {
            Suspect { what: "file", place: Place::Results, id: &id, since }.stuck(NO_TASK, STRANGER)
        };
        Ok(homeless.map(stranger).collect())
    }

    /// What was refused within a day, with the reasons.
    fn rejected(&self) -> Option<String> {
        let entries = fs::read_dir(self.folder.path(REJECTED)).ok()?.flatten();
        let reasons = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "reason"));
        let dated = reasons.map(|path| (written(&path), path));
        let mut late: Vec<_> = dated.filter(|(since, _)| !self.is_late(*since, A_DAY)).collect();
        late.sort();
        let shown: Vec<String> =
            late.iter().rev().take(SHOWN_MAX).map(|(_, path)| self.refusal(path)).collect();
        let count = late.len();
        (count > 0)
            .then(|| format!("{count} files were refused within a day, the latest: {}", shown.join("; ")))
    }

    fn refusal(&self, reason: &Path) -> String {
        let name = reason.file_stem().unwrap_or_default().to_string_lossy();
        let text = self.folder.bytes(reason).unwrap_or_default();
        format!("{} ({})", sentence(&name), sentence(String::from_utf8_lossy(&text).trim()))
    }
}

fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
}

fn unfinished(place: &'static str, name: &OsStr, since: Option<Timestamp>) -> Stuck {
    let (id, why) = (sentence(&name.to_string_lossy()), "a writer died before it had finished".to_owned());
    Stuck { what: "file", id, place, since, why, next: "it is swept when a role starts".to_owned() }
}

fn misnamed(place: Place, name: &OsStr, since: Option<Timestamp>) -> Stuck {
    let (id, why) = (sentence(&name.to_string_lossy()), "its name is not {id}.json".to_owned());
    let next = "its consumer sets it apart in rejected/ when it runs".to_owned();
    Stuck { what: word(place.kind()), id, place: place.path(), since, why, next }
}

const A_DAY: SignedDuration = SignedDuration::from_hours(24);
const NO_TASK: &str = "there is no such task";
const STRANGER: &str = "a result is named after its task: rename the file, or remove it";
const SHOWN_MAX: usize = 5;
