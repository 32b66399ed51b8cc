//! A network of namespaces, whose members can be cut off from each other pair by pair.
//!
//! Every place is a network namespace with one cable to a switch, which is a namespace too, so that no rule of this
//! machine's firewall concerns it. This machine has a cable of its own and is never cut off. A cut gives both sides a
//! wrong hardware address of each other: what they send is dropped without a word, as by a broken line, and connections
//! stay open until somebody loses patience.

use std::{
    collections::BTreeMap,
    fs,
    net::Ipv4Addr,
    path::Path,
    process::{Command, Output},
};

/// A network; gone with the value. Whatever runs in it must have ended before.
#[derive(Debug)]
pub struct Network {
    /// The name of this machine's cable; those of the namespaces begin with it.
    name: String,
    places: BTreeMap<String, Place>,
}

/// Where a process of a network runs.
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
        clear_away_leftovers();
        let (name, number) = claim_cable();
        let mut network = Self { name, places: BTreeMap::new() };
        network.lay_out(number);
        for (index, name) in (2..).zip(names) {
            let place =
                Place { namespace: format!("{}-{name}", network.name), address: address(number, index) };
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
            ip([
                "-n",
                namespace,
                "neigh",
                "replace",
                address,
                "lladdr",
                NOBODY,
                "nud",
                "permanent",
                "dev",
                "eth0",
            ]);
        });
    }

    /// Mends a cut.
    pub fn mend(&self, one: &str, other: &str) {
        self.each_way(one, other, |namespace, address| {
            ip(["-n", namespace, "neigh", "del", address, "dev", "eth0"]);
        });
    }

    fn each_way(&self, one: &str, other: &str, act: impl Fn(&str, &str)) {
        let (one, other) = (self.place(one), self.place(other));
        act(&one.namespace, &other.address.to_string());
        act(&other.namespace, &one.address.to_string());
    }

    /// The switch, and this machine's cable to it.
    fn lay_out(&self, number: u32) {
        let switch = self.switch();
        ip(["netns", "add", &switch]);
        ip(["-n", &switch, "link", "add", "switch", "type", "bridge"]);
        ip(["-n", &switch, "link", "set", "switch", "up"]);
        ip(["link", "set", &peer_of(&self.name), "netns", &switch, "name", "machine"]);
        ip(["-n", &switch, "link", "set", "machine", "master", "switch", "up"]);
        ip(["address", "add", &format!("{}/24", address(number, 1)), "dev", &self.name]);
        ip(["link", "set", &self.name, "up"]);
    }

    fn connect(&self, place: &Place, index: u32) {
        let (switch, namespace, port) = (self.switch(), &place.namespace, format!("port{index}"));
        ip(["netns", "add", namespace]);
        ip(["-n", namespace, "link", "add", "eth0", "type", "veth", "peer", "name", &port, "netns", &switch]);
        ip(["-n", &switch, "link", "set", &port, "master", "switch", "up"]);
        ip(["-n", namespace, "address", "add", &format!("{}/24", place.address), "dev", "eth0"]);
        ip(["-n", namespace, "link", "set", "lo", "up"]);
        ip(["-n", namespace, "link", "set", "eth0", "up"]);
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

/// Takes the first number whose cable nobody has, and writes down whose it is.
fn claim_cable() -> (String, u32) {
    for number in 0..NETWORKS {
        let name = format!("{PREFIX}{number}");
        let made = try_ip(["link", "add", &name, "type", "veth", "peer", "name", &peer_of(&name)]);
        if made.status.success() {
            ip(["link", "set", &name, "alias", &std::process::id().to_string()]);
            return (name, number);
        }
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(
            said.contains("File exists"),
            "network namespaces need root and iproute2: {}",
            said.trim_end()
        );
    }
    panic!("all {NETWORKS} networks are taken")
}

/// Removes networks of processes that are no more.
fn clear_away_leftovers() {
    for name in names_in("/sys/class/net", PREFIX) {
        let owner = fs::read_to_string(format!("/sys/class/net/{name}/ifalias")).unwrap_or_default();
        let is_gone = |owner: &str| !owner.is_empty() && !Path::new("/proc").join(owner).exists();
        if is_gone(owner.trim()) {
            remove(&name);
        }
    }
}

/// Ends what runs in the namespaces of a network, and removes them.
fn remove(network: &str) {
    for namespace in names_in("/run/netns", &format!("{network}-")) {
        let left = try_ip(["netns", "pids", &namespace]).stdout;
        for process in String::from_utf8_lossy(&left).split_whitespace() {
            let _ = Command::new("kill").args(["-KILL", process]).output();
        }
        try_ip(["netns", "del", &namespace]);
    }
    try_ip(["link", "del", network]);
}

fn names_in(directory: &str, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// In the range that is set aside for tests of networks (RFC 2544).
fn address(network: u32, index: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 18, 0, 0).to_bits() + network * 256 + index)
}

fn peer_of(name: &str) -> String {
    format!("{name}-p")
}

fn ip<const N: usize>(arguments: [&str; N]) {
    let output = try_ip(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {}: {}", arguments.join(" "), said.trim_end());
}

fn try_ip<const N: usize>(arguments: [&str; N]) -> Output {
    let output = Command::new("ip").args(arguments).output();
    output.unwrap_or_else(|error| panic!("cannot run ip, which Debian's package iproute2 has: {error}"))
}

/// Of this machine's cables; a name has at most fifteen letters.
const PREFIX: &str = "muster-t";

/// A hardware address that nobody has.
const NOBODY: &str = "02:00:00:00:00:01";

const NETWORKS: u32 = 256;
