/* open_shoe.c - reference firmware for the protocol "Open Shoe". Read open_shoe.h first.
 *
 * THEORY OF OPERATION
 *
 * Codec. open_shoe_take() finds frames in received bytes. open_shoe_frame() adds CRC, escapes and
 * marks. The table `messages` has one row for each message; open_shoe_check() uses it to check a
 * body, both a received body and each body that this firmware builds.
 *
 * Kept reports. A report is built in `out`, gets the next number, and is written to a ring of bytes
 * in the caller's memory: length u16, body, CRC. `state` has the start and the end of the ring. The
 * oldest report has the number next - kept. The first byte of the report is sent only after the
 * report, and then `state`, are stored. `state` is stored in two slots alternately, each with a CRC:
 * if power is lost during a write, the other slot is still right. The bytes of a report are not
 * used again before a `state` is stored in which that report is acknowledged.
 *
 * Window. `sent` is the number of kept reports, from the oldest, that were sent. push() sends until
 * 32 are sent or no report is left. ACK moves the window. open_shoe_poll() repeats it.
 *
 * Full memory. The first report without room sets `state.lost` to 1; from then on nothing is kept.
 * When all is acknowledged, report_loss() begins the new stream; `lost` is 2 until its first reports
 * are stored, so that a loss of power in between restarts this.
 *
 * Secure channel. With a key, each body goes through send_body(), which seals it, and each received
 * frame through keyed_frame(), which opens it. session[0] is established. session[1] was answered by
 * RESPONSE; its first frame that opens makes it session[0]. Counters never restart under the same
 * pair of nonces: each session begins with a new device nonce, and a repeated CHALLENGE changes
 * nothing.
 */
#include "open_shoe.h"

#include <string.h>

#define MARK    0x7Eu
#define END     0x7Fu
#define ESCAPE  0x7Du
#define BAD     ((size_t)-1)
#define MAGIC   0x4F534831u
#define RECORD  6u              /* bytes of the ring for one report, in addition to its body */

/* ---- numbers in bytes ---- */

static void set32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)((unsigned)at[0] << 8 | at[1]);
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static uint64_t get64(const uint8_t *at)
{
    return (uint64_t)get32(at) << 32 | get32(at + 4);
}

/* ---- frames ---- */

uint32_t open_shoe_crc(const uint8_t *bytes, size_t length)
{
    uint32_t crc = 0xFFFFFFFFu;
    while (length--) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1u ? 0xEDB88320u : 0u);
    }
    return ~crc;
}

static bool special(uint8_t byte)
{
    return byte == ESCAPE || byte == MARK || byte == END || byte == 0x11 || byte == 0x13;
}

bool open_shoe_take(open_shoe_receiver *in, uint8_t byte, uint64_t now)
{
    if (in->inside && now - in->last >= OPEN_SHOE_GIVEN_UP)
        in->inside = false;
    in->last = now;
    if (byte == MARK) {
        in->inside = true;
        in->escaped = false;
        in->length = 0;
        return false;
    }
    if (!in->inside)
        return false;
    if (byte == END) {
        in->inside = false;
        if (in->escaped || in->length < 8)
            return false;
        in->length -= 4;
        return open_shoe_crc(in->body, in->length) == get32(in->body + in->length);
    }
    if (byte == ESCAPE && !in->escaped) {
        in->escaped = true;
        return false;
    }
    if (in->escaped)
        byte ^= 0x20;
    /* An escaped byte must be one of the five; an unescaped byte must not. */
    if (special(byte) != in->escaped || in->length == OPEN_SHOE_BODY) {
        in->inside = false;
        return false;
    }
    in->escaped = false;
    in->body[in->length++] = byte;
    return false;
}

void open_shoe_frame(uint8_t *body, size_t length, open_shoe_send *send, void *user)
{
    uint8_t piece[64];
    size_t used = 1;
    piece[0] = MARK;
    set32(body + length, open_shoe_crc(body, length));
    for (size_t i = 0; i < length + 4; i++) {
        if (used > sizeof piece - 2) {
            send(user, piece, used);
            used = 0;
        }
        if (special(body[i])) {
            piece[used++] = ESCAPE;
            piece[used++] = body[i] ^ 0x20;
        } else {
            piece[used++] = body[i];
        }
    }
    if (used == sizeof piece) {
        send(user, piece, used);
        used = 0;
    }
    piece[used++] = END;
    send(user, piece, used);
}

/* ---- messages ---- */

#define SHOE     OPEN_SHOE_ROLE_SHOE
#define SHUFFLER OPEN_SHOE_ROLE_SHUFFLER
#define HOST     OPEN_SHOE_ROLE_HOST
#define BOTH     (SHOE | SHUFFLER)

/* Fields: 1 2 4 8 bytes of any value; t text; b 0 or 1; L 0 to 2; r role; R result; O order and
 * number; c card; p place and position; o odd; q quality; f fault; F list of faults; C list of
 * cards; i 52 counts; n nonce; s sealed content; * any rest. Reports have their head before these. */
