"""The daemon: desks, supervision, the watchdog, and the local command socket."""
