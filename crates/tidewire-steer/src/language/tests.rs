use super::*;

fn printed(text: &str) -> String {
    Program::parse(text).map_or_else(|error| panic!("{error}"), |program| program.to_string())
}

fn failed(text: &str) -> Error {
    Program::parse(text).map_or_else(|error| error, |program| panic!("{text} parsed as {program}"))
}

#[test]
fn every_form_of_a_program() {
    let same = "tcp >-> steer_flow";
    for text in [
        "tcp >-> steer_flow",
        "main = tcp >-> steer_flow",
        "main = do\n  tcp\n  steer_flow\n",
        "main = do tcp\n          steer_flow",
        "> main = do\n> tcp\n> steer_flow\n",
        "> main = do\n>   tcp -- only these\n>\n>   steer_flow",
        "\n  > tcp\n  > >-> steer_flow",
        "tcp\nsteer_flow",
        "tcp; steer_flow",
        "do tcp; steer_flow",
        "tcp\n>-> steer_flow",
        "tcp\n  >-> steer_flow",
        "tcp >->\n  steer_flow",
        "(tcp >-> steer_flow)",
        "(tcp\n>-> (steer_flow))",
        "main = do\n  do\n    tcp\n  steer_flow",
    ] {
        assert_eq!(printed(text), same, "{text}");
    }
}

#[test]
fn arguments_of_every_type() {
    for (text, same) in [
        ("when (has_port 53) (steer_to 0) >-> steer_p2p", "when (has_port 53) (steer_to 0) >-> steer_p2p"),
        ("when (has_port 53) (do\n  mark 1\n  steer_to 0\n )", "when (has_port 53) (mark 1 >-> steer_to 0)"),
        ("when is_tcp $ steer_flow", "when is_tcp steer_flow"),
        ("when is_tcp do\n tcp\n ip", "when is_tcp (tcp >-> ip)"),
        ("addr \"192.168.0.1/24\"", "addr 192.168.0.0/24"),
        ("addr 2001:db8::/32", "addr 2001:db8::/32"),
        ("steer_local_link \"4c:60:de:86:55:46\"", "steer_local_link 4c:60:de:86:55:46"),
        ("steer_local_net 10.0.0.0 8 24", "steer_local_net 10.0.0.0 8 24"),
        ("steer_local_net ::ffff:1.2.3.4 8 24", "steer_local_net ::ffff:1.2.3.4 8 24"),
        ("l3_proto 0x0806", "l3_proto 2054"),
        ("vlan_id_filter [1,2, 0x3]", "vlan_id_filter [1, 2, 3]"),
        ("filter (is_tcp .||. is_udp .&&. not is_frag)", "filter (is_tcp .||. (is_udp .&&. (not is_frag)))"),
        ("filter (is_tcp .^^. is_udp .||. is_ip)", "filter ((is_tcp .^^. is_udp) .||. is_ip)"),
        ("filter $ is_tcp .^^. is_udp", "filter (is_tcp .^^. is_udp)"),
        ("filter (ip_ttl .< 5 .&&. 64 >. ip_ttl)", "filter ((ip_ttl < 5) .&&. (ip_ttl < 64))"),
        ("filter (ip_ttl /=5)", "filter (ip_ttl /= 5)"),
        ("filter (ip_tos `any_bit` 3)", "filter (any_bit ip_tos 3)"),
        ("filter (all_bit ip_tos 0xff)", "filter (all_bit ip_tos 255)"),
        ("inv ip >-> par udp (par icmp (tcp >-> no_frag))", "inv ip >-> par udp (par icmp (tcp >-> no_frag))"),
        ("steer_key [key_ip_src, key_ip_proto]", "steer_key [key_ip_src, key_ip_proto]"),
        ("steer_key [key_ip_src,key_ip_dst,key_ip_proto]", "steer_key key_3tuple"),
        ("classify 3", "class 3"),
        ("conditional is_ip\n  (steer_to 1)\n  (steer_to 2)", "conditional is_ip (steer_to 1) (steer_to 2)"),
    ] {
        assert_eq!(printed(text), same, "{text}");
    }
}

