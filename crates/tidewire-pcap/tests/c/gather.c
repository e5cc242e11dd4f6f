/* Sends UDP to many ports, or reads it. `gather send IFACE COUNT`, `gather WAY IFACE COUNT`. */
#include <poll.h>
#include <pcap/pcap.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pcap_t *pcap;
static int count, done;

static void each(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
	if (header->caplen < 46)
		return;
	printf("packet %u %u\n", bytes[36] << 8 | bytes[37], bytes[42] << 24 | bytes[43] << 16 | bytes[44] << 8 | bytes[45]);
	if (++done >= count)
		pcap_breakloop(pcap);
}

static void send_all(void)
{
	u_char frame[64] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1,
		10, 0, 0, 2, 0, 9, 0, 0, 0, 30 };
	for (int number = 0; number < count; number++) {
		int port = 1000 + number * 7919 % 50;
		frame[36] = port >> 8, frame[37] = port;
		frame[42] = number >> 24, frame[43] = number >> 16, frame[44] = number >> 8, frame[45] = number;
		while (pcap_inject(pcap, frame, sizeof frame) < 0)
			usleep(1000);
	}
}

static void filter(const char *expression)
{
	struct bpf_program program;
	if (pcap_compile(pcap, &program, expression, 1, 0) < 0 || pcap_setfilter(pcap, &program) < 0)
		printf("filter: %s\n", pcap_geterr(pcap));
	pcap_freecode(&program);
}

static pthread_t first;

static void here(int number)
{
	printf("signal %d %d\n", number, pthread_equal(pthread_self(), first) != 0);
}

int main(int argc, char **argv)
{
	char error[PCAP_ERRBUF_SIZE] = "";
	const char *way = argv[1];
	struct pcap_pkthdr *header;
	const u_char *bytes;
	int returned = 0;

	if (argc < 4)
		return 2;
	count = atoi(argv[3]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if ((pcap = pcap_open_live(argv[2], 65535, 1, 50, error)) == NULL) {
		printf("open: %s\n", error);
		return 1;
	}
	if (!strcmp(way, "send")) {
		send_all();
		pcap_close(pcap);
		return 0;
	}
	filter("udp");
	if (!strcmp(way, "daemon") && fork() != 0) {
		wait(NULL);
		return 0;
	}
	printf("ready\n");
	if (!strcmp(way, "select")) {
		struct pollfd entry = { pcap_get_selectable_fd(pcap), POLLIN, 0 };
		pcap_setnonblock(pcap, 1, error);
		for (int turn = 0; done < count && turn < 100000 && poll(&entry, 1, 10000) > 0; turn++)
			if ((returned = pcap_dispatch(pcap, -1, each, NULL)) < 0 && returned != -2)
				break;
	} else if (!strcmp(way, "next")) {
		while (done < count && (returned = pcap_next_ex(pcap, &header, &bytes)) >= 0)
			if (returned == 1)
				each(NULL, header, bytes);
	} else if (!strcmp(way, "filter")) {
		returned = pcap_loop(pcap, 1, each, NULL);
		filter("udp dst port 1001");
		returned = pcap_loop(pcap, -1, each, NULL);
	} else if (!strcmp(way, "fork")) {
		/* Whatever the gathering thread is at: a lock that it holds stays locked in the child. */
		for (int turn = 0; turn < 50; turn++) {
			struct pcap_stat statistics;
			returned = pcap_loop(pcap, 50, each, NULL);
			fflush(stdout);
			if (fork() == 0) {
				alarm(20);
				while ((returned = pcap_dispatch(pcap, -1, each, NULL)) >= 0)
					;
				printf("child %d %d %s\n", returned, pcap_stats(pcap, &statistics), pcap_geterr(pcap));
				pcap_close(pcap);
				return 0;
			}
			wait(NULL);
		}
	} else if (!strcmp(way, "signal")) {
		first = pthread_self();
		signal(SIGUSR1, here);
		returned = pcap_dispatch(pcap, -1, each, NULL);
		for (int turn = 0; turn < 20; turn++)
			kill(getpid(), SIGUSR1), usleep(1000);
	} else if (strcmp(way, "close")) {
		returned = pcap_loop(pcap, -1, each, NULL);
	}
	printf("returned %d\n", returned);
	pcap_close(pcap);
	return 0;
}