static const struct message {
    uint8_t type, from, to, sender;     /* from, to: versions */
    const char *fields, *name;
} messages[] = {
    { 0x01, 1, 2, BOTH, "4r22tttt", "HELLO" }, { 0x01, 3, 3, BOTH, "4r22tttt2822", "HELLO" },
    { 0x02, 1, 2, BOTH, "42", "ALIVE" },       { 0x02, 3, 3, BOTH, "4228", "ALIVE" },
    { 0x03, 1, 3, BOTH, "OR", "DONE" },        { 0x10, 3, 3, BOTH, "nn", "RESPONSE" },
    { 0x11, 3, 3, BOTH, "", "UNKEYED" },       { 0x12, 3, 3, BOTH, "4s", "SEALED" },
    { 0x20, 1, 1, SHOE, "cp4o", "CARD" },      { 0x20, 2, 3, SHOE, "cp4oq2", "CARD" },
    { 0x21, 1, 3, SHOE, "", "CUT" },           { 0x22, 1, 3, SHOE, "t", "LOADED" },
    { 0x23, 1, 3, SHOE, "", "EMPTY" },         { 0x24, 1, 3, SHOE, "b", "LOCK" },
    { 0x30, 1, 3, BOTH, "f", "FAULT" },        { 0x31, 3, 3, BOTH, "LtF", "STATUS" },
    { 0x40, 1, 3, SHUFFLER, "t", "RECOGNISED" },
    { 0x41, 1, 2, SHUFFLER, "", "SHUFFLING" }, { 0x41, 3, 3, SHUFFLER, "t", "SHUFFLING" },
    { 0x42, 1, 2, SHUFFLER, "", "SHUFFLED" },  { 0x42, 3, 3, SHUFFLER, "t", "SHUFFLED" },
    { 0x43, 1, 2, SHUFFLER, "1", "FAILED" },   { 0x43, 3, 3, SHUFFLER, "1t", "FAILED" },
    { 0x44, 1, 3, SHUFFLER, "ti1", "INVENTORY" },
    { 0x45, 1, 3, SHUFFLER, "t", "DELIVERED" },
    { 0x46, 2, 3, SHUFFLER, "t2C", "CARDS" },
    { 0x80, 1, 3, HOST, "", "IDENTIFY" },      { 0x81, 1, 3, HOST, "42", "ACK" },
    { 0x82, 1, 3, HOST, "42", "RESEND" },      { 0x83, 1, 3, HOST, "O", "ORDER" },
    { 0x84, 3, 3, HOST, "", "INQUIRE" },       { 0x90, 3, 3, HOST, "n", "CHALLENGE" },
    { 0x92, 3, 3, HOST, "4s", "SEALED" },
};
static const struct message maker_report = { 0x50, 3, 3, BOTH, "*", "maker's report" };
static const struct message maker_notice = { 0x18, 3, 3, BOTH, "*", "maker's notice" };

static const struct message *find_message(uint8_t version, uint8_t type)
{
    if (version == 3 && type >= 0x50 && type <= 0x5F)
        return &maker_report;
    if (version == 3 && type >= 0x18 && type <= 0x1F)
        return &maker_notice;
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++)
        if (messages[i].type == type && messages[i].from <= version && version <= messages[i].to)
            return &messages[i];
    return NULL;
}

/* UTF-8 without control characters, at most 64 bytes. */
static bool printable(const uint8_t *text, size_t length)
{
    if (length > OPEN_SHOE_TEXT)
        return false;
    for (size_t i = 0; i < length;) {
        uint32_t point = text[i++];
        static const uint32_t least[4] = { 0x20, 0xA0, 0x800, 0x10000 };
        unsigned more = point < 0x80 ? 0 : point >= 0xC2 && point < 0xE0 ? 1
                      : point >= 0xE0 && point < 0xF0 ? 2 : point >= 0xF0 && point < 0xF5 ? 3 : 4;
        if (more == 4 || more > length - i)
            return false;
        if (more)
            point &= 0x3Fu >> more;
        for (unsigned k = 0; k < more; k++, i++) {
            if ((text[i] & 0xC0) != 0x80)
                return false;
            point = point << 6 | (text[i] & 0x3Fu);
        }
        if (point < least[more] || point == 0x7F || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
            return false;
    }
    return true;
}

static bool is_card(uint8_t face)
{
    return face == 0 || (face >> 4 >= 1 && face >> 4 <= 4 && (face & 15) >= 1 && (face & 15) <= 13);
}

static bool is_place(uint8_t place, uint8_t position)
{
    if (place == OPEN_SHOE_PLACE_PLAYER || place == OPEN_SHOE_PLACE_BANKER)
        return position >= 1 && position <= 3;
    if (place == OPEN_SHOE_PLACE_BURNT)
        return position >= 1;
    return place <= OPEN_SHOE_PLACE_ERROR && position == 0;
}

static bool list_of(char kind, const uint8_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (kind == 'C' && !is_card(at[i]))
            return false;
        if (kind == 'F' && at[2 * i + 1] > 1)
            return false;
    }
    return kind == 'C' ? count >= 1 : count <= 32;
}

/* The number of the `left` bytes that the field uses; BAD, if it does not fit or has a wrong value. */
static size_t field_length(char kind, const uint8_t *at, size_t left)
{
    size_t size;
    switch (kind) {
    case '2': case 'p': case 'O': size = 2; break;
    case 'f': size = 3; break;
    case '4': size = 4; break;
    case '8': size = 8; break;
    case 'n': size = 16; break;
    case 'i': size = 52; break;
    case 's': return left >= 12 ? left : BAD;
    case '*': return left;
    default: size = 1; break;
    }
    if (left < size)
        return BAD;
    switch (kind) {
    case 't': size += at[0]; return left >= size && printable(at + 1, at[0]) ? size : BAD;
    case 'C': size += at[0]; return left >= size && list_of(kind, at + 1, at[0]) ? size : BAD;
    case 'F': size += 2u * at[0]; return left >= size && list_of(kind, at + 1, at[0]) ? size : BAD;
    case 'b': return at[0] <= 1 ? size : BAD;
    case 'L': return at[0] <= 2 ? size : BAD;
    case 'r': return at[0] == 1 || at[0] == 2 ? size : BAD;
    case 'R': case 'o': return at[0] <= 3 ? size : BAD;
    case 'c': return is_card(at[0]) ? size : BAD;
    case 'p': return is_place(at[0], at[1]) ? size : BAD;
    case 'q': return at[0] <= 100 || at[0] == 255 ? size : BAD;
    case 'O': return at[0] == 3 || ((at[0] == 1 || at[0] == 2) && at[1] == 0) ? size : BAD;
    case 'f': return at[1] <= 1 && at[2] <= at[1] ? size : BAD;
    default: return size;
    }
}

