/*
 * A disk that fails on request: a library for LD_PRELOAD.
 *
 * It intercepts the file calls of SQLite and of Python on the files below one directory. All other calls pass
 * unchanged. tests/crash/disk.py compiles and controls it; tests/crash/power.py reads its log.
 *
 * Environment
 *   FAULTS_BELOW    the directory: an absolute path without symbolic links
 *   FAULTS_CONTROL  a file of at least sizeof(struct control) bytes. The library maps it, so that a change is effective
 *                   with the next call, also in a process that starts later
 *   FAULTS_LOG      the log of writes and syncs; it must exist
 *
 * Control: `struct control`, all fields 64 bits, native byte order. Write `mode` last. A call matches if its class is
 * in `calls` and the class of its file is in `files`. The first `after` matching calls pass, the next `times` calls
 * fail (-1: all calls until another `mode` is written).
 *   mode 0  no fault
 *   mode 1  the call returns -1 with `value` as errno, and does nothing
 *   mode 2  as mode 1 with ENOSPC, but only for a write that extends its file and for a call that creates a file
 *   mode 3  the call hangs until `until_ns` (CLOCK_MONOTONIC), or until another mode is written; then it is executed
 *   mode 4  a torn write: `value` percent of the bytes are written, then SIGKILL ends the process
 *   mode 5  a sync returns 0 and does nothing: a disk that lies
 *   mode 6  a write returns success and does nothing: a lost write
 *   mode 7  SIGKILL ends the process before the call
 *   mode 8  SIGKILL ends the process after the call
 * The library counts in `matched` the matching calls since `mode` was written (write 0 with the mode), and in `injected`
 * the faults.
 *
 * Log: while `logged` is not 0, one record for each successful call that changes a file: struct record, then `path`
 * bytes of its path, then `data` bytes. A record at the end may be incomplete, if the process was killed. A lock keeps
 * the records in the order of the calls. Writes to a file with the class SHM are not logged: SQLite builds that file
 * again after a power cut. Changes through a mapping are not seen; SQLite changes only that file in this way.
 *
 * Not intercepted: descriptors from dup, sendfile, copy_file_range, io_uring, and paths relative to a directory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NONE, FAIL, FULL, HANG, TEAR, LIE, LOSE, KILL_BEFORE, KILL_AFTER };
enum { WRITE = 1, SYNC = 2, TRUNCATE = 4, OPEN = 8, REMOVE = 16, RENAME = 32, READ = 64 };
enum { DB = 1, WAL = 2, SHM = 4, DIRECTORY = 8, OTHER = 16 };
enum { FILES = 4096, HIGH = 800, SLICE_NS = 2000000 };

struct control {
	volatile int64_t mode, calls, files, after, times, value, until_ns, logged, matched, injected;
};

struct record { /* `file` is the inode; `at` is the offset of a write, or the length of a truncation */
	uint32_t magic, call;
	uint64_t file;
	int64_t at;
	uint32_t path, data, lied, created;
};

static struct control nothing, *control = &nothing;
static const char *below;
static size_t below_length;
static int log_file = -1;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static unsigned char class_of[FILES]; /* by descriptor; 0: not below the directory */

#define REAL(result, name, ...)                                                  \
	static result (*real_##name)(__VA_ARGS__);                                   \
	if (!real_##name) real_##name = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAULTS_CONTROL"), *log = getenv("FAULTS_LOG");
	below = getenv("FAULTS_BELOW");
	if (!path || !log || !below) {
		below = NULL;
		return;
	}
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	int to = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to < 0 || mapped == MAP_FAILED) {
		fprintf(stderr, "shim.c: cannot open %s or %s\n", path, log);
		_exit(97);
	}
	syscall(SYS_close, fd);
	log_file = fcntl(to, F_DUPFD_CLOEXEC, HIGH);
	syscall(SYS_close, to);
	below_length = strlen(below);
	control = mapped;
}

static int classify(const char *path)
{
	if (!below || !path || strncmp(path, below, below_length) || (path[below_length] && path[below_length] != '/'))
		return 0;
	size_t length = strlen(path);
	if (length == below_length) return DIRECTORY;
	if (length > 4 && !strcmp(path + length - 4, "-wal")) return WAL;
	if (length > 8 && !strcmp(path + length - 8, "-journal")) return WAL;
	if (length > 4 && !strcmp(path + length - 4, "-shm")) return SHM;
	if (length > 3 && !strcmp(path + length - 3, ".db")) return DB;
	struct stat found;
	return !stat(path, &found) && S_ISDIR(found.st_mode) ? DIRECTORY : OTHER;
}

