//! Several servers on one database, of which one leads (S18).

use crate::{Answer, Client, Database, Place, Request, Server, ServerSetup, SimWorker, until};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// Options of a cluster's servers.
#[derive(Clone, Debug)]
pub struct ClusterSetup {
    url: String,
    settings: Vec<(String, String)>,
    places: Vec<Option<Place>>,
}

/// Servers that share a database, the directory that sessions write to, and the one for artifacts.
#[derive(Debug)]
pub struct Cluster {
    /// The servers, each with a data directory of its own.
    pub servers: Vec<Server>,
    url: String,
    epochs: Epochs,
    shared: TempDir,
}

/// The leader of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Which of the servers.
    pub index: usize,
    /// Its term's.
    pub epoch: u64,
}

/// Role of a server, as it reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It leads.
    Leading(u64),
    /// It knows who does.
    Following(String, u64),
    /// It knows nobody, or says nothing.
    Lost,
}

impl ClusterSetup {
    /// So many servers on this machine, on the database at a URL.
    #[must_use]
    pub fn new(url: &str, count: usize) -> Self {
        Self { url: url.to_owned(), settings: Vec::new(), places: vec![None; count] }
    }

    /// One server in each of these places.
    #[must_use]
    pub fn placed(url: &str, places: &[&Place]) -> Self {
        let places = places.iter().map(|&place| Some(place.clone())).collect();
        Self { places, ..Self::new(url, 0) }
    }

    /// With settings, such as `("MUSTER_LEADERSHIP__LEASE_MS", "500")`.
    #[must_use]
    pub fn with(mut self, settings: &[(&str, &str)]) -> Self {
        self.settings.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self
    }

    /// Starts all of them at once, and waits until one leads and the others know it.
    #[must_use]
    pub fn start(self) -> Cluster {
        let shared = tempfile::tempdir().unwrap();
        let output = shared.path().join("output").display().to_string();
        let artifacts = shared.path().join("artifacts").display().to_string();
        let mut settings: Vec<(&str, &str)> = SECRETS.to_vec();
        settings.extend([
            ("MUSTER_SIMULATION__OUTPUT_ROOT", output.as_str()),
            ("MUSTER_ARTIFACTS__ROOT", &artifacts),
        ]);
        settings.extend(self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let setup = |place: &Option<Place>| {
            let setup = ServerSetup::new(&settings).args(&["--store", &self.url]);
            match place {
                Some(place) => setup.place(place),
                None => setup.fixed_port(),
            }
        };
        let setups: Vec<_> = self.places.iter().map(setup).collect();
        let starting = setups.into_iter().map(|setup| thread::spawn(move || setup.start()));
        let starting: Vec<_> = starting.collect();
        let servers = starting.into_iter().map(|server| server.join().unwrap()).collect();
        let cluster = Cluster { servers, url: self.url, epochs: Epochs::default(), shared };
        cluster.settle();
        cluster
    }
}

impl Cluster {
    /// The leader, if a server reports that it leads.
    #[must_use]
    pub fn leader(&self) -> Option<Leader> {
        let standings = (0..self.servers.len()).map(|index| (index, self.standing(index)));
        let leaders = standings.filter_map(|(index, standing)| match standing {
            Standing::Leading(epoch) => Some(Leader { index, epoch }),
            _ => None,
        });
        leaders.max_by_key(|leader| leader.epoch)
    }

    /// Waits until somebody leads in an epoch after this one.
    #[must_use]
    pub fn leader_after(&self, epoch: u64) -> Leader {
        let newer = || self.leader().filter(|leader| leader.epoch > epoch);
        until(&format!("a leader of an epoch after {epoch}"), newer)
    }

    /// Waits until one leads and all others follow it.
    pub fn settle(&self) -> Leader {
        until("one leads and all others follow it", || {
            let leader = self.leader()?;
            let url = self.servers[leader.index].anonymous().url();
            let follows = |index| self.standing(index) == Standing::Following(url.clone(), leader.epoch);
            let others = (0..self.servers.len()).filter(|&index| index != leader.index);
            others.into_iter().all(follows).then_some(leader)
        })
    }

