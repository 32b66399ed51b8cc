use super::*;
use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::header::RETRY_AFTER,
    response::{IntoResponse, Response as Answer},
};
use reqwest::Client;
use serde_json::json;
use std::{future::pending, io, sync::Arc};
use tokio::{net::TcpListener, sync::watch};

/// Behaviour of a stand-in server.
#[derive(Clone, Copy)]
enum Mood {
    Fine,
    NotLeading,
    Busy,
    /// Breaks off once it has read the question.
    Breaks,
    Hangs,
}

struct StandIn {
    url: String,
    asked: Arc<AtomicUsize>,
    changed: watch::Sender<()>,
}

impl StandIn {
    async fn new(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, changed) = (Arc::new(AtomicUsize::new(0)), watch::Sender::new(()));
        let state = (mood, Arc::clone(&asked), changed.clone());
        let router = Router::new().fallback(answer).with_state(state);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, asked, changed }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    async fn until_asked(&self) {
        let mut changed = self.changed.subscribe();
        while self.asked() == 0 {
            changed.changed().await.unwrap();
        }
    }
}

type Stage = State<(Mood, Arc<AtomicUsize>, watch::Sender<()>)>;

async fn answer(State((mood, asked, changed)): Stage, _: Bytes) -> Answer {
    asked.fetch_add(1, Ordering::Relaxed);
    changed.send_replace(());
    let problem = |slug: &str| {
        let body = json!({"type": format!("urn:muster:problem:{slug}"), "detail": "not now"});
        (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "7")], Json(body)).into_response()
    };
    match mood {
        Mood::Fine => "fine".into_response(),
        Mood::NotLeading => problem("not-leading"),
        Mood::Busy => problem("busy"),
        Mood::Breaks => {
            // Without a length and broken at once, so that not even the head is sent.
            let torn = futures_util::stream::iter([Err::<Bytes, _>(io::Error::other("gone"))]);
            Body::from_stream(torn).into_response()
        }
        Mood::Hangs => pending().await,
    }
}

/// An address at which nobody is.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

struct Scene {
    servers: Servers,
    client: Client,
}

impl Scene {
    fn of(urls: &[&str]) -> Self {
        let servers = Servers::parse(urls.iter().copied()).unwrap();
        let client = servers.client().no_proxy().build().unwrap();
        Self { servers, client }
    }

    async fn ask(&self, manner: Manner) -> Result<String, Unanswered> {
        let answer = self.servers.ask(manner, |url| self.client.post(url.clone()).body("x")).await?;
        Ok(answer.text().await.unwrap())
    }
}

const LONG: Duration = Duration::from_secs(60);

/// S19, I5: where nobody is the next is asked at once, whatever the call is; later calls go there directly.
#[tokio::test]
async fn where_nobody_is_the_next_is_asked() {
    let there = StandIn::new(Mood::Fine).await;
    let scene = Scene::of(&[&nobody().await, &nobody().await, &there.url]);
    for asked in 1..=3 {
        assert_eq!(scene.ask(Manner::once(LONG)).await.unwrap(), "fine");
        assert_eq!(there.asked(), asked);
        assert_eq!(scene.servers.current().as_str().trim_end_matches('/'), there.url);
    }
}

/// S18, S19: one that does not lead has done nothing: the same call goes to the next at once.
#[tokio::test]
async fn one_that_does_not_lead_is_passed_over() {
    let (follower, leader) = (StandIn::new(Mood::NotLeading).await, StandIn::new(Mood::Fine).await);
    let scene = Scene::of(&[&follower.url, &leader.url]);
    for _ in 0..2 {
        assert_eq!(scene.ask(Manner::once(LONG)).await.unwrap(), "fine");
    }
    assert_eq!((follower.asked(), leader.asked()), (1, 2));
}

/// N20, S19: where nobody leads each is asked once and no more; how much patience they want is told.
#[tokio::test]
async fn a_round_has_an_end() {
    let (one, two) = (StandIn::new(Mood::NotLeading).await, StandIn::new(Mood::NotLeading).await);
    let scene = Scene::of(&[&one.url, &two.url, &nobody().await]);
    let error = scene.ask(Manner::repeatable(LONG)).await.unwrap_err();
    assert_eq!((one.asked(), two.asked()), (1, 1));
    assert!(matches!(error, Unanswered::Silent { .. }), "{error}");
    let alone = Scene::of(&[&one.url]).ask(Manner::repeatable(LONG)).await.unwrap_err();
    assert_eq!((alone.retry_after(), one.asked()), (Some(Duration::from_secs(7)), 2));
}

/// S19: one that cannot serve now may have its reasons: it is not gone round about, but the next call goes elsewhere.
#[tokio::test]
async fn one_that_is_busy_gets_its_pause() {
    let (busy, fine) = (StandIn::new(Mood::Busy).await, StandIn::new(Mood::Fine).await);
    let scene = Scene::of(&[&busy.url, &fine.url]);
    let error = scene.ask(Manner::repeatable(LONG)).await.unwrap_err();
    assert_eq!(error.to_string(), format!("{} cannot serve now: not now", busy.url));
    assert_eq!((error.retry_after(), fine.asked()), (Some(Duration::from_secs(7)), 0));
    assert_eq!(scene.ask(Manner::repeatable(LONG)).await.unwrap(), "fine");
}

