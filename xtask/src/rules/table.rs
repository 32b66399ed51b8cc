//! The rules of the contracts, by the step of the project since which each is required.

/// A stretch of the project that makes a set of rules true.
pub(super) struct Step {
    pub(super) name: &'static str,
    /// Whether its rules must have tests by now.
    reached: bool,
    /// The ids, separated by spaces.
    rules: &'static str,
}

/// One rule of a contract.
pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) step: &'static Step,
}

impl Rule {
    /// Says whether a tree without a test of this rule is refused.
    pub(super) fn required(&self) -> bool {
        self.step.reached
    }
}

/// Lists every rule, step by step.
pub(super) fn rules() -> impl Iterator<Item = Rule> {
    STEPS.iter().flat_map(|step| step.rules.split_whitespace().map(move |id| Rule { id, step }))
}

/// Says whether a contract has a rule of this id.
pub(super) fn is_known(id: &str) -> bool {
    rules().any(|rule| rule.id == id)
}

const STEPS: &[Step] = &[
    Step {
        name: "nodes and operations",
        reached: true,
        rules: "N1 N1b N2 N3 N4 N5 N6 N6b N7 N8 N8b N9 N10 N11 N12 N13 N14 N15 N15b N16 N17 \
                Q1 Q2 Q3 Q4 Q5 Q6 Q7 Q8 Q9 Q10 Q11 Q12 Q13 Q14 Q15 Q16 \
                I1 I4 I5 I6 I7 I8 I9 I10",
    },
    Step { name: "device agent", reached: true, rules: "N18 N19 N20 N21 N22 N22b N23 I11" },
    Step { name: "schedules", reached: true, rules: "Q17" },
    Step {
        name: "simulation",
        reached: true,
        rules: "S1 S2 S3 S4 S5 S5b S6 S7 S8 S9 S10 S11 S12 S13 S14 S15 S16 S17 S20 S21 S22 S23 S24 S25 S26 S27",
    },
    Step { name: "failover", reached: true, rules: "S18 S19" },
    Step {
        name: "court",
        reached: true,
        rules: "C0 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12 C13 C14 C15 C16 C16b C17 C18 C19 C20 C21 C22 C23",
    },
    Step {
        name: "pool",
        reached: true,
        rules: "P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19",
    },
    Step { name: "what the sources say", reached: true, rules: "N8c Q7b Q9b Q21" },
    Step { name: "sessions to the letter", reached: true, rules: "S8b S20b S23b S26b S26c" },
    Step { name: "every contract in one binary", reached: true, rules: "I2 I3" },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rules::scan::is_rule_id;

    #[test]
    fn no_rule_stands_in_two_steps() {
        let unique: BTreeSet<&str> = rules().map(|rule| rule.id).collect();
        assert_eq!(unique.len(), rules().count());
    }

    #[test]
    fn every_id_is_one_the_scanner_would_find() {
        for rule in rules() {
            assert!(is_rule_id(rule.id), "{}", rule.id);
        }
    }
}
