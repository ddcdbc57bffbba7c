//! Mailbox against tokio's bounded mpsc: the same messages between the same threads.
//!
//! `cargo bench -p helenus-env --bench mailbox -- messages=1000000 burst=32 capacity=1024`
//!
//! A sender sends `burst` messages, then lets its shard look around, as a shard does that works through a loop turn's
//! requests. "round trip" is one question and its answer at a time: what a request pays that lands on the wrong shard.

use std::time::Duration;

use helenus_env::real::{RealEnv, block_on};
use helenus_env::{Env, Mailbox, Request};
use tokio::sync::{mpsc, oneshot};

struct Parameters {
    messages: u64,
    burst: u64,
    capacity: usize,
}

/// `cargo test` gives no parameters and gets tiny inputs, so that the benchmark cannot rot.
fn parameters() -> Parameters {
    let mut parameters = Parameters { messages: 1_000, burst: 32, capacity: 64 };
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("messages", value)) => parameters.messages = value.parse().expect("messages is a number"),
            Some(("burst", value)) => parameters.burst = value.parse().expect("burst is a number"),
            Some(("capacity", value)) => parameters.capacity = value.parse().expect("capacity is a number"),
            _ => {} // Flags of cargo's own, such as `--bench`.
        }
    }
    parameters
}

/// What stands for a message: the sum of all received ones is the digest.
type Message = [u64; 4];

fn message(number: u64) -> Message {
    [number; 4]
}

fn timed(env: &Env, run: impl FnOnce() -> u64) -> (Duration, u64) {
    let began = env.monotonic();
    let digest = run();
    (env.monotonic() - began, digest)
}

fn one_way_mailbox(parameters: &Parameters) -> u64 {
    let (sender, mut receiver) = Mailbox::bounded::<Message>(parameters.capacity);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            block_on(async move {
                for number in 0..parameters.messages {
                    sender.send(message(number)).await.expect("the receiver reads to the end");
                    if number % parameters.burst == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            });
        });
        block_on(async move {
            let mut sum = 0;
            while let Some(message) = receiver.recv().await {
                sum += message[0];
            }
            sum
        })
    })
}

fn one_way_mpsc(parameters: &Parameters) -> u64 {
    let (sender, mut receiver) = mpsc::channel::<Message>(parameters.capacity);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            block_on(async move {
                for number in 0..parameters.messages {
                    sender.send(message(number)).await.expect("the receiver reads to the end");
                    if number % parameters.burst == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            });
        });
        block_on(async move {
            let mut sum = 0;
            while let Some(message) = receiver.recv().await {
                sum += message[0];
            }
            sum
        })
    })
}

fn round_trip_mailbox(parameters: &Parameters) -> u64 {
    let (sender, mut receiver) = Mailbox::bounded::<Request<u64, u64>>(parameters.capacity);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            block_on(async move {
                while let Some(request) = receiver.recv().await {
                    request.reply_to.send(request.question);
                }
            });
        });
        block_on(async move {
            let mut sum = 0;
            for number in 0..parameters.messages / 10 {
                sum += sender.ask(number).await.expect("the other shard answers");
            }
            sum
        })
    })
}

fn round_trip_mpsc(parameters: &Parameters) -> u64 {
    let (sender, mut receiver) = mpsc::channel::<(u64, oneshot::Sender<u64>)>(parameters.capacity);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            block_on(async move {
                while let Some((number, reply)) = receiver.recv().await {
                    reply.send(number).expect("the asker waits");
                }
            });
        });
        block_on(async move {
            let mut sum = 0;
            for number in 0..parameters.messages / 10 {
                let (reply, answer) = oneshot::channel();
                sender.send((number, reply)).await.expect("the other shard reads");
                sum += answer.await.expect("the other shard answers");
            }
            sum
        })
    })
}

/// Answers with a digest of what was received.
type Run = fn(&Parameters) -> u64;

fn main() {
    let parameters = parameters();
    let env = RealEnv::start_default().expect("helper threads start");
    let runs: [(&str, u64, Run); 4] = [
        ("one way, mailbox", parameters.messages, one_way_mailbox),
        ("one way, mpsc", parameters.messages, one_way_mpsc),
        ("round trip, mailbox", parameters.messages / 10, round_trip_mailbox),
        ("round trip, mpsc", parameters.messages / 10, round_trip_mpsc),
    ];
    for (name, count, run) in runs {
        let (took, digest) = timed(&env, || run(&parameters));
        let per_message = took.as_nanos() / u128::from(count.max(1));
        println!("{name:20} {per_message:6} ns each, digest {digest}");
    }
}
