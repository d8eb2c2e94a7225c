"""Where bytes come from and go back to: serial lines, USB devices, device servers, recorded captures.

A port is an address made into a link. A link gives chunks, bytes with the moment they could be
read, until it is lost; losing it is a state, and `keep_open` opens it again for ever. Nothing in
here knows what the bytes mean, and nothing in here blocks the loop.
"""
