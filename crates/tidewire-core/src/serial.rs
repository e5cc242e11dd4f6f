//! Values of serde: the names and forms of the command's JSON.

use std::borrow::Cow;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::Error as _,
    ser::{SerializeMap, SerializeSeq},
};
use tidewire_types::{Endpoint, Vlans, ip_protocol, protocol_name, protocol_number};
use tidewire_wire::{Malformation, OtherLink, Tunnel, TunnelKind};

use crate::{
    AnomalyKind, ClientBy, DefragPolicy, EndReason, Fate, FlowKey, GapCause, Ledger, Rejection, TcpPolicy, TcpState,
};

tidewire_types::serde_by_name!(
    AnomalyKind,
    ClientBy,
    DefragPolicy,
    EndReason,
    Fate,
    GapCause,
    Rejection,
    TcpPolicy,
    TcpState,
);

/// A key as records have it.
#[derive(Serialize, Deserialize)]
struct KeyForm<'a> {
    /// The protocol's name, or its number as text.
    proto: Cow<'a, str>,
    client: Endpoint,
    server: Endpoint,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    icmp_type: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    icmp_code: Option<u8>,
    #[serde(default)]
    vlan: Vec<u16>,
    #[serde(default)]
    tunnel: Option<Tunnel>,
}

impl Serialize for FlowKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let icmp = ip_protocol::is_icmp(self.proto).then_some(self.icmp);
        let proto = protocol_name(self.proto).map_or_else(|| self.proto.to_string().into(), Cow::Borrowed);
        let form = KeyForm {
            proto,
            client: self.client,
            server: self.server,
            icmp_type: icmp.map(|icmp| icmp[0]),
            icmp_code: icmp.map(|icmp| icmp[1]),
            vlan: self.vlans.iter().collect(),
            tunnel: (self.tunnel.kind != TunnelKind::None).then_some(self.tunnel),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FlowKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = KeyForm::deserialize(deserializer)?;
        let proto = protocol_number(&form.proto)
            .ok_or_else(|| D::Error::custom(format_args!("unknown protocol `{}`", form.proto)))?;
        let mut key = Self::new(form.client, form.server, proto);
        key.vlans = Vlans::new(form.vlan.iter().copied());
        if key.vlans.len() != form.vlan.len() {
            return Err(D::Error::custom("vlan: at most two ids, each 1 to 4095"));
        }
        key.icmp = [form.icmp_type.unwrap_or(0), form.icmp_code.unwrap_or(0)];
        if let Some(tunnel) = form.tunnel {
            key.tunnel = tunnel;
        }
        Ok(key)
    }
}

/// Members that are computed one after the other.
struct Members<F>(F);

impl<F: Fn(&mut dyn FnMut(&'static str, u64))> Serialize for Members<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut map, mut result) = (serializer.serialize_map(None)?, Ok(()));
        (self.0)(&mut |name, count| {
            if result.is_ok() {
                result = map.serialize_entry(name, &count);
            }
        });
        result?;
        map.end()
    }
}

/// Copies of packets by interface.
struct Copies<'a>(&'a Ledger);

#[derive(Serialize)]
struct CopiesOf {
    interface: u16,
    packets: u64,
}

impl Serialize for Copies<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for (interface, packets) in self.0.duplicates() {
            list.serialize_element(&CopiesOf { interface, packets })?;
        }
        list.end()
    }
}

/// Everything but the fates.
struct Detail<'a>(&'a Ledger);

impl Serialize for Detail<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ledger = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("received_bytes", &ledger.received_bytes)?;
        map.serialize_entry("delivered_bytes", &ledger.delivered_bytes)?;
        map.serialize_entry("gap_bytes", &ledger.gap_bytes)?;
        map.serialize_entry("uncompared_bytes", &ledger.uncompared_bytes)?;
        map.serialize_entry("buffered_bytes_max", &ledger.buffered_bytes_max)?;
        map.serialize_entry("streams_opened", &ledger.streams_opened)?;
        map.serialize_entry("streams_closed", &ledger.streams_closed)?;
        map.serialize_entry("streams_open_max", &ledger.streams_open_max)?;
        map.serialize_entry("evicted", &ledger.evicted)?;
        map.serialize_entry("evicted_half_open", &ledger.evicted_half_open)?;
        if ledger.sliced_packets > 0 {
            map.serialize_entry("sliced_packets", &ledger.sliced_packets)?;
        }
        map.serialize_entry("datagrams_rebuilt", &ledger.datagrams_rebuilt)?;
        map.serialize_entry("datagrams_rejected", &ledger.datagrams_rejected)?;
        if ledger.time_outliers > 0 {
            map.serialize_entry("time_outliers", &ledger.time_outliers)?;
        }
        map.serialize_entry("shed_by_priority", &ledger.shed_by_priority)?;
        let anomalies = |each: &mut dyn FnMut(&'static str, u64)| {
            AnomalyKind::ALL.iter().for_each(|&kind| each(kind.name(), ledger.anomaly(kind)));
        };
        map.serialize_entry("anomalies", &Members(anomalies))?;
        let malformations = |each: &mut dyn FnMut(&'static str, u64)| {
            let counts = Malformation::ALL.iter().map(|&why| (why.name(), ledger.malformation(why)));
            counts.filter(|(_, count)| *count > 0).for_each(|(name, count)| each(name, count));
        };
        map.serialize_entry("malformations", &Members(malformations))?;
        let other_links = |each: &mut dyn FnMut(&'static str, u64)| {
            let counts = OtherLink::ALL.iter().map(|&protocol| (protocol.name(), ledger.other_link(protocol)));
            counts.filter(|(_, count)| *count > 0).for_each(|(name, count)| each(name, count));
        };
        map.serialize_entry("other_links", &Members(other_links))?;
        if ledger.fate(Fate::Duplicate) > 0 {
            map.serialize_entry("duplicates", &Copies(ledger))?;
        }
        map.end()
    }
}

