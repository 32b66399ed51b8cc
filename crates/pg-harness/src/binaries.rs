//! Location of PostgreSQL's programs, and the user that runs them.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

/// The programs of one version, and the user they run as.
#[derive(Clone, Debug)]
pub(crate) struct Binaries {
    directory: PathBuf,
    /// `None`: whoever runs the test.
    user: Option<(u32, u32)>,
    /// The network namespace they run in; `None`: the test's.
    namespace: Option<String>,
}

impl Binaries {
    /// Finds the newest version there is.
    ///
    /// # Panics
    /// When there is none, saying how to install it.
    pub(crate) fn find() -> Self {
        let directory = debian().or_else(configured).unwrap_or_else(|| {
            panic!("these tests need a PostgreSQL server: apt-get install postgresql");
        });
        Self { directory, user: unprivileged(), namespace: None }
    }

    /// The same in a network namespace, which only root can enter.
    pub(crate) fn in_namespace(self, namespace: Option<String>) -> Self {
        Self { namespace, ..self }
    }

    /// One of the programs, to be run as the server's user.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(namespace) = &self.namespace {
            words.extend(["nsenter".into(), format!("--net=/run/netns/{namespace}").into(), "--".into()]);
        }
        if let Some((user, group)) = self.user {
            let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
            words.extend(["setpriv", &user, &group, "--clear-groups", "--"].map(OsString::from));
        }
        words.push(self.directory.join(program).into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        // Neither a caller's settings nor a directory that the server's user may not enter.
        command
            .current_dir("/")
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("LC_ALL", "C.UTF-8");
        command
    }

    /// Gives a file or directory to the server's user.
    pub(crate) fn give(&self, path: &Path) {
        if let Some((user, group)) = self.user {
            chown(path, Some(user), Some(group)).expect("root gives files to whom it likes");
        }
    }
}

/// Runs a command to its end.
///
/// # Panics
/// When it fails, with what it said.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let (stdout, stderr) = (said(&output.stdout), said(&output.stderr));
    assert!(output.status.success(), "{command:?} failed ({}): {stdout}{stderr}", output.status);
    stdout
}

/// Debian keeps versions side by side, and none of them in the path.
fn debian() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let newest = versions.filter_map(|entry| {
        let bin = entry.path().join("bin");
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        is_server(&bin).then_some((version, bin))
    });
    newest.max().map(|(_, bin)| bin)
}

fn configured() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let directory = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    is_server(&directory).then_some(directory)
}

fn is_server(directory: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres", "psql", "pg_basebackup"]
        .iter()
        .all(|name| directory.join(name).is_file())
}

/// The user to run as, if the test runs as root.
fn unprivileged() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").expect("Linux tells of processes").uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("there are users");
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(str::parse::<u32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    Some(find("postgres").or_else(|| find("nobody")).expect("there is a user without rights"))
}
