//! The words of contract Q, as JSON and as OpenAPI schemas.

mod alert;
mod artifact;
mod attempt;
mod device;
mod json_text;
mod pc;
mod request;
mod run;
mod schedule;
mod sweep;
mod task_device;
mod value;
mod warning;
mod word;

pub use alert::{Alert, AlertList};
pub use artifact::{Artifact, ArtifactList};
pub use attempt::{Attempt, AttemptList};
pub use device::{Device, DeviceList};
pub use json_text::JsonText;
pub use pc::{NewSecret, Pc, PcDetail, PcEvent, PcList};
pub use request::{
    ClaimArgs, CompleteArgs, DevicePatch, DeviceReturn, FailArgs, PcPatch, RenewArgs, RetryRequest,
    RunRequest, ScheduleRequest, SweepArgs,
};
pub use run::{Counts, Failure, FailureList, ListedRun, Run, RunDetail, RunList, RunState};
pub use schedule::{Schedule, ScheduleList, ScheduleState, ScheduledRun, Scope};
pub use sweep::Swept;
pub use task_device::{ClaimedRows, History, Station, TaskDevice, TaskDeviceList};
pub use warning::{SubmittedRun, Warning};
pub use word::{DeviceStatusWord, KindWord, NameWord, RowStatusWord, RunStatusWord};
