//! The fuzzed entry points, in every run of the tests: the corpus, changes to it, and any bytes.

use culvert_probe::agent::request::parse;
use culvert_probe::entry_points;
use culvert_probe::protocol::requests::numbered;
use proptest::prelude::*;
use std::path::Path;

type EntryPoint = fn(&[u8]);

const ENTRY_POINTS: [(&str, EntryPoint); 4] = [
    ("request", entry_points::request),
    ("packet", entry_points::packet),
    ("captured", entry_points::captured),
    ("icmp", entry_points::icmp),
];

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    let files = std::fs::read_dir(folder).unwrap();
    files
        .map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .collect()
}

#[test]
fn the_corpus_is_read() {
    for (name, entry_point) in ENTRY_POINTS {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "{name}");
        corpus.iter().for_each(|bytes| entry_point(bytes));
    }
}

#[test]
fn requests_of_the_corpus_are_requests() {
    let lines = corpus("request");
    let read = lines
        .iter()
        .filter_map(|line| numbered(line).ok())
        .filter(|(_, fields)| parse(fields.clone()).is_ok());
    // A fuzzer may add others.
    assert!(read.count() >= 15);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>) {
        for (_, entry_point) in ENTRY_POINTS {
            entry_point(&bytes);
        }
    }

    #[test]
    fn changes_to_the_corpus_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut: prop::sample::Index,
        chosen: prop::sample::Index,
    ) {
        for (name, entry_point) in ENTRY_POINTS {
            let corpus = corpus(name);
            let mut bytes = chosen.get(&corpus).clone();
            for (place, byte) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            entry_point(&bytes);
            entry_point(&bytes[..cut.index(bytes.len())]);
        }
    }
}
