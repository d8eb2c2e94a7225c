/* fuzz.c - feeds the firmware random and changed frames, random time, reports, losses of power.
 * Usage: fuzz [--rounds N] [--seed N]. Exit status 1 at the first violation.
 *
 * After each step, a model of the kept reports is compared with the device:
 *   - the kept reports are one unbroken numbering, never 0, and each stays identical byte for byte;
 *   - a report is deleted only by an ACK that this program really sent (or by a memory that does not
 *     survive a loss of power, which then begins a new stream);
 *   - the device sends only whole readable frames; it sends a report only in the window (or within
 *     32 from a RESEND), and only after the report is in the memory that survives;
 *   - with a key: only sealed frames, no counter twice under one key, no effect of a plain frame or
 *     of a repeated sealed frame;
 *   - after a loss by a full memory the new stream begins with FAULT 8 raised and cleared. */
#include "open_shoe.h"
#include "player_aes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1300

static uint64_t random_state, now_us, step;
static open_shoe device;
static open_shoe_config config;
static uint8_t memory[OPEN_SHOE_MEMORY(MOST, 512)], survives[sizeof memory], key[16];
static bool powered, resending, lost_before;
static int cut_in;                      /* the power fails at this call of store; 0: at none */
static unsigned orders, seen_frames;

static struct { uint16_t number; uint32_t crc; uint32_t length; } kept[MOST];
static unsigned kept_count;
static uint16_t next_number;
static uint32_t stream;

static struct { uint8_t nonce[16], device_key[16], host_key[16]; uint32_t counter; bool ready; } host;
static struct { uint8_t key[16]; uint32_t counter; } used_keys[256];
static unsigned used_count;
static open_shoe_receiver out;
static uint8_t wire[1100], old[16][1100];
static size_t wire_length, old_length[16];

static uint32_t dice(uint32_t below)
{
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ z >> 31) >> 16) % below;
}

static void require(bool right, const char *what)
{
    if (right)
        return;
    printf("fuzz: step %llu: %s (role %u, version %u, key %d, room %u, kept %u)\n", (unsigned long long)step,
           what, config.role, config.version, config.key != NULL, config.room, device.state.kept);
    exit(1);
}

/* ---- callbacks ---- */

static void noise(void *user, uint8_t *bytes, size_t length)
{
    (void)user;
    while (length--)
        *bytes++ = (uint8_t)dice(256);
}

static uint8_t do_order(void *user, uint8_t order, uint8_t number)
{
    (void)user; (void)order; (void)number;
    orders++;
    return dice(8) ? OPEN_SHOE_RESULT_DONE : (uint8_t)dice(4);
}

static void store(void *user, size_t offset, size_t length)
{
    (void)user;
    require(offset + length <= config.memory_size, "store outside the memory");
    if (powered && cut_in && --cut_in == 0) {       /* only a part is written */
        powered = false;
        memcpy(survives + offset, memory + offset, dice((uint32_t)length + 1));
    }
    if (powered)
        memcpy(survives + offset, memory + offset, length);
}

static uint16_t stored_next(uint32_t *its_stream)
{
    open_shoe_saved best = { 0 }, one;
    for (int i = 0; i < 2; i++) {
        memcpy(&one, survives + i * OPEN_SHOE_SLOT, sizeof one);
        if (one.writes > best.writes)
            best = one;
    }
    *its_stream = best.stream;
    return best.next;
}

