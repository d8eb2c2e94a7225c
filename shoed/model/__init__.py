"""The shared vocabulary of all rooms: cards, moments, observations, findings, events, commands and the Step."""
