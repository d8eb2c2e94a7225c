"""The rule books, and the verdicts of a round by them. The room depends on cards, bets and irregularities alone."""
