/* vectors.c - checks the example frames and the test vectors of PROTOCOL.md against the C code.
 * Usage: vectors PROTOCOL.md. One line for each vector; exit status 1 on a difference.
 *
 * Each frame is read, checked, and built again by the codec. Each frame of a device is also searched
 * for in the frames of the state machine in run_devices(), which executes the steps of the table. */
#include "open_shoe.h"
#include "player_aes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static char sent[1 << 16];      /* all frames of the device, as text: "7E 01 .. 7F\n" */
static size_t sent_length;
static uint32_t stream_id;
static const uint8_t *key_of_page;

static void hex(char *text, const uint8_t *bytes, size_t length)
{
    *text = 0;
    for (size_t i = 0; i < length; i++)
        text += sprintf(text, i ? " %02X" : "%02X", bytes[i]);
}

static void collect(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    for (size_t i = 0; i < length && sent_length < sizeof sent - 8; i++)
        sent_length += (size_t)sprintf(sent + sent_length, bytes[i] == 0x7F ? "%02X\n" : "%02X ", bytes[i]);
}

static void noise(void *user, uint8_t *bytes, size_t length)
{
    (void)user;
    for (size_t i = 0; i < length; i++)
        bytes[i] = length == 16 ? (uint8_t)(0x40 + i) : length == 2 ? (uint8_t)(i ? 6 : 0)
                 : (uint8_t)(stream_id >> (24 - 8 * i));
}

static uint8_t do_order(void *user, uint8_t order, uint8_t number)
{
    (void)user; (void)order; (void)number;
    return OPEN_SHOE_RESULT_DONE;
}

static void nothing_stored(void *user, size_t offset, size_t length)
{
    (void)user; (void)offset; (void)length;
}

static uint8_t memory[OPEN_SHOE_MEMORY(1024, OPEN_SHOE_TYPICAL)];
static open_shoe device;

static void start(uint8_t role, uint8_t version, uint32_t stream, uint16_t boot, uint64_t now)
{
    open_shoe_config config = { 0 };
    config.role = role; config.version = version;
    config.vendor = "Acme"; config.model = "S1"; config.serial = "0042"; config.firmware = "1.0";
    config.drift_ppm = 50;
    config.capabilities = OPEN_SHOE_CAN_PASSAGE | OPEN_SHOE_CAN_LOCK | OPEN_SHOE_CAN_CLEAR;
    config.has_lock = role == OPEN_SHOE_ROLE_SHOE;
    config.key = key_of_page;
    config.memory = memory; config.memory_size = sizeof memory; config.room = 1024;
    config.send = collect; config.random = noise; config.order = do_order;
    config.cipher = player_aes; config.store = nothing_stored;
    stream_id = stream;
    memset(memory, 0, sizeof memory);
    /* Start once for each power-up in the boot count; earlier frames do no harm. */
    for (uint16_t i = 1; i <= boot; i++)
        if (!open_shoe_start(&device, &config, now))
            exit(2);
}

static void host(uint64_t now, const char *frame)
{
    for (; *frame; frame++) {
        char *end;
        uint8_t byte = (uint8_t)strtoul(frame, &end, 16);
        open_shoe_receive(&device, now, &byte, 1);
        frame = end;
        if (!*frame)
            break;
    }
}

