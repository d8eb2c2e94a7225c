"""What stands in for the world: virtual devices that speak the real protocols, and a broker of our own."""
