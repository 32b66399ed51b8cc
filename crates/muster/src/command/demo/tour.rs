//! A guided tour: at each moment worth a look, what is happening, which rule makes it safe, and where the dashboard shows it.

use super::{plan::Twist, view::Scene};
use std::collections::BTreeSet;

/// Tells each moment once, at length or in brief.
#[derive(Debug)]
pub(super) struct Tour {
    is_long: bool,
    url: String,
    told: BTreeSet<usize>,
}

/// A moment worth a look.
struct Moment {
    /// Whether it has come.
    is_now: fn(&Scene<'_>) -> bool,
    brief: &'static str,
    /// One or two sentences more.
    long: &'static str,
    /// The rules that make it safe.
    rules: &'static str,
    /// The page of the dashboard, after its address.
    page: &'static str,
}

impl Tour {
    pub(super) fn new(url: &str, is_long: bool) -> Self {
        Self { is_long, url: url.to_owned(), told: BTreeSet::new() }
    }

    /// The lines of the moments that have come since it was last asked.
    pub(super) fn tell(&mut self, scene: &Scene<'_>) -> Vec<String> {
        let come = MOMENTS.iter().enumerate().filter(|(_, moment)| (moment.is_now)(scene));
        let new: Vec<&Moment> =
            come.filter(|(number, _)| self.told.insert(*number)).map(|(_, moment)| moment).collect();
        new.into_iter().flat_map(|moment| self.words(moment)).collect()
    }

    fn words(&self, moment: &Moment) -> Vec<String> {
        let Moment { brief, long, rules, page, .. } = moment;
        let Self { url, is_long, .. } = self;
        match is_long {
            true => vec![
                String::new(),
                format!("┃ {brief}"),
                format!("┃ {long}"),
                format!("┃ Rules {rules}. Look at {url}/#/{page}"),
                String::new(),
            ],
            false => vec![format!("┃ {brief} ({rules}; #/{page})")],
        }
    }
}

/// In the order in which they mostly come.
const MOMENTS: &[Moment] = &[
    Moment {
        is_now: |_| true,
        brief: "Runs, a session of frames, jobs of a pool and the events of a court have been handed in.",
        long: "Each PC has 20 slots; whenever one is free the next device of the oldest run takes it, and never are two \
               tasks on one device. All of it is one log of decisions in one store, so that nothing is in two states at once.",
        rules: "Q2, Q3, N18",
        page: "overview",
    },
    Moment {
        is_now: |scene| !scene.pool.losses().is_empty(),
        brief: "A worker of the pool is killed (kill -9) with jobs in hand.",
        long: "What it had finished and signed lies in its spool; what it had begun it takes up again when it is started \
               anew, under the same assignment, so that no result is lost and none is counted twice.",
        rules: "P16, P8",
        page: "jobs",
    },
    Moment {
        is_now: |scene| scene.pool.members().iter().any(|member| member.standing.is_banned()),
        brief: "mallory-1 lied about results once too often: it is banned.",
        long: "Some jobs go to three workers of different owners, and the majority of the hashes decides. Every result is \
               signed, so a lie has an author; the receipts of the true ones verify offline.",
        rules: "P15, P17",
        page: "fleet?tab=pool",
    },
    Moment {
        is_now: |scene| !scene.farm.losses().is_empty(),
        brief: "A simulation worker is killed (kill -9) in the middle of a range of frames.",
        long: "After three missed heartbeats it counts as lost: the whole range goes to another worker with new ids, and \
               the pictures that it left are set apart, so that no id is ever given to two things.",
        rules: "S13, S15, S16",
        page: "sessions/demo-1",
    },
    Moment {
        is_now: |scene| !scene.court.losses().is_empty(),
        brief: "The court is killed (kill -9) with tasks under way.",
        long: "Its queues are directories and every change of state is one rename: the next life finds each file in \
               exactly one place and goes on there. Work that it had handed to the server is recognised, not repeated.",
        rules: "C6, C17",
        page: "court",
    },
    Moment {
        is_now: |scene| scene.court.took().is_some(),
        brief: "The court is through: each event has one task, one result and one message.",
        long: "Its generals had runs, a session and jobs done by the same fleets that you see at work here, and the rest by \
               programs of their own.",
        rules: "C8, C14, C17",
        page: "court",
    },
    Moment {
        is_now: |scene| scene.runs.iter().any(|run| run.is_cancelled),
        brief: "Somebody cancels a run on its way.",
        long: "It is cancelled at once; devices that are at it are told to stop and keep their slot until they say so, so \
               that nothing new starts on a device that is still busy.",
        rules: "Q7",
        page: "runs",
    },
    Moment {
        is_now: |scene| scene.runs.iter().any(|run| run.plan.twist == Twist::WearsOut && run.is_over()),
        brief: "Three devices failed three times each: they are out of service, and are returned with a note.",
        long: "A device that uses up its attempts is taken out, so that it spoils no further run, until somebody says what \
               was done about it. The audit log keeps who did.",
        rules: "Q10, Q11",
        page: "audit",
    },
    Moment {
        is_now: |scene| scene.agents.iter().any(|agent| agent.down_since().is_some()),
        brief: "The agent of PC-02 is killed (kill -9) with twenty devices at work.",
        long: "Every report was on its disk before it was sent. After its restart it delivers what is left there and says \
               of each task that was interrupted that it was; the server has those tried again, none silently twice.",
        rules: "N19, N22b, Q10",
        page: "fleet/node/PC-02",
    },
    Moment {
        is_now: |scene| scene.agents.iter().any(|agent| agent.is_cut_off()),
        brief: "PC-03 is cut off from the server: its cable is pulled.",
        long: "It goes on with what it has and keeps every report in its spool. The server takes it for offline after some \
               seconds of silence, but offline is no failure: what PC-03 holds stays its own until its lease ends.",
        rules: "N15, N16, N20",
        page: "fleet/node/PC-03",
    },
    Moment {
        is_now: |scene| scene.was_cut && !scene.agents.iter().any(|agent| agent.is_cut_off()),
        brief: "PC-03 is back: it delivers what it kept, and gets work again.",
        long: "Every report has an id, so one whose answer was lost in the cut may be sent again and counts once.",
        rules: "N5, N19",
        page: "fleet/node/PC-03",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_names_a_rule_and_a_page() {
        for moment in MOMENTS {
            let is_rule = |rule: &str| rule.starts_with(['N', 'Q', 'S', 'P', 'C']) && rule.len() >= 2;
            assert!(moment.rules.split(", ").all(is_rule), "{}", moment.rules);
            assert!(!moment.page.is_empty() && !moment.page.starts_with('/'), "{}", moment.page);
            assert!(moment.brief.ends_with('.') && moment.long.ends_with('.'), "{}", moment.brief);
        }
    }

    #[test]
    fn the_long_tour_says_more() {
        let words = |is_long| Tour::new("http://a:1", is_long).words(&MOMENTS[0]).join("\n");
        assert!(words(true).contains("http://a:1/#/overview") && words(true).contains("never are two tasks"));
        assert_eq!(words(false).lines().count(), 1);
    }
}
