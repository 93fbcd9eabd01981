"""The proof: that a trial's traffic went through the tunnel, encrypted. No proof, no number."""
