/* player.c - runs the firmware as a device on a pty or a TCP port, for test benches. POSIX.
 * Commands come from stdin, one per line; README.md lists them. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "open_shoe.h"
#include "player_aes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static open_shoe device;
static open_shoe_config config;
static uint8_t key[16];
static const char *pty_path, *memory_path;
static uint64_t paused_until;
static int listener = -1, line = -1, memory_file = -1;
static bool line_open, receiving;
static uint64_t power_time, last_report, seed;
static bool seeded;
static volatile sig_atomic_t ended;
static uint8_t queue[1 << 16];          /* bytes on the way to the line */
static size_t queued;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000 - power_time;
}

static void fail(const char *what)
{
    fprintf(stderr, "player: %s: %s\n", what, errno ? strerror(errno) : "wrong");
    exit(2);
}

static void end(int number)
{
    (void)number;
    ended = 1;
}

/* ---- callbacks of the firmware ---- */

static void send_bytes(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    if (!line_open || queued + length > sizeof queue)
        return;                         /* no host is connected: the firmware repeats its reports */
    memcpy(queue + queued, bytes, length);
    queued += length;
}

static void random_bytes(void *user, uint8_t *bytes, size_t length)
{
    (void)user;
    if (seeded) {
        while (length--) {              /* splitmix64: for repeatable tests only */
            uint64_t z = seed += 0x9E3779B97F4A7C15u;
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
            z = (z ^ z >> 27) * 0x94D049BB133111EBu;
            *bytes++ = (uint8_t)(z >> 56);
        }
        return;
    }
    int file = open("/dev/urandom", O_RDONLY);
    if (file < 0 || read(file, bytes, length) != (ssize_t)length)
        fail("/dev/urandom");
    close(file);
}

static uint8_t do_order(void *user, uint8_t order, uint8_t number)
{
    (void)user;
    if (!receiving)
        printf("locked itself\n");
    else if (order == OPEN_SHOE_ORDER_CLEAR)
        printf("order clear %u\n", number);
    else
        printf("order %s\n", order == OPEN_SHOE_ORDER_LOCK ? "lock" : "unlock");
    return OPEN_SHOE_RESULT_DONE;
}

/* The file survives a killed player. It is not synced: a crash of the machine itself is not tested. */
static void store(void *user, size_t offset, size_t length)
{
    (void)user;
    if (pwrite(memory_file, config.memory + offset, length, (off_t)offset) != (ssize_t)length)
        fail(memory_path);
}

/* ---- power and line ---- */

static void power_up(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    power_time = (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
    last_report = 0;
    memset(config.memory, 0, config.memory_size);
    if (memory_path) {
        if (memory_file < 0)
            memory_file = open(memory_path, O_RDWR | O_CREAT, 0600);
        if (memory_file < 0 || pread(memory_file, config.memory, config.memory_size, 0) < 0)
            fail(memory_path);
        config.store = store;
    }
    errno = 0;
    if (!open_shoe_start(&device, &config, now()))
        fail("configuration");
}

static void line_is_open(bool open)
{
    line_open = open;
    queued = 0;
    if (open)
        open_shoe_line_opened(&device, now());
}

static void close_line(void)
{
    if (listener >= 0 && line >= 0) {
        close(line);
        line = -1;
    }
    line_is_open(false);
}

static void open_pty(void)
{
    struct termios mode;
    line = posix_openpt(O_RDWR | O_NOCTTY);
    if (line < 0 || grantpt(line) || unlockpt(line))
        fail("pty");
    int slave = open(ptsname(line), O_RDWR | O_NOCTTY);
    if (slave < 0 || tcgetattr(slave, &mode))
        fail("pty");
    mode.c_iflag &= ~(tcflag_t)(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
    mode.c_oflag &= ~(tcflag_t)OPOST;
    mode.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    mode.c_cflag = (mode.c_cflag & ~(tcflag_t)(CSIZE | PARENB)) | CS8;
    tcsetattr(slave, TCSANOW, &mode);
    unlink(pty_path);
    if (symlink(ptsname(line), pty_path))
        fail(pty_path);
    printf("pty at %s\n", pty_path);
    fcntl(line, F_SETFL, O_NONBLOCK);
    close(slave);               /* from now on, a hang-up shows that no host has the pty open */
}

static void open_listener(int port)
{
    struct sockaddr_in address = { 0 };
    socklen_t size = sizeof address;
    int on = 1;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4))
        fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("listening on %u\n", ntohs(address.sin_port));
}

