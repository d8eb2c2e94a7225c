/* open_shoe.h - reference firmware for the protocol "Open Shoe" (see PROTOCOL.md)
 *
 * Portable C99. No allocation, no IO, no clock. One thread. Usage:
 *
 *     static uint8_t memory[OPEN_SHOE_MEMORY(1024, OPEN_SHOE_TYPICAL)];
 *     static open_shoe device;
 *
 *     open_shoe_config config = { 0 };
 *     config.role = OPEN_SHOE_ROLE_SHOE;   config.version = 3;
 *     config.vendor = "Acme";   config.model = "S1";
 *     config.serial = "0042";   config.firmware = "1.0";
 *     config.memory = memory;   config.memory_size = sizeof memory;   config.room = 1024;
 *     config.send = uart_write; config.random = noise;   config.order = do_order;
 *     open_shoe_start(&device, &config, now());            // sends HELLO
 *
 *     for (;;) {
 *         n = uart_read(bytes, sizeof bytes);
 *         open_shoe_receive(&device, now(), bytes, n);
 *         open_shoe_poll(&device, now());                  // at least every 50 ms
 *         if (card_has_passed(&card))                      // your sensors
 *             open_shoe_report_card(&device, now(), &card);
 *     }
 *
 * `now` is the time in microseconds since power-up. It must not go back.
 */
#ifndef OPEN_SHOE_H
#define OPEN_SHOE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- numbers of the page ---- */

#define OPEN_SHOE_BODY      512u    /* maximum length of a body, CRC included */
#define OPEN_SHOE_INNER     492u    /* maximum length of a body inside SEALED, without CRC */
#define OPEN_SHOE_WINDOW    32u
#define OPEN_SHOE_MOST      16384u  /* maximum number of kept reports */
#define OPEN_SHOE_TEXT      64u
#define OPEN_SHOE_GIVEN_UP  500000u     /* microseconds */
#define OPEN_SHOE_REPEAT    500000u
#define OPEN_SHOE_SILENCE   10000000u
#define OPEN_SHOE_SECOND    1000000u

enum {  /* message types */
    OPEN_SHOE_HELLO = 0x01, OPEN_SHOE_ALIVE = 0x02, OPEN_SHOE_DONE = 0x03,
    OPEN_SHOE_RESPONSE = 0x10, OPEN_SHOE_UNKEYED = 0x11, OPEN_SHOE_SEALED = 0x12,
    OPEN_SHOE_CARD = 0x20, OPEN_SHOE_CUT = 0x21, OPEN_SHOE_LOADED = 0x22, OPEN_SHOE_EMPTY = 0x23,
    OPEN_SHOE_LOCK = 0x24, OPEN_SHOE_FAULT = 0x30, OPEN_SHOE_STATUS = 0x31,
    OPEN_SHOE_RECOGNISED = 0x40, OPEN_SHOE_SHUFFLING = 0x41, OPEN_SHOE_SHUFFLED = 0x42,
    OPEN_SHOE_FAILED = 0x43, OPEN_SHOE_INVENTORY = 0x44, OPEN_SHOE_DELIVERED = 0x45,
    OPEN_SHOE_CARDS = 0x46,
    OPEN_SHOE_IDENTIFY = 0x80, OPEN_SHOE_ACK = 0x81, OPEN_SHOE_RESEND = 0x82,
    OPEN_SHOE_ORDER = 0x83, OPEN_SHOE_INQUIRE = 0x84, OPEN_SHOE_CHALLENGE = 0x90,
    OPEN_SHOE_HOST_SEALED = 0x92
};

enum { OPEN_SHOE_ROLE_SHOE = 1, OPEN_SHOE_ROLE_SHUFFLER = 2, OPEN_SHOE_ROLE_HOST = 4 };

enum { OPEN_SHOE_PLACE_DEALT, OPEN_SHOE_PLACE_PLAYER, OPEN_SHOE_PLACE_BANKER, OPEN_SHOE_PLACE_BURNT,
       OPEN_SHOE_PLACE_LOCKED, OPEN_SHOE_PLACE_ERROR };

enum { OPEN_SHOE_ODD_DOUBLE = 1, OPEN_SHOE_ODD_FOREIGN = 2 };

enum { OPEN_SHOE_MEMORY_FULL = 8 };     /* the fault that the firmware reports by itself */

enum { OPEN_SHOE_CAN_PASSAGE = 1, OPEN_SHOE_CAN_HANDS = 2, OPEN_SHOE_CAN_LOCK = 4,
       OPEN_SHOE_CAN_CLEAR = 8, OPEN_SHOE_CAN_MEMORY = 16, OPEN_SHOE_CAN_QUALITY = 32,
       OPEN_SHOE_CAN_ORDER = 64 };

