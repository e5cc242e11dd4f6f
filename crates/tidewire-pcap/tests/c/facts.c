/* What does not depend on time is printed: it must be the same, line by line, as over the system's library. */
#include "contract.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pcap/namedb.h>
#include <sys/socket.h>

static const char *of(const char *text) { return text ? text : "(none)"; }

static void names(void) {
    printf("version %s\n", pcap_lib_version());
    for (int code = -15; code <= 5; code++) printf("status %d: %s\n", code, of(pcap_statustostr(code)));
    for (int code = 0; code < 5; code++) printf("errno %d: %s\n", code, of(pcap_strerror(code)));
    for (int link = 0; link < 300; link++)
        printf("link %d: %s, %s, %s\n", link, of(pcap_datalink_val_to_name(link)), of(pcap_datalink_val_to_description(link)), pcap_datalink_val_to_description_or_dlt(link));
    printf("EN10MB is %d, en10mb %d, nothing %d\n", pcap_datalink_name_to_val("EN10MB"), pcap_datalink_name_to_val("en10mb"), pcap_datalink_name_to_val("nothing"));
    for (int type = -1; type < 8; type++) {
        const char *name = pcap_tstamp_type_val_to_name(type);
        printf("time %d: %s, %s, %d\n", type, of(name), of(pcap_tstamp_type_val_to_description(type)), name ? pcap_tstamp_type_name_to_val(name) : 0);
    }
    printf("nothing is %d\n", pcap_tstamp_type_name_to_val("nothing"));
    int port = 0, protocol = 0, first = 0, last = 0;
    int found = pcap_nametoport("domain", &port, &protocol);
    printf("domain: %d, %d, %d\n", found, port, protocol);
    found = pcap_nametoportrange("20-30", &first, &last, &protocol);
    printf("20-30: %d, %d to %d, %d\n", found, first, last, protocol);
    printf("tcp: %d, ip6: %d, stp: %d\n", pcap_nametoproto("tcp"), pcap_nametoeproto("ip6"), pcap_nametollc("stp"));
    u_char *address = pcap_ether_aton("02:03:04:05:06:07");
    printf("an address ends with %d\n", address ? address[5] : -1);
    free(address);
    struct addrinfo *info = pcap_nametoaddrinfo("127.0.0.1");
    printf("127.0.0.1 %s\n", info ? "is an address" : "is none");
    if (info) freeaddrinfo(info);
}

static void devices(void) {
    char error[PCAP_ERRBUF_SIZE] = "";
    shell("ip addr add 10.77.0.1/24 dev " NEAR);
    pcap_if_t *all = NULL;
    int status = pcap_findalldevs(&all, error);
    printf("findalldevs: %d\n", status);
    for (pcap_if_t *device = all; device; device = device->next) {
        printf("%s: %s, flags %x\n", device->name, of(device->description), device->flags);
        for (struct pcap_addr *address = device->addresses; address; address = address->next) {
            printf("  family %d", address->addr ? address->addr->sa_family : -1);
            if (address->addr && address->addr->sa_family == AF_INET) printf(" %s", inet_ntoa(((struct sockaddr_in *)(void *)address->addr)->sin_addr));
            printf("%s%s%s\n", address->netmask ? " mask" : "", address->broadaddr ? " broadcast" : "", address->dstaddr ? " peer" : "");
        }
    }
    pcap_freealldevs(all);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    printf("lookupdev: %s\n", of(pcap_lookupdev(error)));
#pragma GCC diagnostic pop
    bpf_u_int32 net = 1, mask = 1;
    status = pcap_lookupnet(NEAR, &net, &mask, error);
    printf("lookupnet: %d, %x, %x\n", status, ntohl(net), ntohl(mask));
    status = pcap_lookupnet("tw9nowhere", &net, &mask, error);
    printf("lookupnet of nothing: %d, %s\n", status, error);
}

static void initialised(void) {
    char error[PCAP_ERRBUF_SIZE] = "";
    printf("utf-8: %d\n", pcap_init(PCAP_CHAR_ENC_UTF_8, error));
    printf("again: %d\n", pcap_init(PCAP_CHAR_ENC_UTF_8, error));
    int status = pcap_init(PCAP_CHAR_ENC_LOCAL, error);
    printf("local after it: %d, %s\n", status, error);
    status = pcap_init(17, error);
    printf("17: %d, %s\n", status, error);
    pcap_t *p = open_near();
    send_numbers(0, 5);
    expect_numbers(p, 0, 5);
    pcap_close(p);
}

