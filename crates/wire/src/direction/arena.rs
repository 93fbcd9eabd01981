//! Memory for frames in flight: frames are read into it, and it is freed when the last of their
//! packets has left. No memory is allocated for a packet up to the largest amount held so far.

use crate::device::tap::LONGEST_READ_BYTES;
use crate::packet::cut::Cut;
use crate::packet::vnet::{self, Vnet};

const CHUNK_BYTES: usize = 1 << 20;
/// Chunks that are kept for the next burst; more go back to the system.
const SPARE_CHUNKS: usize = 4;

/// A frame in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameId(u32);

/// A frame received from a node.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    chunk: u32,
    at: usize,
    bytes: usize,
    /// Number of its users: the reader, and each packet that is held.
    holds: u32,
    pub vnet: Vnet,
    /// How it is cut; None for a frame that stays as it is.
    pub cut: Option<Cut>,
}

#[derive(Debug, Default)]
struct Chunk {
    bytes: Box<[u8]>,
    frames: u32,
}

#[derive(Debug)]
pub struct Arena {
    chunks: Vec<Chunk>,
    /// Chunks without memory, and those with.
    empty: Vec<u32>,
    spare: Vec<u32>,
    current: Option<u32>,
    position: usize,
    frames: Vec<Frame>,
    free_frames: Vec<u32>,
    most_chunks: usize,
}

impl Arena {
    /// At most about `limit_bytes`, and at least one chunk.
    pub fn new(limit_bytes: u64) -> Self {
        let mut arena = Self {
            chunks: Vec::new(),
            empty: Vec::new(),
            spare: Vec::new(),
            current: None,
            position: 0,
            frames: Vec::new(),
            free_frames: Vec::new(),
            most_chunks: 1,
        };
        arena.limit(limit_bytes);
        arena
    }

    /// Set a new limit; frames that are held stay.
    pub fn limit(&mut self, limit_bytes: u64) {
        // one more for the chunk that is being filled
        let chunks = limit_bytes.div_ceil(CHUNK_BYTES as u64).saturating_add(1);
        self.most_chunks = usize::try_from(chunks).unwrap_or(usize::MAX);
    }

    /// Room for the longest read; None if all memory is in use.
    pub fn room(&mut self) -> Option<&mut [u8]> {
        if self.current.is_none() || CHUNK_BYTES - self.position < LONGEST_READ_BYTES {
            self.current = Some(self.next_chunk()?);
            self.position = 0;
        }
        let chunk = self.current? as usize;
        Some(&mut self.chunks[chunk].bytes[self.position..][..LONGEST_READ_BYTES])
    }

    /// Keep the data that was read: a vnet header and a frame, `bytes` together. The caller
    /// holds it.
    pub fn keep(&mut self, bytes: usize, vnet: Vnet, cut: Option<Cut>) -> FrameId {
        let chunk = self.current.unwrap_or_default();
        self.chunks[chunk as usize].frames += 1;
        let frame = Frame {
            chunk,
            at: self.position,
            bytes,
            holds: 1,
            vnet,
            cut,
        };
        self.position += bytes;
        if let Some(id) = self.free_frames.pop() {
            self.frames[id as usize] = frame;
            return FrameId(id);
        }
        self.frames.push(frame);
        FrameId(self.frames.len() as u32 - 1)
    }

    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    /// The bytes of the frame.
    pub fn bytes(&self, id: FrameId) -> &[u8] {
        &self.read(id)[vnet::BYTES..]
    }

    /// The vnet header and the frame, as they were read.
    pub fn read(&self, id: FrameId) -> &[u8] {
        let frame = self.frame(id);
        &self.chunks[frame.chunk as usize].bytes[frame.at..][..frame.bytes]
    }

    pub fn hold(&mut self, id: FrameId) {
        self.frames[id.0 as usize].holds += 1;
    }

    pub fn release(&mut self, id: FrameId) {
        let frame = &mut self.frames[id.0 as usize];
        frame.holds -= 1;
        if frame.holds > 0 {
            return;
        }
        let number = frame.chunk;
        self.free_frames.push(id.0);
        let chunk = &mut self.chunks[number as usize];
        chunk.frames -= 1;
        if chunk.frames > 0 {
            return;
        }
        if self.current == Some(number) {
            // the same memory again, which is still in the cache
            self.position = 0;
        } else if self.spare.len() < SPARE_CHUNKS {
            self.spare.push(number);
        } else {
            chunk.bytes = Box::default();
            self.empty.push(number);
        }
    }

    /// Chunks of memory that it has from the system.
    fn held_chunks(&self) -> usize {
        self.chunks.len() - self.empty.len()
    }

    fn next_chunk(&mut self) -> Option<u32> {
        if let Some(chunk) = self.spare.pop() {
            return Some(chunk);
        }
        if self.held_chunks() >= self.most_chunks {
            return None;
        }
        let chunk = self.empty.pop().unwrap_or_else(|| {
            self.chunks.push(Chunk::default());
            self.chunks.len() as u32 - 1
        });
        self.chunks[chunk as usize].bytes = vec![0; CHUNK_BYTES].into_boxed_slice();
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(arena: &mut Arena, number: u32, bytes: usize) -> Option<FrameId> {
        let room = arena.room()?;
        room[..bytes].fill(number as u8);
        Some(arena.keep(bytes, Vnet::default(), None))
    }

    proptest! {
        #[test]
        fn frames_stay_what_they_are_until_released(
            steps in prop::collection::vec((vnet::BYTES..20_000usize, any::<prop::sample::Index>()), 1..400),
        ) {
            let mut arena = Arena::new(64 << 20);
            let mut kept: Vec<(FrameId, u8, usize)> = Vec::new();
            for (number, (bytes, index)) in steps.into_iter().enumerate() {
                let id = put(&mut arena, number as u32, bytes).expect("room");
                kept.push((id, number as u8, bytes));
                if number % 3 != 0 {
                    let (id, value, bytes) = kept.swap_remove(index.index(kept.len()));
                    prop_assert_eq!(arena.read(id), &vec![value; bytes][..]);
                    arena.release(id);
                }
            }
            for (id, value, bytes) in kept {
                prop_assert_eq!(arena.read(id), &vec![value; bytes][..]);
                arena.release(id);
            }
            prop_assert!(arena.held_chunks() <= SPARE_CHUNKS + 1);
        }
    }

    #[test]
    fn memory_has_a_limit_and_comes_back() {
        let mut arena = Arena::new(8 << 20);
        let mut kept = Vec::new();
        while let Some(id) = put(&mut arena, 1, 60_000) {
            kept.push(id);
        }
        assert!(arena.held_chunks() * CHUNK_BYTES <= 9 << 20);
        assert!(kept.len() * 60_000 > 8 << 20, "{}", kept.len());
        kept.drain(..).for_each(|id| arena.release(id));
        assert!(put(&mut arena, 2, 60_000).is_some());
    }

    #[test]
    fn a_frame_is_held_as_often_as_it_was() {
        let mut arena = Arena::new(0);
        let id = put(&mut arena, 7, 100).expect("room");
        arena.hold(id);
        arena.release(id);
        let other = put(&mut arena, 8, 100).expect("room");
        assert_eq!(arena.read(id), [7; 100]);
        assert_eq!(arena.read(other), [8; 100]);
    }
}
