//! Runs programs on a device.

use super::{
    identity::Line,
    server::{Server, Session, Trouble},
};
use crate::driver::{Cause, ProducedFile, StepFailure, StepOutput};
use std::path::Path;

/// Runs a program and returns its output, without the line break at the end.
///
/// If the device's adbd supports the second shell protocol, that reports the exit code. On older devices the command
/// prints it.
pub(super) async fn run(server: &Server, line: &Line, words: &[String]) -> Result<String, Trouble> {
    let command = command_of(words)?;
    let ended = if server.has(line, "shell_v2").await? {
        let mut session = server.open(line, &format!("shell,v2,raw:{command}")).await?;
        packets(&mut session).await?
    } else {
        let mut session = server.open(line, &format!("shell:{command}; echo {EXIT_MARK}$?")).await?;
        plain(&mut session).await?
    };
    match ended.code {
        0 => Ok(ended.out),
        code => Err(Trouble::Failed(complaint(words, code, &ended))),
    }
}

/// Runs a program through `exec:` and gives the end of what it printed; how it ended is not said.
pub(super) async fn exec_text(server: &Server, line: &Line, words: &[String]) -> Result<String, Trouble> {
    let mut session = exec(server, line, words).await?;
    Ok(tail_of(&mut session).await?.text())
}

/// Starts a program through `exec:`: its output follows, byte for byte.
pub(super) async fn exec(server: &Server, line: &Line, words: &[String]) -> Result<Session, Trouble> {
    server.open(line, &format!("exec:{}", command_of(words)?)).await
}

/// Reads a property; empty where it is not set.
pub(super) async fn getprop(server: &Server, line: &Line, name: &str) -> Result<String, Trouble> {
    let value = run(server, line, &["getprop".to_owned(), name.to_owned()]).await?;
    Ok(value.trim().to_owned())
}

/// End of a program.
struct Ended {
    code: u8,
    out: String,
    /// Empty where the device does not keep it apart.
    error: String,
}

/// The words for the device's shell, quoted so that each arrives as it is.
fn command_of(words: &[String]) -> Result<String, Trouble> {
    if words.is_empty() {
        return Err(Trouble::Failed("no program to run".to_owned()));
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(Trouble::Failed("a word of the command contains a NUL".to_owned()));
    }
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    Ok(quoted.join(" "))
}

