#!/bin/sh
# Makes the certificates of this folder anew: a CA, a server (127.0.0.1, localhost), an expired server, a client, another CA;
# and keys of several kinds and forms.
# Each is valid from 2020 to 2120, the expired one for a day of 2001, the one for later from 2100, so that no test depends on the day.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/index"
echo 1000 >"$work/serial"
cat >"$work/ca.cnf" <<CNF
[ca]
default_ca = main
[main]
database = $work/index
serial = $work/serial
new_certs_dir = $work
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
CNF
request() { # name, common name, extension
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" -addext "$3" \
        -keyout "$1.key" -out "$work/$1.csr" 2>/dev/null
}
sign() { # name, from, to, more options
    name=$1 from=$2 to=$3
    shift 3
    openssl ca -batch -notext -config "$work/ca.cnf" -in "$work/$name.csr" -out "$name.pem" \
        -startdate "${from}000000Z" -enddate "${to}000000Z" "$@" 2>/dev/null
}
for name in ca other-ca; do
    request $name "kinformer test $name" basicConstraints=critical,CA:TRUE
    sign $name 20200101 21200101 -selfsign -keyfile $name.key
done
request server server subjectAltName=IP:127.0.0.1,DNS:localhost
sign server 20200101 21200101 -cert ca.pem -keyfile ca.key
request client client extendedKeyUsage=clientAuth
openssl pkcs8 -topk8 -in client.key -v2 aes-256-cbc -passout pass:a-password -out encrypted.key
openssl ec -in client.key -aes128 -passout pass:a-password -out encrypted-old.key 2>/dev/null
sign client 20200101 21200101 -cert ca.pem -keyfile ca.key
request expired expired subjectAltName=IP:127.0.0.1
sign expired 20010101 20010102 -cert ca.pem -keyfile ca.key
request later later extendedKeyUsage=clientAuth
sign later 21000101 21200101 -selfsign -keyfile later.key
# The client's key as older programs write it, and without its public half; and other kinds of keys with their certificates.
openssl ec -in client.key -out client-old.key 2>/dev/null
openssl ec -in client.key -no_public -out client-private.key 2>/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=rsa -days 36500 -keyout rsa.key -out rsa.pem 2>/dev/null
openssl rsa -in rsa.key -traditional -out rsa-old.key 2>/dev/null
openssl genrsa -out other-rsa.key 2048 2>/dev/null
openssl req -x509 -newkey ed25519 -nodes -subj /CN=ed25519 -days 36500 -keyout ed25519.key -out ed25519.pem 2>/dev/null
openssl ecparam -name secp384r1 -genkey -out p384.key # with its parameters before it
openssl req -x509 -key p384.key -subj /CN=p384 -days 36500 -out p384.pem 2>/dev/null
openssl ec -in p384.key -conv_form compressed -out p384-short.key 2>/dev/null
openssl ec -in p384.key -conv_form hybrid -out p384-hybrid.key 2>/dev/null
sed '2s/^..../AAAA/' ca.pem >garbled.pem
rm -f ca.key other-ca.key # nothing more is to be signed with them