enum { OPEN_SHOE_ORDER_LOCK = 1, OPEN_SHOE_ORDER_UNLOCK = 2, OPEN_SHOE_ORDER_CLEAR = 3 };

enum { OPEN_SHOE_RESULT_DONE, OPEN_SHOE_RESULT_NOT_NOW, OPEN_SHOE_RESULT_UNABLE,
       OPEN_SHOE_RESULT_FAILED,
       OPEN_SHOE_RESULT_LATER = 255 };  /* not on the line: a call of open_shoe_done() must follow */

/* The result of a report function. */
typedef enum {
    OPEN_SHOE_OK,           /* the report is kept and will be sent */
    OPEN_SHOE_UNCHANGED,    /* the state was already so: nothing is reported */
    OPEN_SHOE_LOST,         /* the memory is full: the report is lost, and a new stream will follow */
    OPEN_SHOE_INVALID       /* wrong role or version, or a value that the page does not define */
} open_shoe_outcome;

/* ---- codec: usable without a device ---- */

typedef void open_shoe_cipher(void *user, const uint8_t key[16], const uint8_t in[16], uint8_t out[16]);
typedef void open_shoe_send(void *user, const uint8_t *bytes, size_t length);

typedef struct {
    uint8_t body[OPEN_SHOE_BODY];
    size_t length;
    bool inside, escaped;
    uint64_t last;
} open_shoe_receiver;

uint32_t open_shoe_crc(const uint8_t *bytes, size_t length);

/* Processes one byte. True: a whole frame with a right CRC is in `body`; `length` is without the CRC. */
bool open_shoe_take(open_shoe_receiver *receiver, uint8_t byte, uint64_t now);

/* Sends a frame in pieces of at most 64 bytes. `body` needs 4 bytes of room for the CRC. */
void open_shoe_frame(uint8_t *body, size_t length, open_shoe_send *send, void *user);

/* The name of the message in a body without CRC; NULL if it is not readable.
 * `sender` is one OPEN_SHOE_ROLE, or several together. */
const char *open_shoe_check(unsigned sender, const uint8_t *body, size_t length);

/* One of the three values of a session: 1 device key, 2 host key, 3 proof. */
void open_shoe_derive(open_shoe_cipher *cipher, void *user, const uint8_t key[16], uint8_t which,
                      const uint8_t host_nonce[16], const uint8_t device_nonce[16], uint8_t value[16]);

/* AES-CCM of the page, in place. `text` has `length` bytes and then room for the tag of 8.
 * `type` is 12 or 92. Opening returns false, with `text` as before, if the tag is wrong. */
void open_shoe_seal(open_shoe_cipher *cipher, void *user, const uint8_t key[16], uint8_t type,
                    uint32_t counter, uint8_t *text, size_t length);
bool open_shoe_open(open_shoe_cipher *cipher, void *user, const uint8_t key[16], uint8_t type,
                    uint32_t counter, uint8_t *text, size_t length);

/* ---- the device ---- */

typedef struct {
    uint8_t role;               /* OPEN_SHOE_ROLE_SHOE or OPEN_SHOE_ROLE_SHUFFLER */
    uint8_t version;            /* 1, 2 or 3; with a key, 3 */
    const char *vendor, *model, *serial, *firmware;
    uint16_t drift_ppm;         /* 65535: not known */
    uint16_t capabilities;
    bool has_lock;              /* a shoe whose exit people or an order can lock */
    const uint8_t *key;         /* 16 bytes, or NULL: no secure channel */
    uint8_t *memory;            /* for the kept reports: OPEN_SHOE_MEMORY() bytes */
    size_t memory_size;
    uint16_t room;              /* 1,024 to 16,384 reports; fewer only on a test bench */
    void *user;                 /* the first argument of each callback */

    /* A callback must not call the firmware. */
    open_shoe_send *send;       /* must not wait; may drop bytes when no host is connected */
    void (*random)(void *user, uint8_t *bytes, size_t length);     /* a source of noise */
    open_shoe_cipher *cipher;   /* AES-128, one block; NULL without a key */
    /* Execute an order: return an OPEN_SHOE_RESULT. Do not report the change: the firmware does.
     * Also called to lock the exit when the memory is nearly full. NULL: the device executes none. */
    uint8_t (*order)(void *user, uint8_t order, uint8_t number);
    /* Copy memory[offset] to memory[offset + length - 1] to the memory that survives without power,
     * and return when it is safe there. NULL: there is none. Before open_shoe_start(), the caller
     * fills `memory` from there. */
    void (*store)(void *user, size_t offset, size_t length);
} open_shoe_config;

