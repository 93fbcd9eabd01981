//! Which packets are lost.

use std::sync::Arc;

use crate::schedule::chance::{Chance, Probability, Purpose};

/// A model of loss.
#[derive(Debug, Clone, PartialEq)]
pub enum Loss {
    Never,
    /// Each packet on its own.
    Independent(Probability),
    GilbertElliott(GilbertElliott),
    /// Exactly these, sorted; packets of a direction are numbered from 0.
    Listed(Arc<[u64]>),
}

/// A link that is good or bad for a while, with a loss in each (Gilbert 1960, Elliott 1963).
///
/// It starts good. The state changes once a packet, before its loss is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    pub to_bad: Probability,
    pub to_good: Probability,
    pub loss_in_good: Probability,
    pub loss_in_bad: Probability,
}

/// The model with its memory.
#[derive(Debug)]
pub struct Losses {
    model: Loss,
    bad: bool,
    /// Where in the list the next number is looked for.
    listed: usize,
}

impl Losses {
    pub fn new(model: Loss, number: u64) -> Self {
        let listed = match &model {
            Loss::Listed(numbers) => numbers.partition_point(|one| *one < number),
            _ => 0,
        };
        Self {
            model,
            bad: false,
            listed,
        }
    }

    /// Whether the packet is lost; called once for each number, in order.
    pub fn next(&mut self, chance: &Chance, number: u64) -> bool {
        match &self.model {
            Loss::Never => false,
            Loss::Independent(probability) => chance.happens(Purpose::Loss, number, *probability),
            Loss::GilbertElliott(model) => {
                let change = if self.bad {
                    model.to_good
                } else {
                    model.to_bad
                };
                self.bad ^= chance.happens(Purpose::LossState, number, change);
                let loss = if self.bad {
                    model.loss_in_bad
                } else {
                    model.loss_in_good
                };
                chance.happens(Purpose::Loss, number, loss)
            }
            Loss::Listed(numbers) => {
                let hit = numbers.get(self.listed) == Some(&number);
                self.listed += usize::from(hit);
                hit
            }
        }
    }

    /// Whether the copy of a packet is lost: its own draw in the state that the original met.
    pub fn copy(&self, chance: &Chance, number: u64) -> bool {
        let loss = match &self.model {
            Loss::Never | Loss::Listed(_) => Probability::NEVER,
            Loss::Independent(probability) => *probability,
            Loss::GilbertElliott(model) if self.bad => model.loss_in_bad,
            Loss::GilbertElliott(model) => model.loss_in_good,
        };
        chance.happens(Purpose::CopyLoss, number, loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(value: f64) -> Probability {
        Probability::new(value).expect("a probability")
    }

    fn lost(model: Loss, packets: u64) -> Vec<u64> {
        let (chance, mut losses) = (Chance::new(5, 0), Losses::new(model, 0));
        (0..packets)
            .filter(|number| losses.next(&chance, *number))
            .collect()
    }

    #[test]
    fn listed_packets_and_no_others() {
        let list = [0, 3, 4, 900].as_slice().into();
        assert_eq!(lost(Loss::Listed(list), 1000), [0, 3, 4, 900]);
    }

    #[test]
    fn a_list_that_comes_late_goes_on_where_the_packets_are() {
        let mut losses = Losses::new(Loss::Listed([1, 7, 9].as_slice().into()), 5);
        let chance = Chance::new(0, 0);
        let lost: Vec<u64> = (5..20).filter(|n| losses.next(&chance, *n)).collect();
        assert_eq!(lost, [7, 9]);
    }

    #[test]
    fn gilbert_elliott_has_the_share_and_the_bursts_of_its_parameters() {
        // bad for 1/to_good = 4 packets, a share of to_bad/(to_bad + to_good) = 1/26 of the time
        let model = GilbertElliott {
            to_bad: probability(0.01),
            to_good: probability(0.25),
            loss_in_good: Probability::NEVER,
            loss_in_bad: probability(1.0),
        };
        let lost = lost(Loss::GilbertElliott(model), 1_000_000);
        let share = lost.len() as f64 / 1e6;
        // the variance of the share of a two-state chain is that of independent draws x
        // (1 + r)/(1 - r) with r = 1 - 0.26: sigma 0.0005
        assert!((share - 1.0 / 26.0).abs() < 0.0025, "{share}");
        let bursts = 1 + lost
            .windows(2)
            .filter(|pair| pair[1] != pair[0] + 1)
            .count();
        let length = lost.len() as f64 / bursts as f64;
        // geometric, mean 4, sigma 3.5, some 9600 bursts: sigma of the mean 0.035
        assert!((length - 4.0).abs() < 0.18, "{length}");
    }
}
