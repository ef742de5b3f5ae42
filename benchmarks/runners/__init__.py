"""How each framework makes a `Step` of a workload."""