static void accept_host(void)
{
    int next = accept(listener, NULL, NULL);
    if (next < 0)
        return;
    close_line();               /* a new connection replaces the previous connection */
    line = next;
    fcntl(line, F_SETFL, O_NONBLOCK);
    line_is_open(true);
}

static void flush_line(void)
{
    ssize_t done = queued && line_open ? write(line, queue, queued) : 0;
    if (done > 0) {
        memmove(queue, queue + done, queued - (size_t)done);
        queued -= (size_t)done;
    } else if (done < 0 && errno != EAGAIN && errno != EINTR) {
        close_line();
    }
}

static void read_line(void)
{
    uint8_t bytes[4096];
    ssize_t length = read(line, bytes, sizeof bytes);
    if (length > 0) {
        receiving = true;
        open_shoe_receive(&device, now(), bytes, (size_t)length);
        receiving = false;
    } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_line();
    }
}

/* ---- commands ---- */

static char *word(void)
{
    char *text = strtok(NULL, " \t\r\n");
    return text ? text : "";
}

static const char *name(void)
{
    const char *text = word();
    return strcmp(text, "-") == 0 ? "" : text;
}

static int parse_face(const char *text)
{
    static const char ranks[] = "A23456789TJQK", suits[] = "SHDC";
    if (strcmp(text, "none") == 0)
        return 0;
    char first = strncmp(text, "10", 2) == 0 ? 'T' : text[0];
    size_t at = strncmp(text, "10", 2) == 0 ? 2 : 1;
    const char *rank = first ? strchr(ranks, first) : NULL;
    const char *suit = first && text[at] ? strchr(suits, text[at]) : NULL;
    if (!rank || !suit || text[at + 1])
        return -1;
    return (int)(suit - suits + 1) * 16 + (int)(rank - ranks + 1);
}

static int parse_place(const char *text)
{
    static const char *places[] = { "dealt", "player", "banker", "burnt", "locked", "error" };
    for (int i = 0; i < 6; i++)
        if (strcmp(text, places[i]) == 0)
            return i;
    return 255;
}

static open_shoe_outcome do_card(void)
{
    open_shoe_card card = { 0 };
    uint8_t noise = 0;
    int face = parse_face(word());
    if (seeded)
        random_bytes(NULL, &noise, 1);
    card.face = (uint8_t)face;
    card.place = (uint8_t)parse_place(word());
    card.passage_us = 100000u + noise * 200u;
    card.quality = 255;
    for (char *option = word(); *option; option = word()) {
        if (strcmp(option, "double") == 0)
            card.odd |= OPEN_SHOE_ODD_DOUBLE;
        else if (strcmp(option, "foreign") == 0)
            card.odd |= OPEN_SHOE_ODD_FOREIGN;
        else if (strncmp(option, "quality=", 8) == 0)
            card.quality = (uint8_t)atoi(option + 8);
        else if (strncmp(option, "code=", 5) == 0)
            card.code = (uint16_t)strtoul(option + 5, NULL, 16);
        else if (strncmp(option, "passage=", 8) == 0)
            card.passage_us = (uint32_t)strtoul(option + 8, NULL, 10);
        else if (option[0] >= '0' && option[0] <= '9')
            card.position = (uint8_t)(atoi(option) > 255 ? 255 : atoi(option));
        else
            return OPEN_SHOE_INVALID;
    }
    /* The leading edge passed after the previous command: an earlier fault or lock was already active. */
    uint64_t time = now();
    card.edge = time > card.passage_us ? time - card.passage_us : 0;
    if (card.edge < last_report) {
        card.edge = last_report;
        if (card.passage_us > time - card.edge)
            card.passage_us = (uint32_t)(time - card.edge);
    }
    return face < 0 ? OPEN_SHOE_INVALID : open_shoe_report_card(&device, time, &card);
}

static open_shoe_outcome do_fault(void)
{
    const char *number = word(), *what = word();
    int code = atoi(number);
    bool raised = strcmp(what, "raise") == 0, blocking = strcmp(word(), "blocking") == 0;
    if ((!raised && strcmp(what, "clear") != 0) || code < 0 || code > 255)
        return OPEN_SHOE_INVALID;
    return open_shoe_report_fault(&device, now(), (uint8_t)code, raised, blocking);
}

