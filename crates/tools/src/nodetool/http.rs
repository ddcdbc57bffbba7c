//! A blocking HTTP/1.1 client: one request a connection, bodies by length or in chunks.
//!
//! A command-line tool asks a handful of short questions of one node, so it needs neither an executor nor a pool; the
//! sockets are plain `std::net` ones, outside `helenus_env`, because nothing here runs inside a simulated node.
//!
//! Source: RFC 9112 (message syntax), sections 2 to 7.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a node may be silent in the middle of an answer. Before the answer starts it may think for ever: a major
/// compaction answers when it is done.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// How often `while_waiting` is called.
const TICK: Duration = Duration::from_millis(300);
const HEAD_BYTES_MAX: u64 = 64 * 1024;
/// Ten thousand tables of about 5 KiB fit five times.
const BODY_BYTES_MAX: u64 = 256 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Why there is no answer, named as Java names it, because scripts look for these names.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("UnknownHostException: '{host}'")]
    UnknownHost { host: String },
    #[error("{}: '{}'", java_exception(.0), java_message(.0))]
    Connect(#[source] io::Error),
    #[error("SocketException: '{0}'")]
    Interrupted(#[source] io::Error),
    /// Something listens there, but it does not speak HTTP as it should.
    #[error("ProtocolException: '{what}'")]
    Protocol { what: &'static str },
}

fn java_exception(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::TimedOut => "SocketTimeoutException",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "NoRouteToHostException",
        _ => "ConnectException",
    }
}

fn java_message(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "Connection refused (Connection refused)".to_owned(),
        io::ErrorKind::TimedOut => "connect timed out".to_owned(),
        io::ErrorKind::HostUnreachable => "No route to host (Host unreachable)".to_owned(),
        io::ErrorKind::NetworkUnreachable => "Network is unreachable (connect failed)".to_owned(),
        _ => error.to_string(),
    }
}

/// The first address of `host` that accepts a connection.
fn connect(host: &str, port: u16) -> Result<(TcpStream, SocketAddr), HttpError> {
    let unknown = || HttpError::UnknownHost { host: host.to_owned() };
    let addresses = (host, port).to_socket_addrs().map_err(|_| unknown())?;
    let mut refusal = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok((stream, address)),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    Err(refusal.map_or_else(unknown, HttpError::Connect))
}

/// Sends one request and reads the whole answer. `while_waiting` is called a few times a second until the answer starts.
///
/// # Errors
/// [`HttpError`]; an answer with an error status is an answer.
pub fn request(
    host: &str,
    port: u16,
    method: Method,
    target: &str,
    body: Option<&str>,
    while_waiting: &mut dyn FnMut(),
) -> Result<Response, HttpError> {
    let (mut stream, address) = connect(host, port)?;
    let body = body.unwrap_or_default();
    // The address and not the name in `Host`: the node refuses names, which a web page could have made up.
    let content_type = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: {address}\r\nAccept: application/json\r\nConnection: close\r\n{content_type}\
         Content-Length: {length}\r\n\r\n",
        method = method.name(),
        length = body.len(),
    );
    stream.write_all(head.as_bytes()).map_err(HttpError::Interrupted)?;
    stream.write_all(body.as_bytes()).map_err(HttpError::Interrupted)?;
    wait_for_answer(&stream, while_waiting)?;
    stream.set_read_timeout(Some(READ_TIMEOUT)).map_err(HttpError::Interrupted)?;
    read_response(&mut BufReader::new(stream))
}

fn wait_for_answer(stream: &TcpStream, while_waiting: &mut dyn FnMut()) -> Result<(), HttpError> {
    stream.set_read_timeout(Some(TICK)).map_err(HttpError::Interrupted)?;
    loop {
        match stream.peek(&mut [0]) {
            Ok(_) => return Ok(()),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => while_waiting(),
                _ => return Err(HttpError::Interrupted(error)),
            },
        }
    }
}

