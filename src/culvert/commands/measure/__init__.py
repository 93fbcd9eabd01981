"""Commands that measure, and what they leave."""
