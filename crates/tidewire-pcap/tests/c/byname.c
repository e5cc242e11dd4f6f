/* Asks for the system's libpcap by name, as interpreters do, and calls it past whatever is preloaded: `byname FILE IFACE`. */
#include <dlfcn.h>
#include <pcap/pcap.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = dlopen("libpcap.so.0.8", RTLD_NOW);
	char error[PCAP_ERRBUF_SIZE] = "";
	struct pcap_pkthdr *header;
	const u_char *bytes;
	int count = 0;
	pcap_t *pcap;

	if (library == NULL)
		library = dlopen("libpcap.so.1", RTLD_NOW);
	if (argc < 3 || library == NULL)
		return 2;
	pcap_t *(*open_offline)(const char *, char *) = dlsym(library, "pcap_open_offline");
	pcap_t *(*open_live)(const char *, int, int, int, char *) = dlsym(library, "pcap_open_live");
	int (*next_ex)(pcap_t *, struct pcap_pkthdr **, const u_char **) = dlsym(library, "pcap_next_ex");
	int (*datalink)(pcap_t *) = dlsym(library, "pcap_datalink");
	void (*close)(pcap_t *) = dlsym(library, "pcap_close");

	if ((pcap = open_offline(argv[1], error)) == NULL)
		return 3;
	while (next_ex(pcap, &header, &bytes) == 1)
		count++;
	printf("file %d %d\n", datalink(pcap), count);
	close(pcap);
	if ((pcap = open_live(argv[2], 100, 0, 10, error)) == NULL) {
		printf("live no\n");
		return 0;
	}
	printf("live %d\n", datalink(pcap));
	close(pcap);
	return 0;
}
