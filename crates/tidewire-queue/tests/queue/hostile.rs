//! The other side is hostile: files that are no queues, pages full of garbage, sockets that never read, users without rights.

use std::{
    env,
    fs::{self, File},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{
            fs::{FileExt as _, PermissionsExt as _},
            process::CommandExt as _,
        },
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    io::{Errno, IoSlice, IoSliceMut},
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
        SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, bind, connect, listen, recv, recvmsg, sendmsg,
        socket_with,
    },
};
use tidewire_queue::{
    Attach, Error, Geometry, Hold, Next, Owners, Publisher, QueueEnd, QueueSettings, Reader, Record, Server,
    ServerEvent, records::RecordType,
};
use tidewire_testing::{Ends as _, InTime as _, Signal, join_in_time, signal, skip, wait_until};

use crate::common::{Folder, Serving};

const SEALED: SealFlags =
    SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::FUTURE_WRITE);
/// Bytes of the smallest queue's file.
const BYTES: u64 = (1 << 16) + (1 << 10) * 64 + (1 << 16);

/// A header: magic, version, slots, payload bytes, epoch.
fn header() -> [u64; 5] {
    [u64::from_le_bytes(*b"TWqueue\x01"), 1, 1 << 10, 1 << 16, 9]
}

/// A memory file with this header; `fill` writes the rest, before it is sealed.
fn file(header: [u64; 5], bytes: u64, seals: SealFlags, fill: impl FnOnce(&File)) -> File {
    let file = File::from(memfd_create("hostile", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap());
    file.set_len(bytes).unwrap();
    let header: Vec<u8> = header.iter().flat_map(|word| word.to_ne_bytes()).collect();
    file.write_all_at(&header, 0).unwrap();
    fill(&file);
    fcntl_add_seals(&file, seals).unwrap();
    file
}

fn zeroes(file: &File) {
    let bytes = file.metadata().unwrap().len() - 40;
    file.write_all_at(&vec![0; bytes as usize], 40).unwrap();
}

/// Whatever could make the reader's accesses fault, or take its memory, is refused before it is mapped.
#[test]
fn a_file_that_could_harm_its_reader_is_refused() {
    let opened = |file: &File| match Reader::open(file, Some(0)) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    assert_eq!(opened(&file(header(), BYTES, SEALED, zeroes)), "");
    for missing in [SealFlags::SEAL, SealFlags::SHRINK, SealFlags::GROW, SealFlags::FUTURE_WRITE] {
        let found = opened(&file(header(), BYTES, SEALED.difference(missing), zeroes));
        assert!(found.ends_with("it is not sealed"), "{missing:?}: {found}");
    }
    assert!(opened(&file(header(), BYTES, SEALED, |_| ())).ends_with("parts of it have no memory"));
    // As many blocks as the file has bytes, behind its end: there is no memory for what is read.
    let behind = file(header(), BYTES, SEALED, |file| {
        rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, BYTES, BYTES).unwrap();
    });
    assert!(opened(&behind).ends_with("parts of it have no memory"));
    for bytes in [0, 100, BYTES - 4096, BYTES + 4096] {
        let of = |bytes| {
            file(header(), bytes, SEALED, |file| {
                if bytes > 40 {
                    zeroes(file)
                }
            })
        };
        let found = opened(&of(bytes.max(48)));
        assert!(found.contains("this is no queue"), "{bytes}: {found}");
    }
    for (word, value) in
        [(0, 0), (1, 2), (2, 0), (2, 1000), (2, u64::MAX), (3, 0), (3, 1 << 40), (3, 1 << 15), (2, 1 << 60)]
    {
        let mut header = header();
        header[word] = value;
        let found = opened(&file(header, BYTES, SEALED, zeroes));
        assert!(found.contains("this is no queue"), "word {word} = {value}: {found}");
    }
    // No page of a sealed file can be taken away afterwards.
    let sealed = file(header(), BYTES, SEALED, zeroes);
    let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    assert!(rustix::fs::fallocate(&sealed, punch, 0, 4096).is_err(), "a hole can be punched");
}

