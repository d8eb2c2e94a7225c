"""Screens for people. They use only the MQTT messages that every subscriber receives."""