fn quote(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@%+,-".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The second shell protocol: a byte of kind, four of length, least first, and so many of data.
async fn packets(session: &mut Session) -> Result<Ended, Trouble> {
    // A program that reads gets the end at once, instead of waiting for what nobody will send.
    session.write(&[CLOSE_STDIN, 0, 0, 0, 0]).await?;
    let (mut out, mut error) = (Tail::default(), Tail::default());
    loop {
        let mut header = [0; 5];
        session.read_exact(&mut header).await.map_err(|_| cut_short())?;
        let [kind, length @ ..] = header;
        let length = u32::from_le_bytes(length);
        match kind {
            STDOUT => data(session, length, &mut out).await?,
            STDERR => data(session, length, &mut error).await?,
            EXIT => {
                let mut code = [0; 1];
                session.read_exact(&mut code).await.map_err(|_| cut_short())?;
                return Ok(Ended { code: code[0], out: out.text(), error: error.text() });
            }
            _ => data(session, length, &mut Tail::default()).await?,
        }
    }
}

/// Takes the data of a packet piece by piece: its length is a claim.
async fn data(session: &mut Session, length: u32, to: &mut Tail) -> Result<(), Trouble> {
    let mut left = length as usize;
    let mut buffer = [0; CHUNK];
    while left > 0 {
        let part = left.min(CHUNK);
        let read = session.read(&mut buffer[..part]).await?;
        if read == 0 {
            return Err(cut_short());
        }
        to.push(&buffer[..read]);
        left -= read;
    }
    Ok(())
}

async fn plain(session: &mut Session) -> Result<Ended, Trouble> {
    let text = tail_of(session).await?.text();
    let (out, code) = text.rsplit_once(EXIT_MARK).ok_or_else(cut_short)?;
    // Something left in the background may still print after the shell has ended.
    let digits = code.split(|character: char| !character.is_ascii_digit()).next().unwrap_or_default();
    let code = digits.parse().map_err(|_| cut_short())?;
    Ok(Ended { code, out: without_line_end(out), error: String::new() })
}

async fn tail_of(session: &mut Session) -> Result<Tail, Trouble> {
    let mut tail = Tail::default();
    let mut buffer = [0; CHUNK];
    loop {
        match session.read(&mut buffer).await? {
            0 => return Ok(tail),
            read => tail.push(&buffer[..read]),
        }
    }
}

fn cut_short() -> Trouble {
    Trouble::Broken("the connection ended before the command did".to_owned())
}

/// Names the program and no word more: the others may be what a run's parameters keep secret.
fn complaint(words: &[String], code: u8, ended: &Ended) -> String {
    let program = words.first().map_or("", String::as_str);
    let said = if ended.error.is_empty() { &ended.out } else { &ended.error };
    let lines: Vec<&str> = said.lines().rev().take(COMPLAINT_LINES_MAX).collect();
    let said = lines.into_iter().rev().collect::<Vec<_>>().join("\n");
    let from = said.char_indices().rev().nth(COMPLAINT_CHARS_MAX - 1).map_or(0, |(at, _)| at);
    let program: String = program.chars().take(COMPLAINT_CHARS_MAX).collect();
    format!("{program} exited with {code}: {}", &said[from..])
}

fn without_line_end(text: &str) -> String {
    text.trim_end_matches(['\n', '\r']).to_owned()
}

/// The end of what was printed: where it matters, the last words do.
#[derive(Default)]
struct Tail {
    kept: Vec<u8>,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > 2 * OUTPUT_BYTES_MAX {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let surplus = self.kept.len().saturating_sub(OUTPUT_BYTES_MAX);
        self.kept.drain(..surplus);
    }

    fn text(mut self) -> String {
        self.cut();
        // Old devices run the command on a terminal, which ends lines its own way.
        without_line_end(&String::from_utf8_lossy(&self.kept).replace("\r\n", "\n"))
    }
}

/// Runs `screencap` and gives its PNG, byte for byte.
pub(super) async fn take(server: &Server, line: &Line, words: &[String]) -> Result<Vec<u8>, Trouble> {
    let mut session = exec(server, line, words).await?;
    let mut image = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        match session.read(&mut buffer).await? {
            0 => return checked(image),
            read => image.extend_from_slice(&buffer[..read]),
        }
        if image.len() > IMAGE_BYTES_MAX {
            return Err(Trouble::Failed(format!("screencap gave no PNG: more than {IMAGE_BYTES_MAX} bytes")));
        }
    }
}

/// Leaves a picture in the task's directory.
pub(super) async fn keep(png: &[u8], scratch: &Path) -> Result<StepOutput, StepFailure> {
    let path = scratch.join("screenshot.png");
    tokio::fs::write(&path, png).await.map_err(|error| {
        let message = format!("cannot keep the screenshot as {}: {error}", path.display());
        StepFailure { cause: Cause::Other, message }
    })?;
    let file = ProducedFile { path, kind: "screenshot".to_owned(), content_type: "image/png".to_owned() };
    Ok(StepOutput { text: None, file: Some(file) })
}

