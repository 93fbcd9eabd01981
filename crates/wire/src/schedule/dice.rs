//! The random decisions about a packet on arrival, which depend on its number and the seed only.

use crate::schedule::chance::{Chance, Probability, Purpose};
use crate::schedule::conditions::Conditions;
use crate::schedule::loss::Losses;

/// The random decisions about a packet, independent of the queue.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    pub lost: bool,
    pub delay_ns: u64,
    /// It skips its delay.
    pub overtakes: bool,
    /// A draw for the bit that is flipped.
    pub corrupt: Option<u64>,
}

#[derive(Debug)]
pub struct Dice {
    chance: Chance,
    losses: Losses,
}

impl Dice {
    pub fn new(chance: Chance, conditions: &Conditions) -> Self {
        let losses = Losses::new(conditions.loss.clone(), 0);
        Self { chance, losses }
    }

    /// Take new conditions from packet `number` on; a model of loss that stays keeps its state.
    pub fn change(&mut self, old: &Conditions, new: &Conditions, number: u64) {
        if old.loss != new.loss {
            self.losses = Losses::new(new.loss.clone(), number);
        }
    }

    /// Called once for each number, in order; `slot` selects the draw of the jitter.
    pub fn verdict(&mut self, conditions: &Conditions, number: u64, slot: u64) -> Verdict {
        let lost = self.losses.next(&self.chance, number);
        let purposes = [
            Purpose::Jitter,
            Purpose::Reorder,
            Purpose::Corrupt,
            Purpose::CorruptBit,
        ];
        self.draw(conditions, number, slot, lost, purposes)
    }

    pub fn duplicates(&self, conditions: &Conditions, number: u64) -> bool {
        self.chance
            .happens(Purpose::Duplicate, number, conditions.duplicate)
    }

    /// The fate of the copy, with draws of its own.
    pub fn verdict_of_copy(&self, conditions: &Conditions, number: u64, slot: u64) -> Verdict {
        let lost = self.losses.copy(&self.chance, number);
        let purposes = [
            Purpose::CopyJitter,
            Purpose::CopyReorder,
            Purpose::CopyCorrupt,
            Purpose::CopyCorruptBit,
        ];
        self.draw(conditions, number, slot, lost, purposes)
    }

    fn draw(
        &self,
        conditions: &Conditions,
        number: u64,
        slot: u64,
        lost: bool,
        [jitter, reorder, corrupt, bit]: [Purpose; 4],
    ) -> Verdict {
        let happens = |purpose: Purpose, probability: Probability| {
            self.chance.happens(purpose, number, probability)
        };
        let delay_ns = conditions
            .jitter
            .as_ref()
            .map_or(conditions.delay_ns, |model| {
                model.apply(&self.chance, jitter, slot, conditions.delay_ns)
            });
        Verdict {
            lost,
            delay_ns,
            overtakes: happens(reorder, conditions.reorder),
            corrupt: happens(corrupt, conditions.corrupt).then(|| self.chance.draw(bit, number)),
        }
    }
}
