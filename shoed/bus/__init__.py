"""The way to the world: committed events become MQTT messages.

`settings` is what a person writes of the broker, `client` is our one adapter over aiomqtt.
"""
