"""Virtual devices that speak the real protocols, and a local MQTT broker."""