static bool is_report(uint8_t type)
{
    return type >= 0x20 && type < 0x80;
}

static size_t head_length(uint8_t version)
{
    return version == 3 ? 18 : 16;
}

const char *open_shoe_check(unsigned sender, const uint8_t *body, size_t length)
{
    if (length < 4 || length > OPEN_SHOE_BODY - 4)
        return NULL;
    const struct message *message = find_message(body[0], body[1]);
    if (!message || !(message->sender & sender) || is_report(body[1]) != (get16(body + 2) != 0))
        return NULL;
    size_t at = is_report(body[1]) ? head_length(body[0]) : 4;
    if (length < at)
        return NULL;
    for (const char *kind = message->fields; *kind; kind++) {
        size_t size = field_length(*kind, body + at, length - at);
        if (size == BAD)
            return NULL;
        at += size;
    }
    return at == length ? message->name : NULL;
}

/* ---- AES-CMAC and AES-CCM ---- */

static void encrypt(open_shoe_cipher *cipher, void *user, const uint8_t key[16], uint8_t block[16])
{
    uint8_t result[16];
    cipher(user, key, block, result);
    memcpy(block, result, 16);
}

/* CMAC. The message always has 33 bytes: two whole blocks, and one of a single byte. */
void open_shoe_derive(open_shoe_cipher *cipher, void *user, const uint8_t key[16], uint8_t which,
                      const uint8_t host_nonce[16], const uint8_t device_nonce[16], uint8_t value[16])
{
    uint8_t message[48] = { 0 }, subkey[16] = { 0 };
    encrypt(cipher, user, key, subkey);
    for (int twice = 0; twice < 2; twice++) {
        uint8_t top = subkey[0] >> 7;
        for (int i = 0; i < 16; i++)
            subkey[i] = (uint8_t)(subkey[i] << 1 | (i < 15 ? subkey[i + 1] >> 7 : 0));
        subkey[15] ^= top ? 0x87 : 0;
    }
    message[0] = which;
    memcpy(message + 1, host_nonce, 16);
    memcpy(message + 17, device_nonce, 16);
    message[33] = 0x80;
    for (int i = 0; i < 16; i++)
        message[32 + i] ^= subkey[i];
    memset(value, 0, 16);
    for (int i = 0; i < 48; i++) {
        value[i % 16] ^= message[i];
        if (i % 16 == 15)
            encrypt(cipher, user, key, value);
    }
}

/* The first block of CCM: flags, nonce, and the length or the number of the block. */
static void ccm_block(uint8_t block[16], uint8_t flags, uint32_t counter, size_t last)
{
    memset(block, 0, 16);
    block[0] = flags;
    set32(block + 10, counter);
    block[14] = (uint8_t)(last >> 8);
    block[15] = (uint8_t)last;
}

static void ccm_tag(open_shoe_cipher *cipher, void *user, const uint8_t key[16], uint8_t type,
                    uint32_t counter, const uint8_t *text, size_t length, uint8_t tag[8])
{
    uint8_t mac[16], mask[16];
    ccm_block(mac, 0x59, counter, length);
    encrypt(cipher, user, key, mac);
    mac[1] ^= 4;            /* length of the additional data, and the data: 03, type, 00 00 */
    mac[2] ^= 3;
    mac[3] ^= type;
    encrypt(cipher, user, key, mac);
    for (size_t i = 0; i < length; i++) {
        mac[i % 16] ^= text[i];
        if (i % 16 == 15 || i + 1 == length)
            encrypt(cipher, user, key, mac);
    }
    ccm_block(mask, 0x01, counter, 0);
    encrypt(cipher, user, key, mask);
    for (int i = 0; i < 8; i++)
        tag[i] = mac[i] ^ mask[i];
}

static void ccm_crypt(open_shoe_cipher *cipher, void *user, const uint8_t key[16], uint32_t counter,
                      uint8_t *text, size_t length)
{
    uint8_t mask[16];
    for (size_t i = 0; i < length; i++) {
        if (i % 16 == 0) {
            ccm_block(mask, 0x01, counter, i / 16 + 1);
            encrypt(cipher, user, key, mask);
        }
        text[i] ^= mask[i % 16];
    }
}

void open_shoe_seal(open_shoe_cipher *cipher, void *user, const uint8_t key[16], uint8_t type,
                    uint32_t counter, uint8_t *text, size_t length)
{
    ccm_tag(cipher, user, key, type, counter, text, length, text + length);
    ccm_crypt(cipher, user, key, counter, text, length);
}

bool open_shoe_open(open_shoe_cipher *cipher, void *user, const uint8_t key[16], uint8_t type,
                    uint32_t counter, uint8_t *text, size_t length)
{
    uint8_t tag[8], difference = 0;
    ccm_crypt(cipher, user, key, counter, text, length);
    ccm_tag(cipher, user, key, type, counter, text, length, tag);
    for (int i = 0; i < 8; i++)         /* always all 8: the time must not show the wrong byte */
        difference |= tag[i] ^ text[length + i];
    if (difference)
        ccm_crypt(cipher, user, key, counter, text, length);
    return !difference;
}

/* ---- building a body ---- */

static void put(open_shoe *device, const void *bytes, size_t length)
{
    memcpy(device->out + 8 + device->length, bytes, length);
    device->length += length;
}

static void put_number(open_shoe *device, unsigned size, uint64_t value)
{
    while (size--)
        device->out[8 + device->length++] = (uint8_t)(value >> 8u * size);
}

