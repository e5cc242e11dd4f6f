//! The processes that a configuration asks for, and what changes between two configurations.

use std::path::Path;

use crate::{
    EVENTS_SOCKET,
    config::{AnalyzerConfig, OWN_NAMES, SensorConfig, queue_of},
    events::EventsSettings,
};

/// An instance of an analyzer that is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// `http`, or `http.1` of several.
    pub name: String,
    /// The queue that it reads.
    pub queue: String,
    /// Its analyzer.
    pub analyzer: AnalyzerConfig,
}

/// The instances of all analyzers.
pub fn plans(config: &SensorConfig) -> Vec<Plan> {
    let of = |analyzer: &AnalyzerConfig| {
        (0..analyzer.instances)
            .filter_map(|instance| {
                let name = match analyzer.instances {
                    1 => analyzer.name.clone(),
                    _ => format!("{}.{instance}", analyzer.name),
                };
                let queue = queue_of(analyzer, instance, &config.queues)?;
                // The number of instances is no setting of a single one.
                let analyzer = AnalyzerConfig { instances: 1, ..analyzer.clone() };
                Some(Plan { name, queue, analyzer })
            })
            .collect::<Vec<_>>()
    };
    config.analyzers.iter().flat_map(of).collect()
}

/// Differences that apply only after a restart of the sensor, as names of tables and keys.
pub fn pending(running: &SensorConfig, new: &SensorConfig) -> Vec<String> {
    let mut changed = Vec::new();
    let mut differs = |name: &str, is: bool| changed.extend(is.then(|| name.to_owned()));
    differs("sensor.directory", running.directory != new.directory);
    differs("sensor.metrics", running.metrics != new.metrics);
    differs("sensor.users", running.users != new.users);
    differs("capture", running.capture != new.capture);
    differs("inline", running.inline != new.inline);
    differs("output", running.records != new.records);
    differs("record", running.record != new.record);
    differs("events", !is_same_store(running, new));
    differs("destination", new.events.is_some() && running.events.is_none() && running.spool != new.spool);
    for queue in &new.queues {
        differs(&format!("queue.{}", queue.name), !running.queues.contains(queue));
    }
    for queue in &running.queues {
        let is_gone = !new.queues.iter().any(|other| other.name == queue.name);
        differs(&format!("queue.{}", queue.name), is_gone);
    }
    changed
}

/// Whether there are events in both, in the same store, or in none.
fn is_same_store(running: &SensorConfig, new: &SensorConfig) -> bool {
    let store = |config: &SensorConfig| config.events.as_ref().map(|events| events.store.clone());
    store(running) == store(new)
}

/// Settings that the event processor is started with: it forgets the positions of destinations that are not configured any more.
pub fn events_settings(config: &SensorConfig) -> Option<EventsSettings> {
    let destinations = config.spool.iter().flat_map(|spool| &spool.destinations).map(|one| one.name.clone());
    let events = config.events.clone()?;
    // It notes where destinations are when the spooler has ended.
    let lingers = config.spool.is_some();
    let parts = OWN_NAMES.iter().map(|name| ((*name).to_owned(), None));
    // One without a user runs as the sensor's, which has all names.
    let analyzers = config.analyzers.iter().map(|one| (one.name.clone(), one));
    let all = plans(config);
    let instances = all.iter().map(|plan| (plan.name.clone(), &plan.analyzer));
    let analyzers = analyzers.chain(instances).map(|(name, one)| (name, one.user.map(|(user, _)| user)));
    let owners = parts.chain(analyzers).collect();
    Some(EventsSettings { destinations: Some(destinations.collect()), lingers, owners, ..events })
}

/// Settings that the spooler is started with; `None`: there is no destination.
pub fn spool_settings(config: &SensorConfig) -> Option<tidewire_delivery::Settings> {
    let (events, spool) = (config.events.as_ref()?, config.spool.as_ref()?);
    Some(tidewire_delivery::Settings {
        store: events.store.clone(),
        socket: Some(config.directory.join(EVENTS_SOCKET)),
        stop: config.stop,
        nice: spool.nice,
        sandbox: spool.sandbox,
        destinations: spool.destinations.clone(),
    })
}

/// The part of a new configuration that applies at once: the analyzers whose queues exist, the time to stop, destinations, and how
/// events are folded and kept. Also: the analyzers that are left out.
pub fn applied(running: &SensorConfig, new: &SensorConfig) -> (SensorConfig, Vec<String>) {
    let mut config = SensorConfig { stop: new.stop, ..running.clone() };
    let may_run = |analyzer: &AnalyzerConfig| {
        let all = (0..analyzer.instances).all(|instance| {
            let now = queue_of(analyzer, instance, &running.queues);
            now.is_some() && now == queue_of(analyzer, instance, &new.queues)
        });
        // The capture admits the users that it was started with.
        all && analyzer.user.is_none_or(|(user, _)| user == 0 || running.users.contains(&user))
    };
    let (now, later): (Vec<_>, Vec<_>) = new.analyzers.iter().cloned().partition(may_run);
    config.analyzers = now;
    if let (true, Some(old), Some(events)) = (is_same_store(running, new), &running.events, &new.events) {
        let (directory, users) = (old.directory.clone(), old.users.clone());
        config.events = Some(EventsSettings { directory, users, ..events.clone() });
        config.spool = new.spool.clone();
    }
    (config, later.into_iter().map(|analyzer| analyzer.name).collect())
}

