//! Host check: keeps web pages away from an API that asks for no password.
//!
//! A page can make its visitor's browser send requests to 127.0.0.1, under its own name if its DNS says so. Such requests
//! carry the page's name as `Host` or as `Origin`; requests of tools carry an address and no origin.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::problem::Refusal;

pub(super) async fn check(State(_state): State<Shared>, request: Request, next: Next) -> Response {
    match judge(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => Refusal::Forbidden(problem).into_response(),
    }
}

fn judge(headers: &HeaderMap) -> Result<(), String> {
    let text_of = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text_of(header::HOST).unwrap_or_default();
    if !is_address_or_local(host) {
        return Err(format!("Host is {host}: call the API by an IP address or localhost"));
    }
    match text_of(header::ORIGIN) {
        None => Ok(()),
        Some(origin) => match origin.split_once("://") {
            // The dashboard, served from here.
            Some((_, authority)) if authority == host => Ok(()),
            _ => Err(format!("Origin is {origin}: pages of other sites may not call the API")),
        },
    }
}

/// With or without a port.
fn is_address_or_local(host: &str) -> bool {
    let without_port = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None if host.matches(':').count() == 1 => host.split(':').next().unwrap_or_default(),
        None => host,
    };
    without_port.eq_ignore_ascii_case("localhost") || without_port.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn check(host: &'static str, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        }
        judge(&headers).is_ok()
    }

    #[test]
    fn tools_pass_and_foreign_pages_do_not() {
        assert!(check("127.0.0.1:7199", None));
        assert!(check("localhost:7199", None));
        assert!(check("[::1]:7199", None));
        assert!(check("127.0.0.1:7199", Some("http://127.0.0.1:7199")));
        assert!(!check("attacker.example:7199", None));
        assert!(!check("127.0.0.1:7199", Some("http://attacker.example")));
        assert!(!check("127.0.0.1:7199", Some("null")));
    }
}
