use super::*;
use crate::{Context, Engine};
use muster_model::{
    AccountCommand, AccountRejection, AccountReply, Change, Command, Facts, Millis, Rejection, Reply, Role,
    Roles, Settings,
};

struct World {
    engine: Engine,
    now: i64,
    /// The hash that is shown.
    password: &'static str,
}

impl World {
    fn new() -> Self {
        Self { engine: Engine::new(Settings::default()), now: 0, password: "h" }
    }

    fn ask(&mut self, command: AccountCommand) -> Result<AccountReply, AccountRejection> {
        self.now += 1;
        let seed = [u8::try_from(self.now % 251).expect("small"); 32];
        let context = Context { now: Timestamp(self.now), seed: &seed, facts: &Facts::default() };
        match self.engine.execute(Command::Accounts(command), &context).result {
            Ok(Reply::Accounts(reply)) => Ok(reply),
            Err(Rejection::Accounts(rejection)) => Err(rejection),
            other => panic!("{other:?}"),
        }
    }

    fn add(&mut self, name: &str) -> UserId {
        let roles = Roles::NONE.with(Role::Client);
        let add = AccountCommand::AddUser { name: name.into(), password_hash: "h".into(), roles };
        match self.ask(add) {
            Ok(AccountReply::User(user)) => user.id,
            other => panic!("{other:?}"),
        }
    }

    fn login(&mut self, user: UserId) -> Result<LoginRecord, AccountRejection> {
        let password_hash = self.password.into();
        match self.ask(AccountCommand::Login { user, password_hash, ttl: Millis(100) })? {
            AccountReply::Login(login) => Ok(login),
            other => panic!("{other:?}"),
        }
    }

    fn refresh(&mut self, login: LoginRecord) -> Result<LoginRecord, AccountRejection> {
        let LoginRecord { id: login, generation, .. } = login;
        match self.ask(AccountCommand::Refresh { login, generation, ttl: Millis(100) })? {
            AccountReply::Login(login) => Ok(login),
            other => panic!("{other:?}"),
        }
    }

    fn change(&mut self, user: UserId, change: UserChange) {
        assert!(self.ask(AccountCommand::ChangeUser { user, change }).is_ok());
    }
}

/// P1: a name is somebody's at most once; users are numbered from 1.
#[test]
fn a_name_is_taken_once() {
    let mut world = World::new();
    assert_eq!((world.add("ada"), world.add("bob")), (UserId(1), UserId(2)));
    let again = AccountCommand::AddUser { name: "ada".into(), password_hash: "h".into(), roles: Roles::NONE };
    assert_eq!(world.ask(again), Err(AccountRejection::NameTaken));
}

/// P1: a refresh ends the token before at once; another login of the same user goes on.
#[test]
fn a_refresh_ends_the_token_before() {
    let mut world = World::new();
    let ada = world.add("ada");
    let (first, other) = (world.login(ada).unwrap(), world.login(ada).unwrap());
    let next = world.refresh(first).unwrap();
    assert_eq!((next.id, next.generation), (first.id, 2));
    assert_eq!(world.refresh(first), Err(AccountRejection::LoginUnknown));
    assert!(world.refresh(other).is_ok() && world.refresh(next).is_ok());
}

/// P1: a token that ran out cannot be exchanged.
#[test]
fn a_login_ends_by_itself() {
    let mut world = World::new();
    let ada = world.add("ada");
    let login = world.login(ada).unwrap();
    world.now += 100;
    assert_eq!(world.refresh(login), Err(AccountRejection::LoginUnknown));
}

/// P1: a disabled user's logins end at once, a new password's too; whoever is disabled cannot log in.
#[test]
fn a_disabled_user_is_out_at_once() {
    let mut world = World::new();
    let ada = world.add("ada");
    let login = world.login(ada).unwrap();
    world.change(ada, UserChange { password_hash: Some("h2".into()), ..UserChange::default() });
    assert_eq!(world.refresh(login), Err(AccountRejection::LoginUnknown));
    assert_eq!(world.login(ada), Err(AccountRejection::UserUnknown), "the old password was shown");
    world.password = "h2";
    let login = world.login(ada).unwrap();
    world.change(ada, UserChange { active: Some(false), ..UserChange::default() });
    assert_eq!(world.refresh(login), Err(AccountRejection::LoginUnknown));
    assert_eq!(world.login(ada), Err(AccountRejection::UserUnknown));
    world.change(ada, UserChange { active: Some(true), ..UserChange::default() });
    assert_eq!(world.refresh(login), Err(AccountRejection::LoginUnknown), "it stays dead");
}

/// P13: a key is its user's; a number is never given twice, also after a key was taken back and memory was rebuilt.
#[test]
fn keys_are_taken_back_once() {
    let mut world = World::new();
    let (ada, bob) = (world.add("ada"), world.add("bob"));
    let add = |user| AccountCommand::AddKey {
        user,
        name: "ci".into(),
        prefix: "mk_1".into(),
        hash: [1; 32],
        scopes: None,
    };
    let revoke = |key, user| AccountCommand::RevokeKey { key, user };
    assert!(matches!(world.ask(add(ada)), Ok(AccountReply::Key(key)) if key.id == 1));
    assert_eq!(world.ask(revoke(1, Some(bob))), Err(AccountRejection::KeyUnknown));
    assert!(world.ask(revoke(1, Some(ada))).is_ok());
    assert_eq!(world.ask(revoke(1, Some(ada))), Err(AccountRejection::KeyUnknown));
    let mut restored = crate::Restoring::new(Settings::default());
    for row in world.engine.take_changes() {
        if let Change::Accounts(row) = row {
            restored.accounts(row);
        }
    }
    world.engine = restored.finish(1, Timestamp(world.now));
    assert!(matches!(world.ask(add(ada)), Ok(AccountReply::Key(key)) if key.id == 2));
}

/// One user's logins are bounded: the oldest makes room.
#[test]
fn the_oldest_login_makes_room() {
    let mut world = World::new();
    let ada = world.add("ada");
    let login = |world: &mut World| {
        let ttl = Millis(1_000_000);
        match world.ask(AccountCommand::Login { user: ada, password_hash: "h".into(), ttl }) {
            Ok(AccountReply::Login(login)) => login,
            other => panic!("{other:?}"),
        }
    };
    let first = login(&mut world);
    let second = login(&mut world);
    (0..99).for_each(|_| assert_eq!(login(&mut world).generation, 1));
    assert_eq!(world.refresh(first), Err(AccountRejection::LoginUnknown));
    assert!(world.refresh(second).is_ok());
}
