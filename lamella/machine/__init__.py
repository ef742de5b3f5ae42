"""What depends on this machine: measurements, the cache on disk, matrix products, memory."""
