"""The oracle: the engine with version 5, frozen. README says what it is for; nothing here is edited."""
