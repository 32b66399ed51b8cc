//! Roles (P1, I7).

words! {
    /// One right.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Role {
        /// Hands in jobs (P13).
        Client = "CLIENT",
        /// Owns workers of the pool (P3).
        WorkerOwner = "WORKER_OWNER",
        /// Reads what operators read (I7).
        Viewer = "VIEWER",
        /// Operates (I7).
        Operator = "OPERATOR",
        /// May do everything but speak for a worker (P1).
        Admin = "ADMIN",
    }
}

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Roles(u8);

impl Roles {
    /// None.
    pub const NONE: Self = Self(0);

    /// This one as well.
    #[must_use]
    pub const fn with(self, role: Role) -> Self {
        Self(self.0 | 1 << role as u8)
    }

    /// True if this one is among them, by itself: see [`Self::allows`] for what follows from others.
    #[must_use]
    pub const fn contains(self, role: Role) -> bool {
        self.0 & (1 << role as u8) != 0
    }

    /// True if they allow what this role may do: an ADMIN may do all but what a worker's owner may, an OPERATOR
    /// may read (I7).
    #[must_use]
    pub const fn allows(self, role: Role) -> bool {
        match role {
            Role::WorkerOwner | Role::Admin => self.contains(role),
            Role::Client | Role::Operator => self.contains(role) || self.contains(Role::Admin),
            Role::Viewer => {
                self.contains(role) || self.contains(Role::Operator) || self.contains(Role::Admin)
            }
        }
    }

    /// Those that are in both.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True if there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.contains(*role))
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        roles.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P1, I7: ADMIN is everything but a worker's owner; OPERATOR reads too.
    #[test]
    fn an_admin_is_no_workers_owner() {
        let admin = Roles::NONE.with(Role::Admin);
        assert!(Role::ALL.into_iter().filter(|role| !admin.allows(*role)).eq([Role::WorkerOwner]));
        let operator = Roles::NONE.with(Role::Operator);
        assert!(
            Role::ALL.into_iter().filter(|role| operator.allows(*role)).eq([Role::Viewer, Role::Operator])
        );
        assert!(Roles::NONE.with(Role::Viewer).iter().eq([Role::Viewer]));
    }
}