fn read_response(input: &mut impl BufRead) -> Result<Response, HttpError> {
    let mut head = Limited { input, left: HEAD_BYTES_MAX };
    let status_line = head.line()?;
    let status = status_line
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1))
        .and_then(|code| code.parse::<u16>().ok())
        .ok_or(HttpError::Protocol { what: "the answer is not HTTP; is this the admin port of a Helenus node?" })?;
    let (mut length, mut chunked) = (None, false);
    loop {
        let line = head.line()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or(HttpError::Protocol { what: "a header without a colon" })?;
        if name.eq_ignore_ascii_case("content-length") {
            let bytes = value.trim().parse::<u64>();
            length = Some(bytes.map_err(|_| HttpError::Protocol { what: "Content-Length is not a number" })?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = value.trim().eq_ignore_ascii_case("chunked");
        }
    }
    let body = if chunked { read_chunks(input)? } else { read_body(input, length)? };
    Ok(Response { status, body })
}

/// `length`: `None` reads until the connection ends.
fn read_body(input: &mut impl BufRead, length: Option<u64>) -> Result<Vec<u8>, HttpError> {
    let limit = length.unwrap_or(BODY_BYTES_MAX);
    if BODY_BYTES_MAX < limit {
        return Err(HttpError::Protocol { what: "the answer is too large" });
    }
    let mut body = Vec::new();
    input.take(limit).read_to_end(&mut body).map_err(HttpError::Interrupted)?;
    match length {
        Some(length) if (body.len() as u64) < length => Err(HttpError::Protocol { what: "the answer was cut off" }),
        _ => Ok(body),
    }
}

fn read_chunks(input: &mut impl BufRead) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    loop {
        let line = Limited { input, left: HEAD_BYTES_MAX }.line()?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| HttpError::Protocol { what: "a chunk without a size" })?;
        if BODY_BYTES_MAX < size.saturating_add(body.len() as u64) {
            return Err(HttpError::Protocol { what: "the answer is too large" });
        }
        body.append(&mut read_body(input, Some(size))?);
        if size == 0 {
            return Ok(body); // What may follow are trailers, which nobody here wants.
        }
        Limited { input, left: 2 }.line()?;
    }
}

/// Reads lines, but never more than `left` bytes of them.
struct Limited<'a, R> {
    input: &'a mut R,
    left: u64,
}

impl<R: BufRead> Limited<'_, R> {
    /// One line without its end.
    fn line(&mut self) -> Result<String, HttpError> {
        let mut line = Vec::new();
        self.input.by_ref().take(self.left).read_until(b'\n', &mut line).map_err(HttpError::Interrupted)?;
        self.left = self.left.saturating_sub(line.len() as u64);
        if line.pop() != Some(b'\n') {
            return Err(HttpError::Protocol { what: "the answer was cut off" });
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        String::from_utf8(line).map_err(|_| HttpError::Protocol { what: "a header that is not text" })
    }
}

/// One name or value of a query string: everything but unreserved characters as `%XX`.
#[must_use]
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wire: &str, expected: Result<(u16, &str), &str>) {
        let found = read_response(&mut wire.as_bytes());
        match (found, expected) {
            (Ok(response), Ok((status, body))) => {
                assert_eq!((response.status, String::from_utf8_lossy(&response.body).as_ref()), (status, body));
            }
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
            (found, expected) => panic!("{found:?}, but expected {expected:?}"),
        }
    }

    #[test]
    fn bodies_come_by_length_in_chunks_or_until_the_end() {
        check("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}rest", Ok((200, "{}")));
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n",
            Ok((200, "abcd")),
        );
        check("HTTP/1.0 404 Not Found\r\n\r\nno", Ok((404, "no")));
        check("HTTP/1.1 204\r\nContent-Length: 0\n\n", Ok((204, "")));
    }

    #[test]
    fn what_is_not_a_whole_http_answer_is_refused() {
        check("", Err("cut off"));
        check("JRMI\n", Err("not HTTP"));
        check("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab", Err("cut off"));
        check("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", Err("not a number"));
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", Err("too large"));
        check(&format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 17)), Err("cut off"));
    }

    #[test]
    fn query_values_keep_only_unreserved_characters() {
        assert_eq!(percent_encode("a-Z_0.~ &=/é"), "a-Z_0.~%20%26%3D%2F%C3%A9");
    }
}