static int class_of_file(int fd)
{
	return fd >= 0 && fd < FILES ? class_of[fd] : 0;
}

static void end_process(void)
{
	kill(getpid(), SIGKILL);
	for (;;) pause();
}

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void hang(void)
{
	const struct timespec slice = {0, SLICE_NS};
	while (control->mode == HANG && now_ns() < control->until_ns) nanosleep(&slice, NULL);
}

/* The fault of this call; `grows`: the call extends or creates a file. A hang is already over. */
static int fault(int call, int file, int grows)
{
	int mode = (int)control->mode;
	if (!mode || !(control->calls & call) || !(control->files & file) || (mode == FULL && !grows)) return NONE;
	int64_t place = __sync_fetch_and_add(&control->matched, 1) - control->after;
	if (place < 0 || (control->times >= 0 && place >= control->times)) return NONE;
	__sync_fetch_and_add(&control->injected, 1);
	if (mode == KILL_BEFORE) end_process();
	if (mode == HANG) {
		hang();
		return NONE;
	}
	if (mode == FULL) errno = ENOSPC;
	if (mode == FAIL) errno = (int)control->value;
	return mode;
}

static int fails(int mode)
{
	return mode == FAIL || mode == FULL;
}

static void after(int mode)
{
	if (mode == KILL_AFTER) end_process();
}

static void put(const void *data, size_t size)
{
	for (const char *next = data; size;) {
		ssize_t done = syscall(SYS_write, log_file, next, size);
		if (done < 0 && errno == EINTR) continue;
		if (done <= 0) {
			fprintf(stderr, "shim.c: cannot write the log\n");
			_exit(97);
		}
		next += done, size -= (size_t)done;
	}
}

/* Call this with the lock. */
static void record(int call, uint64_t file, int64_t at, const char *path, const void *data, size_t size, int flag)
{
	if (!control->logged) return;
	int before = errno;
	struct record made = {0x464c4f47, (uint32_t)call, file, at, path ? (uint32_t)strlen(path) : 0, (uint32_t)size,
	                      call == SYNC && flag, call == OPEN && flag};
	put(&made, sizeof made);
	if (path) put(path, made.path);
	put(data, size);
	errno = before;
}

static uint64_t inode(int fd)
{
	struct stat found;
	return fstat(fd, &found) ? 0 : found.st_ino;
}

static int64_t size_of(int fd)
{
	struct stat found;
	return fstat(fd, &found) ? 0 : found.st_size;
}

/* ------------------------------------------------------------------------------------------ open and close */

static int opened(int directory, const char *path, int flags, mode_t mode)
{
	REAL(int, openat64, int, const char *, int, ...);
	int file = directory == AT_FDCWD || (path && path[0] == '/') ? classify(path) : 0;
	if (!file) return real_openat64(directory, path, flags, mode);
	struct stat found;
	int created = (flags & O_CREAT) && stat(path, &found);
	int with = fault(OPEN, file, created);
	if (fails(with)) return -1;
	pthread_mutex_lock(&order);
	int fd = real_openat64(directory, path, flags, mode);
	if (fd >= 0 && fd < FILES) {
		class_of[fd] = (unsigned char)file;
		if (file != SHM) record(OPEN, inode(fd), flags & O_TRUNC ? 0 : -1, path, NULL, 0, created);
	}
	pthread_mutex_unlock(&order);
	after(with);
	return fd;
}

#define OPENED(directory)                                                        \
	va_list more;                                                                \
	va_start(more, flags);                                                       \
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;      \
	va_end(more);                                                                \
	return opened(directory, path, flags, mode)

int open(const char *path, int flags, ...) { OPENED(AT_FDCWD); }
int open64(const char *path, int flags, ...) { OPENED(AT_FDCWD); }
int openat(int directory, const char *path, int flags, ...) { OPENED(directory); }
int openat64(int directory, const char *path, int flags, ...) { OPENED(directory); }

int close(int fd)
{
	REAL(int, close, int);
	if (fd >= 0 && fd < FILES) class_of[fd] = 0;
	return real_close(fd);
}

/* ------------------------------------------------------------------------------------------ data */

