"""A grid -> records: plan, keys, store, and the processes or clusters that carry cells out."""