    /// Role of one of the servers, as it reports it.
    #[must_use]
    pub fn standing(&self, index: usize) -> Standing {
        let client = self.servers[index].anonymous().with_patience(Duration::from_secs(2));
        let answer = client.try_send(Request::new("GET", "/readyz"));
        let answer = answer.ok().filter(|answer| answer.status == 200);
        answer.and_then(|answer| read_standing(&answer.text())).unwrap_or(Standing::Lost)
    }

    /// The leader, which must be there.
    pub fn leading(&mut self) -> &mut Server {
        let leader = self.leader_after(0);
        &mut self.servers[leader.index]
    }

    /// A caller of all servers in turn, without a token.
    #[must_use]
    pub fn anonymous(&self) -> Client {
        self.among(|_| true)
    }

    /// A caller of all servers but one in turn, without a token.
    #[must_use]
    pub fn without(&self, index: usize) -> Client {
        self.among(|other| other != index)
    }

    /// A caller of one server, without a token.
    #[must_use]
    pub fn only(&self, index: usize) -> Client {
        self.among(|other| other == index)
    }

    fn among(&self, is_meant: impl Fn(usize) -> bool) -> Client {
        let meant = self.servers.iter().enumerate().filter(|(index, _)| is_meant(*index));
        Client::among(meant.map(|(_, server)| server.address().clone()).collect(), self.epochs.clone())
    }

    /// A caller of all servers in turn, with every operator right.
    #[must_use]
    pub fn admin(&self) -> Client {
        self.anonymous().with_token(&self.servers[0].admin_token())
    }

    /// A caller of all servers in turn, with the secret that nodes share.
    #[must_use]
    pub fn node(&self) -> Client {
        self.anonymous().with_token(&self.servers[0].node_secret())
    }

    /// Adds a user with these roles and logs them in.
    #[must_use]
    pub fn user(&self, name: &str, roles: &[&str]) -> Client {
        self.servers[0].add_user(name, roles);
        self.login(name)
    }

    /// Logs a user in.
    #[must_use]
    pub fn login(&self, name: &str) -> Client {
        let token = self.servers[0].login(name).token().unwrap().to_owned();
        self.anonymous().with_token(&token)
    }

    /// Starts a simulation worker that knows all servers.
    #[must_use]
    pub fn sim_worker(&self, id: &str, args: &[&str]) -> SimWorker {
        SimWorker::at(&self.anonymous().url(), &self.servers[0].enrol_secret(), id, args)
    }

    /// URL of the database.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The tables, as they are now.
    #[must_use]
    pub fn database(&self) -> Database {
        Database::postgres(&self.url)
    }

    /// Directory that sessions write to.
    #[must_use]
    pub fn output(&self) -> PathBuf {
        self.shared.path().join("output")
    }

    /// The newest epoch that an acknowledgement named.
    #[must_use]
    pub fn epochs(&self) -> &Epochs {
        &self.epochs
    }
}

/// Reads the second line of `/readyz`.
fn read_standing(text: &str) -> Option<Standing> {
    let (what, epoch) = text.lines().nth(1)?.rsplit_once(" epoch ")?;
    let epoch = epoch.trim().parse().ok()?;
    match what.split_once(' ') {
        Some(("following", address)) => Some(Standing::Following(address.to_owned(), epoch)),
        None if what == "leading" => Some(Standing::Leading(epoch)),
        _ => None,
    }
}

/// Given, so that they are known wherever the servers keep those they make.
const SECRETS: [(&str, &str); 3] = [
    ("MUSTER_ADMIN_TOKEN", "the-admin-token-of-a-cluster"),
    ("NODE_AGENT_SHARED_SECRET", "the-node-secret-of-a-cluster"),
    ("MUSTER_ENROL_SECRET", "the-enrol-secret-of-a-cluster"),
];

/// The newest epoch that an acknowledgement named; shared by all who call the same servers.
#[derive(Clone, Debug, Default)]
pub struct Epochs(Arc<AtomicU64>);

impl Epochs {
    /// The newest one so far.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Holds an acknowledged write to S18: it was asked for when `before` was the newest epoch, so it is of none older.
    pub(crate) fn witness(&self, before: u64, answer: &Answer) {
        let Some(epoch) = answer.epoch() else { return };
        assert!(epoch >= before, "acknowledged in epoch {epoch} after {before} had begun: {answer:?}");
        self.0.fetch_max(epoch, Ordering::SeqCst);
    }
}
