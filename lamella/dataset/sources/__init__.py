"""Sources of rows, one file for each format or kind of data; imported on first use."""