static void programs(void) {
    static const char *const ALL[] = {"", "tcp", "port 53 and not host 10.0.0.1", "vlan 5 and ip6", "less 100", "inbound", "ether multicast", "tcp[13] & 2 != 0", "host", "greater"};
    pcap_t *dead = pcap_open_dead(DLT_EN10MB, 1000), *live = open_near();
    for (size_t index = 0; index < sizeof ALL / sizeof *ALL; index++) {
        for (int which = 0; which < 2; which++) {
            pcap_t *p = which ? live : dead;
            struct bpf_program program = {0};
            int status = pcap_compile(p, &program, ALL[index], 1, 0xffffff00);
            printf("'%s' on %s: %d, %s\n", ALL[index], which ? "a live handle" : "a dead one", status, status ? pcap_geterr(p) : "");
            if (status == 0) {
                for (unsigned at = 0; at < program.bf_len; at++) printf("  %s\n", bpf_image(&program.bf_insns[at], (int)at));
                printf("  valid: %d\n", bpf_validate(program.bf_insns, (int)program.bf_len));
                unsigned char frame[128];
                struct pcap_pkthdr header = {.caplen = 128, .len = 128};
                make_frame(frame, 1, 1000, 128);
                printf("  matches: %d, %u\n", pcap_offline_filter(&program, &header, frame), bpf_filter(program.bf_insns, frame, 128, 128));
                pcap_freecode(&program);
            }
        }
    }
    printf("snapshot %d, link %d\n", pcap_snapshot(dead), pcap_datalink(dead));
    pcap_close(dead);
    pcap_close(live);
}

static void codes(void) {
    char error[PCAP_ERRBUF_SIZE] = "";
    pcap_t *p = pcap_create(NEAR, error);
    struct pcap_stat stats;
    printf("stats: %d, %s\n", pcap_stats(p, &stats), pcap_geterr(p));
    int *list = NULL;
    printf("links: %d, %s\n", pcap_list_datalinks(p, &list), pcap_geterr(p));
    printf("fileno: %d, selectable: %d\n", pcap_fileno(p), pcap_get_selectable_fd(p));
    printf("activate: %d\n", pcap_activate(p));
    printf("activate again: %d, %s\n", pcap_activate(p), pcap_geterr(p));
    printf("link %d, %d, snapshot %d, swapped %d, version %d.%d, precision %d\n", pcap_datalink(p), pcap_datalink_ext(p), pcap_snapshot(p), pcap_is_swapped(p), pcap_major_version(p), pcap_minor_version(p), pcap_get_tstamp_precision(p));
    int count = pcap_list_datalinks(p, &list);
    for (int index = 0; index < count; index++) printf("can be link %d\n", list[index]);
    pcap_free_datalinks(list);
    printf("to USB: %d, %s\n", pcap_set_datalink(p, DLT_USB_LINUX), *pcap_geterr(p) ? "with a text" : "without a text");
    printf("direction 9: %d\n", pcap_setdirection(p, 9) < 0);
    pcap_close(p);
    p = pcap_create("tw9nowhere", error);
    int status = pcap_activate(p);
    printf("activate nothing: %d, %s\n", status, pcap_geterr(p));
    pcap_close(p);
    p = pcap_open_live("tw9nowhere", 100, 0, 10, error);
    printf("open nothing: %s, %s\n", p ? "a handle" : "none", error);
    p = pcap_create("", error);
    printf("create of an empty name: %s\n", p ? "a handle" : error);
    if (p) pcap_close(p);
    p = pcap_open_offline("/nowhere/at/all", error);
    printf("open a file that is not there: %s, %s\n", p ? "a handle" : "none", error);
    p = pcap_open_offline("/dev/null", error);
    printf("open an empty file: %s, %s\n", p ? "a handle" : "none", error);
}

static void times(void) {
    char error[PCAP_ERRBUF_SIZE] = "";
    pcap_t *p = pcap_create(NEAR, error);
    int *types = NULL, count = pcap_list_tstamp_types(p, &types);
    for (int index = 0; index < count; index++) printf("can be time %d\n", types[index]);
    if (types) pcap_free_tstamp_types(types);
    pcap_close(p);
}

const struct test FACTS[] = {{"print_names", names}, {"print_devices", devices}, {"print_initialised", initialised}, {"print_programs", programs}, {"print_codes", codes}, {"print_times", times}, {0}};