/// A client that speaks the protocol itself.
struct Raw {
    socket: OwnedFd,
    answer: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

fn ask(path: &Path, message: &[u8]) -> Raw {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    sendmsg(&socket, &[IoSlice::new(message)], &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL).unwrap();
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut answer = vec![0; 2000];
    let received =
        recvmsg(socket.as_fd(), &mut [IoSliceMut::new(&mut answer)], &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    answer.truncate(received.bytes);
    let descriptors = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(rights) => rights.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    let descriptors = descriptors.collect();
    Raw { socket, answer, descriptors }
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Pages full of garbage that change all the time, and sockets that are never read, in a queue that holds for readers: the
/// publisher waits for the limit at most, and an honest reader gets every record.
#[test]
fn garbage_in_pages_and_sockets_that_never_read_harm_no_other() {
    let folder = Folder::new("garbage");
    let mut publisher = Publisher::new(Geometry::new(1 << 12, 1 << 20), 1).unwrap();
    let mut server = Server::bind(&folder.socket()).unwrap();
    let hold = Some(Hold::AtMost(Duration::from_millis(1)));
    server.offer("main", publisher.offer(), QueueSettings::default().hold(hold)).unwrap();
    let serving = Serving::begin(server);
    let before = descriptors();
    let clients: Vec<Raw> = (0..8)
        .map(|number| ask(&folder.socket(), format!("tidewire-queue 1\nqueue main\nname h{number}\n").as_bytes()))
        .collect();
    let pages: Vec<File> = clients.iter().map(|raw| File::from(raw.descriptors[1].try_clone().unwrap())).collect();
    let mut honest = Reader::attach(&folder.socket(), &Attach::new("main", "honest")).unwrap();
    let scribbling = thread::spawn(move || {
        let mut number = 7_u64;
        for round in 0..2000_u64 {
            for page in &pages {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let words: Vec<u8> = (0..17)
                    .flat_map(|at| match round % 3 {
                        // All of them wait by their sockets, which no process reads; some claim to be far ahead, some far behind.
                        0 if at == 16 => 2_u64.to_ne_bytes(),
                        1 => u64::MAX.to_ne_bytes(),
                        _ => number.rotate_left(at * 7).to_ne_bytes(),
                    })
                    .collect();
                page.write_all_at(&words, 0).unwrap();
            }
            thread::sleep(Duration::from_micros(200));
        }
    });
    let (mut owners, mut out) = (Owners::default(), Vec::new());
    for number in 0..20_000_u64 {
        publisher.needs_open(&mut owners);
        let record = Record { offset: number, ..Record::new(RecordType::Conflict, 1, 0) };
        publisher.publish_stream(&mut owners, 7, &record, b"").unwrap();
        let Next::Record(record) = honest.next(&mut out).unwrap() else { panic!("the honest reader lost something") };
        assert_eq!(record.offset, number);
    }
    join_in_time("who scribbles", scribbling);
    drop(clients);
    publisher.finish();
    assert_eq!(honest.next(&mut out).unwrap(), Next::Ended(QueueEnd::Finished));
    drop(honest);
    wait_until("descriptors are given back", || descriptors() <= before);
    serving.until("all have ended", 9, |event| matches!(event, ServerEvent::Detached(_)));
    serving.end();
}

/// Ends the threads of a test, also where it fails.
struct Over<'t>(&'t AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// 22 hostile readers of five kinds at once: an honest one gets 10,000,000 of 10,000,000 bytes right.
#[test]
fn hostile_readers_of_all_kinds_together_change_no_byte() {
    let folder = Folder::new("together");
    let path = folder.socket();
    let mut publisher = Publisher::new(Geometry::new(1 << 12, 1 << 22), 1).unwrap();
    let mut server = Server::bind(&path).unwrap();
    let hold = Some(Hold::AtMost(Duration::from_millis(1)));
    server.offer("main", publisher.offer(), QueueSettings::default().hold(hold)).unwrap();
    let serving = Serving::begin(server);
    let attach = |name: &str| Reader::attach(&path, &Attach::new("main", name));
    let connected = || {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        connect(&socket, &SocketAddrUnix::new(&path).unwrap()).map(|()| socket)
    };
    let mut honest = attach("honest").unwrap();
    let hello = |number| format!("tidewire-queue 1\nqueue main\nname garbage-{number}\n");
    let garbage: Vec<Raw> = (0..6).map(|number| ask(&path, hello(number).as_bytes())).collect();
    let _idle: Vec<Reader> = (0..6).map(|number| attach(&format!("idle-{number}")).unwrap()).collect();
    let _silent: Vec<OwnedFd> = (0..4).map(|_| connected().unwrap()).collect();
    let is_over = AtomicBool::new(false);
    let goes_on = || !is_over.load(Ordering::Relaxed);
    let mut right = 0;
    thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            let pages: Vec<File> = garbage.iter().map(|raw| raw.descriptors[1].try_clone().unwrap().into()).collect();
            let mut number = 7_u64;
            while goes_on() {
                for page in &pages {
                    number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let words: Vec<u8> = (0..17).flat_map(|at| number.rotate_left(at * 7).to_ne_bytes()).collect();
                    page.write_all_at(&words, 0).unwrap();
                }
                thread::sleep(Duration::from_micros(200));
            }
        });
        for number in 0..4 {
            scope.spawn(move || {
                while goes_on() {
                    // Where others have all places, it comes again.
                    drop(attach(&format!("restless-{number}")));
                }
            });
        }
        for message in [&[0xff; 1024][..], b"GET / HTTP/1.1\r\n\r\n"] {
            scope.spawn(move || {
                while goes_on() {
                    let sent = connected().and_then(|socket| {
                        let mut control = SendAncillaryBuffer::default();
                        sendmsg(&socket, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL)
                    });
                    // The server may have closed it, or be busy.
                    let _ = sent;
                    thread::sleep(Duration::from_micros(500));
                }
            });
        }
        let mut out = Vec::new();
        for number in 0..10_000_u64 {
            let bytes: Vec<u8> = (0..125).flat_map(|at| number.rotate_left(at).to_ne_bytes()).collect();
            publisher.publish(&Record { stream: number, ..Record::default() }, &bytes).unwrap();
            out.clear();
            let Next::Record(record) = honest.next(&mut out).unwrap() else { panic!("record {number} was lost") };
            assert!(record.stream == number && out == bytes, "record {number}");
            right += out.len();
        }
    });
    assert_eq!(right, 10_000_000);
    publisher.finish();
    assert_eq!(honest.next(&mut Vec::new()).unwrap(), Next::Ended(QueueEnd::Finished));
    serving.end();
}

