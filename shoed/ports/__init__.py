"""Input and output of bytes: serial lines, USB devices, device servers and recorded captures.

`open_link` opens a device address as a link. A link returns chunks until the line is lost. A chunk holds bytes and
the time at which they were read. A lost line is a normal state: `keep_open` opens the address again until it is
cancelled. This room does not interpret the bytes, and does not block the event loop.
"""