static void put_text(open_shoe *device, const char *text)
{
    size_t length = 0;
    while (text && text[length] && length <= OPEN_SHOE_TEXT)    /* 65 fails in open_shoe_check() */
        length++;
    put_number(device, 1, length);
    if (length)
        put(device, text, length);
}

static void begin_body(open_shoe *device, uint8_t type, uint16_t number)
{
    device->length = 0;
    put_number(device, 1, device->state.version);
    put_number(device, 1, type);
    put_number(device, 2, number);
}

static uint64_t clock_of(const open_shoe *device, uint64_t moment)
{
    return device->clock_base + moment;
}

static void begin_report(open_shoe *device, uint8_t type, uint64_t moment)
{
    uint64_t clock = clock_of(device, moment < device->now ? moment : device->now);
    if (clock < device->state.clock)
        clock = device->state.clock;    /* it never goes back */
    begin_body(device, type, device->state.next);
    put_number(device, 4, device->state.stream);
    if (device->state.version == 3)
        put_number(device, 2, device->state.boot);
    put_number(device, 8, clock);
}

static bool valid(const open_shoe *device)
{
    return device->length <= OPEN_SHOE_INNER
        && open_shoe_check(device->config.role, device->out + 8, device->length) != NULL;
}

/* ---- memory ---- */

static uint32_t ring_size(const open_shoe *device)
{
    return (uint32_t)(device->config.memory_size - 2 * OPEN_SHOE_SLOT);
}

/* Copies to or from the ring, across its end. */
static void ring_copy(open_shoe *device, uint32_t at, uint8_t *bytes, size_t length, bool writing)
{
    while (length) {
        uint32_t from = at % ring_size(device);
        size_t part = ring_size(device) - from < length ? ring_size(device) - from : length;
        uint8_t *memory = device->config.memory + 2 * OPEN_SHOE_SLOT + from;
        if (writing) {
            memcpy(memory, bytes, part);
            if (device->config.store)
                device->config.store(device->config.user, 2 * OPEN_SHOE_SLOT + from, part);
        } else {
            memcpy(bytes, memory, part);
        }
        at += (uint32_t)part;
        bytes += part;
        length -= part;
    }
}

static size_t record_length(open_shoe *device, uint32_t at)
{
    uint8_t length[2];
    ring_copy(device, at, length, 2, false);
    return RECORD + get16(length);
}

static void save(open_shoe *device)
{
    if (!device->config.store)
        return;
    device->state.writes++;
    size_t offset = (device->state.writes & 1u) * OPEN_SHOE_SLOT;
    uint8_t *slot = device->config.memory + offset;
    memcpy(slot, &device->state, sizeof device->state);
    set32(slot + sizeof device->state, open_shoe_crc(slot, sizeof device->state));
    device->config.store(device->config.user, offset, OPEN_SHOE_SLOT);
}

/* The number that is `back` before `number`. */
static uint16_t number_before(uint16_t number, uint16_t back)
{
    return (uint16_t)(((uint32_t)number + 65534u - back) % 65535u + 1u);
}

static uint16_t oldest(const open_shoe *device)
{
    return number_before(device->state.next, device->state.kept);
}

/* Steps from the oldest kept report to `number`; the result is below `kept` for a kept report. */
static uint32_t steps_to(const open_shoe *device, uint16_t number)
{
    return ((uint32_t)number + 65535u - oldest(device)) % 65535u;
}

/* Are all kept reports in the ring, unchanged? */
static bool ring_is_whole(open_shoe *device)
{
    const open_shoe_saved *state = &device->state;
    uint32_t offset = 0;
    for (uint16_t i = 0; i < state->kept; i++) {
        uint32_t at = state->start + offset;
        size_t length = record_length(device, at);
        if (length < RECORD + 4 || length > RECORD + OPEN_SHOE_INNER || length > state->used - offset)
            return false;
        ring_copy(device, at + 2, device->out, length - 2, false);
        if (open_shoe_crc(device->out, length - RECORD) != get32(device->out + length - RECORD)
            || get16(device->out + 2) != number_before(state->next, state->kept - i))
            return false;
        offset += (uint32_t)length;
    }
    return offset == state->used;
}

static bool restore(open_shoe *device)
{
    bool found = false;
    for (int i = 0; i < 2; i++) {
        const uint8_t *slot = device->config.memory + i * OPEN_SHOE_SLOT;
        open_shoe_saved saved;
        memcpy(&saved, slot, sizeof saved);
        if (open_shoe_crc(slot, sizeof saved) != get32(slot + sizeof saved) || saved.magic != MAGIC
            || saved.role != device->config.role || saved.start >= ring_size(device)
            || saved.used > ring_size(device) || saved.next == 0
            || (found && saved.writes - device->state.writes > 0x7FFFFFFFu))
            continue;
        device->state = saved;
        found = true;
    }
    return found && ring_is_whole(device);
}

/* ---- sending ---- */

static bool has_session(const open_shoe *device)
{
    return !device->config.key || device->session[0].used;
}

static void say_plain(open_shoe *device, uint8_t *body, size_t length)
{
    open_shoe_frame(body, length, device->config.send, device->config.user);
    device->frame_time = device->now;
}

static void say_unkeyed(open_shoe *device)
{
    uint8_t body[8] = { 3, OPEN_SHOE_UNKEYED, 0, 0 };
    device->unkeyed_sent = true;
    device->unkeyed_time = device->now;
    say_plain(device, body, 4);
}

static void answer_unkeyed(open_shoe *device)
{
    if (!device->unkeyed_sent || device->now - device->unkeyed_time >= OPEN_SHOE_SECOND)
        say_unkeyed(device);
}

