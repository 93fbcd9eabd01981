//! Requests and responses, one after another.

use super::shared::Target;
use clap::Args;
use serde_json::{Value, json};

#[derive(Args)]
pub struct Transactions {
    #[command(flatten)]
    pub target: Target,
    /// Bytes.
    #[arg(long, default_value_t = 1)]
    request_size: u32,
    /// Bytes.
    #[arg(long, default_value_t = 1)]
    response_size: u32,
}

impl Transactions {
    pub fn request(&self, what: &str) -> Value {
        json!({
            "do": what, "connect": self.target.address, "port": self.target.port,
            "duration_s": self.target.duration, "request_size": self.request_size,
            "response_size": self.response_size,
        })
    }
}
