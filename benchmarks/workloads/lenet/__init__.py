"""LeNet-5 (LeCun et al., 1998), with ReLU and max pooling as it is usually written today."""