/* Sends the body at out + 8, sealed if there is a key. */
static void send_body(open_shoe *device)
{
    const open_shoe_config *config = &device->config;
    open_shoe_session *session = &device->session[0];
    if (!config->key) {
        say_plain(device, device->out + 8, device->length);
        return;
    }
    if (session->used && session->sealed == 0xFFFFFFFFu) {    /* the counters are used up */
        session->used = false;
        say_unkeyed(device);
    }
    if (!session->used)
        return;
    session->sealed++;
    open_shoe_seal(config->cipher, config->user, session->device_key, OPEN_SHOE_SEALED, session->sealed,
                   device->out + 8, device->length);
    memset(device->out, 0, 4);
    device->out[0] = 3;
    device->out[1] = OPEN_SHOE_SEALED;
    set32(device->out + 4, session->sealed);
    say_plain(device, device->out, 8 + device->length + 8);
}

static void make_hello(open_shoe *device)
{
    const open_shoe_config *config = &device->config;
    begin_body(device, OPEN_SHOE_HELLO, 0);
    put_number(device, 4, device->state.stream);
    put_number(device, 1, config->role);
    put_number(device, 2, device->state.next);
    put_number(device, 2, oldest(device));
    put_text(device, config->vendor);
    put_text(device, config->model);
    put_text(device, config->serial);
    put_text(device, config->firmware);
    if (device->state.version == 3) {
        put_number(device, 2, device->state.boot);
        put_number(device, 8, clock_of(device, device->now));
        put_number(device, 2, config->drift_ppm);
        put_number(device, 2, config->capabilities);
    }
}

static void say_hello(open_shoe *device)
{
    if (!has_session(device)) {
        say_unkeyed(device);
        return;
    }
    make_hello(device);
    send_body(device);
}

static void say_alive(open_shoe *device)
{
    if (!has_session(device)) {     /* UNKEYED may be lost: it is repeated */
        say_unkeyed(device);
        return;
    }
    begin_body(device, OPEN_SHOE_ALIVE, 0);
    put_number(device, 4, device->state.stream);
    put_number(device, 2, device->state.next);
    if (device->state.version == 3) {
        put_number(device, 2, device->state.boot);
        put_number(device, 8, clock_of(device, device->now));
    }
    send_body(device);
}

/* Sends kept reports: from the one at `first`, counted from the oldest, to before `end`. */
static void say_reports(open_shoe *device, uint32_t first, uint32_t end)
{
    uint32_t at = device->state.start;
    if (!has_session(device))
        return;
    if (end > device->state.kept)
        end = device->state.kept;
    if (first == 0)
        device->window_time = device->now;
    for (uint32_t i = 0; i < end; i++) {
        size_t length = record_length(device, at);
        if (i >= first) {
            ring_copy(device, at + 2, device->out + 8, length - 2, false);
            device->length = length - RECORD;
            send_body(device);
        }
        at += (uint32_t)length;
    }
    if (device->sent < end)
        device->sent = (uint16_t)end;
}

/* Sends the reports of the window that were not sent yet. */
static void push(open_shoe *device)
{
    if (device->sent < OPEN_SHOE_WINDOW && device->sent < device->state.kept)
        say_reports(device, device->sent, OPEN_SHOE_WINDOW);
}

/* ---- keeping ---- */

static bool nearly_full(const open_shoe *device)
{
    return device->config.room - device->state.kept <= 16
        || ring_size(device) - device->state.used <= 16 * OPEN_SHOE_TYPICAL;
}

static void lock_when_nearly_full(open_shoe *device)
{
    const open_shoe_config *config = &device->config;
    bool nearly = nearly_full(device);
    if (nearly && !device->warned) {
        device->warned = true;
        if (config->has_lock && (config->capabilities & OPEN_SHOE_CAN_LOCK) && config->order
            && !device->state.locked
            && config->order(config->user, OPEN_SHOE_ORDER_LOCK, 0) == OPEN_SHOE_RESULT_DONE)
            open_shoe_report_lock(device, device->now, true);
    }
    device->warned = nearly;
}

/* Keeps the new report, and sends it if the window has room. */
static open_shoe_outcome keep(open_shoe *device)
{
    open_shoe_saved *state = &device->state;
    uint8_t *record = device->out + 6;      /* the length is before the body at out + 8 */
    size_t length = RECORD + device->length;
    if (state->lost != 1 && (state->kept >= device->config.room || state->used + length > ring_size(device)))
        state->lost = 1;
    if (state->lost == 1) {
        save(device);
        return OPEN_SHOE_LOST;
    }
    record[0] = (uint8_t)(device->length >> 8);
    record[1] = (uint8_t)device->length;
    set32(record + 2 + device->length, open_shoe_crc(record + 2, device->length));
    ring_copy(device, state->start + state->used, record, length, true);
    state->used += (uint32_t)length;
    state->clock = get64(device->out + head_length(state->version));
    state->next = number_before(state->next, 65534);
    state->kept++;
    device->status_newest = record[3] == OPEN_SHOE_STATUS;
    save(device);
    push(device);
    lock_when_nearly_full(device);
    return OPEN_SHOE_OK;
}

static bool fault_bit(const uint8_t *bits, unsigned code)
{
    return bits[code / 8] >> code % 8 & 1;
}

static void make_fault(open_shoe *device, uint8_t code, bool raised, bool blocking)
{
    begin_report(device, OPEN_SHOE_FAULT, device->now);
    put_number(device, 1, code);
    put_number(device, 1, raised);
    put_number(device, 1, blocking);
}