static void run_devices(void)
{
    open_shoe_card eight = { 2000000, 0x18, 1, 1, 125000, 0, 97, 0 };
    open_shoe_card ace = { 3000000, 0x11, 0, 0, 125000, OPEN_SHOE_ODD_DOUBLE, 255, 0 };
    open_shoe_card foreign = { 3000000, 0, 0, 0, 125000, OPEN_SHOE_ODD_FOREIGN, 255, 0xBEEF };
    static const uint8_t three[3] = { 0x18, 0x00, 0x2A }, two[2] = { 1, 2 };

    start(OPEN_SHOE_ROLE_SHOE, 1, 0xA1B2C3D4, 1, 0);
    open_shoe_report_event(&device, 1000000, OPEN_SHOE_LOADED, "No7");
    open_shoe_report_card(&device, 2200000, &eight);
    open_shoe_report_card(&device, 3200000, &ace);
    host(3300000, "7E 01 81 00 00 A1 B2 C3 D4 00 02 C5 57 33 53 7F");   /* ACK, then RESEND */
    host(3300000, "7E 01 82 00 00 A1 B2 C3 D4 00 03 8B DD 3F 00 7F");
    /* The wrap of the numbers, in a device that has sent 65,534 reports. */
    start(OPEN_SHOE_ROLE_SHOE, 1, 0xA1B2C3D4, 1, 0);
    device.state.next = 4;
    open_shoe_poll(&device, 10000000);                                  /* ALIVE, next 4 */
    device.state.next = 65535;
    device.state.clock = 0;
    open_shoe_report_event(&device, 4000000, OPEN_SHOE_CUT, NULL);
    open_shoe_report_fault(&device, 5000000, 2, true, true);
    host(5000000, "7E 01 83 00 00 03 02 49 FB 8A AB 7F");               /* ORDER: clear fault 2 */

    start(OPEN_SHOE_ROLE_SHOE, 2, 0xA1B2C3D4, 1, 0);
    open_shoe_report_event(&device, 1000000, OPEN_SHOE_CUT, NULL);
    open_shoe_report_card(&device, 2200000, &eight);
    open_shoe_report_card(&device, 3200000, &foreign);
    start(OPEN_SHOE_ROLE_SHUFFLER, 2, 0xB1B2C3D4, 1, 0);
    open_shoe_report_cards(&device, 6000000, "A7", 1, three, 3);

    start(OPEN_SHOE_ROLE_SHOE, 3, 0xA1B2C3D4, 7, 500000);
    memcpy(device.state.set, "\003No7", 4);                             /* loaded before */
    device.state.standing[0] = 1 << 6;
    host(600000, "7E 03 84 00 00 D5 CD C3 AE 7F");                      /* INQUIRE */
    open_shoe_report_card(&device, 2200000, &eight);
    open_shoe_vendor(&device, 3000000, 0x50, two, 2);
    start(OPEN_SHOE_ROLE_SHOE, 3, 0xA1B2C3D4, 7, 500000);
    device.state.next = 3;
    open_shoe_poll(&device, 12000000);
    start(OPEN_SHOE_ROLE_SHUFFLER, 3, 0xB1B2C3D4, 1, 0);
    open_shoe_report_event(&device, 6000000, OPEN_SHOE_SHUFFLING, "A7");
}

static size_t parse_hex(const char *text, uint8_t *bytes, size_t room)
{
    size_t length = 0;
    char *end;
    while (*text && *text != '`' && length < room) {
        bytes[length++] = (uint8_t)strtoul(text, &end, 16);
        if (end == text)
            return 0;
        text = end + strspn(end, " ");
    }
    return length;
}

static void report(bool right, const char *how, const char *what)
{
    printf("%s  %s: %.100s\n", right ? "equal " : "DIFFER", how, what);
    failures += !right;
}

static uint8_t made[1100];
static size_t made_length;

static void make(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    memcpy(made + made_length, bytes, length);
    made_length += length;
}

static bool read_frame(open_shoe_receiver *in, const uint8_t *frame, size_t length)
{
    memset(in, 0, sizeof *in);
    for (size_t i = 0; i + 1 < length; i++)
        if (open_shoe_take(in, frame[i], 0))
            return false;
    return open_shoe_take(in, frame[length - 1], 0);
}

/* The frame is read, checked, built again, and, if a device sends it, searched for in its frames. */
static void check_frame(const uint8_t *frame, size_t length, const char *what)
{
    open_shoe_receiver in;
    uint8_t body[OPEN_SHOE_BODY];
    char line[3400];
    if (!read_frame(&in, frame, length)) {
        report(false, "not read", what);
        return;
    }
    const char *name = open_shoe_check(7, in.body, in.length);
    bool maker = in.body[1] == 0x50;
    bool ok = name && strstr(what, maker ? "type `50` of a maker" : name);
    made_length = 0;
    memcpy(body, in.body, in.length);
    open_shoe_frame(body, in.length, make, NULL);
    ok = ok && made_length == length && memcmp(made, frame, length) == 0;
    report(ok, "codec ", what);
    if (in.body[1] < 0x80) {
        hex(line, frame, length);
        strcat(line, "\n");
        report(strstr(sent, line) != NULL, "device", what);
    }
}

static uint8_t secret[16], host_nonce[16], device_nonce[16], value[4][16];

