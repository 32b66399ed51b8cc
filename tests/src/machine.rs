//! A machine in trouble: disks that can be full, and wall clocks that a test moves.
//!
//! Time is what the C library says it is: a few lines of C before it add what stands in a file that the test shares.

use crate::Server;
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A small disk; gone with the value.
#[derive(Debug)]
pub struct SmallDisk {
    directory: TempDir,
}

impl SmallDisk {
    /// Mounts one with so many megabytes; `None` where this process may not.
    #[must_use]
    pub fn mount(megabytes: u32) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let options = format!("size={megabytes}m");
        let mount = ["-t", "tmpfs", "-o", &options, "muster-test"];
        let mounted = Command::new("mount").args(mount).arg(directory.path()).output().unwrap();
        mounted.status.success().then_some(Self { directory })
    }

    /// Path of the disk.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Leaves no byte free.
    pub fn fill(&self) {
        let mut filler = File::create(self.filler()).unwrap();
        while filler.write_all(&[1; 4096]).is_ok() {}
    }

    /// Takes back what filled it.
    pub fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

/// A clock that is right until it is shifted.
#[derive(Debug)]
pub struct WallClock {
    directory: TempDir,
}

impl WallClock {
    /// Makes one; it takes a C compiler, as the server's own build does.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn new() -> Self {
        let clock = Self { directory: tempfile::tempdir().unwrap() };
        clock.shift(0);
        let source = clock.directory.path().join("clock.c");
        fs::write(&source, SOURCE).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(clock.library()).arg(source);
        let output = compiler.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        clock
    }

    /// Has a server read this clock from its next start on.
    pub fn wind(&self, server: &mut Server) {
        server.set("LD_PRELOAD", &self.library());
        server.set("SHIFT_FILE", &self.shift_file());
    }

    /// Puts it forward by so many seconds from the true time, or back.
    pub fn shift(&self, seconds: i64) {
        // In place: the process has the file in its memory.
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(self.shift_file());
        std::os::unix::fs::FileExt::write_all_at(&file.unwrap(), &seconds.to_ne_bytes(), 0).unwrap();
    }

    fn library(&self) -> String {
        self.directory.path().join("clock.so").display().to_string()
    }

    fn shift_file(&self) -> String {
        self.directory.path().join("shift").display().to_string()
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new()
    }
}

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *shift;

__attribute__((constructor)) static void map_shift(void) {
    const char *path = getenv("SHIFT_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) shift = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *shift;
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}
"#;
