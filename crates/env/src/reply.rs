//! One answer to one question, from any thread to any other.

use tokio::sync::oneshot;

use crate::mailbox::{SendError, Sender};

/// A question with the place to put its answer, to be sent through a mailbox.
pub struct Request<Q, A> {
    pub question: Q,
    pub reply_to: ReplyTo<A>,
}

/// The answering end. Dropping it tells the asker that no answer will come.
pub struct ReplyTo<A> {
    sender: oneshot::Sender<A>,
}

/// The asking end.
pub struct Reply<A> {
    receiver: oneshot::Receiver<A>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The question never left: nothing happened.
    #[error("the shard's mailbox is full")]
    Full,
    /// The question never left: nothing happened.
    #[error("the shard is gone")]
    Closed,
    /// The question was sent and dropped unanswered: it may or may not have had its effect.
    #[error("the shard dropped the request")]
    Dropped,
}

/// Both ends of one answer.
pub fn reply<A>() -> (ReplyTo<A>, Reply<A>) {
    let (sender, receiver) = oneshot::channel();
    (ReplyTo { sender }, Reply { receiver })
}

impl<A> ReplyTo<A> {
    /// An asker who is gone is no error: nobody wants the answer any more.
    pub fn send(self, answer: A) {
        drop(self.sender.send(answer));
    }

    /// Whether the asker went away, so that the work may be spared.
    pub fn is_abandoned(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until the asker goes away, to be raced against the work.
    pub async fn abandoned(&mut self) {
        self.sender.closed().await;
    }
}

impl<A> Reply<A> {
    /// # Errors
    /// [`AskError::Dropped`].
    pub async fn recv(self) -> Result<A, AskError> {
        self.receiver.await.map_err(|_| AskError::Dropped)
    }
}

impl<Q: Send, A: Send> Sender<Request<Q, A>> {
    /// Sends the question, waiting for room, and waits for the answer. Dropped meanwhile, the other side sees
    /// [`ReplyTo::is_abandoned`].
    ///
    /// # Errors
    /// [`AskError::Closed`] or [`AskError::Dropped`].
    pub async fn ask(&self, question: Q) -> Result<A, AskError> {
        let (reply_to, answer) = reply();
        self.send(Request { question, reply_to }).await.map_err(|error| ask_error(&error))?;
        answer.recv().await
    }

    /// Sends the question if there is room; the answer is awaited separately.
    ///
    /// # Errors
    /// [`AskError::Full`] or [`AskError::Closed`].
    pub fn try_ask(&self, question: Q) -> Result<Reply<A>, AskError> {
        let (reply_to, answer) = reply();
        self.try_send(Request { question, reply_to }).map_err(|error| ask_error(&error))?;
        Ok(answer)
    }
}

fn ask_error<T>(error: &SendError<T>) -> AskError {
    match error {
        SendError::Full(_) => AskError::Full,
        SendError::Closed(_) => AskError::Closed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::Mailbox;
    use crate::real::{RealEnv, block_on};

    #[test]
    fn a_question_is_answered_over_a_mailbox() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let (sender, mut receiver) = Mailbox::bounded::<Request<u32, u32>>(1);
            let mut server = env.spawn("double", async move {
                let request = receiver.recv().await.unwrap();
                request.reply_to.send(request.question * 2);
            });
            assert_eq!(sender.ask(21).await, Ok(42));
            server.join().await.unwrap();
            assert_eq!(sender.ask(1).await, Err(AskError::Closed));
        });
    }

    #[test]
    fn a_dropped_question_is_an_unknown_outcome_and_a_gone_asker_is_seen() {
        block_on(async {
            let (reply_to, answer) = reply::<u32>();
            drop(reply_to);
            assert_eq!(answer.recv().await, Err(AskError::Dropped));

            let (mut reply_to, answer) = reply::<u32>();
            assert!(!reply_to.is_abandoned());
            drop(answer);
            assert!(reply_to.is_abandoned());
            reply_to.abandoned().await;
            reply_to.send(1);
        });
    }
}
