/** What is written to a database of a file with Secrets, and what a broken one says. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { withholdSecrets } from '../../../src/manifest/secret-file.ts';
import { loadManifest } from '../../../src/manifest/load.ts';
import type { LoadedFile } from '../../../src/manifest/model.ts';
import { NODE, PATH, load } from './helper.ts';

const VALUE = 'hunter2';
const SECRET = `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  k: ${VALUE}\n`;
const POD = `apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: c\n    image: x\n    args:\n    - |+\n      # in the text\n      --- no marker\n\n# outside\n`;

const loadBytes = (content: Uint8Array): LoadedFile =>
  loadManifest(content, { path: PATH, nodeName: NODE });

function withheld(content: Uint8Array | string): string {
  const { documents, errors } = load(content.toString());
  assert.deepEqual(errors, []);
  return Buffer.from(withholdSecrets(Buffer.from(content), documents)).toString();
}

/** Everything but Secrets, with the lines. */
const others = (text: string): unknown =>
  load(text).documents.filter(({ kind }) => kind !== 'Secret');
const lineOfSecret = (text: string): number | undefined =>
  load(text).documents.find(({ kind }) => kind === 'Secret')?.line;

describe('withholdSecrets', () => {
  const rows: [string, string][] = [
    ['a Secret alone', SECRET],
    ['a Secret first', `${SECRET}---\n${POD}`],
    [
      'a Secret last, with comments around',
      `${POD}# ${VALUE}\n--- # ${VALUE}\n# ${VALUE}\n${SECRET}# ${VALUE}\n`,
    ],
    [
      'a Secret between',
      `# ${VALUE}\n---\n${POD}---\n${SECRET}...\n---\n${POD.replace('web', 'db')}`,
    ],
    [
      'a Secret on the line of its marker',
      `--- {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: ${VALUE}}}\n---\n${POD}`,
    ],
    [
      'directives',
      `%TAG !e! tag:yaml.org,2002:\n---\n${POD.replace('image: x', 'image: !e!str x')}...\n%YAML 1.1\n---\n${SECRET}`,
    ],
    [
      'flow style from the first byte',
      `{apiVersion: v1, kind: Secret, metadata: {name: s},\n stringData: {k: "${VALUE}"}}\n`.replace(
        '{a',
        ' # \n{a',
      ),
    ],
    [
      'JSON',
      JSON.stringify(
        { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { k: VALUE } },
        null,
        1,
      ),
    ],
    ['a block of text in it', SECRET.replace(VALUE, `|\n    ${VALUE}\n    ---\n    ${VALUE}`)],
  ];
  for (const [what, text] of rows) {
    it(what, () => {
      const copy = withheld(text);
      assert.ok(!copy.includes(VALUE), copy);
      assert.deepEqual(others(copy), others(text));
      assert.equal(lineOfSecret(copy), lineOfSecret(text));
      assert.equal(withheld(copy), copy);
    });
  }

  it('takes UTF-16 and a byte order mark', () => {
    for (const bytes of [
      Buffer.from(`\ufeff${SECRET}---\n${POD}`, 'utf16le'),
      Buffer.from(
        `\ufeff{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: ${VALUE}}}\n`,
      ),
    ]) {
      const { documents, errors } = loadBytes(bytes);
      assert.deepEqual(errors, []);
      const copy = withholdSecrets(bytes, documents);
      assert.ok(!Buffer.from(copy).includes(VALUE));
      assert.deepEqual(
        loadBytes(copy).documents.map(({ kind, line }) => [kind, line]),
        documents.map(({ kind, line }) => [kind, line]),
      );
    }
  });

  it('leaves a file without a Secret as it is, to the byte', () => {
    const content = Buffer.from(`# ${VALUE}\r\n${POD}`);
    assert.equal(withholdSecrets(content, load(content.toString()).documents), content);
  });

  it('keeps every other document whatever stands around it', () => {
    const noise = fc.constantFrom('', '\n', `# ${VALUE}\n`, '   \n', `  # ${VALUE}\n`);
    const marker = fc.constantFrom('---\n', '--- # c\n', '...\n---\n', '---\r\n');
    const kind = fc.constantFrom('pod', 'secret', 'map');
    const part = fc.tuple(noise, kind, noise, marker);
    fc.assert(
      fc.property(noise, fc.array(part, { minLength: 1, maxLength: 5 }), (first, parts) => {
        const text = parts.reduce<string>((all, [before, which, after, end], i) => {
          const body = {
            pod: POD.replace('web', `web${i}`),
            secret: SECRET.replace('name: s', `name: s${i}`),
            map: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m${i}}\n`,
          }[which];
          return `${all}${before}${body}${after}${i < parts.length - 1 ? end : ''}`;
        }, first);
        const copy = withheld(text);
        assert.ok(!parts.some(([, which]) => which === 'secret') || !/k: hunter2/.test(copy));
        assert.deepEqual(others(copy), others(text));
      }),
      { numRuns: 300 },
    );
  });
});

describe('a file that cannot be read and may hold a Secret', () => {
  const head = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n';
  const rows = [
    `${head}  k: *${VALUE}\n`,
    `${head}  k: !e!${VALUE} x\n`,
    `${head}  k: |${VALUE}\n`,
    `${head}  k: ">${VALUE}\\${VALUE}"\n`,
    `${head}  k: @${VALUE}\n`,
    `${head}  k: %${VALUE}\n`,
    `${head}  k: [${VALUE}\n`,
    `${head}  k: {a: ${VALUE}\n`,
    `${head}  k: "a" ${VALUE}\n`,
    `${head}  k: 'a' ${VALUE}\n`,
    `${head}  k: a: ${VALUE}\n`,
    `${head}  k: &a *${VALUE}\n`,
    `${head}  ${VALUE}\n`,
    `${head}  - ${VALUE}\n`,
    `${head}\t${VALUE}: 1\n`,
    `${head}  k: ${VALUE}\n ${VALUE}\n${VALUE}\n`,
    `${head}  ? [${VALUE}]\n  : 1\n`,
    `${head}  k: !!int ${VALUE}\n`,
    `${head}  k: !!binary ${VALUE}!\n`,
    `${head.replace('stringData', 'data')}  k: ${VALUE}\n`,
    `${head.replace('stringData', 'data')}  k: [${VALUE}]\n`,
    `${head.replace('stringData:', 'stringData: ')}${VALUE}\n`,
    `${head}  k: ok\n%${VALUE}\n---\n`,
    `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"k":"${VALUE}}}`,
    `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"k":${VALUE}}}`,
    `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"k":"x"}} ${VALUE}`,
  ];
  for (const text of rows) {
    it(`does not tell a word of it: ${JSON.stringify(text.slice(-30))}`, () => {
      const { errors, warnings } = load(text);
      assert.ok(errors.length > 0);
      const said = [...errors, ...warnings].map(({ message, path }) => `${path} ${message}`);
      assert.doesNotMatch(said.join('\n'), /hunter2/);
    });
  }

  it('says more where there is none', () => {
    assert.match(load('a: *nobody\n').errors[0]?.message ?? '', /nobody/);
  });
});
