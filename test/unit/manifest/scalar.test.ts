import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolvePlain } from '../../../src/manifest/scalar.ts';

test('unquoted scalars mean what they mean to a kubelet', () => {
  const cases: Record<string, string[]> = {
    'bool true': ['y', 'Y', 'yes', 'on', 'ON', 'True', 'TRUE'],
    'bool false': ['n', 'N', 'no', 'off', 'Off', 'False'],
    null: ['', '~', 'null', 'NULL'],
    'string yEs': ['yEs'],
    'string 12:30:45': ['12:30:45'],
    'string 2024-01-31': ['2024-01-31'],
    'string 1.2.3': ['1.2.3'],
    'string 0b2': ['0b2'],
    'string -': ['-'],
    'string _1': ['_1'],
    'string 1e3x': ['1e3x'],
    'number 420': ['0644', '0o644', '0x1A4', '0b110100100', '420', '+420', '4_2_0'],
    'number -8': ['-010', '-8', '-0b1000'],
    'number 8': ['08', '8.', '8.0', '0_10'],
    'number 888': ['0888'],
    'number 1000': ['1e3', '1_000', '1E+3'],
    'number 0.5': ['.5', '0.5', '5e-1'],
    'number 18446744073709551615': ['18446744073709551615'],
    'number 9007199254740993': ['9007199254740993'],
    'unsupported .inf': ['.inf'],
    'unsupported -.Inf': ['-.Inf'],
    'unsupported .NaN': ['.NaN'],
  };
  for (const [expected, sources] of Object.entries(cases)) {
    for (const source of sources) {
      const resolved = resolvePlain(source);
      const found = resolved.type === 'null' ? 'null' : `${resolved.type} ${resolved.text}`;
      assert.equal(found, expected, `the scalar ${source}`);
    }
  }
});
