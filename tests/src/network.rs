//! A network of namespaces, whose members can be cut off from each other pair by pair.
//!
//! Every place is a network namespace with one cable to a switch, which is a namespace too, so that no rule of this
//! machine's firewall concerns it. The test has a cable of its own and is never cut off. A cut gives both sides a wrong
//! hardware address of each other: what they send is dropped without a word, as by a broken line, and connections stay
//! open until somebody loses patience.
//!
//! The test itself runs in a namespace too ([`in_own_network`]). If it added interfaces to this machine's network, browsers
//! of other tests would abort what they load with `ERR_NETWORK_CHANGED`.

use std::{
    collections::BTreeMap,
    env, fs,
    net::Ipv4Addr,
    path::Path,
    process::{self, Command, Output},
    thread,
};

/// Runs the calling test in a network namespace of its own: starts this test binary again for that test alone.
///
/// # Panics
/// When the test fails there, or when this process may not make a namespace: that takes root, iproute2 and util-linux.
pub fn in_own_network(test: impl FnOnce()) {
    if env::var_os(IN_OWN_NETWORK).is_some() {
        return test();
    }
    let name = thread::current().name().expect("libtest names the thread after the test").to_owned();
    let status = Command::new("unshare")
        .args(["--net", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""])
        .arg(env::current_exe().expect("the test binary has a path"))
        .args([&name, "--exact", "--nocapture"])
        .env(IN_OWN_NETWORK, "1")
        .status();
    let status = status.unwrap_or_else(|error| panic!("cannot run unshare, of Debian's util-linux: {error}"));
    assert!(status.success(), "{name} failed in its own network: {status}");
}

/// A network; gone with the value. Whatever runs in it must have ended before.
#[derive(Debug)]
pub struct Network {
    /// Names of its namespaces begin with this.
    name: String,
    places: BTreeMap<String, Place>,
}

/// Place in a network where a process runs.
#[derive(Clone, Debug)]
pub struct Place {
    namespace: String,
    address: Ipv4Addr,
}

impl Network {
    /// Makes one with these places.
    ///
    /// # Panics
    /// When this process may not: it needs root, or `CAP_NET_ADMIN` and `CAP_SYS_ADMIN`, and iproute2.
    #[must_use]
    pub fn with(names: &[&str]) -> Self {
        assert!(env::var_os(IN_OWN_NETWORK).is_some(), "call this within `in_own_network`");
        clear_away_leftovers();
        let mut network = Self { name: format!("{PREFIX}{}", process::id()), places: BTreeMap::new() };
        network.lay_out();
        for (index, name) in (2_u8..).zip(names) {
            let place = Place { namespace: format!("{}-{name}", network.name), address: address(index) };
            network.connect(&place, index);
            network.places.insert((*name).to_owned(), place);
        }
        network
    }

    /// One of its places.
    #[must_use]
    pub fn place(&self, name: &str) -> &Place {
        self.places.get(name).unwrap_or_else(|| panic!("no place {name} in this network"))
    }

    /// Lets nothing through between two places from now on, and tells neither.
    pub fn cut(&self, one: &str, other: &str) {
        self.each_way(one, other, |namespace, address| {
            ip(&format!("-n {namespace} neigh replace {address} lladdr {NOBODY} nud permanent dev eth0"));
        });
    }

    /// Mends a cut.
    pub fn mend(&self, one: &str, other: &str) {
        self.each_way(one, other, |namespace, address| {
            ip(&format!("-n {namespace} neigh del {address} dev eth0"));
        });
    }

    fn each_way(&self, one: &str, other: &str, act: impl Fn(&str, &str)) {
        let (one, other) = (self.place(one), self.place(other));
        act(&one.namespace, &other.address.to_string());
        act(&other.namespace, &one.address.to_string());
    }

    /// The switch, and the test's cable to it.
    fn lay_out(&self) {
        let switch = self.switch();
        ip(&format!("netns add {switch}"));
        ip(&format!("-n {switch} link add switch type bridge"));
        ip(&format!("-n {switch} link set switch up"));
        ip(&format!("link add {CABLE} type veth peer name test netns {switch}"));
        ip(&format!("-n {switch} link set test master switch up"));
        ip(&format!("address add {}/24 dev {CABLE}", address(1)));
        ip(&format!("link set {CABLE} up"));
    }

    fn connect(&self, place: &Place, index: u8) {
        let (switch, namespace, port) = (self.switch(), &place.namespace, format!("port{index}"));
        ip(&format!("netns add {namespace}"));
        ip(&format!("-n {namespace} link add eth0 type veth peer name {port} netns {switch}"));
        ip(&format!("-n {switch} link set {port} master switch up"));
        ip(&format!("-n {namespace} address add {}/24 dev eth0", place.address));
        ip(&format!("-n {namespace} link set lo up"));
        ip(&format!("-n {namespace} link set eth0 up"));
    }

    fn switch(&self) -> String {
        format!("{}-switch", self.name)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

impl Place {
    /// Its address in the network.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The name of its namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// A program to be run there; its process id is that of the command.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace)).arg("--").arg(program);
        command
    }
}

/// Removes networks of processes that have ended.
fn clear_away_leftovers() {
    for namespace in names_in("/run/netns", PREFIX) {
        let owner = namespace[PREFIX.len()..].split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(owner).exists() {
            remove(&format!("{PREFIX}{owner}"));
        }
    }
}

/// Ends what runs in the namespaces of a network, and removes them.
fn remove(network: &str) {
    for namespace in names_in("/run/netns", &format!("{network}-")) {
        let left = try_ip(&format!("netns pids {namespace}")).stdout;
        for process in String::from_utf8_lossy(&left).split_whitespace() {
            let _ = Command::new("kill").args(["-KILL", process]).output();
        }
        try_ip(&format!("netns del {namespace}"));
    }
    try_ip(&format!("link del {CABLE}"));
}

fn names_in(directory: &str, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// In the range that is set aside for tests of networks (RFC 2544).
fn address(index: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, index)
}

fn ip(arguments: &str) {
    let output = try_ip(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments}: {}", said.trim_end());
}

fn try_ip(arguments: &str) -> Output {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    output.unwrap_or_else(|error| panic!("cannot run ip, which Debian's package iproute2 has: {error}"))
}

/// Names of namespaces begin with this and the number of the process that made them.
const PREFIX: &str = "muster-t";

/// The test's own interface.
const CABLE: &str = "cable";

/// Set in the environment of a test that runs in a namespace of its own.
const IN_OWN_NETWORK: &str = "MUSTER_IN_OWN_NETWORK";

/// A hardware address that nobody has.
const NOBODY: &str = "02:00:00:00:00:01";