static ssize_t written(int fd, const void *data, size_t size, off64_t at, int here)
{
	REAL(ssize_t, write, int, const void *, size_t);
	REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
	int file = class_of_file(fd);
	if (!file) return here ? real_write(fd, data, size) : real_pwrite64(fd, data, size, at);
	if (here) at = fcntl(fd, F_GETFL) & O_APPEND ? size_of(fd) : lseek64(fd, 0, SEEK_CUR);
	int with = fault(WRITE, file, at + (int64_t)size > size_of(fd));
	if (fails(with)) return -1;
	if (with == LOSE) {
		if (here) lseek64(fd, (off64_t)size, SEEK_CUR);
		return (ssize_t)size;
	}
	size_t part = with == TEAR ? size * (size_t)control->value / 100 : size;
	pthread_mutex_lock(&order);
	ssize_t done = here ? real_write(fd, data, part) : real_pwrite64(fd, data, part, at);
	if (done > 0 && file != SHM) record(WRITE, inode(fd), at, NULL, data, (size_t)done, 0);
	pthread_mutex_unlock(&order);
	if (with == TEAR) end_process();
	after(with);
	return done;
}

ssize_t write(int fd, const void *data, size_t size) { return written(fd, data, size, 0, 1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return written(fd, data, size, at, 0); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return written(fd, data, size, at, 0); }

static ssize_t received(int fd, void *data, size_t size, off64_t at, int here)
{
	REAL(ssize_t, read, int, void *, size_t);
	REAL(ssize_t, pread64, int, void *, size_t, off64_t);
	int file = class_of_file(fd);
	if (file && fails(fault(READ, file, 0))) return -1;
	return here ? real_read(fd, data, size) : real_pread64(fd, data, size, at);
}

ssize_t read(int fd, void *data, size_t size) { return received(fd, data, size, 0, 1); }
ssize_t pread(int fd, void *data, size_t size, off_t at) { return received(fd, data, size, at, 0); }
ssize_t pread64(int fd, void *data, size_t size, off64_t at) { return received(fd, data, size, at, 0); }

static int truncated(int fd, off64_t length)
{
	REAL(int, ftruncate64, int, off64_t);
	int file = class_of_file(fd);
	if (!file) return real_ftruncate64(fd, length);
	int with = fault(TRUNCATE, file, length > size_of(fd));
	if (fails(with)) return -1;
	pthread_mutex_lock(&order);
	int result = real_ftruncate64(fd, length);
	if (!result && file != SHM) record(TRUNCATE, inode(fd), length, NULL, NULL, 0, 0);
	pthread_mutex_unlock(&order);
	after(with);
	return result;
}

int ftruncate(int fd, off_t length) { return truncated(fd, length); }
int ftruncate64(int fd, off64_t length) { return truncated(fd, length); }

static int synced(int fd, int (*real)(int))
{
	int file = class_of_file(fd);
	if (!file) return real(fd);
	int with = fault(SYNC, file, 0);
	if (fails(with)) return -1;
	pthread_mutex_lock(&order);
	int result = with == LIE ? 0 : real(fd);
	if (!result && file != SHM) record(SYNC, inode(fd), 0, NULL, NULL, 0, with == LIE);
	pthread_mutex_unlock(&order);
	after(with);
	return result;
}

int fsync(int fd)
{
	REAL(int, fsync, int);
	return synced(fd, real_fsync);
}

int fdatasync(int fd)
{
	REAL(int, fdatasync, int);
	return synced(fd, real_fdatasync);
}

/* ------------------------------------------------------------------------------------------ names */

int unlink(const char *path)
{
	REAL(int, unlink, const char *);
	int file = classify(path);
	if (!file) return real_unlink(path);
	int with = fault(REMOVE, file, 0);
	if (fails(with)) return -1;
	pthread_mutex_lock(&order);
	int result = real_unlink(path);
	if (!result && file != SHM) record(REMOVE, 0, 0, path, NULL, 0, 0);
	pthread_mutex_unlock(&order);
	after(with);
	return result;
}

int rename(const char *path, const char *to)
{
	REAL(int, rename, const char *, const char *);
	int file = classify(path);
	if (!file) file = classify(to);
	if (!file) return real_rename(path, to);
	int with = fault(RENAME, file, 0);
	if (fails(with)) return -1;
	pthread_mutex_lock(&order);
	int result = real_rename(path, to);
	if (!result && file != SHM) record(RENAME, 0, 0, path, to, strlen(to), 0);
	pthread_mutex_unlock(&order);
	after(with);
	return result;
}

/* A second name: a rename for the faults. A power cut in the log does not know it. */
int link(const char *path, const char *to)
{
	REAL(int, link, const char *, const char *);
	int file = classify(to);
	if (!file) return real_link(path, to);
	int with = fault(RENAME, file, 0);
	if (fails(with)) return -1;
	int result = real_link(path, to);
	after(with);
	return result;
}
