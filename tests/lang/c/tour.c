/* A walk through what a C program has by the standard and POSIX; each part checks itself. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "tour: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void files(void)
{
	char name[] = "/tmp/tour-XXXXXX", text[32] = "";
	int fd = mkstemp(name);
	struct stat info;

	check(fd >= 0 && write(fd, "one\ntwo\n", 8) == 8, "writing a file");
	check(fstat(fd, &info) == 0 && info.st_size == 8, "its size");
	check(pread(fd, text, sizeof(text), 4) == 4 && !strcmp(text, "two\n"), "reading it back");
	close(fd);
	check(unlink(name) == 0 && access(name, F_OK) < 0 && errno == ENOENT, "removing it");
}

static void patterns(void)
{
	static const char text[] = "write to ada@example.org";
	regmatch_t groups[3];
	regex_t pattern;

	check(regcomp(&pattern, "([a-z]+)@([a-z]+)\\.org", REG_EXTENDED) == 0, "a pattern");
	check(regexec(&pattern, text, 3, groups, 0) == 0, "finding it");
	check(groups[1].rm_so == 9 && groups[2].rm_eo == 20, "where it is");
	check(regexec(&pattern, "nobody", 0, NULL, 0) == REG_NOMATCH, "what does not match");
	regfree(&pattern);
}

/* There is no JSON in C; reading a line with scanf is what stands for it. */
static void objects(void)
{
	char name[16];
	int a, b;

	check(sscanf("{\"name\":\"ember\",\"list\":[1,2]}", "{\"name\":\"%15[^\"]\",\"list\":[%d,%d]}", name, &a, &b) ==
		      3,
	      "reading an object");
	check(!strcmp(name, "ember") && a == 1 && b == 2, "what it says");
}

static void dates(void)
{
	struct tm day = { .tm_year = 124, .tm_mon = 1, .tm_mday = 28, .tm_hour = 25 };
	time_t seconds = timegm(&day);
	char text[32];

	check(strftime(text, sizeof(text), "%FT%TZ %u", gmtime(&seconds)) > 0, "a date");
	check(!strcmp(text, "2024-02-29T01:00:00Z 4"), "a leap day");
}

static atomic_int sum;

static void *add(void *number)
{
	sum += *(int *)number;
	return NULL;
}

static void threads(void)
{
	pthread_t ids[8];
	int numbers[8];

	for (int i = 0; i < 8; i++) {
		numbers[i] = i + 1;
		check(pthread_create(&ids[i], NULL, add, &numbers[i]) == 0, "a thread");
	}
	for (int i = 0; i < 8; i++)
		pthread_join(ids[i], NULL);
	check(sum == 36, "what threads did");
}

static void processes(void)
{
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), status;
	char line[32] = "";
	pid_t child;
	FILE *out;

	check(shared != MAP_FAILED, "shared memory");
	child = fork();
	check(child >= 0, "a process");
	if (child == 0) {
		*shared = 42;
		_exit(3);
	}
	check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3 && *shared == 42, "what it did");
	out = popen("echo from a shell", "r");
	check(out && fgets(line, sizeof(line), out) && !strcmp(line, "from a shell\n") && pclose(out) == 0,
	      "a command");
}

static void *serve(void *listener)
{
	int fd = accept(*(int *)listener, NULL, NULL);

	check(fd >= 0 && write(fd, "hello", 6) == 6, "answering");
	close(fd);
	return NULL;
}

static void sockets(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	char text[8] = "";
	pthread_t id;

	check(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0, "listening");
	check(getsockname(listener, (struct sockaddr *)&address, &size) == 0, "the port");
	check(pthread_create(&id, NULL, serve, &listener) == 0, "a server");
	check(connect(fd, (struct sockaddr *)&address, size) == 0, "connecting");
	check(recv(fd, text, sizeof(text), MSG_WAITALL) == 6 && !strcmp(text, "hello"), "what was sent");
	pthread_join(id, NULL);
}

static void maths(void)
{
	volatile double two = 2;

	check(fabs(pow(sqrt(two), 2) - 2) < 1e-12 && lround(exp(two)) == 7, "maths");
}

int main(void)
{
	files();
	patterns();
	objects();
	dates();
	threads();
	processes();
	sockets();
	maths();
	puts("tour ok");
}
