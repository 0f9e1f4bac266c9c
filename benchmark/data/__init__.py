"""What is on disk -> splits and features: lists, drawn splits, audits, images, weights, feature cache, miniatures."""
