"""Ed25519 by the package `cryptography`: imported after READY, or with the first head."""

from collections.abc import Callable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def loaded(private: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
    """The public key, and the function that signs."""
    key = Ed25519PrivateKey.from_private_bytes(private)
    return key.public_key().public_bytes_raw(), key.sign


def is_signed(public: bytes, signature: bytes, text: bytes) -> bool:
    """Whether the private key of `public` signed the text."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):  # ValueError: not a public key
        return False
    return True
