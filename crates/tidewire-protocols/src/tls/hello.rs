//! The hellos (RFC 8446 sections 4.1.2 and 4.1.3; RFC 5246 section 7.4.1).

use std::borrow::Cow;

use crate::{reader::Reader, text::text};

/// Most application protocols of a list that are kept.
const ALPN_MAX: usize = 32;

const SERVER_NAME: u16 = 0;
const SUPPORTED_GROUPS: u16 = 10;
const POINT_FORMATS: u16 = 11;
const SIGNATURE_ALGORITHMS: u16 = 13;
const ALPN: u16 = 16;
const PRE_SHARED_KEY: u16 = 41;
const SUPPORTED_VERSIONS: u16 = 43;

/// The random value of a server's hello that asks for another one of the client (RFC 8446 section 4.1.3).
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Values that clients send so that servers get used to unknown ones (RFC 8701).
pub(super) fn is_grease(value: u16) -> bool {
    value & 0x0f0f == 0x0a0a && value >> 8 == value & 0xff
}

/// The name of a version; drafts of TLS 1.3 have their number.
pub(crate) fn version_name(version: u16) -> Cow<'static, str> {
    match version {
        0x0002 => "SSL 2.0".into(),
        0x0300 => "SSL 3.0".into(),
        0x0301 => "TLS 1.0".into(),
        0x0302 => "TLS 1.1".into(),
        0x0303 => "TLS 1.2".into(),
        0x0304 => "TLS 1.3".into(),
        draft if draft >> 8 == 0x7f => format!("TLS 1.3 draft {}", draft & 0xff).into(),
        other => format!("0x{other:04x}").into(),
    }
}

/// Its place among versions: drafts of TLS 1.3 are above TLS 1.2.
fn rank(version: u16) -> (bool, u16) {
    (version == 0x0304, version)
}

/// A client's hello.
#[derive(Debug)]
pub(crate) struct ClientHello<'a> {
    pub(super) legacy_version: u16,
    pub(super) session: &'a [u8],
    pub(super) ciphers: Vec<u16>,
    /// In the order of the message.
    pub(super) extensions: Vec<(u16, &'a [u8])>,
}

impl<'a> ClientHello<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let legacy_version = reader.u16()?;
        reader.take(32)?;
        let session = reader.block8()?.rest();
        let ciphers = reader.block16()?.all_u16().collect();
        reader.block8()?;
        Some(Self { legacy_version, session, ciphers, extensions: extensions(reader) })
    }

    pub(super) fn extension(&self, kind: u16) -> Option<Reader<'a>> {
        find(&self.extensions, kind)
    }

    /// The highest version that is offered.
    pub(crate) fn version(&self) -> u16 {
        let offered = self.extension(SUPPORTED_VERSIONS).and_then(|mut reader| reader.block8());
        let highest =
            offered.and_then(|list| list.all_u16().filter(|&version| !is_grease(version)).max_by_key(|&v| rank(v)));
        highest.unwrap_or(self.legacy_version)
    }

    /// The first host name of the list.
    pub(crate) fn sni(&self) -> Option<Box<str>> {
        let mut list = self.extension(SERVER_NAME)?.block16()?;
        while !list.is_empty() {
            let (kind, name) = (list.u8()?, list.block16()?);
            if kind == 0 {
                return Some(text(name.rest()));
            }
        }
        None
    }

    pub(super) fn has_sni(&self) -> bool {
        self.extension(SERVER_NAME).is_some()
    }

    pub(crate) fn alpn(&self) -> Vec<Box<str>> {
        alpn(self.extension(ALPN)).take(ALPN_MAX).map(text).collect()
    }

    pub(super) fn first_alpn(&self) -> &'a [u8] {
        alpn(self.extension(ALPN)).next().unwrap_or_default()
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = u16> {
        self.list16(SUPPORTED_GROUPS)
    }

    pub(super) fn signature_algorithms(&self) -> impl Iterator<Item = u16> {
        self.list16(SIGNATURE_ALGORITHMS)
    }

    pub(super) fn point_formats(&self) -> &'a [u8] {
        let list = self.extension(POINT_FORMATS).and_then(|mut reader| reader.block8());
        list.map(|list| list.rest()).unwrap_or_default()
    }

    fn list16(&self, kind: u16) -> impl Iterator<Item = u16> {
        let list = self.extension(kind).and_then(|mut reader| reader.block16());
        list.into_iter().flat_map(Reader::all_u16)
    }
}

/// A server's hello.
#[derive(Debug)]
pub(super) struct ServerHello<'a> {
    pub(super) version: u16,
    pub(super) session: &'a [u8],
    pub(super) cipher: u16,
    pub(super) is_retry: bool,
    pub(super) has_psk: bool,
    alpn: Option<Reader<'a>>,
}

impl<'a> ServerHello<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let legacy_version = reader.u16()?;
        let is_draft = legacy_version >> 8 == 0x7f;
        let is_retry = reader.take(32)? == RETRY;
        // Drafts of TLS 1.3 before the 22nd had neither session nor compression.
        let session = if is_draft { &[] } else { reader.block8()?.rest() };
        let cipher = reader.u16()?;
        if !is_draft {
            reader.u8()?;
        }
        let extensions = extensions(reader);
        let version = find(&extensions, SUPPORTED_VERSIONS).and_then(|mut reader| reader.u16());
        Some(Self {
            version: version.unwrap_or(legacy_version),
            session,
            cipher,
            is_retry,
            has_psk: find(&extensions, PRE_SHARED_KEY).is_some(),
            alpn: find(&extensions, ALPN),
        })
    }

    pub(crate) fn alpn(&self) -> Option<Box<str>> {
        alpn(self.alpn).next().map(text)
    }
}

/// All extensions; an unfinished one ends them.
fn extensions(mut reader: Reader<'_>) -> Vec<(u16, &[u8])> {
    let Some(mut list) = reader.block16() else { return Vec::new() };
    let mut next = || Some((list.u16()?, list.block16()?.rest()));
    std::iter::from_fn(&mut next).collect()
}

fn find<'a>(extensions: &[(u16, &'a [u8])], kind: u16) -> Option<Reader<'a>> {
    extensions.iter().find(|extension| extension.0 == kind).map(|extension| Reader::new(extension.1))
}

fn alpn<'a>(extension: Option<Reader<'a>>) -> impl Iterator<Item = &'a [u8]> {
    let mut list = extension.and_then(|mut reader| reader.block16());
    std::iter::from_fn(move || list.as_mut()?.block8().map(|name| name.rest()))
}