static void report_status(open_shoe *device)
{
    const open_shoe_saved *state = &device->state;
    begin_report(device, OPEN_SHOE_STATUS, device->now);
    put_number(device, 1, device->config.has_lock ? state->locked : 2);
    put(device, state->set, 1u + state->set[0]);
    size_t count_at = 8 + device->length;
    put_number(device, 1, 0);
    for (int blocking = 1; blocking >= 0; blocking--)       /* if more than 32, the blocking faults first */
        for (unsigned code = 0; code < 256 && device->out[count_at] < 32; code++)
            if (fault_bit(state->standing, code) && fault_bit(state->blocking, code) == blocking) {
                device->out[count_at]++;
                put_number(device, 1, code);
                put_number(device, 1, (uint64_t)blocking);
            }
    keep(device);
}

static void begin_stream(open_shoe *device)
{
    open_shoe_saved *state = &device->state;
    uint8_t id[4];
    device->config.random(device->config.user, id, sizeof id);
    state->stream = get32(id) == state->stream ? ~state->stream : get32(id);
    state->next = 1;
    state->kept = 0;
    state->start = state->used = 0;
    state->version = device->config.version;
    if (state->lost == 1)
        state->lost = 0;
    device->sent = 0;
    device->warned = false;
    save(device);
}

/* Reports were lost, and all kept reports are acknowledged. */
static void report_loss(open_shoe *device)
{
    open_shoe_saved *state = &device->state;
    state->lost = 2;
    begin_stream(device);
    say_hello(device);
    make_fault(device, OPEN_SHOE_MEMORY_FULL, true, false);
    keep(device);
    make_fault(device, OPEN_SHOE_MEMORY_FULL, false, false);
    keep(device);
    if (state->version == 3) {
        report_status(device);
    } else {
        if (device->config.has_lock) {
            begin_report(device, OPEN_SHOE_LOCK, device->now);
            put_number(device, 1, state->locked);
            keep(device);
        }
        for (unsigned code = 0; code < 256; code++)
            if (fault_bit(state->standing, code)) {
                make_fault(device, (uint8_t)code, true, fault_bit(state->blocking, code));
                keep(device);
            }
    }
    if (state->lost == 2)
        state->lost = 0;
    save(device);
}

/* Deletes the oldest `count` reports. */
static void forget(open_shoe *device, uint32_t count)
{
    open_shoe_saved *state = &device->state;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = (uint32_t)record_length(device, state->start);
        state->start = (state->start + length) % ring_size(device);
        state->used -= length;
    }
    state->kept = (uint16_t)(state->kept - count);
    device->sent = (uint16_t)(device->sent > count ? device->sent - count : 0);
    device->window_time = device->now;
    save(device);
    device->warned = device->warned && nearly_full(device);
    if (state->lost && state->kept == 0)
        report_loss(device);
    push(device);
}

/* ---- requests of the host ---- */

static void obey(open_shoe *device, uint8_t order, uint8_t number)
{
    const open_shoe_config *config = &device->config;
    uint16_t needed = order == OPEN_SHOE_ORDER_CLEAR ? OPEN_SHOE_CAN_CLEAR : OPEN_SHOE_CAN_LOCK;
    uint8_t result = OPEN_SHOE_RESULT_UNABLE;
    if (config->order && (config->capabilities & needed)
        && (order == OPEN_SHOE_ORDER_CLEAR || config->has_lock))
        result = config->order(config->user, order, number);
    if (result != OPEN_SHOE_RESULT_LATER)
        open_shoe_done(device, device->now, order, number, result);
}

static void request(open_shoe *device, const uint8_t *body, size_t length)
{
    const open_shoe_saved *state = &device->state;
    if ((body[0] != 1 && body[0] != state->version) || !open_shoe_check(HOST, body, length))
        return;
    uint32_t stream = length >= 10 ? get32(body + 4) : 0;
    uint16_t number = length >= 10 ? get16(body + 8) : 0;
    switch (body[1]) {
    case OPEN_SHOE_IDENTIFY:
        say_hello(device);
        break;
    case OPEN_SHOE_ACK:
        if (number && stream != state->stream)
            say_hello(device);
        else if (number && steps_to(device, number) < state->kept)
            forget(device, steps_to(device, number) + 1);
        break;
    case OPEN_SHOE_RESEND:
        if (number && stream == state->stream && steps_to(device, number) < OPEN_SHOE_WINDOW
            && steps_to(device, number) < state->kept)
            say_reports(device, steps_to(device, number), steps_to(device, number) + OPEN_SHOE_WINDOW);
        else if (number)
            say_hello(device);
        break;
    case OPEN_SHOE_ORDER:
        obey(device, body[4], body[5]);
        break;
    case OPEN_SHOE_INQUIRE:
        /* A request must not cause a loss: without room, there is no answer now. */
        if (!(device->status_newest && state->kept) && !state->lost && state->kept < device->config.room
            && ring_size(device) - state->used >= RECORD + 4 + 14 + 2 + OPEN_SHOE_TEXT + 65)
            report_status(device);
        break;
    default:
        break;
    }
}

/* ---- the secure channel ---- */

static void challenge(open_shoe *device, const uint8_t *nonce)
{
    const open_shoe_config *config = &device->config;
    open_shoe_session *session = &device->session[0];
    uint8_t body[4 + 32 + 4] = { 3, OPEN_SHOE_RESPONSE, 0, 0 };
    /* Only these two nonces may be answered again. An older nonce would restore old keys. */
    if (!session->used || memcmp(session->host_nonce, nonce, 16) != 0)
        session = &device->session[1];
    if (!session->used || memcmp(session->host_nonce, nonce, 16) != 0) {
        memset(session, 0, sizeof *session);
        memcpy(session->host_nonce, nonce, 16);
        config->random(config->user, session->device_nonce, 16);
        open_shoe_derive(config->cipher, config->user, config->key, 1, nonce, session->device_nonce,
                         session->device_key);
        open_shoe_derive(config->cipher, config->user, config->key, 2, nonce, session->device_nonce,
                         session->host_key);
        session->used = true;
    }
    memcpy(body + 4, session->device_nonce, 16);
    open_shoe_derive(config->cipher, config->user, config->key, 3, nonce, session->device_nonce, body + 20);
    say_plain(device, body, 36);
}