/// `received` and all fates, which add up to it; everything else is in `detail`.
impl Serialize for Ledger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("received", &self.received)?;
        // Most captures have no copies.
        let shown = |fate: Fate| fate != Fate::Duplicate || self.fate(fate) > 0;
        for &fate in Fate::ALL.iter().filter(|fate| shown(**fate)) {
            map.serialize_entry(fate.name(), &self.fate(fate))?;
        }
        map.serialize_entry("detail", &Detail(self))?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::{Anomaly, Conflict, Direction, DirectionStats, Gap};

    fn there_and_back<T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug>(value: &T, json: &str) {
        assert_eq!(serde_json::to_string(value).unwrap(), json);
        assert_eq!(&serde_json::from_str::<T>(json).unwrap(), value);
    }

    #[test]
    fn keys_are_read_back() {
        let ends = ["10.0.0.1", "2001:db8::1"].map(|text| text.parse::<IpAddr>().unwrap());
        let [client, server] = ends.map(|address| Endpoint { address, port: 80 });
        let mut key = FlowKey::new(client, server, 6);
        let addresses = r#""client":{"addr":"10.0.0.1","port":80},"server":{"addr":"2001:db8::1","port":80}"#;
        there_and_back(&key, &format!(r#"{{"proto":"tcp",{addresses},"vlan":[],"tunnel":null}}"#));
        (key.proto, key.icmp, key.vlans) = (1, [8, 1], Vlans::new([7]));
        key.tunnel = Tunnel { kind: TunnelKind::Vxlan, id: 9 };
        let rest = r#""icmp_type":8,"icmp_code":1,"vlan":[7],"tunnel":{"kind":"vxlan","id":9}"#;
        there_and_back(&key, &format!(r#"{{"proto":"icmp",{addresses},{rest}}}"#));
        key = FlowKey::new(client, server, 253);
        there_and_back(&key, &format!(r#"{{"proto":"253",{addresses},"vlan":[],"tunnel":null}}"#));
        for (wrong, why) in [
            (format!(r#"{{"proto":"none",{addresses}}}"#), "unknown protocol `none`"),
            (format!(r#"{{"proto":"tcp",{addresses},"vlan":[1,2,3]}}"#), "at most two ids"),
            (format!(r#"{{"proto":"tcp",{addresses},"vlan":[4096]}}"#), "each 1 to 4095"),
        ] {
            let error = serde_json::from_str::<FlowKey>(&wrong).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn names_are_those_of_records() {
        for &reason in EndReason::ALL {
            there_and_back(&reason, &format!("\"{}\"", reason.name()));
        }
        for &state in TcpState::ALL {
            there_and_back(&state, &format!("\"{}\"", state.name()));
        }
        there_and_back(&Direction::ServerToClient, "\"s2c\"");
        let error = serde_json::from_str::<GapCause>("\"holes\"").unwrap_err().to_string();
        assert!(error.contains("unknown name `holes`, expected one of: not_captured, snapped"), "{error}");
        let gap = Gap::new(Direction::ClientToServer, 7, 9, GapCause::Shed);
        there_and_back(&gap, r#"{"direction":"c2s","offset":7,"bytes":9,"cause":"shed"}"#);
        there_and_back(&Anomaly::new(AnomalyKind::BlindSyn, 3), r#"{"kind":"blind_syn","packet":3}"#);
        there_and_back(&Conflict { offset: 1, bytes: 2 }, r#"{"offset":1,"bytes":2}"#);
        let mut stats = DirectionStats::default();
        (stats.packets, stats.ip_bytes) = (1, 40);
        assert_eq!(serde_json::from_str::<DirectionStats>(r#"{"packets":1,"bytes":40}"#).unwrap(), stats);
    }

    #[test]
    fn a_ledger_is_received_and_its_fates() {
        let mut ledger = Ledger::default();
        (ledger.received, ledger.fates[Fate::Tracked as usize]) = (5, 5);
        ledger.duplicates = vec![0, 2];
        let value = serde_json::to_value(&ledger).unwrap();
        let members = value.as_object().unwrap();
        let fates = members.iter().filter(|(name, _)| !["received", "detail"].contains(&name.as_str()));
        assert_eq!(fates.filter_map(|(_, count)| count.as_u64()).sum::<u64>(), 5);
        assert!(value.get("duplicate").is_none() && value["detail"].get("duplicates").is_none());
        ledger.fates[Fate::Duplicate as usize] = 2;
        let value = serde_json::to_value(&ledger).unwrap();
        assert_eq!(value["detail"]["duplicates"][0]["packets"], 2);
    }
}
