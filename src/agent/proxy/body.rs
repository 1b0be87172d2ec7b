//! Bytes of one stream to another, no faster than the slower side takes them.

use std::future::poll_fn;

use bytes::Bytes;
use h2::{Error, Reason, RecvStream, SendStream};
use http::HeaderMap;

/// An answer that is kept whole; those that are disturbed are some hundred bytes.
const MOST: usize = 4 << 20;

/// Gives all of one body to the other side, with its trailers; whoever ends early is told by a reset.
pub(super) async fn pump(mut from: RecvStream, mut to: SendStream<Bytes>) {
    if let Err(e) = copy(&mut from, &mut to).await {
        to.send_reset(e.reason().unwrap_or(Reason::CANCEL));
    }
}

async fn copy(from: &mut RecvStream, to: &mut SendStream<Bytes>) -> Result<(), Error> {
    while let Some(piece) = from.data().await {
        let piece = piece?;
        let taken = piece.len();
        give(piece, to).await?;
        from.flow_control().release_capacity(taken)?;
    }
    match from.trailers().await? {
        Some(trailers) => to.send_trailers(trailers),
        None => to.send_data(Bytes::new(), true),
    }
}

/// Sends a piece as the other side makes room for it.
pub(super) async fn give(mut piece: Bytes, to: &mut SendStream<Bytes>) -> Result<(), Error> {
    while !piece.is_empty() {
        to.reserve_capacity(piece.len());
        let room = match poll_fn(|cx| to.poll_capacity(cx)).await {
            Some(room) => room?,
            None => return Err(Reason::CANCEL.into()),
        };
        to.send_data(piece.split_to(room.min(piece.len())), false)?;
    }
    Ok(())
}

/// All of a body.
#[derive(Debug, Default)]
pub(super) struct Whole {
    pub(super) data: Vec<Bytes>,
    pub(super) trailers: Option<HeaderMap>,
}

/// Reads all of a body.
pub(super) async fn whole(mut from: RecvStream) -> Result<Whole, Error> {
    let (mut data, mut size) = (Vec::new(), 0);
    while let Some(piece) = from.data().await {
        let piece = piece?;
        size += piece.len();
        if size > MOST {
            return Err(Reason::ENHANCE_YOUR_CALM.into());
        }
        from.flow_control().release_capacity(piece.len())?;
        data.push(piece);
    }
    Ok(Whole { data, trailers: from.trailers().await? })
}
