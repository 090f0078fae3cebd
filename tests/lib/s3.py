#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/lib/s3.py - a server of objects on the loopback that takes what is signed, for tests/e2e/s3.sh
#
# usage: s3.py FOLDER [PORT]; s3.py --self-test
#
# It computes each request's signature by itself, from what Amazon writes of it ("Signature Calculations for the Authorization
# Header: Transferring Payload in a Single Chunk"), and refuses as Amazon's does. --self-test holds it to the example there.
# In FOLDER: port (written once it listens), put (a line for each object: "new|again KEY"), headers (of the last one),
# objects/ (by key), and, read at each request: secret, token, and fail, "STATUS CODE" to refuse whatever comes.
import datetime
import hashlib
import hmac
import http.server
import os
import re
import sys
import urllib.parse

ACCESS, REGION, BUCKET = "AKIAIOSFODNN7EXAMPLE", "eu-test-1", "profiles"


class Refusal(Exception):
	def __init__(self, status, code, message):
		super().__init__(code)
		self.status, self.code, self.message = status, code, message


def canonical_request(method, target, headers, signed, payload_hash):
	path, _, query = target.partition("?")
	pairs = sorted((urllib.parse.quote(k, safe="-_.~"), urllib.parse.quote(v, safe="-_.~"))
		       for k, v in urllib.parse.parse_qsl(query, keep_blank_values=True))
	lines = [method, urllib.parse.quote(urllib.parse.unquote(path), safe="/-_.~"), "&".join(f"{k}={v}" for k, v in pairs)]
	lines += [f"{name}:{' '.join(headers[name].split())}" for name in signed]
	return "\n".join(lines + ["", ";".join(signed), payload_hash])


def signature(secret, date, scope, request):
	key = ("AWS4" + secret).encode()
	for part in scope.split("/"):
		key = hmac.new(key, part.encode(), hashlib.sha256).digest()
	text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(request.encode()).hexdigest()])
	return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def judge(method, target, headers, body, secret, token):
	"""Raises what Amazon would answer; headers: a dict of lower-case names."""
	m = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/, ]+)/([^, ]+), ?SignedHeaders=([^, ]+), ?Signature=([0-9a-f]{64})",
			 headers.get("authorization", ""))
	if not m:
		raise Refusal(403, "AccessDenied", "not signed")
	access, scope, signed, got = m[1], m[2], m[3].split(";"), m[4]
	date, digest = headers.get("x-amz-date", ""), headers.get("x-amz-content-sha256", "")
	if access != ACCESS:
		raise Refusal(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
	if scope != f"{date[:8]}/{REGION}/s3/aws4_request":
		raise Refusal(400, "AuthorizationHeaderMalformed", f"the region is wrong; expecting '{REGION}'")
	when = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
	if abs((datetime.datetime.now(datetime.timezone.utc) - when).total_seconds()) > 900:
		raise Refusal(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
	if signed != sorted(signed) or "host" not in signed or any(h.startswith("x-amz-") and h not in signed for h in headers):
		raise Refusal(403, "AccessDenied", "There were headers present in the request which were not signed")
	if digest != hashlib.sha256(body).hexdigest():
		raise Refusal(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
	if not hmac.compare_digest(got, signature(secret, date, scope, canonical_request(method, target, headers, signed, digest))):
		raise Refusal(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your key & signing method.")
	if token and headers.get("x-amz-security-token") != token:
		raise Refusal(400, "ExpiredToken", "The provided token has expired.")


class Handler(http.server.BaseHTTPRequestHandler):
	protocol_version = "HTTP/1.1"

	def said(self, name, default=""):
		try:
			with open(os.path.join(self.server.folder, name)) as f:
				return f.read().strip()
		except FileNotFoundError:
			return default

	def take(self, body):
		headers = {}
		for k, v in self.headers.items():
			headers[k.lower()] = headers[k.lower()] + "," + v if k.lower() in headers else v
		fail = self.said("fail").split()
		if fail:
			raise Refusal(int(fail[0]), fail[1], "as the test wants it")
		judge("PUT", self.path, headers, body, self.said("secret"), self.said("token"))
		path = urllib.parse.unquote(self.path).lstrip("/")
		name, _, domain = headers.get("host", "").partition(":")[0].partition(".")
		# The bucket's name stands before the host's, or in the path.
		bucket, _, key = (name, "", path) if domain == "localhost" else path.partition("/")
		if bucket != BUCKET:
			raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist")
		if not key or ".." in key.split("/") or "//" in key:
			raise Refusal(400, "InvalidURI", "Couldn't parse the specified URI.")
		file = os.path.join(self.server.folder, "objects", key)
		how = "again" if os.path.exists(file) else "new"
		os.makedirs(os.path.dirname(file), exist_ok=True)
		with open(file, "wb") as f:
			f.write(body)
		with open(os.path.join(self.server.folder, "headers"), "w") as f:
			f.write("".join(f"{k}: {v}\n" for k, v in headers.items()))
		with open(os.path.join(self.server.folder, "put"), "a") as f:
			f.write(f"{how} {key}\n")

	def do_PUT(self):
		body = self.rfile.read(int(self.headers.get("content-length", "0")))
		status, answer = 200, b""
		try:
			self.take(body)
		except Refusal as r:
			message = r.message.replace("&", "&amp;").replace("<", "&lt;")
			status = r.status
			answer = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{r.code}</Code><Message>{message}</Message></Error>'.encode()
		if os.path.exists(os.path.join(self.server.folder, "silent")):
			os.remove(os.path.join(self.server.folder, "silent"))
			self.close_connection = True
			return
		self.send_response(status)
		self.send_header("Content-Type", "application/xml")
		if status == 200:
			self.send_header("ETag", '"of-no-meaning"')
		self.send_header("Content-Length", str(len(answer)))
		self.end_headers()
		self.wfile.write(answer)

	def log_message(self, format, *args):
		pass


def self_test():
	body = b"Welcome to Amazon S3."
	digest = hashlib.sha256(body).hexdigest()
	headers = {"date": "Fri, 24 May 2013 00:00:00 GMT", "host": "examplebucket.s3.amazonaws.com",
		   "x-amz-content-sha256": digest, "x-amz-date": "20130524T000000Z", "x-amz-storage-class": "REDUCED_REDUNDANCY"}
	request = canonical_request("PUT", "/test%24file.text", headers, sorted(headers), digest)
	got = signature("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524T000000Z", "20130524/us-east-1/s3/aws4_request", request)
	return got == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"


if sys.argv[1:] == ["--self-test"]:
	sys.exit(0 if self_test() else 1)
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
server.folder = sys.argv[1]
with open(os.path.join(server.folder, "port.new"), "w") as f:
	f.write(str(server.server_address[1]))
os.rename(os.path.join(server.folder, "port.new"), os.path.join(server.folder, "port"))
server.serve_forever()
