"""One certificate authority for the world's servers and webhooks, all on 127.0.0.1."""

import base64
import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificates:
    """Paths of PEM files; ``server`` is valid for 127.0.0.1, ``localhost`` and ``kubernetes.default.svc``."""

    authority: Path
    server: Path
    server_key: Path
    account_key: Path
    """Private key that signs service-account tokens."""

    @property
    def authority_base64(self) -> str:
        """The authority as kubeconfigs and webhook configurations carry it."""
        return base64.b64encode(self.authority.read_bytes()).decode()


def make_certificates(folder: Path) -> Certificates:
    """Write a fresh authority, server pair and signing key into ``folder``; they are valid for a day."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.x509.oid import NameOID

    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)

    def name(common: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])

    def builder(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name("headwater-judges"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=1))
        )

    def write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> Path:
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        return path

    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = (
        builder(name("headwater-judges"), authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    server_key = ec.generate_private_key(ec.SECP256R1())
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.DNSName("localhost"),
        x509.DNSName("kubernetes.default.svc"),
    ]
    server = (
        builder(name("127.0.0.1"), server_key)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "ca.crt").write_bytes(authority.public_bytes(pem))
    (folder / "tls.crt").write_bytes(server.public_bytes(pem))
    return Certificates(
        authority=folder / "ca.crt",
        server=folder / "tls.crt",
        server_key=write_key(folder / "tls.key", server_key),
        account_key=write_key(folder / "sa.key", rsa.generate_private_key(public_exponent=65537, key_size=2048)),
    )
