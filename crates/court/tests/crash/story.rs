//! What happens, in a few words each.

/// A story: what comes in, and what soldiers do about it.
pub(crate) struct Story {
    pub(crate) name: &'static str,
    /// `generals/gen.toml`.
    pub(crate) general: &'static str,
    /// The events that a producer hands in, in every life anew.
    pub(crate) events: &'static [&'static str],
    /// Files that lie in `events/pending`, put there once.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// What a soldier leaves, by the type of the task and the number of failures before.
    pub(crate) soldier: fn(&str, usize) -> Option<&'static str>,
    /// How long the story goes on, in seconds, crashes included.
    pub(crate) seconds: i64,
}

pub(crate) const TWO_ENDS: Story = Story {
    name: "two ends",
    general: "subscribes = ['a', 'b']\ncommand = ['true']\nmax_soldiers = 1",
    events: &[
        r#"{"id": "e1", "type": "a", "source": "s", "payload": {"n": 12345678901234567890123}, "priority": "low"}"#,
        r#"{"id": "e2", "type": "b", "source": "s", "payload": {}}"#,
    ],
    files: &[],
    soldier: |kind, _| {
        Some(match kind {
            "a" => {
                r#""status": "success", "summary": "done", "notify_channel": "C0OPS", "proclamation": {"channel": "C0TEAMCH", "message": "news"}"#
            }
            _ => r#""status": "skipped", "summary": "s", "reason": "a draft""#,
        })
    },
    seconds: 25,
};

pub(crate) const FAILURE: Story = Story {
    name: "fails, is tried again, and fails",
    general: "subscribes = ['a']\ncommand = ['true']\nretries = 1\nretry_after_s = 3",
    events: &[r#"{"id": "e1", "type": "a", "source": "s", "payload": {}}"#],
    files: &[],
    soldier: |_, failures| match failures {
        0 => None,
        _ => Some(r#""status": "failed", "summary": "s", "error": "it broke""#),
    },
    seconds: 30,
};

pub(crate) const QUESTION: Story = Story {
    name: "asks, is answered, and goes on",
    general: "subscribes = ['a']\ncommand = ['true']",
    events: &[r#"{"id": "e1", "type": "a", "source": "s", "payload": {}}"#],
    files: &[],
    soldier: |kind, _| {
        Some(match kind {
            "resume" => r#""status": "success", "summary": "went on""#,
            _ => r#""status": "needs_human", "summary": "s", "question": "which?", "checkpoint_path": "/c""#,
        })
    },
    seconds: 30,
};

pub(crate) const SLOT: Story = Story {
    name: "by the clock",
    general: "command = ['true']\n[[schedules]]\nname = 'news'\ncron = '* * * * *'\ntask_type = 'briefing'",
    events: &[],
    files: &[],
    soldier: |_, _| Some(r#""status": "success", "summary": "told""#),
    // One slot comes; a restart takes a moment, so the story must not end near the next.
    seconds: 80,
};

pub(crate) const REFUSED: Story = Story {
    name: "what nobody wants, and what nobody can read",
    general: "subscribes = ['a']\ncommand = ['true']",
    events: &[r#"{"id": "e1", "type": "unheard.of", "source": "s", "payload": {}}"#],
    files: &[
        ("half.json", r#"{"id": "half""#),
        ("notes.txt", "remember"),
        (
            "e2.json",
            r#"{"id": "e2", "type": "a", "source": "s", "payload": {}, "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "completed"}"#,
        ),
    ],
    soldier: |_, _| Some(r#""status": "success", "summary": "done""#),
    seconds: 25,
};
