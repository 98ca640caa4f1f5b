"""The judges: upstream's own programs, one pinned Go module each. No user of Headwater needs them."""