/// The environment of an instance, besides ours.
pub fn environment(plan: &Plan, socket: &Path, events: Option<&Path>) -> Vec<(&'static str, std::ffi::OsString)> {
    let mut variables = vec![
        ("TIDEWIRE_SOCKET", socket.into()),
        ("TIDEWIRE_QUEUE", plan.queue.clone().into()),
        ("TIDEWIRE_NAME", plan.name.clone().into()),
    ];
    variables.extend(events.map(|events| ("TIDEWIRE_EVENTS", events.into())));
    variables.extend(plan.analyzer.group.as_ref().map(|group| ("TIDEWIRE_GROUP", group.into())));
    variables
}

/// The environment of a program of another user: nothing that may be a secret of ours.
pub fn of_another_user(plan: &Plan) -> Vec<(&'static str, std::ffi::OsString)> {
    let passed = ["PATH", "LANG", "LC_ALL", "TZ"].into_iter();
    let mut variables: Vec<_> = passed.filter_map(|name| Some((name, std::env::var_os(name)?))).collect();
    let number = plan.analyzer.user.map(|(user, _)| nix::unistd::Uid::from_raw(user));
    if let Some(user) = number.and_then(|number| nix::unistd::User::from_uid(number).ok().flatten()) {
        variables.extend([
            ("USER", user.name.clone().into()),
            ("LOGNAME", user.name.into()),
            ("HOME", user.dir.into()),
        ]);
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Machine, Overrides, examine};

    fn config(text: &str) -> SensorConfig {
        let given = Overrides { interfaces: vec!["lo".into()], ..Overrides::default() };
        let examined = examine(text, "test", &given, &Machine);
        examined.config.unwrap_or_else(|| panic!("{:?}", examined.mistakes))
    }

    const TWO: &str = "[queue.a]\ncount = 2\n[queue.b]\n[analyzer.x]\ncommand = \"sh\"\nqueue = \"a\"\ninstances = 3\ngroup = \"g\"\n";

    #[test]
    fn instances_share_a_set() {
        let all = plans(&config(TWO));
        let names: Vec<_> = all.iter().map(|plan| (plan.name.as_str(), plan.queue.as_str())).collect();
        assert_eq!(names, [("x.0", "a.0"), ("x.1", "a.1"), ("x.2", "a.0")]);
        let variables = environment(&all[1], Path::new("/srv/x/queues.sock"), Some(Path::new("/srv/x/events.sock")));
        assert_eq!(variables[1], ("TIDEWIRE_QUEUE", "a.1".into()));
        assert_eq!(variables[3], ("TIDEWIRE_EVENTS", "/srv/x/events.sock".into()));
        assert_eq!(variables[4], ("TIDEWIRE_GROUP", "g".into()));
    }

    #[test]
    fn changes_are_applied_or_named() {
        let running = config(TWO);
        let more = config(&(TWO.to_owned() + "[analyzer.y]\ncommand = \"sh\"\nqueue = \"b\"\n"));
        assert!(pending(&running, &more).is_empty());
        let (now, later) = applied(&running, &more);
        assert_eq!((now.analyzers.len(), later.len()), (2, 0));
        // Another queue and another user wait for a restart, as analyzers that need them do.
        let other = "[queue.c]\n[analyzer.y]\ncommand = \"sh\"\nqueue = \"c\"\n[analyzer.z]\ncommand = \"sh\"\nqueue = \"b\"\nuser = 4711\n";
        let other = config(&(TWO.to_owned() + other));
        assert_eq!(pending(&running, &other), ["sensor.users", "queue.c"]);
        let (now, later) = applied(&running, &other);
        assert_eq!((now.analyzers.len(), later), (1, vec!["y".to_owned(), "z".to_owned()]));
        assert_eq!(pending(&other, &running), ["sensor.users", "queue.c"]);
        // The number of instances changes no instance that stays.
        let fewer = config(&TWO.replace("instances = 3", "instances = 2"));
        assert_eq!(plans(&fewer)[..], plans(&running)[..2]);
    }

    #[test]
    fn what_may_change_of_events_is_applied() {
        let running = config("[events]\nstore = \"/srv/a.db\"\n");
        assert!(spool_settings(&running).is_none());
        let other = config(
            "[events]\nstore = \"/srv/a.db\"\nage = \"1h\"\n[destination.d]\ntype = \"folder\"\npath = \"/srv\"\n",
        );
        assert!(pending(&running, &other).is_empty());
        let (now, _) = applied(&running, &other);
        assert_eq!((&now.events, &now.spool), (&other.events, &other.spool));
        let spool = spool_settings(&now).expect("a destination");
        assert_eq!(spool.store, Path::new("/srv/a.db"));
        assert_eq!(spool.socket, Some(now.directory.join(EVENTS_SOCKET)));
        // Another store, and none, wait for a restart, as analyzers within the capture do.
        let moved = config("[events]\nstore = \"/srv/b.db\"\n[inline.scan]\nhosts = 9\n");
        assert_eq!(pending(&running, &moved), ["inline", "events"]);
        assert_eq!(applied(&running, &moved).0.events, running.events);
        assert_eq!(pending(&running, &config("[events]\nenabled = false\n")), ["inline", "events"]);
    }
}