static uint32_t steps(uint16_t from, uint16_t to)
{
    return (to + 65535u - from) % 65535u;
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void check_sent_body(const uint8_t *body, size_t length)
{
    uint16_t number = (uint16_t)(body[2] << 8 | body[3]);
    require(open_shoe_check(config.role, body, length) != NULL, "the device sent an unreadable body");
    require(body[0] == device.state.version, "the device sent another version");
    if (body[1] < 0x20)
        return;
    uint16_t first = (uint16_t)((device.state.next + 65534u - device.state.kept) % 65535u + 1);
    require(get32(body + 4) == device.state.stream, "report of another stream");
    require(steps(first, number) < device.state.kept, "the device sent a report that is not kept");
    require(steps(first, number) < (resending ? 64u : 32u), "the device sent a report outside the window");
    if (config.store) {
        uint32_t its_stream;
        uint16_t stored = stored_next(&its_stream);
        require(its_stream == device.state.stream && steps(number, stored) - 1 < 16384, "sent before it was stored");
    }
    for (unsigned i = 0; i < kept_count && get32(body + 4) == stream; i++)
        if (kept[i].number == number)
            require(kept[i].crc == open_shoe_crc(body, length), "a repeated report differs");
}

static void check_sent_sealed(void)
{
    uint8_t inner[OPEN_SHOE_BODY];
    uint32_t counter = get32(out.body + 4);
    const uint8_t *device_key = device.session[0].device_key;
    unsigned i = 0;
    while (i < used_count && memcmp(used_keys[i].key, device_key, 16) != 0)
        i++;
    if (i == used_count) {
        i = used_count < 256 ? used_count++ : dice(256);
        memcpy(used_keys[i].key, device_key, 16);
        used_keys[i].counter = 0;
    }
    require(counter > used_keys[i].counter, "a counter was used twice");
    used_keys[i].counter = counter;
    memcpy(inner, out.body + 8, out.length - 8);
    require(open_shoe_open(player_aes, NULL, device_key, 0x12, counter, inner, out.length - 16),
            "sealed frame cannot be opened");
    check_sent_body(inner, out.length - 16);
}

static void check_sent(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    require(length >= 1 && length <= 64, "size of a piece");
    for (size_t i = 0; i < length && powered; i++) {
        require(out.inside || bytes[i] == 0x7E, "bytes outside a frame");
        require(!out.inside || bytes[i] != 0x7E, "the device sent a torn frame");
        bool whole = open_shoe_take(&out, bytes[i], 0);
        require(whole == (bytes[i] == 0x7F), "the device sent a frame of a wrong form");
        if (!whole)
            continue;
        seen_frames++;
        require(open_shoe_check(config.role, out.body, out.length) != NULL, "the device sent an unreadable frame");
        if (!config.key) {
            check_sent_body(out.body, out.length);
        } else if (out.body[1] == OPEN_SHOE_SEALED) {
            check_sent_sealed();
        } else {
            require(out.body[1] == OPEN_SHOE_UNKEYED || out.body[1] == OPEN_SHOE_RESPONSE, "plain frame");
            uint8_t proof[16];
            open_shoe_derive(player_aes, NULL, key, 3, host.nonce, out.body + 4, proof);
            if (out.body[1] == OPEN_SHOE_RESPONSE && !host.ready && memcmp(proof, out.body + 20, 16) == 0) {
                open_shoe_derive(player_aes, NULL, key, 1, host.nonce, out.body + 4, host.device_key);
                open_shoe_derive(player_aes, NULL, key, 2, host.nonce, out.body + 4, host.host_key);
                host.counter = 0;
                host.ready = true;
            }
        }
    }
}

/* ---- the model ---- */

static void ring_bytes(uint32_t at, uint8_t *bytes, size_t length)
{
    uint32_t size = (uint32_t)(config.memory_size - 2 * OPEN_SHOE_SLOT);
    for (size_t i = 0; i < length; i++)
        bytes[i] = memory[2 * OPEN_SHOE_SLOT + (at + i) % size];
}

/* Adds the reports from `from` on, counted from the oldest, to the model; compares the earlier ones. */
static void walk(unsigned from)
{
    uint8_t record[OPEN_SHOE_BODY + 8];
    uint32_t at = device.state.start;
    uint16_t number = (uint16_t)((device.state.next + 65534u - device.state.kept) % 65535u + 1);
    kept_count = device.state.kept;
    for (unsigned i = 0; i < kept_count; i++) {
        uint32_t length = kept[i].length;
        if (i >= from || step % 16 == 0) {
            ring_bytes(at, record, 2);
            length = (uint32_t)(record[0] << 8 | record[1]) + 6;
            ring_bytes(at, record, length);
            uint32_t crc = open_shoe_crc(record + 2, length - 6);
            require(number && number == (record[4] << 8 | record[5]), "numbers are not unbroken");
            require(crc == get32(record + length - 4), "a kept report is damaged");
            require(i >= from || (kept[i].crc == crc && kept[i].number == number), "a kept report changed");
            kept[i].crc = crc;
            kept[i].number = number;
            kept[i].length = length;
        }
        at += length;
        number = (uint16_t)(number % 65535u + 1);
    }
    next_number = device.state.next;
    stream = device.state.stream;
}

static void begin_model(void)
{
    kept_count = 0;
    walk(0);
}

static void check_loss_reported(void)
{
    uint8_t record[64];
    for (int i = 0; i < 2; i++) {
        ring_bytes(device.state.start + (i ? kept[0].length : 0), record, kept[i].length);
        uint8_t *fields = record + 2 + (config.version == 3 ? 18 : 16);
        require(record[3] == OPEN_SHOE_FAULT && fields[0] == 8 && fields[1] == !i, "the loss is not reported");
    }
}

/* Compares after a step in which `gone` reports might, or (if `sure`) must have been acknowledged. */
static void compare(unsigned gone, bool sure, bool was_lost)
{
    require(out.inside == false, "the device sent half a frame");
    require(device.state.next != 0, "number 0");
    require(device.sent <= device.state.kept, "more sent than kept");
    require((config.key && !device.session[0].used) || device.sent >= OPEN_SHOE_WINDOW
            || device.sent == device.state.kept, "a report in the window was not sent");
    if (device.state.stream != stream) {
        require(was_lost && gone == kept_count, "new stream without a loss");
        require(!sure || device.state.kept >= 2, "empty new stream");
        begin_model();
        if (config.version == device.state.version)
            check_loss_reported();
        return;
    }
    unsigned made = steps(next_number, device.state.next);
    unsigned left = kept_count + made - device.state.kept;
    if (left != gone && (sure || left != 0)) {
        printf("%u left, %u expected, %s, %u made; the bytes:", left, gone, sure ? "sure" : "perhaps", made);
        for (size_t i = 0; i < wire_length; i++)
            printf(" %02X", wire[i]);
        printf("\n");
        require(false, "reports were deleted, or kept, without reason");
    }
    memmove(kept, kept + left, (kept_count - left) * sizeof kept[0]);
    if (made || left || step % 64 == 0)
        walk(kept_count - left);
}

/* The number of reports that the device deletes because of this body, by the rules of the page. */
static unsigned acknowledged(const uint8_t *body, size_t length)
{
    uint16_t number = (uint16_t)(body[8] << 8 | body[9]);
    if (length != 10 || (body[0] != 1 && body[0] != device.state.version) || body[1] != OPEN_SHOE_ACK
        || body[2] || body[3] || get32(body + 4) != stream || !number || !kept_count
        || steps(kept[0].number, number) >= kept_count)
        return 0;
    return steps(kept[0].number, number) + 1;
}

/* ---- steps ---- */

static void to_wire(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    memcpy(wire + wire_length, bytes, length);
    wire_length += length;
}

static size_t make_request(uint8_t body[OPEN_SHOE_BODY])
{
    static const uint8_t types[8] = { 0x80, 0x81, 0x81, 0x81, 0x82, 0x83, 0x84, 0x81 };
    uint16_t number = (uint16_t)(device.state.next + 65535u - dice(device.state.kept + 2u));
    uint8_t fields[6] = { (uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8),
                          (uint8_t)stream, (uint8_t)(number >> 8), (uint8_t)number };
    uint8_t type = types[dice(8)];
    body[0] = (uint8_t)(config.key ? 3 : dice(3) ? device.state.version : 1 + dice(4));
    body[1] = type;
    body[2] = body[3] = 0;
    if (type == OPEN_SHOE_ORDER) {
        fields[0] = (uint8_t)(1 + dice(3));
        fields[1] = (uint8_t)(fields[0] == 3 ? dice(12) : 0);
    }
    noise(NULL, body + 4, 40);
    size_t length = type == 0x83 ? 6 : type == 0x81 || type == 0x82 ? 10 : 4;
    memcpy(body + 4, fields, length - 4);
    if (dice(6) == 0)
        body[dice((uint32_t)length)] ^= (uint8_t)(1u << dice(8));
    if (dice(40) == 0)
        length = dice(480) + 4 > length ? length + dice(30) : length;
    return length;
}

static void change_wire(void)
{
    size_t at = dice((uint32_t)wire_length);
    switch (dice(4)) {
    case 0: wire[at] = (uint8_t)dice(256); break;
    case 1: wire[at] ^= (uint8_t)(1u << dice(8)); break;
    case 2: memmove(wire + at, wire + at + 1, --wire_length - at); break;
    default: memmove(wire + at + 1, wire + at, wire_length++ - at);
             wire[at] = dice(2) ? (uint8_t)(0x7D + dice(3)) : (uint8_t)dice(256);
    }
}

/* True: no long gap was inside the frame. */
static bool deliver(unsigned gone, bool sure)
{
    bool taken = true;
    bool was_lost = device.state.lost == 1;
    size_t first = dice(4) ? wire_length : dice((uint32_t)wire_length + 1);
    if (device.in.inside && wire[0] == 0x7F)
        wire[0] = 0x7E;         /* a frame that lost only its 7F must not be completed by chance */
    open_shoe_receive(&device, now_us, wire, first);
    if (first < wire_length) {
        uint64_t gap = dice(600000);
        now_us += gap;
        open_shoe_receive(&device, now_us, wire + first, wire_length - first);
        if (gap >= 500000 && first > 0) {
            gone = sure ? 0 : gone;
            taken = false;
        }
    }
    if (powered)
        compare(gone, sure, was_lost);
    return taken;
}

static void host_frame(void)
{
    uint8_t body[OPEN_SHOE_BODY + 8], *inner = body + (config.key ? 8 : 0);
    bool sealed = config.key && host.ready && dice(10), changed = dice(3) == 0, effective = !config.key;
    size_t length = make_request(inner);
    unsigned before = orders, gone = config.key && inner[0] != 3 ? 0 : acknowledged(inner, length);
    uint16_t next = device.state.next;
    resending = inner[1] == OPEN_SHOE_RESEND;
    if (sealed) {
        for (int i = 0; i < 2; i++)
            effective = effective || (device.session[i].used && host.counter + 1 > device.session[i].opened
                                      && memcmp(device.session[i].host_key, host.host_key, 16) == 0);
        memcpy(body, "\x03\x92\0\0", 4);
        host.counter++;
        body[4] = (uint8_t)(host.counter >> 24); body[5] = (uint8_t)(host.counter >> 16);
        body[6] = (uint8_t)(host.counter >> 8); body[7] = (uint8_t)host.counter;
        open_shoe_seal(player_aes, NULL, host.host_key, 0x92, host.counter, body + 8, length);
        length += 16;
        inner = body;
    }
    wire_length = 0;
    open_shoe_frame(inner, length, to_wire, NULL);
    if (!effective)
        gone = 0;
    if (changed)
        change_wire();
    if (deliver(gone, !changed) && sealed && !changed) {    /* it was opened, or never can be */
        unsigned slot = dice(16);
        memcpy(old[slot], wire, wire_length);
        old_length[slot] = wire_length;
    }
    if (config.key && !effective && powered)
        require(orders == before && next == device.state.next, "a frame that is not sealed had an effect");
    resending = false;
}

static void again(void)
{
    unsigned slot = dice(16), before = orders;
    uint16_t next = device.state.next;
    if (!config.key || !old_length[slot])
        return;
    wire_length = old_length[slot];
    memcpy(wire, old[slot], wire_length);
    deliver(0, true);
    require(!powered || (orders == before && next == device.state.next), "a repeated frame had an effect");
}

static void say_challenge(void)
{
    uint8_t body[OPEN_SHOE_BODY] = { 3, OPEN_SHOE_CHALLENGE };
    static uint8_t nonces[4][16];
    uint8_t *past = nonces[dice(4)];
    if (dice(3)) {
        if (dice(4))
            noise(NULL, host.nonce, 16);
        else
            memcpy(host.nonce, past, 16);       /* a recorded CHALLENGE must not restore old keys */
        memcpy(past, host.nonce, 16);
        host.ready = false;
    }
    memcpy(body + 4, host.nonce, 16);
    wire_length = 0;
    open_shoe_frame(body, 20, to_wire, NULL);
    if (dice(5) == 0)
        change_wire();
    deliver(0, true);
}

static void junk(void)
{
    bool plain = dice(2);       /* a long body without marks, or anything */
    wire_length = dice(1000) + 1;
    for (size_t i = 0; i < wire_length; i++)
        wire[i] = (uint8_t)(plain ? 0x20 + dice(0x50) : dice(20) ? dice(256) : 0x7D + dice(3));
    if (plain)
        wire[0] = 0x7E;
    deliver(0, true);
}

static open_shoe_outcome random_report(void)
{
    static const uint8_t events[7] = { 0x21, 0x22, 0x23, 0x40, 0x41, 0x42, 0x45 };
    uint8_t bytes[600];
    char name[70];
    uint32_t length = dice(20) ? dice(12) : dice(70);
    memset(name, 'a', sizeof name);
    name[length] = 0;
    noise(NULL, bytes, sizeof bytes);
    open_shoe_card card = { now_us - dice(400000), (uint8_t)(dice(8) ? 16 * (1 + dice(4)) + 1 + dice(13) : dice(256)),
                            (uint8_t)dice(6), (uint8_t)dice(4), dice(300000), (uint8_t)dice(4),
                            (uint8_t)dice(101), (uint16_t)(dice(4) ? 0 : dice(65536)) };
    for (int i = 0; i < 255; i++)
        bytes[i] = (uint8_t)(dice(500) ? 0x11 + bytes[i] % 13 : bytes[i]);
    switch (dice(10)) {
    case 0: return open_shoe_report_lock(&device, now_us, dice(2));
    case 1: return open_shoe_report_fault(&device, now_us, (uint8_t)(dice(5) ? dice(10) : dice(256)), dice(2), dice(2));
    case 2: return open_shoe_report_event(&device, now_us, (uint8_t)(dice(9) ? events[dice(7)] : dice(256)), name);
    case 3: return open_shoe_report_failed(&device, now_us, (uint8_t)dice(7), name);
    case 4: return open_shoe_report_inventory(&device, now_us, name, bytes, (uint8_t)dice(9));
    case 5: return open_shoe_report_cards(&device, now_us, name, (uint16_t)dice(65536), bytes, (uint8_t)dice(256));
    case 6: return open_shoe_vendor(&device, now_us, (uint8_t)(dice(9) ? 0x50 + dice(16) : dice(256)),
                                    bytes, dice(20) ? dice(30) : dice(500));
    default: return open_shoe_report_card(&device, now_us, &card);
    }
}

static void make_report(void)
{
    bool was_lost = device.state.lost == 1;
    uint16_t next = device.state.next;
    open_shoe_outcome outcome = random_report();
    if (!powered)
        return;
    unsigned made = steps(next, device.state.next);
    compare(0, true, false);
    require(outcome != OPEN_SHOE_OK || made >= 1 || wire_length == 0 || device.state.version == 3, "no number");
    require(outcome == OPEN_SHOE_OK || made == 0, "a report that was refused has a number");
    require(!was_lost || made == 0, "a report was kept after a loss");
    require(outcome != OPEN_SHOE_LOST || device.state.lost == 1, "a loss is not remembered");
}

static void start(bool fresh)
{
    uint32_t old_stream = stream;
    unsigned old_kept = kept_count;
    bool was_lost = device.state.lost || lost_before, died = !powered;
    uint8_t version = device.state.version;
    memset(&out, 0, sizeof out);
    if (config.store)       /* without a store, the content of the memory must have no effect */
        memcpy(memory, survives, sizeof memory);
    powered = true;
    cut_in = 0;
    now_us = dice(1000);
    host.ready = host.ready && dice(2);
    /* The firmware counts as powered; its frames are compared only with its own state. */
    kept_count = 0;
    require(open_shoe_start(&device, &config, now_us), "does not start");
    if (!fresh && config.store && !died && !was_lost && version == config.version) {
        require(device.state.stream == old_stream, "new stream although the memory survived");
        require(device.state.kept == old_kept, "reports lost without power");
        kept_count = old_kept;
        walk(old_kept);
        return;
    }
    if (!fresh && config.store && died && !was_lost && device.state.lost == 0)
        require(device.state.stream == old_stream || old_kept == 0 || version != config.version,
                "a torn write broke the stream");
    if (!fresh && !config.store)
        require(device.state.stream != old_stream, "the stream did not change");
    begin_model();
}

static void begin_life(void)
{
    memset(&config, 0, sizeof config);
    memset(survives, 0, sizeof survives);
    memset(old_length, 0, sizeof old_length);
    config.role = (uint8_t)(1 + dice(2));
    config.version = (uint8_t)(1 + dice(3));
    config.vendor = "V}"; config.model = "~M"; config.serial = "S"; config.firmware = "\xC3\xA9";
    config.capabilities = (uint16_t)dice(128);
    config.has_lock = config.role == OPEN_SHOE_ROLE_SHOE && dice(4);
    config.room = (uint16_t)(dice(10) ? 20 + dice(100) : 1024 + dice(200));
    config.memory = memory;
    config.memory_size = OPEN_SHOE_MEMORY(config.room + 2, dice(3) ? 512 : 60);
    config.send = check_sent; config.random = noise; config.cipher = player_aes;
    config.order = dice(10) ? do_order : NULL;
    config.store = dice(2) ? store : NULL;
    noise(NULL, key, 16);
    config.key = config.version == 3 && dice(2) ? key : NULL;
    host.ready = false;
    device.state.lost = 0;
    lost_before = false;
    start(true);
    if (dice(3) == 0 && device.state.kept == 0) {       /* near the wrap of the numbers */
        device.state.next = (uint16_t)(65535 - dice(40));
        next_number = device.state.next;
    }
}

static void one_step(void)
{
    uint32_t what = dice(100);
    lost_before = device.state.lost != 0;
    now_us += dice(50) ? dice(60000) : dice(12000000);
    if (config.store && dice(300) == 0)
        cut_in = 1 + (int)dice(6);
    if (what < 40)
        make_report();
    else if (what < 75)
        host_frame();
    else if (what < 78)
        again();
    else if (what < 84 && config.key)
        say_challenge();
    else if (what < 86)
        junk();
    else if (what < 87)
        open_shoe_line_opened(&device, now_us);
    else if (what < 88 && dice(10) == 0)
        start(false);
    else {
        open_shoe_poll(&device, now_us);
        require(now_us - device.frame_time < OPEN_SHOE_SILENCE, "no ALIVE");
        require(!kept_count || (config.key && !device.session[0].used)
                || now_us - device.window_time < OPEN_SHOE_REPEAT, "no repeat");
        if (powered)
            compare(0, true, false);
    }
    if (!powered)
        start(false);
}

int main(int argc, char **argv)
{
    uint64_t rounds = 400000;
    unsigned lives = 0;
    random_state = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            random_state = strtoull(argv[i + 1], NULL, 10);
    }
    for (step = 0; step < rounds; step++) {
        if (step % 4000 == 0) {
            begin_life();
            lives++;
        }
        one_step();
    }
    printf("fuzz: %llu steps, %u lives, %u frames out, %u orders: no violation\n",
           (unsigned long long)rounds, lives, seen_frames, orders);
    return 0;
}