static open_shoe_outcome do_inventory(void)
{
    uint8_t counts[52];
    const char *set = name();
    memset(counts, atoi(word()), sizeof counts);
    return open_shoe_report_inventory(&device, now(), set, counts, 0);
}

static open_shoe_outcome do_cards(void)
{
    uint8_t faces[255];
    unsigned count = 0;
    const char *set = name();
    int first = atoi(word());
    char *rest = strtok(NULL, "\r\n");
    for (char *face = strtok(rest ? rest : "", ", "); face; face = strtok(NULL, ", ")) {
        if (count == 255 || parse_face(face) < 0)
            return OPEN_SHOE_INVALID;
        faces[count++] = (uint8_t)parse_face(face);
    }
    return open_shoe_report_cards(&device, now(), set, (uint16_t)first, faces, (uint8_t)count);
}

static open_shoe_outcome do_vendor(void)
{
    uint8_t bytes[OPEN_SHOE_INNER];
    size_t length = 0;
    uint8_t type = (uint8_t)strtoul(word(), NULL, 16);
    for (const char *hex = word(); *hex && length < sizeof bytes; hex += 2) {
        unsigned value;
        if (sscanf(hex, "%2x", &value) != 1 || !hex[1])
            return OPEN_SHOE_INVALID;
        bytes[length++] = (uint8_t)value;
    }
    return open_shoe_vendor(&device, now(), type, bytes, length);
}

static open_shoe_outcome do_failed(void)
{
    uint8_t reason = (uint8_t)atoi(word());
    return open_shoe_report_failed(&device, now(), reason, name());
}

static open_shoe_outcome execute(const char *command)
{
    static const struct { const char *name; uint8_t type; } events[] = {
        { "cut", OPEN_SHOE_CUT }, { "loaded", OPEN_SHOE_LOADED }, { "empty", OPEN_SHOE_EMPTY },
        { "recognised", OPEN_SHOE_RECOGNISED }, { "shuffling", OPEN_SHOE_SHUFFLING },
        { "shuffled", OPEN_SHOE_SHUFFLED }, { "delivered", OPEN_SHOE_DELIVERED },
    };
    static const struct { const char *name; open_shoe_outcome (*run)(void); } others[] = {
        { "card", do_card }, { "fault", do_fault }, { "inventory", do_inventory },
        { "cards", do_cards }, { "vendor", do_vendor }, { "failed", do_failed },
    };
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (strcmp(command, events[i].name) == 0)
            return open_shoe_report_event(&device, now(), events[i].type, name());
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(command, others[i].name) == 0)
            return others[i].run();
    if (strcmp(command, "lock") == 0 || strcmp(command, "unlock") == 0)
        return open_shoe_report_lock(&device, now(), command[0] == 'l');
    if (strcmp(command, "power") == 0) {
        if (listener >= 0)
            close_line();       /* a TCP connection ends with the device; a serial line does not */
        queued = 0;
        power_up();
        return OPEN_SHOE_OK;
    }
    if (strcmp(command, "pause") == 0) {
        paused_until = now() + 1000u * strtoul(word(), NULL, 10);
        return OPEN_SHOE_OK;
    }
    if (strcmp(command, "quit") == 0) {
        ended = 1;
        return OPEN_SHOE_OK;
    }
    return OPEN_SHOE_INVALID;
}

static void run_command(char *text)
{
    static const char *answers[] = { "ok", "error: already in this state",
                                     "error: the memory is full, the report is lost",
                                     "error: not possible, or not a known command" };
    const char *command = strtok(text, " \t\r\n");
    if (!command)
        return;
    printf("%s\n", answers[execute(command)]);
    last_report = now();
}

static char text[8192];
static size_t used;

/* Executes the commands that were read, up to a pause. */
static void run_commands(void)
{
    for (char *stop; !ended && now() >= paused_until && (stop = memchr(text, '\n', used)) != NULL;) {
        *stop = 0;
        run_command(text);
        used -= (size_t)(stop + 1 - text);
        memmove(text, stop + 1, used);
    }
}

static bool read_commands(void)
{
    ssize_t length = read(0, text + used, sizeof text - 1 - used);
    if (length <= 0)
        return length < 0 && errno == EINTR;
    used += (size_t)length;
    run_commands();
    if (used == sizeof text - 1)
        used = 0;
    return true;
}

