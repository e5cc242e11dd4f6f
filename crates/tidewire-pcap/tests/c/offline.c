/* Reads a file in every way that there is, and prints what the calls returned. `offline WAY FILE`. */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pcap_t *pcap;
static int left = -1;

static unsigned sum(const u_char *bytes, unsigned count)
{
	unsigned sum = 2166136261u;
	while (count--)
		sum = (sum ^ *bytes++) * 16777619u;
	return sum;
}

static void packet(const struct pcap_pkthdr *header, const u_char *bytes)
{
	int is_ip = header->caplen > 37 && bytes[12] == 8 && bytes[13] == 0;
	unsigned port = is_ip ? bytes[36] << 8 | bytes[37] : 0;
	printf("packet %ld.%06ld %u %u %08x %u\n", (long)header->ts.tv_sec, (long)header->ts.tv_usec, header->caplen,
	    header->len, sum(bytes, header->caplen), port);
}

static void each(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
	packet(header, bytes);
	if (left > 0 && --left == 0) {
		if (!strcmp((char *)user, "break"))
			pcap_breakloop(pcap);
		else
			pcap_close(pcap);
	}
}

static void filter(const char *expression)
{
	struct bpf_program program;
	if (pcap_compile(pcap, &program, expression, 1, PCAP_NETMASK_UNKNOWN) < 0) {
		printf("compile: %s\n", pcap_geterr(pcap));
		return;
	}
	printf("setfilter %d\n", pcap_setfilter(pcap, &program));
	pcap_freecode(&program);
}

static void result(const char *call, int returned)
{
	printf("%s %d %s\n", call, returned, returned == -1 ? pcap_geterr(pcap) : "");
}

static void facts(void)
{
	struct pcap_stat stats;
	struct bpf_program program;
	struct bpf_insn nonsense = { 0xffff, 0, 0, 0 };
	char error[PCAP_ERRBUF_SIZE] = "";

	printf("%d %d %d %d %d %d\n", pcap_datalink(pcap), pcap_snapshot(pcap), pcap_major_version(pcap),
	    pcap_minor_version(pcap), pcap_is_swapped(pcap), pcap_get_tstamp_precision(pcap));
	printf("%d %d %d\n", pcap_file(pcap) != NULL, pcap_fileno(pcap) >= 0, pcap_get_selectable_fd(pcap) >= 0);
	result("stats", pcap_stats(pcap, &stats));
	result("direction", pcap_setdirection(pcap, PCAP_D_IN));
	result("inject", pcap_inject(pcap, "x", 1));
	printf("getnonblock %d\n", pcap_getnonblock(pcap, error));
	printf("setnonblock %d", pcap_setnonblock(pcap, 1, error));
	printf(" %s\n", error);
	filter("no such thing");
	program.bf_len = 1;
	program.bf_insns = &nonsense;
	result("nonsense", pcap_setfilter(pcap, &program));
	result("activate", pcap_activate(pcap));
	result("snaplen", pcap_set_snaplen(pcap, 5));
}

static void child(void)
{
	struct pcap_pkthdr *header;
	const u_char *bytes;
	int returned;

	fflush(stdout);
	if (fork() == 0) {
		alarm(20);
		while ((returned = pcap_next_ex(pcap, &header, &bytes)) == 1)
			;
		result("child", returned);
		pcap_close(pcap);
		printf("child closed\n");
		exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	char error[PCAP_ERRBUF_SIZE] = "";
	struct pcap_pkthdr header, *there;
	const u_char *bytes;
	const char *way = argv[1];
	int count = 0;

	if (argc < 3)
		return 2;
	pcap = !strcmp(way, "nano") ? pcap_open_offline_with_tstamp_precision(argv[2], PCAP_TSTAMP_PRECISION_NANO, error)
				    : pcap_open_offline(argv[2], error);
	if (pcap == NULL) {
		printf("open: %s\n", error);
		return 1;
	}
	if (!strcmp(way, "facts")) {
		facts();
	} else if (!strcmp(way, "steps")) {
		result("dispatch", pcap_dispatch(pcap, 10, each, NULL));
		result("loop", pcap_loop(pcap, 7, each, NULL));
		if ((bytes = pcap_next(pcap, &header)) != NULL)
			packet(&header, bytes);
		result("next_ex", pcap_next_ex(pcap, &there, &bytes));
		packet(there, bytes);
		result("rest", pcap_dispatch(pcap, -1, each, NULL));
		result("after", pcap_dispatch(pcap, 0, each, NULL));
		result("next_ex", pcap_next_ex(pcap, &there, &bytes));
		printf("next %d\n", pcap_next(pcap, &header) != NULL);
	} else if (!strcmp(way, "filter")) {
		filter("udp");
		result("udp", pcap_dispatch(pcap, 3, each, NULL));
		filter("ip");
		result("loop", pcap_loop(pcap, -1, each, NULL));
	} else if (!strcmp(way, "break")) {
		left = 5;
		result("loop", pcap_loop(pcap, -1, each, (u_char *)"break"));
		left = 3;
		result("dispatch", pcap_dispatch(pcap, -1, each, (u_char *)"break"));
		result("dispatch", pcap_dispatch(pcap, -1, each, (u_char *)"break"));
		pcap_breakloop(pcap);
		result("next_ex", pcap_next_ex(pcap, &there, &bytes));
		pcap_breakloop(pcap);
		printf("next %d\n", pcap_next(pcap, &header) != NULL);
		result("rest", pcap_loop(pcap, 0, each, NULL));
	} else if (!strcmp(way, "close")) {
		left = 4;
		result("loop", pcap_loop(pcap, -1, each, (u_char *)"close"));
		return 0;
	} else if (!strcmp(way, "fork")) {
		result("next_ex", pcap_next_ex(pcap, &there, &bytes));
		child();
		while (pcap_next_ex(pcap, &there, &bytes) == 1)
			count++;
		printf("parent %d\n", count);
	} else {
		result("loop", pcap_loop(pcap, -1, each, NULL));
	}
	pcap_close(pcap);
	return 0;
}
