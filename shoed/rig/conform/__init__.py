"""`shoed conform`: a test of an Open Shoe device, clause by clause of its page."""
