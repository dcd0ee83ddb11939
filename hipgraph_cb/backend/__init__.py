"""What the backends share below the public types: launches with tickets, memory that outlives its owner, and so on."""
