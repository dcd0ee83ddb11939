"""Any program, unchanged, on the virtual GPU: the libraries as files, and the process that loads them."""
