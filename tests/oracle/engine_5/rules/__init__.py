"""What the rule books say. Never sees a device, the time or the journal."""