/* ---- main ---- */

static void run(void)
{
    bool commands = true;
    while (!ended) {
        bool listening = listener >= 0;
        struct pollfd files[3] = {
            { commands ? 0 : -1, POLLIN, 0 },
            { listening ? listener : -1, POLLIN, 0 },
            { listening ? line : -1, (short)(queued ? POLLIN | POLLOUT : POLLIN), 0 },
        };
        if (!listening) {       /* a pty without a host always reports a hang-up: poll it separately */
            struct pollfd pty = { line, POLLIN, 0 };
            poll(&pty, 1, 0);
            if (line_open != !(pty.revents & POLLHUP))
                line_is_open(!line_open);
            files[2].fd = line_open ? line : -1;
        }
        if (poll(files, 3, 10) < 0 && errno != EINTR)
            fail("poll");
        if (files[2].revents & (POLLIN | POLLERR | POLLHUP))
            read_line();
        if (files[1].revents & POLLIN)
            accept_host();
        if (files[0].revents & (POLLIN | POLLHUP))
            commands = read_commands();
        else
            run_commands();
        if (!queued)            /* a repetition must not be faster than the line */
            open_shoe_poll(&device, now());
        flush_line();
        fflush(stdout);
    }
}

static void usage(void)
{
    fprintf(stderr, "usage: player --pty PATH | --listen PORT --role shoe|shuffler --version 1|2|3\n"
                    "       [--key HEX32] [--memory FILE] [--room N] [--seed N]\n");
    exit(2);
}

static void parse_arguments(int argc, char **argv, int *port)
{
    for (int i = 1; i < argc; i += 2) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!value)
            usage();
        if (strcmp(option, "--pty") == 0)
            pty_path = value;
        else if (strcmp(option, "--listen") == 0)
            *port = atoi(value);
        else if (strcmp(option, "--role") == 0)
            config.role = strcmp(value, "shoe") == 0 ? OPEN_SHOE_ROLE_SHOE
                        : strcmp(value, "shuffler") == 0 ? OPEN_SHOE_ROLE_SHUFFLER : 0;
        else if (strcmp(option, "--version") == 0)
            config.version = (uint8_t)atoi(value);
        else if (strcmp(option, "--memory") == 0)
            memory_path = value;
        else if (strcmp(option, "--room") == 0)
            config.room = (uint16_t)atoi(value);
        else if (strcmp(option, "--seed") == 0) {
            seed = strtoull(value, NULL, 10);
            seeded = true;
        } else if (strcmp(option, "--key") == 0 && strlen(value) == 32) {
            for (int k = 0; k < 16; k++) {
                unsigned byte;
                if (sscanf(value + 2 * k, "%2x", &byte) != 1)
                    usage();
                key[k] = (uint8_t)byte;
            }
            config.key = key;
        } else {
            usage();
        }
    }
    if (!pty_path == (*port < 0) || !config.role)
        usage();
}

int main(int argc, char **argv)
{
    int port = -1;
    struct sigaction action = { 0 };
    config.version = 3;
    config.room = 1024;
    parse_arguments(argc, argv, &port);
    action.sa_handler = end;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    bool shoe = config.role == OPEN_SHOE_ROLE_SHOE;
    config.vendor = "Open Shoe"; config.model = shoe ? "player shoe" : "player shuffler";
    config.serial = "0001"; config.firmware = "1.0";
    config.drift_ppm = 50;
    config.capabilities = OPEN_SHOE_CAN_CLEAR | (memory_path ? OPEN_SHOE_CAN_MEMORY : 0)
        | (shoe ? OPEN_SHOE_CAN_PASSAGE | OPEN_SHOE_CAN_HANDS | OPEN_SHOE_CAN_LOCK | OPEN_SHOE_CAN_QUALITY
                : OPEN_SHOE_CAN_ORDER);
    config.has_lock = shoe;
    config.memory_size = OPEN_SHOE_MEMORY(config.room + 2u, OPEN_SHOE_BODY);
    config.memory = calloc(1, config.memory_size);
    config.send = send_bytes; config.random = random_bytes; config.order = do_order;
    config.cipher = player_aes;
    if (!config.memory)
        fail("memory");
    if (pty_path)
        open_pty();
    power_up();
    if (!pty_path)
        open_listener(port);
    fflush(stdout);
    run();
    if (pty_path)
        unlink(pty_path);
    return 0;
}
