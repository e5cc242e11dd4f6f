"""What another parser reads in a certificate: Python's cryptography, where it is installed."""
try:
    from cryptography import x509
except ImportError:
    x509 = None


def certificate_facts(der):
    if x509 is None:
        return
    try:
        certificate = x509.load_der_x509_certificate(der)
        yield "not_before", int(certificate.not_valid_before_utc.timestamp())
        yield "not_after", int(certificate.not_valid_after_utc.timestamp())
        yield "serial", certificate.serial_number
        for kind, subject in (("subject", certificate.subject), ("issuer", certificate.issuer)):
            yield kind, tuple(str(attribute.value) for attribute in subject)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        for name in list(names)[:64]:
            if isinstance(name, (x509.DNSName, x509.RFC822Name, x509.UniformResourceIdentifier, x509.IPAddress)):
                yield "san", str(name.value)
    except (ValueError, TypeError, x509.ExtensionNotFound):
        return