static bool open_sealed(open_shoe *device)
{
    const open_shoe_config *config = &device->config;
    uint32_t counter = get32(device->in.body + 4);
    uint8_t *inner = device->in.body + 8;
    size_t length = device->in.length - 16;
    for (int i = 0; i < 2; i++) {
        open_shoe_session *session = &device->session[i];
        if (!session->used
            || !open_shoe_open(config->cipher, config->user, session->host_key, OPEN_SHOE_HOST_SEALED,
                               counter, inner, length))
            continue;
        if (counter <= session->opened) /* repeated or delayed: dropped without an answer */
            return true;
        session->opened = counter;
        if (i == 1) {                   /* its first frame: this session is now established */
            device->session[0] = *session;
            memset(session, 0, sizeof *session);
            say_hello(device);
            device->sent = 0;
        }
        if (inner[0] == 3 && (i == 0 || inner[1] != OPEN_SHOE_IDENTIFY))
            request(device, inner, length);
        push(device);
        return true;
    }
    return false;
}

/* A received frame, if there is a key. */
static void keyed_frame(open_shoe *device)
{
    const uint8_t *body = device->in.body;
    bool readable = body[0] == 3 && open_shoe_check(BOTH | HOST, body, device->in.length) != NULL;
    if (readable && body[1] == OPEN_SHOE_CHALLENGE)
        challenge(device, body + 4);
    else if (readable && body[1] == OPEN_SHOE_HOST_SEALED) {
        if (!open_sealed(device))
            answer_unkeyed(device);
    } else if (readable && (body[1] == OPEN_SHOE_RESPONSE || body[1] == OPEN_SHOE_UNKEYED))
        return;                         /* a message for a host */
    else if (!device->session[0].used)
        answer_unkeyed(device);
}

/* ---- calls of the application ---- */

static bool is_possible(const open_shoe_config *config)
{
    return config->memory_size >= 2 * OPEN_SHOE_SLOT + 2 * OPEN_SHOE_BODY && config->memory_size < 0x40000000
        && config->room >= 1 && config->room <= OPEN_SHOE_MOST
        && (config->role == SHOE || (config->role == SHUFFLER && !config->has_lock))
        && config->version >= 1 && config->version <= 3
        && (!config->key || (config->version == 3 && config->cipher));
}

/* Fills `state`. True: a new stream must begin. */
static bool load(open_shoe *device)
{
    const open_shoe_config *config = &device->config;
    open_shoe_saved *state = &device->state;
    uint8_t boot[2] = { 0, 0 };
    bool restored = config->store && restore(device);
    if (!restored) {
        memset(state, 0, sizeof *state);
        state->magic = MAGIC;
        state->role = config->role;
        if (!config->store)
            config->random(config->user, boot, 2);
        state->boot = get16(boot);
    }
    if (config->store)
        state->boot++;
    /* A stream keeps its version while reports of it are kept. The channel exists only in version 3. */
    bool new_stream = !restored || (state->version != config->version && (!state->kept || config->key));
    if (new_stream)
        state->version = config->version;
    if (state->version == 3)
        state->clock = 0;
    return new_stream;
}

bool open_shoe_start(open_shoe *device, const open_shoe_config *config, uint64_t now)
{
    open_shoe_saved *state = &device->state;
    if (!is_possible(config))
        return false;
    memset(device, 0, sizeof *device);
    device->config = *config;
    device->now = device->window_time = device->frame_time = now;
    bool new_stream = load(device);
    make_hello(device);
    if (!valid(device))         /* a text of the maker is too long, or not printable */
        return false;
    device->clock_base = state->clock;
    device->locked.on = state->locked;
    for (int i = 0; i < 32; i++)
        device->blocked.on = device->blocked.on || state->blocking[i];
    if (state->lost && (state->kept == 0 || state->lost == 2)) {
        report_loss(device);
        return true;
    }
    if (new_stream)
        begin_stream(device);
    else
        save(device);
    say_hello(device);
    push(device);
    return true;
}

void open_shoe_line_opened(open_shoe *device, uint64_t now)
{
    device->now = now;
    device->in.inside = false;
    memset(device->session, 0, sizeof device->session);
    say_hello(device);
}

void open_shoe_receive(open_shoe *device, uint64_t now, const uint8_t *bytes, size_t length)
{
    device->now = now;
    while (length--) {
        if (!open_shoe_take(&device->in, *bytes++, now))
            continue;
        if (device->config.key)
            keyed_frame(device);
        else
            request(device, device->in.body, device->in.length);
    }
}

void open_shoe_poll(open_shoe *device, uint64_t now)
{
    device->now = now;
    if (device->state.kept && now - device->window_time >= OPEN_SHOE_REPEAT)
        say_reports(device, 0, OPEN_SHOE_WINDOW);
    if (now - device->frame_time >= OPEN_SHOE_SILENCE)
        say_alive(device);
}

void open_shoe_done(open_shoe *device, uint64_t now, uint8_t order, uint8_t number, uint8_t result)
{
    device->now = now;
    if (result == OPEN_SHOE_RESULT_DONE && order == OPEN_SHOE_ORDER_CLEAR)
        open_shoe_report_fault(device, now, number, false, false);
    else if (result == OPEN_SHOE_RESULT_DONE)
        open_shoe_report_lock(device, now, order == OPEN_SHOE_ORDER_LOCK);
    begin_body(device, OPEN_SHOE_DONE, 0);
    put_number(device, 1, order);
    put_number(device, 1, number);
    put_number(device, 1, result);
    send_body(device);
}

/* ---- reports ---- */

