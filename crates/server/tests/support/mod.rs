//! What the tests share: a node as a process of its own, and a client that is nothing but the protocol.
//!
//! The node is this test program, started once more with [`SETTINGS`] in its environment: see [`be_the_node_if_asked`].

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::BytesMut;
use helenus_protocol::{
    Compression, Inbound, Opcode, Outbound, ProtocolVersion, Request, RequestMessage, Response, ResponseMessage,
    Startup,
};
use tempfile::TempDir;

/// A busy machine starts slowly.
const PATIENCE: Duration = Duration::from_secs(60);

/// The settings of the node that this process is to be, one `name=value` a line.
const SETTINGS: &str = "HELENUS_TEST_NODE_SETTINGS";

/// The test that becomes the node; see [`spawn`].
const NODE_TEST: &str = "this_process_is_the_node_if_asked";

/// Runs a node and ends the process with it, if that is what the process was started for.
pub fn be_the_node_if_asked() {
    let Ok(settings) = std::env::var(SETTINGS) else { return };
    let sets = settings.lines().map(ToOwned::to_owned).collect();
    let layers = helenus_server::config::Layers { file: None, sets, flags: Vec::new() };
    let build = helenus_server::Build { version: "test", commit: "test" };
    let code = match helenus_server::run(&layers, build) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            2
        }
    };
    std::process::exit(code);
}

fn command(settings: &[String]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a running program has a file"));
    command.args([NODE_TEST, "--exact", "--nocapture"]).env(SETTINGS, settings.join("\n"));
    command
}

pub struct Node {
    directory: TempDir,
    settings: Vec<String>,
    child: Child,
    cql_port: u16,
    shard_aware_port: u16,
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    listener.local_addr().expect("it was just bound").port()
}

impl Node {
    pub fn start(settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("the machine has a temporary directory");
        let (cql_port, shard_aware_port) = (free_port(), free_port());
        let mut all = vec![
            format!("data_directory={}", directory.path().display()),
            format!("native_transport_port={cql_port}"),
            format!("native_shard_aware_transport_port={shard_aware_port}"),
            "admin_port=0".to_owned(),
            "memory=256MiB".to_owned(),
            "log_level=error".to_owned(),
        ];
        all.extend(settings.iter().map(|setting| (*setting).to_owned()));
        let child = spawn_ready(&all);
        Self { directory, settings: all, child, cql_port, shard_aware_port }
    }

    pub fn start_again(&mut self) {
        self.child = spawn_ready(&self.settings);
    }

    pub fn cql(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.cql_port).into()
    }

    pub fn shard_aware(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.shard_aware_port).into()
    }

    pub fn directory(&self) -> &str {
        self.directory.path().to_str().expect("temporary directories have plain names")
    }

    pub fn read(&self, name: &str) -> String {
        let mut text = String::new();
        let file = std::fs::OpenOptions::new().read(true).open(self.directory.path().join(name));
        file.expect("the node wrote it").read_to_string(&mut text).expect("it is a text");
        text
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was ours");
    }

    /// SIGTERM; the exit code, `None` when it took too long.
    pub fn stop(&mut self, limit: Duration) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        let step = Duration::from_millis(10);
        let mut waited = Duration::ZERO;
        while waited < limit {
            if let Some(status) = self.child.try_wait().expect("it was ours") {
                return status.code();
            }
            std::thread::sleep(step);
            waited += step;
        }
        None
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn_ready(settings: &[String]) -> Child {
    let mut child = command(settings).stdout(Stdio::piped()).spawn().expect("this program can be started");
    let output = child.stdout.take().expect("it is piped");
    let ready = BufReader::new(output).lines().map_while(Result::ok).any(|line| line.contains("ready: CQL on "));
    assert!(ready, "the node ended before it served");
    child
}

/// Exit code and error text of a start that ends by itself; one that gets ready is ended, and has no exit code.
pub fn refused(settings: &[&str]) -> (Option<i32>, String) {
    let mut all = vec!["admin_port=0".to_owned()];
    all.extend(settings.iter().map(|setting| (*setting).to_owned()));
    let mut child =
        command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("this program can be started");
    let output = child.stdout.take().expect("it is piped");
    if BufReader::new(output).lines().map_while(Result::ok).any(|line| line.contains("ready: CQL on ")) {
        child.kill().expect("it runs");
    }
    let output = child.wait_with_output().expect("it was ours");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

pub struct Client {
    stream: TcpStream,
    inbound: Inbound,
    outbound: Outbound,
    input: BytesMut,
    version: ProtocolVersion,
}

const RESPONSE_BYTES_MAX: usize = 64 << 20;

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the node listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a plain socket");
        Self {
            stream,
            inbound: Inbound::for_responses(RESPONSE_BYTES_MAX),
            outbound: Outbound::new(),
            input: BytesMut::new(),
            version: ProtocolVersion::V5,
        }
    }

    pub fn local_port(&self) -> u16 {
        self.stream.local_addr().expect("it is connected").port()
    }

    /// STARTUP with CQL_VERSION and `options`; READY or AUTHENTICATE.
    pub fn start(&mut self, version: ProtocolVersion, options: &[(&str, &str)]) -> Response {
        self.version = version;
        let mut all = vec![("CQL_VERSION".to_owned(), "3.0.0".to_owned())];
        all.extend(options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        let startup = Startup { options: all };
        let compression: Option<Compression> = startup.validate(version).expect("the tests ask for what there is");
        self.send(0, &Request::Startup(startup));
        if !version.has_frames() {
            self.inbound.start(version, compression);
        }
        let (_, response) = self.receive();
        if version.has_frames() {
            self.inbound.start(version, compression);
        }
        self.outbound.start(version, compression);
        response
    }

    pub fn send(&mut self, stream: i16, request: &Request) {
        let message = RequestMessage::plain(request.clone());
        message.encode(self.version, stream, self.outbound.buffer()).expect("requests of tests are small");
        assert!(request.opcode() != Opcode::Error);
        self.outbound.seal();
        let bytes = self.outbound.take();
        self.stream.write_all(&bytes).expect("the node reads");
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the node reads");
    }

    pub fn receive(&mut self) -> (i16, Response) {
        loop {
            let envelope = self.inbound.next(&mut self.input).expect("the node speaks the protocol");
            if let Some(envelope) = envelope {
                let message = ResponseMessage::decode(&envelope).expect("the node speaks the protocol");
                return (envelope.header.stream, message.response);
            }
            let mut bytes = [0; 64 << 10];
            let read = self.stream.read(&mut bytes).expect("the node answers in time");
            assert_ne!(read, 0, "the node closed the connection");
            self.input.extend_from_slice(&bytes[..read]);
        }
    }

    pub fn ask(&mut self, request: &Request) -> Response {
        self.send(1, request);
        self.receive().1
    }

    pub fn is_closed_within(&mut self, limit: Duration) -> bool {
        self.stream.set_read_timeout(Some(limit)).expect("a plain socket");
        matches!(self.stream.read(&mut [0; 1]), Ok(0))
    }
}
