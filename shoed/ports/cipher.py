"""AES-CMAC and AES-CCM, by the package `cryptography`: imported only if a device has a key."""

import secrets
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESCCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.cmac import CMAC

TAG_BYTES: Final = 8

draw: Final = secrets.token_bytes


class Aes:
    """The cipher of the secure channel."""

    def cmac(self, key: bytes, data: bytes) -> bytes:
        mac = CMAC(AES(key))
        mac.update(data)
        return mac.finalize()

    def seal(self, key: bytes, nonce: bytes, plain: bytes, additional: bytes) -> bytes:
        return AESCCM(key, TAG_BYTES).encrypt(nonce, plain, additional)

    def open(self, key: bytes, nonce: bytes, content: bytes, additional: bytes) -> bytes | None:
        try:
            return AESCCM(key, TAG_BYTES).decrypt(nonce, content, additional)
        except InvalidTag:
            return None
