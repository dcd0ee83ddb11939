"""A virtual libroctx64: the ranges by which programs name what they do."""
