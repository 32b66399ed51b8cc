//! The frames that a fragment lists.

use crate::{
    moment::{Moment, Span},
    number::Number,
    range::FrameRange,
};

/// Frames in the order of their ids, and the statistics of all frames in one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    list: Vec<Frame>,
    values: Vec<(u32, Number)>,
    pub(crate) is_disordered: bool,
    pub(crate) is_estimated: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) id: u64,
    pub(crate) moment: Option<Moment>,
    values_from: usize,
    values_end: usize,
}

impl Frames {
    /// Adds a frame as the text lists it. Its statistics were added before.
    pub(super) fn push(&mut self, id: u64, moment: Option<Moment>) {
        let values_from = self.list.last().map_or(0, |frame| frame.values_end);
        self.list.push(Frame { id, moment, values_from, values_end: self.values.len() });
    }

    pub(super) fn push_value(&mut self, path: u32, value: Number) {
        self.values.push((path, value));
    }

    /// Sorts the frames by id.
    ///
    /// # Errors
    /// Names the first frame that is outside the range, listed twice, or has a timestamp of another kind.
    pub(super) fn settled(mut self, range: FrameRange) -> Result<Self, String> {
        if let Some(stray) = self.list.iter().find(|frame| !range.has(frame.id)) {
            return Err(format!("frameId {} is not in the frameRange {range}", stray.id));
        }
        let listed_backwards = goes_backwards(&self.list)?;
        self.list.sort_unstable_by_key(|frame| frame.id);
        if let Some([frame, _]) = self.list.array_windows().find(|[one, next]| one.id == next.id) {
            return Err(format!("frameId {} is listed twice", frame.id));
        }
        self.is_disordered = listed_backwards || goes_backwards(&self.list)?;
        Ok(self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the frames of a range.
    pub(crate) fn within(&self, range: FrameRange) -> &[Frame] {
        let from = self.list.partition_point(|frame| frame.id < range.start);
        let end = self.list.partition_point(|frame| frame.id < range.end);
        &self.list[from..end]
    }

    /// Returns the statistics of one frame.
    pub(crate) fn values_of(&self, frame: &Frame) -> &[(u32, Number)] {
        &self.values[frame.values_from..frame.values_end]
    }

    /// Returns the statistics of all frames.
    pub(crate) fn values(&self) -> &[(u32, Number)] {
        &self.values
    }

    /// Returns the earliest and the latest timestamp in a range.
    pub(crate) fn span(&self, range: FrameRange) -> Option<Span> {
        Span::of(self.within(range).iter().filter_map(|frame| frame.moment))
    }
}

fn goes_backwards(frames: &[Frame]) -> Result<bool, String> {
    let mut moments = frames.iter().filter_map(|frame| frame.moment);
    let Some(mut before) = moments.next() else { return Ok(false) };
    let mut is_backwards = false;
    for moment in moments {
        match moment.order(before) {
            Some(order) => is_backwards |= order.is_lt(),
            None => return Err(format!("the timestamps {before} and {moment} are of different kinds")),
        }
        before = moment;
    }
    Ok(is_backwards)
}