#[test]
fn errors_point_at_the_place_and_say_what_to_do() {
    for (text, line, column, what, hint) in [
        ("tcp >-> steer_flw", 1, 9, "`steer_flw` is not a name", "did you mean `steer_flow`?"),
        ("> main = do\n> tcp\n> steer_flwo", 3, 3, "`steer_flwo`", "steer_flow"),
        ("> tcp\nsteer_flow", 2, 1, "does not begin with `>`", "every line"),
        ("tcp >-> ", 1, 9, "the end of the program", "both of its sides"),
        ("", 1, 1, "a step is missing", "unit"),
        ("main do", 1, 6, "`=` is expected", "main = do"),
        ("when has_port 53 steer_flow", 1, 6, "`has_port` takes one argument, and none is given", "has_port (number"),
        ("when is_tcp", 1, 1, "takes 2 arguments, and one is given", "when (predicate) (function)"),
        ("steer_flow 3", 1, 12, "takes no argument", "it is written: steer_flow"),
        ("steer_to 65536", 1, 10, "from 0 to 65535", "steer_to"),
        ("sample 0", 1, 8, "from 1 to", "sample"),
        ("is_tcp", 1, 1, "a function is expected here, and `is_tcp` is a predicate", "filter (is_tcp)"),
        ("when tcp drop", 1, 6, "`tcp` is a function", "its predicate is `is_tcp`"),
        ("filter ip_ttl", 1, 8, "`ip_ttl` is a property", "compare it"),
        ("filter (ip_ttl < is_tcp)", 1, 18, "a number is expected here", "compared with a number"),
        ("addr 10.0.0.0/33", 1, 6, "a network", "addr (network)"),
        ("steer_local_link 1:2:3", 1, 18, "a MAC", "MAC"),
        ("steer_local_net 10.0.0.0 8 33", 1, 28, "32 bits", "up to that"),
        ("steer_local_net 10.0.0.0 16 8", 1, 29, "shorter", "first the network's"),
        ("vlan_id_filter []", 1, 16, "a list of numbers", "vlan_id_filter"),
        ("vlan_id_filter [4096]", 1, 17, "from 0 to 4095", "vlan_id_filter"),
        ("steer_field 10 4", 1, 13, "both sides of byte 12", "does not count"),
        ("steer_field 1900 4", 1, 13, "behind byte", "first bytes"),
        ("when (is_tcp (drop)", 1, 20, "`(` of line 1, column 6 is not closed", "close it"),
        ("when (is_tcp (drop)) ip", 1, 15, "`is_tcp` takes no argument", "it is written"),
        ("(tcp", 1, 5, "`(` of line 1, column 1 is not closed", "close it"),
        ("tcp)", 1, 4, "nothing is open here", "remove"),
        ("tcp # x", 1, 5, "`#` means nothing here", "--"),
        ("addr \"10.0.0.1", 1, 6, "is missing", "close it"),
        ("l3_proto 99999999999999999999", 1, 10, "no number of 64 bits", "decimal"),
        ("kernel >-> tcp", 1, 1, "not part of this language", "--host"),
        ("steer_key key_ip", 1, 11, "no field of a key", "key_5tuple"),
        ("main = do\n  tcp\n    udp ip", 3, 5, "`tcp` takes no argument", "it is written"),
    ] {
        let error = failed(text);
        assert_eq!((error.at.line, error.at.column), (line, column), "{text}: {error}");
        assert!(error.message.contains(what), "{text}: {error}");
        assert!(error.hint.contains(hint), "{text}: {error}");
    }
}

#[test]
fn nested_without_end_is_an_error_and_not_a_crash() {
    assert!(failed(&"inv (".repeat(5000)).message.contains("nested deeper"));
    assert!(failed(&"do ".repeat(5000)).message.contains("nested deeper"));
    assert!(failed(&"tcp >-> ".repeat(2000)).message.contains("end of the program"));
    assert!(failed(&format!("{}tcp", "tcp >-> ".repeat(2000))).message.contains("more than"));
}
