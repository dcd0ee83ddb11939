"""Memory and streams of other libraries: the array interfaces and DLPack, as those who produce them define them."""
