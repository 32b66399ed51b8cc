//! Takes pictures of a device's screen.

use super::{
    listing::Line,
    server::{Server, Trouble},
    shell,
};
use crate::driver::{Cause, ProducedFile, StepFailure, StepOutput};
use std::path::Path;

/// Runs `screencap` and gives its PNG, byte for byte.
pub(super) async fn take(server: &Server, line: &Line, words: &[String]) -> Result<Vec<u8>, Trouble> {
    let mut session = shell::exec(server, line, words).await?;
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

const PNG_BEGIN: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The last chunk: no data, its name, its checksum.
const PNG_END: &[u8] = b"\0\0\0\0IEND\xaeB`\x82";

/// Far beyond any screen.
const IMAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

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
