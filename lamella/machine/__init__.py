"""What this machine does best: measurements, the cache on disk, products of matrices, memory."""
