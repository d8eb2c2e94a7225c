"""Pages for people, from what everybody can hear on the broker and from nothing else."""
