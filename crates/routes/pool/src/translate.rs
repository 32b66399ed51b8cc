//! Rephrases the contract's words as commands, and replies as the contract's words. Pure.

mod draft;
mod explain;
mod judge;
pub(crate) mod limit;
mod phrase;
mod registration;
mod result;
mod show;
mod specs;
mod work;

pub(crate) use draft::{once_more, read_batch, read_draft, read_key};
pub(crate) use explain::explain;
pub(crate) use judge::{judge, read_key_text};
pub(crate) use phrase::{Words, phrase, words};
pub(crate) use registration::{read_beat, read_public_key, read_reason, read_registration};
pub(crate) use result::{Handed, read_result};
pub(crate) use show::{
    show_assignment, show_created, show_job, show_receipt, show_registered, show_taken, show_worker,
};
pub(crate) use work::{Polled, Worked, read_poll, read_work};

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::UserId;
    use proptest::{prelude::*, sample::select};

    const FIELDS: &str = "worker_id assignment_id nonce signature output error_message artifact_uri output_hash metrics_json \
        name region specs_json slots public_key reason wait_ms start resume submit max payload priority requires \
        max_attempts timeout_s verify_output_hash redundancy jobs";
    const VALUES: &str = "null true false 0 1 -1 7.0 7.5 -0.0 1e308 9007199254740991 9007199254740992 99999999999999999999 \
        \"\" \"x\" \"\\u0000\" \"\u{1f600}\" [] {} NaN \"\\ud800\"";

    /// Bodies that look like ours: known fields with values of every kind.
    fn body() -> impl Strategy<Value = String> {
        let leaf = select(VALUES.split(' ').collect::<Vec<_>>());
        leaf.prop_map(str::to_owned).prop_recursive(3, 40, 8, |inner| {
            let entry = (select(FIELDS.split(' ').collect::<Vec<_>>()), inner.clone());
            let object = prop::collection::btree_map(entry.0, entry.1, 0..8).prop_map(|entries| {
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", entries.join(","))
            });
            let list = prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(",")));
            prop_oneof![3 => object, 1 => list]
        })
    }

    proptest! {
        /// P3, P5, P6, P7, P13, P18, P19: whatever comes is read or refused with 422, and what was read keeps the limits.
        #[test]
        fn every_body_is_read_or_refused(text in prop_oneof![4 => body(), 1 => any::<String>()]) {
            let bytes = text.as_bytes();
            let owner = UserId(1);
            let refused = [
                read_registration(bytes, owner).map(|read| {
                    assert!((1..=120).contains(&read.name.chars().count()) && (1..=1024).contains(&read.slots));
                }),
                read_result(bytes).map(|(_, handed)| {
                    assert!((1..=128).contains(&handed.nonce.chars().count()));
                }),
                read_draft(bytes, owner).map(|read| {
                    let job = &read.jobs[0];
                    assert!(job.priority <= 100 && (1..=15).contains(&job.redundancy));
                    assert!(job.timeout.is_none_or(|timeout| timeout.0 > 0));
                }),
                read_batch(bytes, owner, 1000).map(|read| assert!((1..=1000).contains(&read.jobs.len()))),
                read_poll(bytes).map(|read| assert!(read.wait.as_secs() <= 30)),
                read_work(bytes).map(|read| assert!(read.max <= 1000 && read.results.len() <= 1000)),
                read_public_key(bytes).map(drop),
                read_reason(bytes).map(drop),
                read_beat(bytes).map(drop),
            ];
            for refused in refused.into_iter().filter_map(Result::err) {
                prop_assert_eq!(refused.status().as_u16(), 422);
            }
        }
    }
}
