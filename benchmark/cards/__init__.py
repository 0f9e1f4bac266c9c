"""What a registered class says of itself: its card, and what to cite."""
