_tidewire() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="tidewire"
                ;;
            tidewire,attach)
                cmd="tidewire__subcmd__attach"
                ;;
            tidewire,check-steering)
                cmd="tidewire__subcmd__check__subcmd__steering"
                ;;
            tidewire,collect)
                cmd="tidewire__subcmd__collect"
                ;;
            tidewire,count)
                cmd="tidewire__subcmd__count"
                ;;
            tidewire,datagrams)
                cmd="tidewire__subcmd__datagrams"
                ;;
            tidewire,event)
                cmd="tidewire__subcmd__event"
                ;;
            tidewire,events)
                cmd="tidewire__subcmd__events"
                ;;
            tidewire,extract)
                cmd="tidewire__subcmd__extract"
                ;;
            tidewire,flows)
                cmd="tidewire__subcmd__flows"
                ;;
            tidewire,follow)
                cmd="tidewire__subcmd__follow"
                ;;
            tidewire,gen)
                cmd="tidewire__subcmd__gen"
                ;;
            tidewire,help)
                cmd="tidewire__subcmd__help"
                ;;
            tidewire,keys)
                cmd="tidewire__subcmd__keys"
                ;;
            tidewire,lab)
                cmd="tidewire__subcmd__lab"
                ;;
            tidewire,match)
                cmd="tidewire__subcmd__match"
                ;;
            tidewire,recall)
                cmd="tidewire__subcmd__recall"
                ;;
            tidewire,record)
                cmd="tidewire__subcmd__record"
                ;;
            tidewire,run)
                cmd="tidewire__subcmd__run"
                ;;
            tidewire,sensor)
                cmd="tidewire__subcmd__sensor"
                ;;
            tidewire,split)
                cmd="tidewire__subcmd__split"
                ;;
            tidewire,streams)
                cmd="tidewire__subcmd__streams"
                ;;
            tidewire,top)
                cmd="tidewire__subcmd__top"
                ;;
            tidewire,transactions)
                cmd="tidewire__subcmd__transactions"
                ;;
            tidewire__subcmd__event,emit)
                cmd="tidewire__subcmd__event__subcmd__emit"
                ;;
            tidewire__subcmd__event,help)
                cmd="tidewire__subcmd__event__subcmd__help"
                ;;
            tidewire__subcmd__event__subcmd__help,emit)
                cmd="tidewire__subcmd__event__subcmd__help__subcmd__emit"
                ;;
            tidewire__subcmd__event__subcmd__help,help)
                cmd="tidewire__subcmd__event__subcmd__help__subcmd__help"
                ;;
            tidewire__subcmd__gen,fragments)
                cmd="tidewire__subcmd__gen__subcmd__fragments"
                ;;
            tidewire__subcmd__gen,help)
                cmd="tidewire__subcmd__gen__subcmd__help"
                ;;
            tidewire__subcmd__gen,missing)
                cmd="tidewire__subcmd__gen__subcmd__missing"
                ;;
            tidewire__subcmd__gen,replay)
                cmd="tidewire__subcmd__gen__subcmd__replay"
                ;;
            tidewire__subcmd__gen,sink)
                cmd="tidewire__subcmd__gen__subcmd__sink"
                ;;
            tidewire__subcmd__gen,syn-flood)
                cmd="tidewire__subcmd__gen__subcmd__syn__subcmd__flood"
                ;;
            tidewire__subcmd__gen,tcp)
                cmd="tidewire__subcmd__gen__subcmd__tcp"
                ;;
            tidewire__subcmd__gen,udp)
                cmd="tidewire__subcmd__gen__subcmd__udp"
                ;;
            tidewire__subcmd__gen__subcmd__help,fragments)
                cmd="tidewire__subcmd__gen__subcmd__help__subcmd__fragments"
                ;;
            tidewire__subcmd__gen__subcmd__help,help)
                cmd="tidewire__subcmd__gen__subcmd__help__subcmd__help"
                ;;
            tidewire__subcmd__gen__subcmd__help,missing)
                cmd="tidewire__subcmd__gen__subcmd__help__subcmd__missing"
                ;;
            tidewire__subcmd__gen__subcmd__help,replay)
                cmd="tidewire__subcmd__gen__subcmd__help__subcmd__replay"
                ;;
            tidewire__subcmd__gen__subcmd__help,sink)
                cmd="tidewire__subcmd__gen__subcmd__help__subcmd__sink"
                ;;
            tidewire__subcmd__gen__subcmd__help,syn-flood)
                cmd="tidewire__subcmd__gen__subcmd__help__subcmd__syn__subcmd__flood"
                ;;
            tidewire__subcmd__gen__subcmd__help,tcp)
                cmd="tidewire__subcmd__gen__subcmd__help__subcmd__tcp"
                ;;
            tidewire__subcmd__gen__subcmd__help,udp)
                cmd="tidewire__subcmd__gen__subcmd__help__subcmd__udp"
                ;;
            tidewire__subcmd__help,attach)
                cmd="tidewire__subcmd__help__subcmd__attach"
                ;;
            tidewire__subcmd__help,check-steering)
                cmd="tidewire__subcmd__help__subcmd__check__subcmd__steering"
                ;;
            tidewire__subcmd__help,collect)
                cmd="tidewire__subcmd__help__subcmd__collect"
                ;;
            tidewire__subcmd__help,count)
                cmd="tidewire__subcmd__help__subcmd__count"
                ;;
            tidewire__subcmd__help,datagrams)
                cmd="tidewire__subcmd__help__subcmd__datagrams"
                ;;
            tidewire__subcmd__help,event)
                cmd="tidewire__subcmd__help__subcmd__event"
                ;;
            tidewire__subcmd__help,events)
                cmd="tidewire__subcmd__help__subcmd__events"
                ;;
            tidewire__subcmd__help,extract)
                cmd="tidewire__subcmd__help__subcmd__extract"
                ;;
            tidewire__subcmd__help,flows)
                cmd="tidewire__subcmd__help__subcmd__flows"
                ;;
            tidewire__subcmd__help,follow)
                cmd="tidewire__subcmd__help__subcmd__follow"
                ;;
            tidewire__subcmd__help,gen)
                cmd="tidewire__subcmd__help__subcmd__gen"
                ;;
            tidewire__subcmd__help,help)
                cmd="tidewire__subcmd__help__subcmd__help"
                ;;
            tidewire__subcmd__help,keys)
                cmd="tidewire__subcmd__help__subcmd__keys"
                ;;
            tidewire__subcmd__help,lab)
                cmd="tidewire__subcmd__help__subcmd__lab"
                ;;
            tidewire__subcmd__help,match)
                cmd="tidewire__subcmd__help__subcmd__match"
                ;;
            tidewire__subcmd__help,recall)
                cmd="tidewire__subcmd__help__subcmd__recall"
                ;;
            tidewire__subcmd__help,record)
                cmd="tidewire__subcmd__help__subcmd__record"
                ;;
            tidewire__subcmd__help,run)
                cmd="tidewire__subcmd__help__subcmd__run"
                ;;
            tidewire__subcmd__help,sensor)
                cmd="tidewire__subcmd__help__subcmd__sensor"
                ;;
            tidewire__subcmd__help,split)
                cmd="tidewire__subcmd__help__subcmd__split"
                ;;
            tidewire__subcmd__help,streams)
                cmd="tidewire__subcmd__help__subcmd__streams"
                ;;
            tidewire__subcmd__help,top)
                cmd="tidewire__subcmd__help__subcmd__top"
                ;;
            tidewire__subcmd__help,transactions)
                cmd="tidewire__subcmd__help__subcmd__transactions"
                ;;
            tidewire__subcmd__help__subcmd__event,emit)
                cmd="tidewire__subcmd__help__subcmd__event__subcmd__emit"
                ;;
            tidewire__subcmd__help__subcmd__gen,fragments)
                cmd="tidewire__subcmd__help__subcmd__gen__subcmd__fragments"
                ;;
            tidewire__subcmd__help__subcmd__gen,missing)
                cmd="tidewire__subcmd__help__subcmd__gen__subcmd__missing"
                ;;
            tidewire__subcmd__help__subcmd__gen,replay)
                cmd="tidewire__subcmd__help__subcmd__gen__subcmd__replay"
                ;;
            tidewire__subcmd__help__subcmd__gen,sink)
                cmd="tidewire__subcmd__help__subcmd__gen__subcmd__sink"
                ;;
            tidewire__subcmd__help__subcmd__gen,syn-flood)
                cmd="tidewire__subcmd__help__subcmd__gen__subcmd__syn__subcmd__flood"
                ;;
            tidewire__subcmd__help__subcmd__gen,tcp)
                cmd="tidewire__subcmd__help__subcmd__gen__subcmd__tcp"
                ;;
            tidewire__subcmd__help__subcmd__gen,udp)
                cmd="tidewire__subcmd__help__subcmd__gen__subcmd__udp"
                ;;
            tidewire__subcmd__help__subcmd__keys,authority)
                cmd="tidewire__subcmd__help__subcmd__keys__subcmd__authority"
                ;;
            tidewire__subcmd__help__subcmd__keys,collector)
                cmd="tidewire__subcmd__help__subcmd__keys__subcmd__collector"
                ;;
            tidewire__subcmd__help__subcmd__keys,identity)
                cmd="tidewire__subcmd__help__subcmd__keys__subcmd__identity"
                ;;
            tidewire__subcmd__help__subcmd__keys,recipient)
                cmd="tidewire__subcmd__help__subcmd__keys__subcmd__recipient"
                ;;
            tidewire__subcmd__help__subcmd__keys,renew)
                cmd="tidewire__subcmd__help__subcmd__keys__subcmd__renew"
                ;;
            tidewire__subcmd__help__subcmd__keys,sensor)
                cmd="tidewire__subcmd__help__subcmd__keys__subcmd__sensor"
                ;;
            tidewire__subcmd__help__subcmd__keys,show)
                cmd="tidewire__subcmd__help__subcmd__keys__subcmd__show"
                ;;
            tidewire__subcmd__help__subcmd__lab,net)
                cmd="tidewire__subcmd__help__subcmd__lab__subcmd__net"
                ;;
            tidewire__subcmd__help__subcmd__lab__subcmd__net,down)
                cmd="tidewire__subcmd__help__subcmd__lab__subcmd__net__subcmd__down"
                ;;
            tidewire__subcmd__help__subcmd__lab__subcmd__net,list)
                cmd="tidewire__subcmd__help__subcmd__lab__subcmd__net__subcmd__list"
                ;;
            tidewire__subcmd__help__subcmd__lab__subcmd__net,up)
                cmd="tidewire__subcmd__help__subcmd__lab__subcmd__net__subcmd__up"
                ;;
            tidewire__subcmd__help__subcmd__record,trigger)
                cmd="tidewire__subcmd__help__subcmd__record__subcmd__trigger"
                ;;
            tidewire__subcmd__help__subcmd__sensor,status)
                cmd="tidewire__subcmd__help__subcmd__sensor__subcmd__status"
                ;;
            tidewire__subcmd__keys,authority)
                cmd="tidewire__subcmd__keys__subcmd__authority"
                ;;
            tidewire__subcmd__keys,collector)
                cmd="tidewire__subcmd__keys__subcmd__collector"
                ;;
            tidewire__subcmd__keys,help)
                cmd="tidewire__subcmd__keys__subcmd__help"
                ;;
            tidewire__subcmd__keys,identity)
                cmd="tidewire__subcmd__keys__subcmd__identity"
                ;;
            tidewire__subcmd__keys,recipient)
                cmd="tidewire__subcmd__keys__subcmd__recipient"
                ;;
            tidewire__subcmd__keys,renew)
                cmd="tidewire__subcmd__keys__subcmd__renew"
                ;;
            tidewire__subcmd__keys,sensor)
                cmd="tidewire__subcmd__keys__subcmd__sensor"
                ;;
            tidewire__subcmd__keys,show)
                cmd="tidewire__subcmd__keys__subcmd__show"
                ;;
            tidewire__subcmd__keys__subcmd__help,authority)
                cmd="tidewire__subcmd__keys__subcmd__help__subcmd__authority"
                ;;
            tidewire__subcmd__keys__subcmd__help,collector)
                cmd="tidewire__subcmd__keys__subcmd__help__subcmd__collector"
                ;;
            tidewire__subcmd__keys__subcmd__help,help)
                cmd="tidewire__subcmd__keys__subcmd__help__subcmd__help"
                ;;
            tidewire__subcmd__keys__subcmd__help,identity)
                cmd="tidewire__subcmd__keys__subcmd__help__subcmd__identity"
                ;;
            tidewire__subcmd__keys__subcmd__help,recipient)
                cmd="tidewire__subcmd__keys__subcmd__help__subcmd__recipient"
                ;;
            tidewire__subcmd__keys__subcmd__help,renew)
                cmd="tidewire__subcmd__keys__subcmd__help__subcmd__renew"
                ;;
            tidewire__subcmd__keys__subcmd__help,sensor)
                cmd="tidewire__subcmd__keys__subcmd__help__subcmd__sensor"
                ;;
            tidewire__subcmd__keys__subcmd__help,show)
                cmd="tidewire__subcmd__keys__subcmd__help__subcmd__show"
                ;;
            tidewire__subcmd__lab,help)
                cmd="tidewire__subcmd__lab__subcmd__help"
                ;;
            tidewire__subcmd__lab,net)
                cmd="tidewire__subcmd__lab__subcmd__net"
                ;;
            tidewire__subcmd__lab__subcmd__help,help)
                cmd="tidewire__subcmd__lab__subcmd__help__subcmd__help"
                ;;
            tidewire__subcmd__lab__subcmd__help,net)
                cmd="tidewire__subcmd__lab__subcmd__help__subcmd__net"
                ;;
            tidewire__subcmd__lab__subcmd__help__subcmd__net,down)
                cmd="tidewire__subcmd__lab__subcmd__help__subcmd__net__subcmd__down"
                ;;
            tidewire__subcmd__lab__subcmd__help__subcmd__net,list)
                cmd="tidewire__subcmd__lab__subcmd__help__subcmd__net__subcmd__list"
                ;;
            tidewire__subcmd__lab__subcmd__help__subcmd__net,up)
                cmd="tidewire__subcmd__lab__subcmd__help__subcmd__net__subcmd__up"
                ;;
            tidewire__subcmd__lab__subcmd__net,down)
                cmd="tidewire__subcmd__lab__subcmd__net__subcmd__down"
                ;;
            tidewire__subcmd__lab__subcmd__net,help)
                cmd="tidewire__subcmd__lab__subcmd__net__subcmd__help"
                ;;
            tidewire__subcmd__lab__subcmd__net,list)
                cmd="tidewire__subcmd__lab__subcmd__net__subcmd__list"
                ;;
            tidewire__subcmd__lab__subcmd__net,up)
                cmd="tidewire__subcmd__lab__subcmd__net__subcmd__up"
                ;;
            tidewire__subcmd__lab__subcmd__net__subcmd__help,down)
                cmd="tidewire__subcmd__lab__subcmd__net__subcmd__help__subcmd__down"
                ;;
            tidewire__subcmd__lab__subcmd__net__subcmd__help,help)
                cmd="tidewire__subcmd__lab__subcmd__net__subcmd__help__subcmd__help"
                ;;
            tidewire__subcmd__lab__subcmd__net__subcmd__help,list)
                cmd="tidewire__subcmd__lab__subcmd__net__subcmd__help__subcmd__list"
                ;;
            tidewire__subcmd__lab__subcmd__net__subcmd__help,up)
                cmd="tidewire__subcmd__lab__subcmd__net__subcmd__help__subcmd__up"
                ;;
            tidewire__subcmd__record,trigger)
                cmd="tidewire__subcmd__record__subcmd__trigger"
                ;;
            tidewire__subcmd__sensor,help)
                cmd="tidewire__subcmd__sensor__subcmd__help"
                ;;
            tidewire__subcmd__sensor,status)
                cmd="tidewire__subcmd__sensor__subcmd__status"
                ;;
            tidewire__subcmd__sensor__subcmd__help,help)
                cmd="tidewire__subcmd__sensor__subcmd__help__subcmd__help"
                ;;
            tidewire__subcmd__sensor__subcmd__help,status)
                cmd="tidewire__subcmd__sensor__subcmd__help__subcmd__status"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        tidewire)
            opts="-h -V --help --version flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__attach)
            opts="-q -h --json --raw --exec --once --socket --directory --name --group --follow --kind --direction --stream --limit --quiet --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --exec)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --socket)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --directory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --name)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --group)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kind)
                    COMPREPLY=($(compgen -W "open data gap conflict close packet" -- "${cur}"))
                    return 0
                    ;;
                --direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stream)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__check__subcmd__steering)
            opts="-w -h --workers --fragments --tunnels --limit --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -w)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragments)
                    COMPREPLY=($(compgen -W "addresses follow-first" -- "${cur}"))
                    return 0
                    ;;
                --tunnels)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__collect)
            opts="-h --listen --store --keys --authority --certificate --key --refused --sensor-size --sensor-age --sensor-rate --connections --no-sandbox --metrics --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --listen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --store)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keys)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --authority)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --certificate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --refused)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sensor-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sensor-age)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sensor-rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --connections)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__count)
            opts="-F -j -w -i -c -q -h --filter --workers --config --interface --duration --packets --engine --tap --host --fanout --steer --ring --snaplen --incoming --no-promiscuous --busy-poll --no-pin --merge-window --metrics --no-sandbox --kernel-flows --quiet --work --interval --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --filter)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -w)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -j)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -W "auto packet xdp xdp-generic" -- "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ring)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --busy-poll)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --merge-window)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel-flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --work)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interval)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__datagrams)
            opts="-F -j -i -c -q -w -h --filter --workers --config --identity --from --until --interface --duration --packets --engine --tap --host --fanout --steer --ring --snaplen --incoming --no-promiscuous --busy-poll --no-pin --merge-window --metrics --no-sandbox --kernel-flows --quiet --mode --policy --policy-ipv6 --target-policy --checksum --link-addresses --duplicates --ttl-min --urgent --inactivity-timeout --closed-timeout --sliced --outer --tunnel-depth --key --fragment-min --fragments-max --datagram-max --fragment-timeout --cutoff --cutoff-direction --cutoff-class --chunk-size --overlap --flush-timeout --memory --history --priority-class --base-threshold --overload-cutoff --limit --stats --json --csv --columns --wide --write --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --filter)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -j)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -W "auto packet xdp xdp-generic" -- "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ring)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --busy-poll)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --merge-window)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel-flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mode)
                    COMPREPLY=($(compgen -W "strict fast track" -- "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy-ipv6)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target-policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --checksum)
                    COMPREPLY=($(compgen -W "auto verify ignore" -- "${cur}"))
                    return 0
                    ;;
                --link-addresses)
                    COMPREPLY=($(compgen -W "compare ignore" -- "${cur}"))
                    return 0
                    ;;
                --duplicates)
                    COMPREPLY=($(compgen -W "auto keep drop" -- "${cur}"))
                    return 0
                    ;;
                --ttl-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --urgent)
                    COMPREPLY=($(compgen -W "inline out" -- "${cur}"))
                    return 0
                    ;;
                --inactivity-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --closed-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sliced)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tunnel-depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragments-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --datagram-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overlap)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --flush-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --history)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --priority-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --base-threshold)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overload-cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stats)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --columns)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --write)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -w)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__event)
            opts="-h --help emit help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__event__subcmd__emit)
            opts="-h --kind --severity --field --client --server --proto --stream --time --excerpt --analyzer --directory --wait --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --kind)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --severity)
                    COMPREPLY=($(compgen -W "info low medium high critical" -- "${cur}"))
                    return 0
                    ;;
                --field)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --client)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --server)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --proto)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stream)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --time)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --excerpt)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --analyzer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --directory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --wait)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__event__subcmd__help)
            opts="emit help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__event__subcmd__help__subcmd__emit)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__event__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__events)
            opts="-h --store --directory --identity --since --until --kind --severity --analyzer --expand --follow --limit --active-timeout --rotate --keep --json --csv --columns --wide --time --to --format --eve-types --ipfix-enterprise --udp-rate --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --store)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --directory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kind)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --severity)
                    COMPREPLY=($(compgen -W "info low medium high critical" -- "${cur}"))
                    return 0
                    ;;
                --analyzer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --active-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rotate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --columns)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --time)
                    COMPREPLY=($(compgen -W "local utc iso epoch" -- "${cur}"))
                    return 0
                    ;;
                --to)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --eve-types)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ipfix-enterprise)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --udp-rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__extract)
            opts="-o -F -j -i -c -q -h --output --force --fill --max-open --digest --filter --workers --config --identity --from --until --interface --duration --packets --engine --tap --host --fanout --steer --ring --snaplen --incoming --no-promiscuous --busy-poll --no-pin --merge-window --metrics --no-sandbox --kernel-flows --quiet --mode --policy --policy-ipv6 --target-policy --checksum --link-addresses --duplicates --ttl-min --urgent --inactivity-timeout --closed-timeout --sliced --outer --tunnel-depth --key --fragment-min --fragments-max --datagram-max --fragment-timeout --cutoff --cutoff-direction --cutoff-class --chunk-size --overlap --flush-timeout --memory --history --priority-class --base-threshold --overload-cutoff --limit --stats --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fill)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-open)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --digest)
                    COMPREPLY=($(compgen -W "sha256 none" -- "${cur}"))
                    return 0
                    ;;
                --filter)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -j)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -W "auto packet xdp xdp-generic" -- "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ring)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --busy-poll)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --merge-window)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel-flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mode)
                    COMPREPLY=($(compgen -W "strict fast track" -- "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy-ipv6)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target-policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --checksum)
                    COMPREPLY=($(compgen -W "auto verify ignore" -- "${cur}"))
                    return 0
                    ;;
                --link-addresses)
                    COMPREPLY=($(compgen -W "compare ignore" -- "${cur}"))
                    return 0
                    ;;
                --duplicates)
                    COMPREPLY=($(compgen -W "auto keep drop" -- "${cur}"))
                    return 0
                    ;;
                --ttl-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --urgent)
                    COMPREPLY=($(compgen -W "inline out" -- "${cur}"))
                    return 0
                    ;;
                --inactivity-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --closed-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sliced)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tunnel-depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragments-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --datagram-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overlap)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --flush-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --history)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --priority-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --base-threshold)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overload-cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stats)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__flows)
            opts="-F -j -i -c -q -w -h --filter --workers --config --identity --from --until --interface --duration --packets --engine --tap --host --fanout --steer --ring --snaplen --incoming --no-promiscuous --busy-poll --no-pin --merge-window --metrics --no-sandbox --kernel-flows --quiet --mode --policy --policy-ipv6 --target-policy --checksum --link-addresses --duplicates --ttl-min --urgent --inactivity-timeout --closed-timeout --sliced --outer --tunnel-depth --key --fragment-min --fragments-max --datagram-max --fragment-timeout --cutoff --cutoff-direction --cutoff-class --chunk-size --overlap --flush-timeout --memory --history --priority-class --base-threshold --overload-cutoff --limit --stats --sort --top --json --csv --columns --wide --time --to --format --eve-types --ipfix-enterprise --udp-rate --active-timeout --rotate --keep --where --write --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --filter)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -j)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -W "auto packet xdp xdp-generic" -- "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ring)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --busy-poll)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --merge-window)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel-flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mode)
                    COMPREPLY=($(compgen -W "strict fast track" -- "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy-ipv6)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target-policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --checksum)
                    COMPREPLY=($(compgen -W "auto verify ignore" -- "${cur}"))
                    return 0
                    ;;
                --link-addresses)
                    COMPREPLY=($(compgen -W "compare ignore" -- "${cur}"))
                    return 0
                    ;;
                --duplicates)
                    COMPREPLY=($(compgen -W "auto keep drop" -- "${cur}"))
                    return 0
                    ;;
                --ttl-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --urgent)
                    COMPREPLY=($(compgen -W "inline out" -- "${cur}"))
                    return 0
                    ;;
                --inactivity-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --closed-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sliced)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tunnel-depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragments-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --datagram-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overlap)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --flush-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --history)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --priority-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --base-threshold)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overload-cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stats)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --sort)
                    COMPREPLY=($(compgen -W "id start end duration packets bytes retransmitted missing proto client server client_port server_port icmp_type icmp_code tunnel_id start_ns end_ns time_back_ns time_outliers priority packets_c2s packets_s2c bytes_c2s bytes_s2c frames_c2s frames frames_s2c frame_bytes_c2s frame_bytes frame_bytes_s2c payload_bytes_c2s payload_bytes payload_bytes_s2c tcp_flags_c2s tcp_flags_s2c reassembled_bytes_c2s reassembled_bytes reassembled_bytes_s2c delivered_bytes_c2s delivered_bytes delivered_bytes_s2c retransmitted_bytes_c2s retransmitted_bytes retransmitted_bytes_s2c out_of_order_packets_c2s out_of_order_packets out_of_order_packets_s2c missing_bytes_c2s missing_bytes missing_bytes_s2c ignored_bytes_c2s ignored_bytes ignored_bytes_s2c cutoff_bytes_c2s cutoff_bytes cutoff_bytes_s2c shed_packets_c2s shed_packets shed_packets_s2c shed_bytes_c2s shed_bytes shed_bytes_s2c chunks_c2s chunks chunks_s2c start_ns_c2s start_ns_s2c end_ns_c2s end_ns_s2c cut_off_packets_c2s cut_off_packets cut_off_packets_s2c cut_off_bytes_c2s cut_off_bytes cut_off_bytes_s2c" -- "${cur}"))
                    return 0
                    ;;
                --top)
                    COMPREPLY=($(compgen -W "id start end duration packets bytes retransmitted missing proto client server client_port server_port icmp_type icmp_code tunnel_id start_ns end_ns time_back_ns time_outliers priority packets_c2s packets_s2c bytes_c2s bytes_s2c frames_c2s frames frames_s2c frame_bytes_c2s frame_bytes frame_bytes_s2c payload_bytes_c2s payload_bytes payload_bytes_s2c tcp_flags_c2s tcp_flags_s2c reassembled_bytes_c2s reassembled_bytes reassembled_bytes_s2c delivered_bytes_c2s delivered_bytes delivered_bytes_s2c retransmitted_bytes_c2s retransmitted_bytes retransmitted_bytes_s2c out_of_order_packets_c2s out_of_order_packets out_of_order_packets_s2c missing_bytes_c2s missing_bytes missing_bytes_s2c ignored_bytes_c2s ignored_bytes ignored_bytes_s2c cutoff_bytes_c2s cutoff_bytes cutoff_bytes_s2c shed_packets_c2s shed_packets shed_packets_s2c shed_bytes_c2s shed_bytes shed_bytes_s2c chunks_c2s chunks chunks_s2c start_ns_c2s start_ns_s2c end_ns_c2s end_ns_s2c cut_off_packets_c2s cut_off_packets cut_off_packets_s2c cut_off_bytes_c2s cut_off_bytes cut_off_bytes_s2c" -- "${cur}"))
                    return 0
                    ;;
                --columns)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --time)
                    COMPREPLY=($(compgen -W "local utc iso epoch" -- "${cur}"))
                    return 0
                    ;;
                --to)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --eve-types)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ipfix-enterprise)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --udp-rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --active-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rotate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --where)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --write)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -w)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__follow)
            opts="-F -j -i -c -q -w -h --stream --community-id --at --as --direction --filter --workers --config --identity --from --until --interface --duration --packets --engine --tap --host --fanout --steer --ring --snaplen --incoming --no-promiscuous --busy-poll --no-pin --merge-window --metrics --no-sandbox --kernel-flows --quiet --mode --policy --policy-ipv6 --target-policy --checksum --link-addresses --duplicates --ttl-min --urgent --inactivity-timeout --closed-timeout --sliced --outer --tunnel-depth --key --fragment-min --fragments-max --datagram-max --fragment-timeout --cutoff --cutoff-direction --cutoff-class --chunk-size --overlap --flush-timeout --memory --history --priority-class --base-threshold --overload-cutoff --limit --stats --time --write --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --stream)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --community-id)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --at)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --as)
                    COMPREPLY=($(compgen -W "text hex raw json" -- "${cur}"))
                    return 0
                    ;;
                --direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --filter)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -j)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -W "auto packet xdp xdp-generic" -- "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ring)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --busy-poll)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --merge-window)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel-flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mode)
                    COMPREPLY=($(compgen -W "strict fast track" -- "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy-ipv6)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target-policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --checksum)
                    COMPREPLY=($(compgen -W "auto verify ignore" -- "${cur}"))
                    return 0
                    ;;
                --link-addresses)
                    COMPREPLY=($(compgen -W "compare ignore" -- "${cur}"))
                    return 0
                    ;;
                --duplicates)
                    COMPREPLY=($(compgen -W "auto keep drop" -- "${cur}"))
                    return 0
                    ;;
                --ttl-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --urgent)
                    COMPREPLY=($(compgen -W "inline out" -- "${cur}"))
                    return 0
                    ;;
                --inactivity-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --closed-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sliced)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tunnel-depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragments-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --datagram-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overlap)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --flush-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --history)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --priority-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --base-threshold)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overload-cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stats)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --time)
                    COMPREPLY=($(compgen -W "local utc iso epoch" -- "${cur}"))
                    return 0
                    ;;
                --write)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -w)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen)
            opts="-h --help udp tcp replay syn-flood fragments missing sink help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__fragments)
            opts="-i -r -c -d -q -s -f -n -6 -h --interface --rate --packets --duration --sender --burst --batch --cpu --no-numbers --json --quiet --i-own-this-network --size --fragment --order --open --datagrams --holes --overlaps --conflicts --out-of-bounds --repeats --ipv6 --vlan --seed --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -r)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -d)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sender)
                    COMPREPLY=($(compgen -W "auto kernel socket" -- "${cur}"))
                    return 0
                    ;;
                --burst)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --batch)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cpu)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -s)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -f)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --order)
                    COMPREPLY=($(compgen -W "forward reverse random" -- "${cur}"))
                    return 0
                    ;;
                --open)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -n)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --datagrams)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --holes)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overlaps)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --conflicts)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --out-of-bounds)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --repeats)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --vlan)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --seed)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__help)
            opts="udp tcp replay syn-flood fragments missing sink help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__help__subcmd__fragments)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__help__subcmd__missing)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__help__subcmd__replay)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__help__subcmd__sink)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__help__subcmd__syn__subcmd__flood)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__help__subcmd__tcp)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__help__subcmd__udp)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__missing)
            opts="-c -h --packets --limit --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__replay)
            opts="-i -r -c -d -q -l -m -h --interface --rate --packets --duration --sender --burst --batch --cpu --no-numbers --json --quiet --i-own-this-network --speed --loops --memory --longest --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -r)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -d)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sender)
                    COMPREPLY=($(compgen -W "auto kernel socket" -- "${cur}"))
                    return 0
                    ;;
                --burst)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --batch)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cpu)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --speed)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --loops)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -l)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -m)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --longest)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__sink)
            opts="-i -d -h --interface --duration --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -d)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__syn__subcmd__flood)
            opts="-i -r -c -d -q -h --interface --rate --packets --duration --sender --burst --batch --cpu --no-numbers --json --quiet --i-own-this-network --seed --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -r)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -d)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sender)
                    COMPREPLY=($(compgen -W "auto kernel socket" -- "${cur}"))
                    return 0
                    ;;
                --burst)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --batch)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cpu)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --seed)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__tcp)
            opts="-i -r -c -d -q -n -s -6 -h --interface --rate --packets --duration --sender --burst --batch --cpu --no-numbers --json --quiet --i-own-this-network --concurrent --connections --segments --size --order --class --ipv6 --vlan --seed --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -r)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -d)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sender)
                    COMPREPLY=($(compgen -W "auto kernel socket" -- "${cur}"))
                    return 0
                    ;;
                --burst)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --batch)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cpu)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --concurrent)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -n)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --connections)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --segments)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -s)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --order)
                    COMPREPLY=($(compgen -W "turn random" -- "${cur}"))
                    return 0
                    ;;
                --class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --vlan)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --seed)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__gen__subcmd__udp)
            opts="-i -r -c -d -q -n -s -h --interface --rate --packets --duration --sender --burst --batch --cpu --no-numbers --json --quiet --i-own-this-network --flows --order --size --both --class --seed --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -r)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -d)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sender)
                    COMPREPLY=($(compgen -W "auto kernel socket" -- "${cur}"))
                    return 0
                    ;;
                --burst)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --batch)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cpu)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -n)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --order)
                    COMPREPLY=($(compgen -W "turn random" -- "${cur}"))
                    return 0
                    ;;
                --size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -s)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --seed)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help)
            opts="flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__attach)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__check__subcmd__steering)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__collect)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__count)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__datagrams)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__event)
            opts="emit"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__event__subcmd__emit)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__events)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__extract)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__flows)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__follow)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__gen)
            opts="udp tcp replay syn-flood fragments missing sink"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__gen__subcmd__fragments)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__gen__subcmd__missing)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__gen__subcmd__replay)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__gen__subcmd__sink)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__gen__subcmd__syn__subcmd__flood)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__gen__subcmd__tcp)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__gen__subcmd__udp)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__keys)
            opts="collector sensor authority renew show identity recipient"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__keys__subcmd__authority)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__keys__subcmd__collector)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__keys__subcmd__identity)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__keys__subcmd__recipient)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__keys__subcmd__renew)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__keys__subcmd__sensor)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__keys__subcmd__show)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__lab)
            opts="net"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__lab__subcmd__net)
            opts="up down list"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__lab__subcmd__net__subcmd__down)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__lab__subcmd__net__subcmd__list)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__lab__subcmd__net__subcmd__up)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__match)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__recall)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__record)
            opts="trigger"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__record__subcmd__trigger)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__run)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__sensor)
            opts="status"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__sensor__subcmd__status)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__split)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__streams)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__top)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__help__subcmd__transactions)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys)
            opts="-h --help collector sensor authority renew show identity recipient help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__authority)
            opts="-o -h --output --valid --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --valid)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__collector)
            opts="-o -h --output --authority --valid --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --authority)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --valid)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__help)
            opts="collector sensor authority renew show identity recipient help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__help__subcmd__authority)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__help__subcmd__collector)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__help__subcmd__identity)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__help__subcmd__recipient)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__help__subcmd__renew)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__help__subcmd__sensor)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__help__subcmd__show)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__identity)
            opts="-o -h --output --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__recipient)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__renew)
            opts="-h --authority --valid --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --authority)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --valid)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__sensor)
            opts="-o -h --output --authority --valid --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --authority)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --valid)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__keys__subcmd__show)
            opts="-h --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab)
            opts="-h --help net help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__help)
            opts="net help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__help__subcmd__net)
            opts="up down list"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__help__subcmd__net__subcmd__down)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__help__subcmd__net__subcmd__list)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__help__subcmd__net__subcmd__up)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__net)
            opts="-h --help up down list help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__net__subcmd__down)
            opts="-h --all --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__net__subcmd__help)
            opts="up down list help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__net__subcmd__help__subcmd__down)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__net__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__net__subcmd__help__subcmd__list)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__net__subcmd__help__subcmd__up)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__net__subcmd__list)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__lab__subcmd__net__subcmd__up)
            opts="-h --cables --queues --mtu --no-gro --threaded --offload --addresses --apart --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --cables)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --queues)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mtu)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__match)
            opts="-e -f -I -x -F -j -i -c -q -w -h --pattern --pattern-file --ignore-case --hex --stop-after --stop-after-stream --filter --workers --config --identity --from --until --interface --duration --packets --engine --tap --host --fanout --steer --ring --snaplen --incoming --no-promiscuous --busy-poll --no-pin --merge-window --metrics --no-sandbox --kernel-flows --quiet --mode --policy --policy-ipv6 --target-policy --checksum --link-addresses --duplicates --ttl-min --urgent --inactivity-timeout --closed-timeout --sliced --outer --tunnel-depth --key --fragment-min --fragments-max --datagram-max --fragment-timeout --cutoff --cutoff-direction --cutoff-class --chunk-size --overlap --flush-timeout --memory --history --priority-class --base-threshold --overload-cutoff --limit --stats --count --json --csv --columns --wide --active-timeout --rotate --keep --write --to --format --eve-types --ipfix-enterprise --udp-rate --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --pattern)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -e)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pattern-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -f)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stop-after)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stop-after-stream)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --filter)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -j)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -W "auto packet xdp xdp-generic" -- "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ring)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --busy-poll)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --merge-window)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel-flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mode)
                    COMPREPLY=($(compgen -W "strict fast track" -- "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy-ipv6)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target-policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --checksum)
                    COMPREPLY=($(compgen -W "auto verify ignore" -- "${cur}"))
                    return 0
                    ;;
                --link-addresses)
                    COMPREPLY=($(compgen -W "compare ignore" -- "${cur}"))
                    return 0
                    ;;
                --duplicates)
                    COMPREPLY=($(compgen -W "auto keep drop" -- "${cur}"))
                    return 0
                    ;;
                --ttl-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --urgent)
                    COMPREPLY=($(compgen -W "inline out" -- "${cur}"))
                    return 0
                    ;;
                --inactivity-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --closed-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sliced)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tunnel-depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragments-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --datagram-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overlap)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --flush-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --history)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --priority-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --base-threshold)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overload-cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stats)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --columns)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --active-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rotate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --write)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -w)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --to)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --eve-types)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ipfix-enterprise)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --udp-rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__recall)
            opts="-w -h --identity --from --to --stream --community-id --host --port --net --vlan --protocol --write --extract --flows --follow --overview --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --to)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stream)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --community-id)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --host)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --port)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --net)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --vlan)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --protocol)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --write)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -w)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --extract)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__record)
            opts="-r -F -j -i -c -q -o -h --read --filter --workers --config --interface --duration --packets --engine --tap --host --fanout --steer --ring --snaplen --incoming --no-promiscuous --busy-poll --no-pin --merge-window --metrics --no-sandbox --kernel-flows --quiet --output --size --age --free --segment-size --segment-time --compress --encrypt-to --durable --cutoff --cutoff-direction --cutoff-class --snaplen-class --tunnel-depth --keep-last --keep-after --keep-memory --trigger --trigger-pattern --trigger-streams --control --buffer --nice --priority-class --base-threshold --flows --verify --index-only --identity --json --help trigger"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --read)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -r)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --filter)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -j)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -W "auto packet xdp xdp-generic" -- "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ring)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --busy-poll)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --merge-window)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel-flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --age)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --free)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --segment-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --segment-time)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --compress)
                    COMPREPLY=($(compgen -W "lz4 zstd" -- "${cur}"))
                    return 0
                    ;;
                --encrypt-to)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --durable)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tunnel-depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keep-last)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keep-after)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keep-memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --trigger)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --trigger-pattern)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --control)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --buffer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --nice)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --priority-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --base-threshold)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --verify)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --index-only)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__record__subcmd__trigger)
            opts="-h --help -"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__run)
            opts="-n -f -h --instances --fanout --steer --group --engine --locality --config --no-substitute --no-pin --together --json --report --every --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --instances)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -n)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -f)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --group)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --locality)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --every)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__sensor)
            opts="-i -r -h --interface --read --wait-for --check --metrics --directory --help status help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --read)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -r)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --wait-for)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --directory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__sensor__subcmd__help)
            opts="status help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__sensor__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__sensor__subcmd__help__subcmd__status)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__sensor__subcmd__status)
            opts="-h --directory --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --directory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__split)
            opts="-d -q -h --by --steering --tunnels --mode --check --duration --json --quiet --i-own-this-network --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --by)
                    COMPREPLY=($(compgen -W "addresses ports" -- "${cur}"))
                    return 0
                    ;;
                --steering)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tunnels)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mode)
                    COMPREPLY=($(compgen -W "auto native generic" -- "${cur}"))
                    return 0
                    ;;
                --check)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -d)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__streams)
            opts="-F -j -i -c -q -w -h --filter --workers --config --identity --from --until --interface --duration --packets --engine --tap --host --fanout --steer --ring --snaplen --incoming --no-promiscuous --busy-poll --no-pin --merge-window --metrics --no-sandbox --kernel-flows --quiet --mode --policy --policy-ipv6 --target-policy --checksum --link-addresses --duplicates --ttl-min --urgent --inactivity-timeout --closed-timeout --sliced --outer --tunnel-depth --key --fragment-min --fragments-max --datagram-max --fragment-timeout --cutoff --cutoff-direction --cutoff-class --chunk-size --overlap --flush-timeout --memory --history --priority-class --base-threshold --overload-cutoff --limit --stats --sort --top --json --csv --columns --wide --time --digest --to --format --eve-types --ipfix-enterprise --udp-rate --active-timeout --rotate --keep --where --write --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --filter)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -j)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -W "auto packet xdp xdp-generic" -- "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ring)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --busy-poll)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --merge-window)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel-flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mode)
                    COMPREPLY=($(compgen -W "strict fast track" -- "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy-ipv6)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target-policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --checksum)
                    COMPREPLY=($(compgen -W "auto verify ignore" -- "${cur}"))
                    return 0
                    ;;
                --link-addresses)
                    COMPREPLY=($(compgen -W "compare ignore" -- "${cur}"))
                    return 0
                    ;;
                --duplicates)
                    COMPREPLY=($(compgen -W "auto keep drop" -- "${cur}"))
                    return 0
                    ;;
                --ttl-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --urgent)
                    COMPREPLY=($(compgen -W "inline out" -- "${cur}"))
                    return 0
                    ;;
                --inactivity-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --closed-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sliced)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tunnel-depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragments-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --datagram-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overlap)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --flush-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --history)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --priority-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --base-threshold)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overload-cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stats)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --sort)
                    COMPREPLY=($(compgen -W "id start end duration packets bytes retransmitted missing proto client server client_port server_port icmp_type icmp_code tunnel_id start_ns end_ns time_back_ns time_outliers priority packets_c2s packets_s2c bytes_c2s bytes_s2c frames_c2s frames frames_s2c frame_bytes_c2s frame_bytes frame_bytes_s2c payload_bytes_c2s payload_bytes payload_bytes_s2c tcp_flags_c2s tcp_flags_s2c reassembled_bytes_c2s reassembled_bytes reassembled_bytes_s2c delivered_bytes_c2s delivered_bytes delivered_bytes_s2c retransmitted_bytes_c2s retransmitted_bytes retransmitted_bytes_s2c out_of_order_packets_c2s out_of_order_packets out_of_order_packets_s2c missing_bytes_c2s missing_bytes missing_bytes_s2c ignored_bytes_c2s ignored_bytes ignored_bytes_s2c cutoff_bytes_c2s cutoff_bytes cutoff_bytes_s2c shed_packets_c2s shed_packets shed_packets_s2c shed_bytes_c2s shed_bytes shed_bytes_s2c chunks_c2s chunks chunks_s2c start_ns_c2s start_ns_s2c end_ns_c2s end_ns_s2c cut_off_packets_c2s cut_off_packets cut_off_packets_s2c cut_off_bytes_c2s cut_off_bytes cut_off_bytes_s2c" -- "${cur}"))
                    return 0
                    ;;
                --top)
                    COMPREPLY=($(compgen -W "id start end duration packets bytes retransmitted missing proto client server client_port server_port icmp_type icmp_code tunnel_id start_ns end_ns time_back_ns time_outliers priority packets_c2s packets_s2c bytes_c2s bytes_s2c frames_c2s frames frames_s2c frame_bytes_c2s frame_bytes frame_bytes_s2c payload_bytes_c2s payload_bytes payload_bytes_s2c tcp_flags_c2s tcp_flags_s2c reassembled_bytes_c2s reassembled_bytes reassembled_bytes_s2c delivered_bytes_c2s delivered_bytes delivered_bytes_s2c retransmitted_bytes_c2s retransmitted_bytes retransmitted_bytes_s2c out_of_order_packets_c2s out_of_order_packets out_of_order_packets_s2c missing_bytes_c2s missing_bytes missing_bytes_s2c ignored_bytes_c2s ignored_bytes ignored_bytes_s2c cutoff_bytes_c2s cutoff_bytes cutoff_bytes_s2c shed_packets_c2s shed_packets shed_packets_s2c shed_bytes_c2s shed_bytes shed_bytes_s2c chunks_c2s chunks chunks_s2c start_ns_c2s start_ns_s2c end_ns_c2s end_ns_s2c cut_off_packets_c2s cut_off_packets cut_off_packets_s2c cut_off_bytes_c2s cut_off_bytes cut_off_bytes_s2c" -- "${cur}"))
                    return 0
                    ;;
                --columns)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --time)
                    COMPREPLY=($(compgen -W "local utc iso epoch" -- "${cur}"))
                    return 0
                    ;;
                --digest)
                    COMPREPLY=($(compgen -W "sha256" -- "${cur}"))
                    return 0
                    ;;
                --to)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --eve-types)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ipfix-enterprise)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --udp-rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --active-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rotate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --where)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --write)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -w)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__top)
            opts="-F -j -i -c -q -h --filter --workers --config --identity --from --until --interface --duration --packets --engine --tap --host --fanout --steer --ring --snaplen --incoming --no-promiscuous --busy-poll --no-pin --merge-window --metrics --no-sandbox --kernel-flows --quiet --mode --policy --policy-ipv6 --target-policy --checksum --link-addresses --duplicates --ttl-min --urgent --inactivity-timeout --closed-timeout --sliced --outer --tunnel-depth --key --fragment-min --fragments-max --datagram-max --fragment-timeout --cutoff --cutoff-direction --cutoff-class --chunk-size --overlap --flush-timeout --memory --history --priority-class --base-threshold --overload-cutoff --limit --stats --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --filter)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -j)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -W "auto packet xdp xdp-generic" -- "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ring)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --busy-poll)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --merge-window)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel-flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mode)
                    COMPREPLY=($(compgen -W "strict fast track" -- "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy-ipv6)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target-policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --checksum)
                    COMPREPLY=($(compgen -W "auto verify ignore" -- "${cur}"))
                    return 0
                    ;;
                --link-addresses)
                    COMPREPLY=($(compgen -W "compare ignore" -- "${cur}"))
                    return 0
                    ;;
                --duplicates)
                    COMPREPLY=($(compgen -W "auto keep drop" -- "${cur}"))
                    return 0
                    ;;
                --ttl-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --urgent)
                    COMPREPLY=($(compgen -W "inline out" -- "${cur}"))
                    return 0
                    ;;
                --inactivity-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --closed-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sliced)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tunnel-depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragments-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --datagram-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overlap)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --flush-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --history)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --priority-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --base-threshold)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overload-cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stats)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        tidewire__subcmd__transactions)
            opts="-F -j -i -c -q -h --filter --workers --config --identity --from --until --interface --duration --packets --engine --tap --host --fanout --steer --ring --snaplen --incoming --no-promiscuous --busy-poll --no-pin --merge-window --metrics --no-sandbox --kernel-flows --quiet --mode --policy --policy-ipv6 --target-policy --checksum --link-addresses --duplicates --ttl-min --urgent --inactivity-timeout --closed-timeout --sliced --outer --tunnel-depth --key --fragment-min --fragments-max --datagram-max --fragment-timeout --cutoff --cutoff-direction --cutoff-class --chunk-size --overlap --flush-timeout --memory --history --priority-class --base-threshold --overload-cutoff --limit --stats --service --json --csv --columns --wide --time --active-timeout --rotate --keep --where --to --format --eve-types --ipfix-enterprise --udp-rate --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --filter)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --workers)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -j)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --interface)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -i)
                    COMPREPLY=($(compgen -W "any $(command ls /sys/class/net 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --duration)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --packets)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --engine)
                    COMPREPLY=($(compgen -W "auto packet xdp xdp-generic" -- "${cur}"))
                    return 0
                    ;;
                --fanout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --steer)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ring)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --snaplen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --busy-poll)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --merge-window)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kernel-flows)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mode)
                    COMPREPLY=($(compgen -W "strict fast track" -- "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy-ipv6)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target-policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --checksum)
                    COMPREPLY=($(compgen -W "auto verify ignore" -- "${cur}"))
                    return 0
                    ;;
                --link-addresses)
                    COMPREPLY=($(compgen -W "compare ignore" -- "${cur}"))
                    return 0
                    ;;
                --duplicates)
                    COMPREPLY=($(compgen -W "auto keep drop" -- "${cur}"))
                    return 0
                    ;;
                --ttl-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --urgent)
                    COMPREPLY=($(compgen -W "inline out" -- "${cur}"))
                    return 0
                    ;;
                --inactivity-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --closed-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sliced)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tunnel-depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragments-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --datagram-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fragment-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-direction)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cutoff-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overlap)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --flush-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --history)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --priority-class)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --base-threshold)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --overload-cutoff)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stats)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --service)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --columns)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --time)
                    COMPREPLY=($(compgen -W "local utc iso epoch" -- "${cur}"))
                    return 0
                    ;;
                --active-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rotate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --where)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --to)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --eve-types)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ipfix-enterprise)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --udp-rate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _tidewire -o nosort -o bashdefault -o default tidewire
else
    complete -F _tidewire -o bashdefault -o default tidewire
fi
