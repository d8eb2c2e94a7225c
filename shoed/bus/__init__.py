"""Publishing: committed events become MQTT messages.

`settings` has the settings of the broker; `client` is the only adapter over aiomqtt.
"""
