/* player_aes.c - a small, simple AES-128, one block, encryption only. For the bench: it is slow, and
 * its time depends on the key. A device has AES hardware, or a better library. */
#include "player_aes.h"

#include <string.h>

static uint8_t sbox[256];

static uint8_t twice(uint8_t x)
{
    return (uint8_t)(x << 1 ^ (x & 0x80 ? 0x1B : 0));
}

static uint8_t times(uint8_t a, uint8_t b)
{
    uint8_t product = 0;
    for (; b; b >>= 1, a = twice(a))
        if (b & 1)
            product ^= a;
    return product;
}

static uint8_t rotate(uint8_t x, int by)
{
    return (uint8_t)(x << by | x >> (8 - by));
}

static void make_sbox(void)
{
    for (int x = 0; x < 256; x++) {
        uint8_t inverse = 0;
        for (int y = 1; y < 256 && x; y++)
            if (times((uint8_t)x, (uint8_t)y) == 1)
                inverse = (uint8_t)y;
        sbox[x] = inverse ^ rotate(inverse, 1) ^ rotate(inverse, 2) ^ rotate(inverse, 3)
                ^ rotate(inverse, 4) ^ 0x63;
    }
}

static void next_round_key(uint8_t key[16], uint8_t *constant)
{
    for (int i = 0; i < 4; i++)
        key[i] ^= sbox[key[12 + (i + 1) % 4]];
    key[0] ^= *constant;
    *constant = twice(*constant);
    for (int i = 4; i < 16; i++)
        key[i] ^= key[i - 4];
}

void player_aes(void *user, const uint8_t key[16], const uint8_t in[16], uint8_t out[16])
{
    uint8_t state[16], moved[16], round_key[16], constant = 1;
    (void)user;
    if (!sbox[0])
        make_sbox();
    memcpy(round_key, key, 16);
    for (int i = 0; i < 16; i++)
        state[i] = in[i] ^ key[i];
    for (int round = 1; round <= 10; round++) {
        for (int i = 0; i < 16; i++)            /* SubBytes and ShiftRows */
            moved[i] = sbox[state[(i + 4 * (i % 4)) % 16]];
        next_round_key(round_key, &constant);
        for (int i = 0; i < 16; i++) {          /* MixColumns, not in the last round */
            const uint8_t *column = moved + i / 4 * 4;
            state[i] = round == 10 ? moved[i]
                     : twice(column[i % 4]) ^ twice(column[(i + 1) % 4]) ^ column[(i + 1) % 4]
                       ^ column[(i + 2) % 4] ^ column[(i + 3) % 4];
            state[i] ^= round_key[i];
        }
    }
    memcpy(out, state, 16);
}