/// A picture that begins and ends as a PNG does. `exec:` says no exit code, so this is all that tells.
fn checked(image: Vec<u8>) -> Result<Vec<u8>, Trouble> {
    if image.starts_with(PNG_BEGIN) && image.ends_with(PNG_END) {
        return Ok(image);
    }
    let what = match image.as_slice() {
        [] => "nothing at all".to_owned(),
        bytes if bytes.starts_with(PNG_BEGIN) => format!("it is cut off after {} bytes", bytes.len()),
        bytes => format!("it begins with {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(120)])),
    };
    Err(Trouble::Refused(format!("screencap gave no PNG: {what}")))
}

const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const EXIT: u8 = 3;
const CLOSE_STDIN: u8 = 4;

const CHUNK: usize = 8 * 1024;

/// Limit of a program's output.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

const COMPLAINT_LINES_MAX: usize = 5;
const COMPLAINT_CHARS_MAX: usize = 1000;

/// Mark that old devices print before the exit code. The last mark counts, so no output of a program passes for it.
const EXIT_MARK: &str = "muster-exit:";
const PNG_BEGIN: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The last chunk: no data, its name, its checksum.
const PNG_END: &[u8] = b"\0\0\0\0IEND\xaeB`\x82";

/// Far beyond any screen.
const IMAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// N22, N23: a real shell gives every word back as it was.
    #[test]
    fn no_word_is_taken_apart_by_the_shell() {
        let hostile = [
            "",
            " ",
            "a b",
            "'",
            "''",
            "it's",
            "\"",
            "\\",
            "\\'",
            "$HOME",
            "$(id)",
            "`id`",
            "; reboot",
            "&& x",
            "| x",
            "> /x",
            "*",
            "~",
            "#",
            "!",
            "\n",
            "a\tb",
            "{{KEY}}",
            "FOO=bar",
            "-n",
            "caf\u{e9} \u{1f600}",
            "\r",
            "%s",
            "\u{7f}",
        ];
        let command = command_of(&words(&[&["printf", "%s\\0"], &hostile[..]].concat())).unwrap();
        let output = Command::new("sh").arg("-c").arg(command).output().unwrap();
        let back = String::from_utf8(output.stdout).unwrap();
        assert_eq!(back.strip_suffix('\0').unwrap().split('\0').collect::<Vec<_>>(), hostile);
    }

    /// N23
    #[test]
    fn plain_words_stay_as_they_are() {
        let command = command_of(&words(&[
            "am",
            "start",
            "-n",
            "com.example/.Main",
            "-d",
            "https://x.example:1/a%20b",
        ]));
        assert_eq!(command.unwrap(), "am start -n com.example/.Main -d https://x.example:1/a%20b");
        assert!(command_of(&[]).is_err());
        assert!(command_of(&words(&["echo", "a\0b"])).is_err());
    }

    /// N23: output is bounded, and its end is what is kept.
    #[test]
    fn the_end_of_the_output_is_kept() {
        let mut tail = Tail::default();
        for number in 0..100_000 {
            tail.push(format!("{number}\r\n").as_bytes());
            assert!(tail.kept.len() <= 2 * OUTPUT_BYTES_MAX);
        }
        let text = tail.text();
        assert!(text.len() <= OUTPUT_BYTES_MAX && text.ends_with("\n99998\n99999"));
    }

    /// N13: a failure names the program, the code and its last words, and no parameter of the run.
    #[test]
    fn a_failure_says_what_the_program_said() {
        let said = (0..9).map(|number| format!("line {number}\n")).collect::<String>();
        let ended = Ended { code: 7, out: "out".to_owned(), error: said };
        let complaint = complaint(&words(&["input", "text", "secret"]), 7, &ended);
        assert_eq!(complaint, "input exited with 7: line 4\nline 5\nline 6\nline 7\nline 8");
    }

    /// N13, N23: what is no PNG from its first byte to its last is not taken for one.
    #[test]
    fn only_a_whole_png_is_taken() {
        let whole = [PNG_BEGIN, b"body", PNG_END].concat();
        assert_eq!(checked(whole.clone()).unwrap(), whole);
        let says = |bytes: &[u8]| checked(bytes.to_vec()).unwrap_err().to_string();
        assert_eq!(says(b""), "screencap gave no PNG: nothing at all");
        assert_eq!(says(&whole[..20]), "screencap gave no PNG: it is cut off after 20 bytes");
        assert_eq!(says(b"sh: no"), "screencap gave no PNG: it begins with \"sh: no\"");
        assert!(checked([b"[Warning] \n", whole.as_slice()].concat()).is_err());
        assert!(checked([whole.as_slice(), b"\n"].concat()).is_err());
    }
}