static void change(open_shoe_span *span, bool on, uint64_t now)
{
    if (span->on != on && on)
        span->from = now;
    if (span->on != on && !on)
        span->until = now;
    span->on = on;
}

static bool was_on(const open_shoe_span *span, uint64_t moment)
{
    return moment >= span->from && (span->on || moment < span->until);
}

/* The last step of a report that changes no state. */
static open_shoe_outcome finish(open_shoe *device)
{
    return valid(device) ? keep(device) : OPEN_SHOE_INVALID;
}

open_shoe_outcome open_shoe_report_card(open_shoe *device, uint64_t now, const open_shoe_card *card)
{
    uint8_t place = card->place, position = card->position;
    device->now = now;
    if (was_on(&device->locked, card->edge))
        place = OPEN_SHOE_PLACE_LOCKED;
    else if (was_on(&device->blocked, card->edge))
        place = OPEN_SHOE_PLACE_ERROR;
    if (place >= OPEN_SHOE_PLACE_LOCKED)
        position = 0;
    if (card->code && card->face && !(card->odd & OPEN_SHOE_ODD_FOREIGN))
        return OPEN_SHOE_INVALID;
    begin_report(device, OPEN_SHOE_CARD, card->edge);
    put_number(device, 1, card->face);
    put_number(device, 1, place);
    put_number(device, 1, position);
    put_number(device, 4, card->passage_us);
    put_number(device, 1, card->odd);
    if (device->state.version >= 2) {
        put_number(device, 1, card->quality);
        put_number(device, 2, card->code);
    }
    return finish(device);
}

open_shoe_outcome open_shoe_report_event(open_shoe *device, uint64_t now, uint8_t type, const char *name)
{
    uint8_t *set = device->state.set;
    const struct message *message = find_message(device->state.version, type);
    device->now = now;
    if (!message || (strcmp(message->fields, "t") != 0 && message->fields[0]))
        return OPEN_SHOE_INVALID;
    begin_report(device, type, now);
    size_t at = 8 + device->length;
    if (message->fields[0])
        put_text(device, name);
    if (!valid(device) || !is_report(type))
        return OPEN_SHOE_INVALID;
    if (type == OPEN_SHOE_LOADED || type == OPEN_SHOE_RECOGNISED)
        memcpy(set, device->out + at, 1u + device->out[at]);
    if (type == OPEN_SHOE_EMPTY || type == OPEN_SHOE_DELIVERED)
        set[0] = 0;
    return keep(device);
}

open_shoe_outcome open_shoe_report_lock(open_shoe *device, uint64_t now, bool locked)
{
    device->now = now;
    if (!device->config.has_lock)
        return OPEN_SHOE_INVALID;
    if (device->state.locked == locked)
        return OPEN_SHOE_UNCHANGED;
    device->state.locked = locked;
    change(&device->locked, locked, now);
    begin_report(device, OPEN_SHOE_LOCK, now);
    put_number(device, 1, locked);
    return keep(device);
}

open_shoe_outcome open_shoe_report_fault(open_shoe *device, uint64_t now, uint8_t code, bool raised,
                                         bool blocking)
{
    open_shoe_saved *state = &device->state;
    uint8_t bit = (uint8_t)(1u << code % 8);
    bool any = false;
    device->now = now;
    if (code == OPEN_SHOE_MEMORY_FULL)
        return raised ? OPEN_SHOE_INVALID : OPEN_SHOE_UNCHANGED;
    if (fault_bit(state->standing, code) == raised)
        return OPEN_SHOE_UNCHANGED;
    state->standing[code / 8] ^= bit;
    state->blocking[code / 8] &= (uint8_t)~bit;
    if (raised && blocking)
        state->blocking[code / 8] |= bit;
    for (int i = 0; i < 32; i++)
        any = any || state->blocking[i];
    change(&device->blocked, any, now);
    make_fault(device, code, raised, raised && blocking);
    return keep(device);
}

open_shoe_outcome open_shoe_report_failed(open_shoe *device, uint64_t now, uint8_t reason, const char *name)
{
    device->now = now;
    begin_report(device, OPEN_SHOE_FAILED, now);
    put_number(device, 1, reason);
    if (device->state.version == 3)
        put_text(device, name);
    return finish(device);
}

open_shoe_outcome open_shoe_report_inventory(open_shoe *device, uint64_t now, const char *name,
                                             const uint8_t counts[52], uint8_t unread)
{
    device->now = now;
    begin_report(device, OPEN_SHOE_INVENTORY, now);
    put_text(device, name);
    put(device, counts, 52);
    put_number(device, 1, unread);
    return finish(device);
}

open_shoe_outcome open_shoe_report_cards(open_shoe *device, uint64_t now, const char *name, uint16_t first,
                                         const uint8_t *faces, uint8_t count)
{
    device->now = now;
    if (first == 0 || (uint32_t)first + count > 65536u)
        return OPEN_SHOE_INVALID;
    begin_report(device, OPEN_SHOE_CARDS, now);
    put_text(device, name);
    put_number(device, 2, first);
    put_number(device, 1, count);
    put(device, faces, count);
    return finish(device);
}

open_shoe_outcome open_shoe_vendor(open_shoe *device, uint64_t now, uint8_t type, const uint8_t *bytes,
                                   size_t length)
{
    bool report = type >= 0x50 && type <= 0x5F;
    device->now = now;
    if (device->state.version != 3 || (!report && (type < 0x18 || type > 0x1F))
        || length > OPEN_SHOE_INNER - head_length(3))
        return OPEN_SHOE_INVALID;
    if (report)
        begin_report(device, type, now);
    else
        begin_body(device, type, 0);
    if (length)
        put(device, bytes, length);
    if (report)
        return finish(device);
    send_body(device);
    return OPEN_SHOE_OK;
}
