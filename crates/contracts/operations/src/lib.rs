//! Contract Q on the wire: what operators, clients and PCs send, and what they get.
//!
//! One file per noun has its wire types in both directions: the server reads requests into commands and shows records and
//! replies; clients write requests and read views. Words of enumerations are read as text, so that a client can show one
//! that a newer server added. No IO happens here, and nothing is decided.

mod artifact;
mod attempt;
mod device;
mod explain;
mod list;
mod pc;
mod refusal;
mod request;
mod retry;
mod rpc;
mod run;
mod schedule;
mod status;
mod submission;
mod task_device;
mod warning;

pub use artifact::{Artifact, show_artifact};
pub use attempt::{Attempt, show_attempts};
pub use device::{Device, read_labels, read_note, show_device};
pub use explain::{KINDS as EXPLAINED_KINDS, read_subjects};
pub use list::{
    AlertList, ArtifactList, AttemptList, DeviceList, PcList, RunList, ScheduleList, TaskDeviceList,
};
pub use muster_problem::JsonText;
pub use pc::{
    Alert, LiveFacts, NewSecret, Pc, PcCounts, PcDetail, PcEvent, read_cap, show_alert, show_history, show_pc,
};
pub use refusal::{as_postgrest, phrase};
pub use request::{
    ClaimArgs, CompleteArgs, DevicePatch, DeviceReturn, FailArgs, PcPatch, RenewArgs, RetryRequest,
    RunRequest, ScheduleRequest, SweepArgs,
};
pub use retry::{Retry, failure_of, read_retry, show_failures};
pub use rpc::{
    Ending, Swept, phrase_claim, phrase_renewal, read_claim, read_complete, read_fail, read_nothing,
    read_renew,
};
pub use run::{
    Counts, Failure, FailureList, ListedRun, Progress, RowCounts, Run, RunDetail, RunState, count_rows,
    rate_since, show_listed, show_state,
};
pub use schedule::{
    MISSED_WORDS, Schedule, ScheduleState, ScheduledRun, Scope, read_schedule, show_schedule,
};
pub use status::{
    DEVICE_WORDS, DeviceStatusWord, KindWord, NameWord, ROW_WORDS, RUN_WORDS, RowStatusWord, RunFilter,
    RunStatusWord, read_device_status, read_row_status, read_run_status,
};
pub use submission::{read_key, read_submission};
pub use task_device::{ClaimedRows, History, Station, TaskDevice, show_station, show_task, show_task_row};
pub use warning::{SubmittedRun, Warning, show_warnings};

#[cfg(test)]
mod golden {
    use serde::{Serialize, de::DeserializeOwned};
    use serde_json::{Value, to_value};

    /// Checks that the server writes a view as `expected`, and that a client reads the same from it, also from a newer server
    /// that tells more.
    pub(crate) fn check<T: Serialize + DeserializeOwned>(view: &T, expected: &Value) {
        assert_eq!(&to_value(view).unwrap(), expected);
        let mut newer = expected.clone();
        newer["told by a newer server"] = 1.into();
        assert_eq!(&to_value(serde_json::from_value::<T>(newer).unwrap()).unwrap(), expected);
    }
}
