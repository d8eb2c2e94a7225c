"""Ed25519 by the package `cryptography`: imported after READY, or with the first head."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def private_key(private: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(private)


def is_signed(public: bytes, signature: bytes, text: bytes) -> bool:
    """Whether the private key of `public` signed the text."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):  # ValueError: not a public key
        return False
    return True
