/*
 * A wall clock that is set on request: a library for LD_PRELOAD. The monotonic clock does not change.
 *
 * CLOCK_CONTROL is a file of 8 bytes that the library maps: the nanoseconds that it adds to CLOCK_REALTIME.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t none, *added = &none;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("CLOCK_CONTROL");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *added, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		fprintf(stderr, "clock.c: cannot open %s\n", path ? path : "CLOCK_CONTROL");
		_exit(97);
	}
	close(fd);
	added = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
	static int (*real)(clockid_t, struct timespec *);
	if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int result = real(clock, at);
	if (result == 0 && clock == CLOCK_REALTIME) {
		int64_t ns = at->tv_sec * 1000000000LL + at->tv_nsec + *added;
		at->tv_sec = ns / 1000000000LL;
		at->tv_nsec = ns % 1000000000LL;
	}
	return result;
}
