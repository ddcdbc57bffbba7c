//! Events: what registered clients are told unasked.

use helenus_protocol::{EVENT_STREAM, Event, Response, ResponseMessage};

use super::clients::Clients;

/// Tells every client of this shard that registered for it.
pub fn publish(clients: &Clients, event: &Event) {
    for (client, output) in clients.registered(event.event_type()) {
        let Some(version) = client.version.get() else { continue };
        let message = ResponseMessage::plain(Response::Event(event.clone()));
        output.append(|out| {
            // An event is small; only a body of 2 GiB cannot be encoded.
            let _ = message.encode(version, EVENT_STREAM, out);
        });
    }
}
