//! Devices behind a vendor's control program (N23).
//!
//! The program is asked over a WebSocket: `{action, devices, data}`, answered `{code}`. `channel` carries one request
//! at a time per connection, because answers do not say what they answer; `answer` reads them.

mod answer;
mod channel;

use crate::{
    Attached, Text,
    driver::{Cause, StepCall, StepFailure, StepOutput},
};
use answer::Answer;
use channel::Channel;
use muster_model::Attachment;
use serde_json::{Value, json};
use std::{collections::HashSet, time::Duration};
use tokio::time::timeout;

/// Where vendors' programs listen.
pub const DEFAULT_URL: &str = "ws://127.0.0.1:22222";

/// The devices of a vendor's program.
#[derive(Debug)]
pub struct Vendor {
    channel: Channel,
}

impl Vendor {
    /// Speaks to nobody yet.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self { channel: Channel::new(url) }
    }

    /// Lists the devices of the program (N23): `onlySerial` names one for good, `serial` reaches it now.
    ///
    /// # Errors
    /// When the program is not reached or refuses.
    pub async fn discover(&self) -> Result<Vec<Attached>, StepFailure> {
        let request = json!({"action": "list"}).to_string();
        let late = |_| self.lost(format!("no list within {LIST_PATIENCE:?}"));
        let answer = timeout(LIST_PATIENCE, self.exchange(&request)).await.map_err(late)??;
        let entries = answer.data.as_array().ok_or_else(|| self.lost("its list is no list".to_owned()))?;
        let mut known = HashSet::new();
        let devices = entries.iter().filter_map(attached);
        Ok(devices.filter(|device| known.insert(Text::clone(&device.device))).collect())
    }

    /// Does a step of kind `vendor` (N23): the step's action with its parameters, on this device alone.
    ///
    /// # Errors
    /// [`Cause::VendorWs`] when the program was not reached or its answer makes no sense, [`Cause::VendorCommand`] when
    /// it refused. A command that was sent is never sent again: it may have been carried out.
    pub async fn perform(&self, call: &StepCall<'_>) -> Result<StepOutput, StepFailure> {
        let request = request(call)?;
        let answer = tokio::select! {
            biased;
            // Whoever leaves here drops the connection: the answer to come would be taken for another's.
            () = call.cancel.cancelled() => return Err(failure(Cause::Cancelled, "cancelled".to_owned())),
            answer = self.exchange(&request) => answer?,
        };
        Ok(StepOutput { text: answer.text(), file: None })
    }

    /// Whether the last exchange with the program worked, as heartbeats say in `vendor_ws_ok` (N8).
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.channel.works()
    }

    async fn exchange(&self, request: &str) -> Result<Answer, StepFailure> {
        let answer = self.channel.exchange(request).await.map_err(|error| failure(Cause::VendorWs, error))?;
        match answer.complaint() {
            None => Ok(answer),
            Some(complaint) => Err(failure(Cause::VendorCommand, complaint)),
        }
    }

    fn lost(&self, why: String) -> StepFailure {
        self.channel.doubt();
        failure(Cause::VendorWs, format!("{}: {why}", self.channel.url()))
    }
}

fn request(call: &StepCall<'_>) -> Result<String, StepFailure> {
    let Some(action) = call.step.action.as_deref().filter(|action| !action.is_empty()) else {
        return Err(failure(Cause::Other, "a vendor step without an action".to_owned()));
    };
    if !names_one(call.handle) {
        let message = format!("{:?} does not name one device of the vendor's", call.handle);
        return Err(failure(Cause::Other, message));
    }
    Ok(json!({"action": action, "devices": call.handle, "data": call.step.params}).to_string())
}

fn attached(entry: &Value) -> Option<Attached> {
    let text = |key: &str| entry[key].as_str().filter(|text| names_one(text));
    let handle = text("serial")?;
    let device = text("onlySerial").unwrap_or(handle);
    Some(Attached { device: device.into(), handle: handle.into(), attachment: Attachment::Online })
}

/// Whether a handle means one device. `all` means every one, and a comma makes a list.
fn names_one(handle: &str) -> bool {
    let fits = (1..=HANDLE_BYTES_MAX).contains(&handle.len());
    fits && handle.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')
        && !handle.eq_ignore_ascii_case("all")
}

fn failure(cause: Cause, message: String) -> StepFailure {
    StepFailure { cause, message }
}

const LIST_PATIENCE: Duration = Duration::from_secs(10);

/// Longer than any serial.
const HANDLE_BYTES_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    /// N18, N23: no entry and no handle can mean more than one device.
    #[test]
    fn a_handle_names_one_device() {
        let seen = |entry: Value| attached(&entry).map(|seen| format!("{} by {}", seen.device, seen.handle));
        assert_eq!(
            seen(json!({"serial": "10.0.0.7:5555", "onlySerial": "SER1"})).unwrap(),
            "SER1 by 10.0.0.7:5555"
        );
        assert_eq!(seen(json!({"serial": "SER2", "onlySerial": "", "mode": 0})).unwrap(), "SER2 by SER2");
        assert_eq!(seen(json!({"serial": "SER3"})).unwrap(), "SER3 by SER3");
        for wrong in [json!(null), json!({}), json!([]), json!({"serial": 7}), json!({"onlySerial": "SER4"})]
        {
            assert_eq!(seen(wrong), None);
        }
        for wrong in ["", "all", "ALL", "a,b", "a b", "caf\u{e9}"] {
            assert_eq!(seen(json!({"serial": wrong, "onlySerial": "SER5"})), None, "{wrong}");
        }
    }
}
