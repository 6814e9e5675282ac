import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callError } from '../../../src/cri/errors.ts';
import { pullFault } from '../../../src/cri/pull-fault.ts';

const UNKNOWN = 2;
const NOT_FOUND = 5;

/** What the versions put before the cause, seen on 1.6.20, 1.7.24 and 2.1.9. */
const OLD =
  'failed to pull and unpack image "reg.test/app:1": failed to resolve reference "reg.test/app:1": ';
const NEW = 'failed to pull and unpack image "reg.test/app:1": failed to resolve image: ';
const HEAD = 'failed to do request: Head "https://reg.test/v2/app/manifests/1": ';
const COPY = 'failed to pull and unpack image "reg.test/app:1": failed to copy: ';
const URL = 'http://reg.test/v2/app/manifests/1';

/** Seen from real runtimes, but for those marked (Go), which are the words of Go's network code. */
const UNREACHABLE: readonly string[] = [
  `${OLD}${HEAD}dial tcp 127.0.0.1:5000: connect: connection refused`,
  `${NEW}${HEAD}dial tcp 127.0.0.1:5000: connect: connection refused`,
  `${OLD}${HEAD}dial tcp: lookup reg.test on 10.0.0.53:53: no such host`,
  `${NEW}${HEAD}dial tcp: lookup reg.test on 10.0.0.53:53: no such host`,
  `${OLD}${HEAD}EOF`,
  `${NEW}${HEAD}EOF`,
  `${OLD}pulling from host reg.test failed with status code [manifests 1]: 500 Internal Server Error`,
  `${OLD}pulling from host reg.test failed with status code [manifests 1]: 503 Service Unavailable`,
  `${OLD}pulling from host 127.0.0.1:5000 failed with status code [manifests 1]: 429 Too Many Requests`,
  `${OLD}unexpected status from HEAD request to ${URL}: 502 Bad Gateway`,
  `${NEW}unexpected status from HEAD request to ${URL}: 504 Gateway Timeout`,
  `${NEW}unexpected status from HEAD request to http://127.0.0.1:5000/v2/app/manifests/1: 503 Service Unavailable`,
  `${OLD}failed to authorize: failed to fetch anonymous token: unexpected status: 503 Service Unavailable`,
  `${COPY}httpReadSeeker: failed open: unexpected status code http://reg.test/v2/app/blobs/sha256:6b72: 503 Service Unavailable - Server message: unavailable: later`,
  `${COPY}httpReadSeeker: failed open: unexpected status from GET request to http://reg.test/v2/app/blobs/sha256:564b: 503 Service Unavailable\nunavailable: later`,
  `${COPY}httpReadSeeker: failed open: failed to do request: Get "https://reg.test/v2/app/blobs/sha256:e747": EOF`,
  // (Go)
  `${OLD}${HEAD}dial tcp: lookup reg.test on 10.0.0.53:53: server misbehaving`,
  `${OLD}${HEAD}dial tcp: lookup reg.test: Temporary failure in name resolution`,
  `${OLD}${HEAD}dial tcp: lookup reg.test on 10.0.0.53:53: read udp 10.0.0.2:33333->10.0.0.53:53: i/o timeout`,
  `${OLD}${HEAD}dial tcp: lookup reg.test on [::1]:53: dial udp [::1]:53: connect: network is unreachable`,
  `${OLD}${HEAD}dial tcp 192.0.2.7:443: connect: network is unreachable`,
  `${OLD}${HEAD}dial tcp 192.0.2.7:443: connect: no route to host`,
  `${OLD}${HEAD}dial tcp 192.0.2.7:443: i/o timeout`,
  `${NEW}${HEAD}dial tcp [2001:db8::7]:443: connect: connection timed out`,
  `${OLD}${HEAD}net/http: TLS handshake timeout`,
  `${OLD}${HEAD}context deadline exceeded`,
  `${OLD}${HEAD}context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  `${OLD}${HEAD}read tcp 10.0.0.2:40000->192.0.2.7:443: read: connection reset by peer`,
  `${OLD}${HEAD}proxyconnect tcp: dial tcp 10.0.0.1:3128: connect: connection refused`,
  `${OLD}failed to authorize: failed to fetch anonymous token: Get "https://auth.test/token?service=x": dial tcp: lookup auth.test: no such host`,
  `${OLD}failed to authorize: failed to fetch oauth token: Post "https://auth.test/token": dial tcp 192.0.2.8:443: i/o timeout`,
  `${OLD}${HEAD}tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 1970-01-01T00:00:31Z is before 2024-05-01T00:00:00Z`,
  `${COPY}read tcp 10.0.0.2:40000->192.0.2.7:443: read: connection reset by peer`,
  `${COPY}unexpected EOF`,
  // The runtime ends a pull that makes no progress.
  'failed to pull and unpack image "reg.test/app:1": context canceled',
  'RegistryUnavailable: connection refused',
];

const REFUSED: readonly [number, string][] = [
  [NOT_FOUND, `${OLD}reg.test/app:2: not found`],
  [NOT_FOUND, `${NEW}127.0.0.1:5000/lib/app:2: not found`],
  [
    NOT_FOUND,
    `${COPY}httpReadSeeker: failed open: could not fetch content descriptor sha256:4e6e (application/vnd.oci.image.config.v1+json) from remote: not found`,
  ],
  [
    UNKNOWN,
    `${OLD}pulling from host reg.test failed with status code [manifests 1]: 401 Unauthorized`,
  ],
  [
    UNKNOWN,
    `${OLD}pulling from host reg.test failed with status code [manifests 1]: 403 Forbidden`,
  ],
  [UNKNOWN, `${NEW}unexpected status from HEAD request to ${URL}: 401 Unauthorized`],
  [UNKNOWN, `${NEW}unexpected status from HEAD request to ${URL}: 403 Forbidden`],
  [UNKNOWN, `${NEW}unexpected status from HEAD request to ${URL}: 400 Bad Request`],
  [
    UNKNOWN,
    `${OLD}pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`,
  ],
  [
    UNKNOWN,
    `${OLD}pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`,
  ],
  [
    UNKNOWN,
    `${OLD}failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized`,
  ],
  [
    UNKNOWN,
    `${OLD}failed to authorize: failed to fetch oauth token: unexpected status from GET request to http://auth.test/token?scope=repository%3Aapp%3Apull&service=test: 401 Unauthorized`,
  ],
  [
    UNKNOWN,
    `${NEW}${HEAD}tls: failed to verify certificate: x509: certificate signed by unknown authority`,
  ],
  [
    UNKNOWN,
    `${OLD}${HEAD}x509: certificate has expired or is not yet valid: current time 2026-01-01T00:00:00Z is after 2025-01-01T00:00:00Z`,
  ],
  [UNKNOWN, `${NEW}${HEAD}tls: first record does not look like a TLS handshake`],
  [
    UNKNOWN,
    `${OLD}${HEAD}net/http: HTTP/1.x transport connection broken: malformed HTTP response "garbage"`,
  ],
  [UNKNOWN, `${OLD}${HEAD}http: server gave HTTP response to HTTPS client`],
  // What a registry says beside its status counts for nothing.
  [
    UNKNOWN,
    `${COPY}httpReadSeeker: failed open: unexpected status code http://reg.test/v2/app/blobs/sha256:3db0: 403 Forbidden - Server message: denied: dial tcp: connection refused`,
  ],
  [
    UNKNOWN,
    `${COPY}httpReadSeeker: failed open: unexpected status from GET request to http://reg.test/v2/app/blobs/sha256:3db0: 403 Forbidden\ndenied: unexpected status: 503 Service Unavailable`,
  ],
  // Nor do names.
  [
    NOT_FOUND,
    'failed to pull and unpack image "reg.test/dial-tcp/eof:EOF": failed to resolve reference "reg.test/dial-tcp/eof:EOF": reg.test/dial-tcp/eof:EOF: not found',
  ],
  // Trouble of the runtime itself.
  [
    UNKNOWN,
    'failed to pull and unpack image "reg.test/app:1": failed to extract layer sha256:1: write /var/lib/x: no space left on device: unknown',
  ],
  [
    UNKNOWN,
    'failed to pull and unpack image "reg.test/app:1": failed to prepare extraction snapshot: dial unix /run/snap.sock: connect: connection refused',
  ],
  [
    14,
    'No connection established. Last error: connect ECONNREFUSED /run/containerd/containerd.sock',
  ],
  [UNKNOWN, 'SignatureValidationFailed: EOF'],
];

describe('what kind of failure a pull is', () => {
  for (const text of UNREACHABLE)
    it(`unreachable: ${text.replace(/^.*?": /, '')}`, () => {
      assert.equal(
        pullFault(callError('PullImage', 'reg.test/app:1', UNKNOWN, text)),
        'unreachable',
      );
    });
  for (const [code, text] of REFUSED)
    it(`refused: ${text.replace(/^.*?": /, '')}`, () => {
      assert.equal(pullFault(callError('PullImage', 'reg.test/app:1', code, text)), 'refused');
    });
  it("an error that is not the runtime's", () => {
    assert.equal(pullFault(new Error('pull QPS exceeded')), 'refused');
  });
});