static void sealed_vector(const uint8_t *frame, size_t length, const char *what)
{
    open_shoe_receiver in;
    uint8_t inner[OPEN_SHOE_BODY], opened[OPEN_SHOE_BODY];
    const char *inside = strstr(what, "inside `");
    size_t inner_length = inside ? parse_hex(inside + 8, inner, sizeof inner) : 0;
    if (!inner_length || !read_frame(&in, frame, length)) {
        report(false, "not read", what);
        return;
    }
    uint8_t type = in.body[1];
    uint32_t counter = (uint32_t)in.body[4] << 24 | in.body[5] << 16 | in.body[6] << 8 | in.body[7];
    const uint8_t *key = value[type == OPEN_SHOE_SEALED ? 1 : 2];
    memcpy(opened, in.body + 8, in.length - 8);
    bool ok = open_shoe_open(player_aes, NULL, key, type, counter, opened, in.length - 16)
           && in.length - 16 == inner_length && memcmp(opened, inner, inner_length) == 0;
    report(ok, "opened", what);
    uint8_t body[OPEN_SHOE_BODY] = { 3, type };
    memcpy(body + 4, in.body + 4, 4);
    memcpy(body + 8, inner, inner_length);
    open_shoe_seal(player_aes, NULL, key, type, counter, body + 8, inner_length);
    made_length = 0;
    open_shoe_frame(body, 16 + inner_length, make, NULL);
    report(made_length == length && memcmp(made, frame, length) == 0, "sealed", what);
}

static void channel_vector(const char *what, const char *bytes_text)
{
    static const char *names[4] = { "", "device key", "host key", "proof" };
    uint8_t bytes[1100];
    size_t length = parse_hex(bytes_text, bytes, sizeof bytes);
    for (int i = 1; i < 4; i++)
        if (strcmp(what, names[i]) == 0) {
            open_shoe_derive(player_aes, NULL, secret, (uint8_t)i, host_nonce, device_nonce, value[i]);
            report(length == 16 && memcmp(value[i], bytes, 16) == 0, "derive", what);
            return;
        }
    if (strstr(what, "inside"))
        sealed_vector(bytes, length, what);
    else
        check_frame(bytes, length, what);
}

/* The device of the test vectors: power-up, CHALLENGE, IDENTIFY, and ALIVE at 4 s as frame 1. */
static void run_keyed(void)
{
    for (uint8_t i = 0; i < 16; i++) {
        secret[i] = i;
        host_nonce[i] = (uint8_t)(0x20 + i);
        device_nonce[i] = (uint8_t)(0x40 + i);
    }
    key_of_page = secret;
    start(OPEN_SHOE_ROLE_SHOE, 3, 0xA1B2C3D4, 7, 0);
    host(1, "7E 03 90 00 00 20 21 22 23 24 25 26 27 28 29 2A 2B 2C 2D 2E 2F 7D 5F 88 A3 1E 7F");
}

int main(int argc, char **argv)
{
    static char line[20000];
    FILE *page = fopen(argc > 1 ? argv[1] : "../PROTOCOL.md", "r");
    bool examples = false, channel = false;
    int frames = 0;
    uint8_t bytes[1100];
    if (!page) {
        fprintf(stderr, "vectors: no page\n");
        return 2;
    }
    report(open_shoe_crc((const uint8_t *)"123456789", 9) == 0xCBF43926, "crc   ", "123456789");
    run_devices();
    run_keyed();
    while (fgets(line, sizeof line, page)) {
        char *first = strchr(line, '`'), *bar = strstr(line + 1, " | ");
        if (strncmp(line, "#", 1) == 0) {
            examples = strcmp(line, "## Examples\n") == 0;
            channel = strcmp(line, "### Test vectors\n") == 0;
        }
        line[strcspn(line, "\n")] = 0;
        if (line[0] != '|' || !first || !bar)
            continue;
        if (examples && strncmp(line, "| `7E ", 6) == 0) {
            check_frame(bytes, parse_hex(first + 1, bytes, sizeof bytes), bar + 3);
            frames++;
        } else if (channel) {
            char *column = strstr(line + 2, " | `");
            *column = 0;
            channel_vector(line + 2, column + 4);
            frames++;
        }
    }
    fclose(page);
    printf("%d rows of the page, %d differences\n", frames, failures);
    return failures || frames < 20;
}
