//! The node that nodetool was told to ask: paths in, typed answers out, refusals as [`Failure`]s.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::api::Refusal;
use super::failure::Failure;
use super::http::{self, HttpError, Method, Response};

/// Where requests go. The tests have one that answers from a list.
pub trait Transport {
    /// # Errors
    /// [`HttpError`] without an answer.
    fn request(
        &self,
        method: Method,
        target: &str,
        body: Option<&str>,
        while_waiting: &mut dyn FnMut(),
    ) -> Result<Response, HttpError>;
}

/// `host`:`port`, a connection a request.
#[derive(Clone, Debug)]
pub struct Address {
    pub host: String,
    pub port: u16,
}

impl Transport for Address {
    fn request(
        &self,
        method: Method,
        target: &str,
        body: Option<&str>,
        while_waiting: &mut dyn FnMut(),
    ) -> Result<Response, HttpError> {
        http::request(&self.host, self.port, method, target, body, while_waiting)
    }
}

pub struct Node<'a> {
    pub transport: &'a dyn Transport,
    /// `host:port`, as errors name it.
    pub name: String,
}

impl Node<'_> {
    /// One GET below /api/v1.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        self.call(Method::Get, path, None, &mut || ())
    }

    pub fn get_as<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        parse(self.get(path)?)
    }

    pub fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.call(Method::Delete, path, None, &mut || ())
    }

    pub fn put(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.call(Method::Put, path, Some(&body.to_string()), &mut || ())
    }

    /// `while_waiting` is called a few times a second until the answer comes.
    pub fn post(&self, path: &str, body: &Value, while_waiting: &mut dyn FnMut()) -> Result<Value, Failure> {
        self.call(Method::Post, path, Some(&body.to_string()), while_waiting)
    }

    fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&str>,
        while_waiting: &mut dyn FnMut(),
    ) -> Result<Value, Failure> {
        let response = self
            .transport
            .request(method, &format!("/api/v1{path}"), body, while_waiting)
            .map_err(|error| Failure::Connection { node: self.name.clone(), cause: error.to_string() })?;
        let value = serde_json::from_slice::<Value>(&response.body);
        if response.status == 200 {
            return value.map_err(|error| Failure::Failed(format!("{path}: the answer is not JSON: {error}")));
        }
        let refusal = value.ok().and_then(|mut value| serde_json::from_value::<Refusal>(value["error"].take()).ok());
        Err(refusal.map_or_else(
            || Failure::Failed(format!("{path}: HTTP status {}", response.status)),
            |refusal| match refusal.code.as_str() {
                "unknown_keyspace" => Failure::UnknownKeyspace(refusal.message),
                "unknown_table" => Failure::UnknownTable(refusal.message),
                "invalid_request" => Failure::BadUse(refusal.message),
                _ => Failure::Failed(refusal.message),
            },
        ))
    }
}

/// # Errors
/// When the node's answer is not what docs/admin-api.md says.
pub fn parse<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value)
        .map_err(|error| Failure::Failed(format!("the node's answer is not understood: {error}")))
}

/// `path?name=value&…`, values encoded; pairs without a value are left out.
#[must_use]
pub fn with_query(path: &str, pairs: &[(&str, Option<&str>)]) -> String {
    let given = pairs.iter().filter_map(|(name, value)| Some(format!("{name}={}", http::percent_encode((*value)?))));
    let query = given.collect::<Vec<_>>().join("&");
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}