/// P8, N19: what may have arrived is sent to another only if it may arrive twice; else the next call goes there.
#[tokio::test]
async fn what_may_have_arrived_is_not_sent_again_unasked() {
    for mood in [Mood::Breaks, Mood::Hangs] {
        for (may_repeat, asked) in [(false, 0), (true, 1)] {
            let (gone, fine) = (StandIn::new(mood).await, StandIn::new(Mood::Fine).await);
            let scene = Scene::of(&[&gone.url, &fine.url]);
            let patience = if matches!(mood, Mood::Hangs) { Duration::from_millis(300) } else { LONG };
            let manner = if may_repeat { Manner::repeatable(patience) } else { Manner::once(patience) };
            let answer = scene.ask(manner).await;
            assert_eq!((answer.is_ok(), gone.asked(), fine.asked()), (may_repeat, 1, asked));
            assert_eq!(scene.ask(Manner::once(LONG)).await.unwrap(), "fine");
        }
    }
}

/// S19: one of several that hangs is not waited for like the only one, unless the call must not be repeated or is one that
/// waits.
#[test]
fn one_of_several_gets_less_patience() {
    let patience = |manner: Manner| manner.beside_others().patience;
    assert_eq!(patience(Manner::repeatable(LONG)), HUNG_AFTER);
    assert_eq!([patience(Manner::once(LONG)), patience(Manner::repeatable(LONG).waiting())], [LONG, LONG]);
}

/// N1, S3: a call that waits for work is not left waiting at a server that is silent to others.
#[tokio::test]
async fn who_waits_at_a_silent_server_turns_too() {
    let (hung, fine) = (StandIn::new(Mood::Hangs).await, StandIn::new(Mood::Fine).await);
    let scene = Scene::of(&[&hung.url, &fine.url]);
    let waiting = scene.ask(Manner::repeatable(LONG).waiting());
    let other = async {
        hung.until_asked().await;
        scene.ask(Manner::once(Duration::from_millis(50))).await
    };
    let (waited, other) = tokio::join!(waiting, other);
    assert_eq!((waited.unwrap().as_str(), other.is_err()), ("fine", true));
    assert_eq!((hung.asked(), fine.asked()), (2, 1));
}

/// S19: a call that waits at the only server there is waits, whatever happens to others.
#[tokio::test]
async fn the_only_server_is_waited_for() {
    let hung = StandIn::new(Mood::Hangs).await;
    let scene = Scene::of(&[&hung.url]);
    let waiting = scene.ask(Manner::repeatable(LONG).waiting());
    let other = async {
        hung.until_asked().await;
        scene.ask(Manner::once(Duration::from_millis(50))).await.unwrap_err()
    };
    tokio::select! {
        biased;
        _ = waiting => panic!("it did not wait"),
        error = other => assert!(error.to_string().ends_with("it did not answer in time"), "{error}"),
    }
}

fn servers(texts: &[&str]) -> Result<Servers, NotAServer> {
    Servers::parse(texts.iter().copied())
}

/// I5, S19: addresses are named one by one or with commas, in order, each once, with and without TLS.
#[test]
fn several_addresses_are_read() {
    let all = servers(&["http://a:1, https://b/muster", "http://c:3,", "http://a:1/"]).unwrap();
    assert_eq!(all.to_string(), "http://a:1, https://b/muster, http://c:3");
    assert!(all.are_several() && !servers(&["http://a:1"]).unwrap().are_several());
}

/// I5: whatever is no address is named, wherever it stands.
#[test]
fn a_wrong_address_is_named() {
    for (text, wrong) in [
        ("http://a:1,b:2", "b:2 is no address"),
        ("ftp://a,http://b", "ftp://a is no address"),
        ("http://a:1,no url", "no url is no address"),
        (" , ", "an empty text is no address"),
        ("", "an empty text is no address"),
    ] {
        let error = servers(&[text]).unwrap_err().to_string();
        assert!(error.starts_with(wrong), "{error}");
    }
}

/// S19: those who fail together turn to the next together, and after the last comes the first.
#[test]
fn those_who_fail_together_turn_together() {
    let all = servers(&["http://a,http://b,http://c"]).unwrap();
    assert_eq!((all.pass_over(0), all.pass_over(0), all.place()), (1, 1, 1));
    assert_eq!(all.current().as_str(), "http://b/");
    assert_eq!((all.pass_over(1), all.pass_over(2), all.place()), (2, 0, 0));
    all.turn_from(&"http://b/x".parse().unwrap());
    assert_eq!(all.place(), 0, "that is not the current one");
    all.turn_from(&"http://a/x?y".parse().unwrap());
    assert_eq!(all.place(), 1);
}
