"""Sources of rows, a file a format. Imported when first named."""
