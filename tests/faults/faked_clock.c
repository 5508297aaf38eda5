/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded, adds an offset to the wall clock of a process: seconds, as a number of 64 bits in the file $FAKED_CLOCK,
 * which may change at any time. Clocks that only go forward are left alone. Waits until a moment of the wall clock
 * (C11's, by which librdkafka waits) end when that moment has come, as the kernel's do: a clock that is set back makes
 * those that are under way longer. libfaketime 0.9.10 leaves these alone, and has Python's sleep fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const long LOOK_NS = 100000000, SECOND_NS = 1000000000;

static int64_t offset(void) {
    static volatile int64_t *shared;
    if (shared == NULL) {
        const char *path = getenv("FAKED_CLOCK");
        int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
        void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *shared, PROT_READ, MAP_SHARED, file, 0);
        static int64_t none;
        if (file >= 0) close(file);
        shared = mapped == MAP_FAILED ? &none : mapped;
    }
    return *shared;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (result != NULL) *result = exact.tv_sec;
    return exact.tv_sec;
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict until) {
    static int (*wait)(cnd_t *, mtx_t *, const struct timespec *);
    if (wait == NULL) wait = dlsym(RTLD_NEXT, "cnd_timedwait");
    for (;;) {
        struct timespec now, step;
        clock_gettime(CLOCK_REALTIME, &now);
        int64_t left = until->tv_sec - now.tv_sec > 1 ? LOOK_NS
            : (until->tv_sec - now.tv_sec) * SECOND_NS + until->tv_nsec - now.tv_nsec;
        if (left <= 0) return thrd_timedout;
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &step);
        step.tv_nsec += left < LOOK_NS ? left : LOOK_NS;
        step.tv_sec += step.tv_nsec / SECOND_NS;
        step.tv_nsec %= SECOND_NS;
        int ended = wait(condition, mutex, &step);
        if (ended != thrd_timedout) return ended;
    }
}