/// A reader cannot take the page away from the server, nor make it read-only.
#[test]
fn a_page_stays_what_it_is() {
    let folder = Folder::new("page");
    let publisher = Publisher::new(Geometry::new(1, 1), 1).unwrap();
    let mut server = Server::bind(&folder.socket()).unwrap();
    server.offer("main", publisher.offer(), QueueSettings::default()).unwrap();
    let serving = Serving::begin(server);
    let raw = ask(&folder.socket(), b"tidewire-queue 1\nqueue main\nname x\n");
    assert!(raw.answer.starts_with(b"attached\n"));
    let page = File::from(raw.descriptors[1].try_clone().unwrap());
    assert!(page.set_len(0).is_err() && page.set_len(1 << 20).is_err());
    assert!(fcntl_add_seals(&page, SealFlags::WRITE).is_err());
    assert!(File::from(raw.descriptors[0].try_clone().unwrap()).write_all_at(b"x", 0).is_err());
    // Whatever a reader says is an end.
    let mut control = SendAncillaryBuffer::default();
    sendmsg(&raw.socket, &[IoSlice::new(b"hello")], &mut control, SendFlags::NOSIGNAL).unwrap();
    let is_closed = || {
        let mut byte = [0; 1];
        matches!(rustix::net::recv(&raw.socket, &mut byte, RecvFlags::DONTWAIT), Ok((0, _)))
    };
    wait_until("the server closes", is_closed);
    serving.end();
}

/// Descriptors that a client sends do not reach the server, which would have to close them, however long that takes.
#[test]
fn clients_send_no_descriptors() {
    let folder = Folder::new("rights");
    let publisher = Publisher::new(Geometry::new(1, 1), 1).unwrap();
    let mut server = Server::bind(&folder.socket()).unwrap();
    server.offer("main", publisher.offer(), QueueSettings::default()).unwrap();
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    if tidewire_queue::refuse_descriptors(socket.as_fd()).is_err() {
        skip("needs SO_PASSRIGHTS (Linux 6.16)");
        return;
    }
    connect(&socket, &SocketAddrUnix::new(folder.socket()).unwrap()).unwrap();
    let sent = || {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let files = [publisher.file()];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
        sendmsg(&socket, &[IoSlice::new(b"x")], &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    };
    assert_eq!(sent(), Err(Errno::PERM), "before it is accepted");
    server.turn(Duration::ZERO).unwrap();
    assert_eq!(sent(), Err(Errno::PERM));
}

/// The right to connect is given to the socket, whatever is at its path meanwhile.
#[test]
fn permissions_are_those_of_the_socket() {
    let folder = Folder::new("permissions");
    let mut server = Server::bind(&folder.socket()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.socket()), 0o600);
    let (moved, other) = (folder.socket().with_file_name("moved"), folder.socket().with_file_name("other"));
    fs::write(&other, "secret").unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(folder.socket(), &moved).unwrap();
    std::os::unix::fs::symlink(&other, folder.socket()).unwrap();
    server.allow_users(&[]).unwrap();
    assert_eq!((mode(&other), mode(&moved)), (0o600, 0o666));
    drop(server);
    assert!(folder.socket().exists(), "what others put there was removed");
}

