"""What a fitted method has learned, and back; and that as a file which runs nothing when it is read."""
