/* Copies a program before its first thread: what it did until then (loading, reading its command line) happens once for many runs.
 *
 * Loaded into the program (LD_PRELOAD). When the program creates its first thread, one byte is awaited from standard input, a socket:
 * for each byte a copy of the process continues, with /dev/null as its standard input, and its status (waitpid(2), an int) is sent
 * back when it has ended. The original ends with the socket. Under valgrind, a copy has the translations and the counts of the original.
 *
 * cc -O2 -shared -fPIC -o fork.so fork.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static void copies(void)
{
    char request;
    while (read(STDIN_FILENO, &request, 1) == 1) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            int null = open("/dev/null", O_RDONLY);
            /* A copy that does not end goes with the original. */
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (null < 0 || dup2(null, STDIN_FILENO) < 0)
                _exit(127);
            close(null);
            return;
        }
        if (child > 0)
            waitpid(child, &status, 0);
        if (write(STDIN_FILENO, &status, sizeof status) != sizeof status)
            break;
    }
    _exit(0);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    static create *next;
    if (!next) {
        next = (create *)dlsym(RTLD_NEXT, "pthread_create");
        copies();
    }
    return next(thread, attributes, start, argument);
}