/// Core files of publishers and readers hold no traffic.
#[test]
fn queues_are_not_in_core_files() {
    let publisher = Publisher::new(Geometry::new(1, 1), 1).unwrap();
    let _reader = Reader::open(publisher.file(), None).unwrap();
    // Other tests may have mapped one at this moment.
    wait_until("all mappings are left out", || {
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines();
        let (mut count, mut is_all) = (0, true);
        while lines.any(|line| line.contains("memfd:tidewire-queue")) {
            let flags = lines.find(|line| line.starts_with("VmFlags:")).unwrap_or_default();
            is_all &= flags.split(' ').any(|flag| flag == "dd");
            count += 1;
        }
        // Both ends, the payload twice.
        is_all && count >= 4
    });
}

/// A signal while a reader waits for the server's answer is no error: an attached reader's process was stopped and goes on.
#[test]
fn signals_do_not_end_an_attempt_to_attach() {
    let folder = Folder::new("signals");
    let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(folder.socket()).unwrap()).unwrap();
    listen(&listener, 1).unwrap();
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "hostile::other_user", "--nocapture", "--test-threads=1"])
        .env(SOCKET, folder.socket())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let socket = accept(&listener).unwrap();
    assert!(recv(&socket, &mut [0; 1024], RecvFlags::empty()).unwrap().0 > 0);
    let threads = format!("/proc/{}/task", child.id());
    let has_state = |state: char| {
        let is = |text: String| text.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(state));
        let mut all = fs::read_dir(&threads).unwrap().map(|thread| thread.unwrap().path().join("stat"));
        all.all(|stat| fs::read_to_string(stat).is_ok_and(is))
    };
    for _ in 0..3 {
        // The kernel ends calls that have a timeout with EINTR, also where there is no handler.
        wait_until("it waits for the answer", || has_state('S'));
        signal(&child, Signal::STOP);
        wait_until("it is stopped", || has_state('T'));
        signal(&child, Signal::CONT);
    }
    let mut control = SendAncillaryBuffer::default();
    // Where it gave up, it has closed.
    let _ = sendmsg(&socket, &[IoSlice::new(b"full\nmax 3\n")], &mut control, SendFlags::NOSIGNAL);
    let text = String::from_utf8_lossy(&child.output_in_time("who attaches").stdout).into_owned();
    assert!(text.contains("said: refused: "), "{text}");
}

const SOCKET: &str = "TIDEWIRE_QUEUE_OTHER_USER";

/// No test by itself: another user's process.
#[test]
fn other_user() {
    let Some(path) = env::var_os(SOCKET) else { return };
    let said = match Reader::attach(Path::new(&path), &Attach::new("main", "other")) {
        Ok(reader) => format!("attached {}", reader.first()),
        Err(error @ Error::Server { .. }) => format!("server: {error}"),
        Err(error) => format!("refused: {error}"),
    };
    println!("said: {said}");
}

/// Another user gets the rights that permissions and the list of users grant, and a reason for a refusal.
#[test]
fn other_users_need_rights() {
    if !rustix::process::geteuid().is_root() {
        skip("needs root, to become another user");
        return;
    }
    let folder = Folder::new("users");
    let publisher = Publisher::new(Geometry::new(1, 1), 1).unwrap();
    // The user may not be able to reach this program where it is.
    let program: PathBuf = folder.socket().with_file_name("program");
    // By another process: this one must not have it open for writing while another test starts a process.
    Command::new("cp").args([&env::current_exe().unwrap(), &program]).status_in_time().unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let said = |prepare: &dyn Fn(&mut Server)| {
        let mut server = Server::bind(&folder.socket()).unwrap();
        server.offer("main", publisher.offer(), QueueSettings::default()).unwrap();
        prepare(&mut server);
        let serving = Serving::begin(server);
        let child = Command::new(&program)
            .args(["--exact", "hostile::other_user", "--nocapture", "--test-threads=1"])
            .env(SOCKET, folder.socket())
            .uid(65534)
            .gid(65534)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.output_in_time("another user");
        serving.end();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find_map(|line| line.split_once("said: ").map(|(_, said)| said.to_owned())).expect(&text)
    };
    let denied = said(&|_| ());
    assert!(denied.starts_with("server: ") && denied.contains("Permission denied"), "{denied}");
    let refused = said(&|server| server.allow_users(&[12345]).unwrap());
    assert!(refused.starts_with("refused: user 65534 may not attach"), "{refused}");
    assert_eq!(said(&|server| server.allow_users(&[65534]).unwrap()), "attached 0");
}
