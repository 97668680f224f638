"""Training a drafter from the target's own output: prompts → corpus → training."""