/* The state that survives without power, in addition to the kept reports. */
typedef struct {
    uint32_t magic, writes;
    uint32_t start, used;       /* the kept reports in the ring: first byte, number of bytes */
    uint32_t stream;
    uint64_t clock;             /* of the newest report; versions 1 and 2 continue from it */
    uint16_t boot, next, kept;
    uint8_t version, role;
    uint8_t lost;               /* 1: a report was lost; 2: the new stream is beginning */
    uint8_t locked;
    uint8_t standing[32], blocking[32];         /* faults: one bit for each code */
    uint8_t set[1 + OPEN_SHOE_TEXT];            /* the set in the device, as a text */
} open_shoe_saved;

#define OPEN_SHOE_SLOT      (sizeof(open_shoe_saved) + 4u)
#define OPEN_SHOE_TYPICAL   40u     /* bytes for a kept CARD; LOADED takes 90, CARDS 350 */
#define OPEN_SHOE_MEMORY(reports, bytes_each) (2u * OPEN_SHOE_SLOT + (size_t)(reports) * (bytes_each))

typedef struct {
    bool used;
    uint8_t host_nonce[16], device_nonce[16], device_key[16], host_key[16];
    uint32_t sealed, opened;    /* the last counters */
} open_shoe_session;

typedef struct { uint64_t from, until; bool on; } open_shoe_span;

typedef struct {                /* the caller must not change it */
    open_shoe_config config;
    open_shoe_saved state;
    open_shoe_receiver in;
    uint8_t out[8 + OPEN_SHOE_BODY];
    size_t length;              /* of the body at out + 8 */
    uint64_t now, clock_base;
    uint16_t sent;              /* the number of kept reports, from the oldest, that were sent */
    uint64_t window_time, frame_time, unkeyed_time;
    bool unkeyed_sent, warned, status_newest;
    open_shoe_session session[2];       /* 0: established; 1: answered, no frame of it arrived yet */
    open_shoe_span locked, blocked;
} open_shoe;

typedef struct {
    uint64_t edge;              /* when the leading edge passed, in the time of `now` */
    uint8_t face;               /* suit * 16 + rank; 0: not read */
    uint8_t place, position;    /* the firmware changes the place to locked or error where necessary */
    uint32_t passage_us;
    uint8_t odd;
    uint8_t quality;            /* from version 2; 255: not known */
    uint16_t code;              /* from version 2 */
} open_shoe_card;

/* Call it at power-up, and only then. False: the configuration is wrong. */
bool open_shoe_start(open_shoe *device, const open_shoe_config *config, uint64_t now);
void open_shoe_line_opened(open_shoe *device, uint64_t now);
void open_shoe_receive(open_shoe *device, uint64_t now, const uint8_t *bytes, size_t length);
/* Repeats reports and sends ALIVE. Call it when earlier frames have left, at least every 50 ms. */
void open_shoe_poll(open_shoe *device, uint64_t now);
/* The answer to an order for which the callback returned OPEN_SHOE_RESULT_LATER, within 3 s. */
void open_shoe_done(open_shoe *device, uint64_t now, uint8_t order, uint8_t number, uint8_t result);

/* After power-up, report the present state of each fault and of the lock: a known state is not
 * reported again (OPEN_SHOE_UNCHANGED), and a fault that ended while the power was off is cleared.
 * A name is a text of at most 64 bytes; NULL is the empty name. */
open_shoe_outcome open_shoe_report_card(open_shoe *device, uint64_t now, const open_shoe_card *card);
/* CUT, LOADED, EMPTY, RECOGNISED, SHUFFLING, SHUFFLED, DELIVERED */
open_shoe_outcome open_shoe_report_event(open_shoe *device, uint64_t now, uint8_t type, const char *name);
open_shoe_outcome open_shoe_report_lock(open_shoe *device, uint64_t now, bool locked);
open_shoe_outcome open_shoe_report_fault(open_shoe *device, uint64_t now, uint8_t code, bool raised,
                                         bool blocking);
open_shoe_outcome open_shoe_report_failed(open_shoe *device, uint64_t now, uint8_t reason, const char *name);
open_shoe_outcome open_shoe_report_inventory(open_shoe *device, uint64_t now, const char *name,
                                             const uint8_t counts[52], uint8_t unread);
open_shoe_outcome open_shoe_report_cards(open_shoe *device, uint64_t now, const char *name, uint16_t first,
                                         const uint8_t *faces, uint8_t count);
/* Types 50 to 5F are reports, 18 to 1F are notices; version 3 only. */
open_shoe_outcome open_shoe_vendor(open_shoe *device, uint64_t now, uint8_t type, const uint8_t *bytes,
                                   size_t length);

#endif
