import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { givenHost, headerLines, requestTarget } from '../../../src/runtime/http-get.ts';
import type { ProbeHeaders } from '../../../src/runtime/http-get.ts';

describe('the request target', () => {
  const rows: [string, string][] = [
    ['/healthz', '/healthz'],
    ['', '/'],
    ['healthz', '/healthz'],
    ['/a?b=c&d', '/a?b=c&d'],
    ['?b=c', '/?b=c'],
    ['/a#b', '/a'],
    ['/a b', '/a%20b'],
    ['/a%20b', '/a%20b'],
    ['/ä', '/%C3%A4'],
    ['/a/../b', '/a/../b'],
    ['/100%?x', '/100%25%3Fx'],
    ['/a\nb', '/a%0Ab'],
  ];
  for (const [path, target] of rows) {
    it(JSON.stringify(path), () => assert.equal(requestTarget(path), target));
  }

  it('is always one line without blanks', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (path) => {
        assert.match(requestTarget(path), /^\/[\x21-\x7e]*$/);
      }),
    );
  });
});

describe('the headers', () => {
  const lines = (given: ProbeHeaders): string[] =>
    headerLines(given, 'host:80', 'kube-probe/1.36').map(({ name, value }) => `${name}: ${value}`);

  it('are few without any in the manifest', () => {
    assert.deepEqual(lines(undefined), [
      'Host: host:80',
      'User-Agent: kube-probe/1.36',
      'Connection: close',
      'Accept: */*',
    ]);
  });

  it('of the manifest replace ours and may repeat', () => {
    const given = [
      { name: 'accept', value: 'text/plain' },
      { name: 'USER-AGENT', value: 'me' },
      { name: 'X-A', value: '1' },
      { name: 'X-A', value: '2' },
      { name: 'host', value: 'example.org' },
      { name: 'Content-Length', value: '5' },
    ];
    assert.deepEqual(lines(given), [
      'Host: host:80',
      'User-Agent: me',
      'Connection: close',
      'accept: text/plain',
      'X-A: 1',
      'X-A: 2',
    ]);
    assert.equal(givenHost(given), 'example.org');
  });

  it('that are empty leave Accept and User-Agent out', () => {
    const given = [
      { name: 'Accept', value: '' },
      { name: 'User-Agent', value: '' },
    ];
    assert.deepEqual(lines(given), ['Host: host:80', 'Connection: close']);
  });
});
