"""Runs a network that `export(..., file_format="PACKAGE")` has written. It needs PyTorch alone.

    python run.py net.pt2 answer.npy x.npy
"""

import sys

import numpy as np
import torch

package, answer, *inputs = sys.argv[1:]
network = torch._inductor.aoti_load_package(package)  # machine code: run none that you don't trust
with torch.no_grad():
    found = network(*[torch.from_numpy(np.load(path)) for path in inputs])
np.save(answer, (found[0] if isinstance(found, (tuple, list)) else found).numpy())
