//! Pages of lists.

use crate::{Alert, Artifact, Attempt, Device, ListedRun, Pc, Schedule, TaskDevice};
use muster_problem::lists;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

lists! {
    (Debug, Serialize, Deserialize, ToSchema)
    /// Runs, newest first.
    RunList { runs: ListedRun }
    /// Rows of one run, oldest first.
    TaskDeviceList { task_devices: TaskDevice<i64> }
    /// Devices, by id.
    DeviceList { devices: Device }
    /// PCs, by id.
    PcList { pcs: Pc }
    /// Alerts, newest first.
    AlertList { alerts: Alert }
    /// Schedules, oldest first.
    ScheduleList { schedules: Schedule }
    /// Attempts of a run's rows, oldest row first.
    AttemptList { attempts: Attempt }
    /// Files of a run, oldest row first; of a device, newest first.
    ArtifactList { artifacts: Artifact }
}
