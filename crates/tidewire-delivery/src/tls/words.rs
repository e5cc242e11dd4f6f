//! Refusals of TLS, in words that say what to do.

use rustls::{AlertDescription, CertificateError, Error};

/// An error of TLS in words.
pub(super) fn of(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(error) => format!("the certificate of the other side is refused: {}", refused(error)),
        Error::AlertReceived(alert) => match theirs(*alert) {
            Some(why) => format!("the other side refuses: {why}"),
            None => format!("the other side refuses: alert {} of TLS (RFC 8446, section 6)", u8::from(*alert)),
        },
        Error::NoCertificatesPresented => "the other side shows no certificate".into(),
        Error::PeerIncompatible(_) => "the other side cannot speak TLS 1.3 as it is needed".into(),
        Error::InvalidMessage(_) | Error::PeerMisbehaved(_) => "the other side does not speak TLS".into(),
        Error::NoApplicationProtocol => "the other side speaks another protocol than this one over TLS".into(),
        error => format!("TLS: {error}"),
    }
}

fn refused(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => "it is not from an authority that is known here".into(),
        CertificateError::BadSignature => {
            "its authority has the name of the one that is known here, but another key; make both with one authority.pem".into()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired; renew it with 'tidewire keys renew'".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet; are both clocks right?".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("it has other names: {error}")
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not meant for this side (sensors and collectors have different ones)".into()
        }
        error => error.to_string(),
    }
}

/// Meaning of an alert that the other side sends about our certificate.
fn theirs(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::UnknownCA => "our certificate is not from an authority that it knows",
        AlertDescription::DecryptError => {
            "our certificate is not signed by the authority that it knows; make both with one authority.pem"
        }
        AlertDescription::CertificateExpired => "our certificate has expired, or is not valid yet",
        AlertDescription::CertificateRequired => "it got no certificate of ours",
        AlertDescription::BadCertificate | AlertDescription::CertificateUnknown => {
            "it cannot use our certificate: is it one for this side?"
        }
        AlertDescription::UnsupportedCertificate => "our certificate is not meant for this side",
        AlertDescription::NoApplicationProtocol => "it speaks another protocol than this one over TLS",
        AlertDescription::HandshakeFailure | AlertDescription::ProtocolVersion => {
            "it cannot speak TLS 1.3 as it is needed"
        }
        _ => return None,
    })
}
