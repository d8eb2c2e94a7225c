#ifndef PLAYER_AES_H
#define PLAYER_AES_H
#include <stdint.h>
void player_aes(void *user, const uint8_t key[16], const uint8_t in[16], uint8_t out[16]);
#endif
