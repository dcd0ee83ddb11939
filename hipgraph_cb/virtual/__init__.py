"""A virtual AMD GPU below the C ABI: it executes the machine code of the code objects it is given."""
