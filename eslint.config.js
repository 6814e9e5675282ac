import tseslint from 'typescript-eslint';

const waits =
  'Everything that waits takes an AbortSignal and a Clock (src/util/clock.ts), so that tests own the time.';

export default tseslint.config(
  { ignores: ['build/', 'build-*/', 'node_modules/', 'src/cri/gen/', 'assembly/'] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['eslint.config.js'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/no-import-type-side-effects': 'error',
      'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/util/clock.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['setTimeout', 'setInterval', 'setImmediate'].map((name) => ({ name, message: waits })),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: waits },
        { object: 'performance', property: 'now', message: waits },
        { object: 'process', property: 'hrtime', message: waits },
        { object: 'Math', property: 'random', message: 'Take a Random from the deps object.' },
      ],
      'no-restricted-imports': [
        'error',
        {
          paths: [
            { name: 'node:timers/promises', message: waits },
            { name: 'node:timers', message: waits },
          ],
        },
      ],
    },
  },
  { files: ['eslint.config.js'], extends: [tseslint.configs.disableTypeChecked] },
  {
    files: ['test/**/*.ts'],
    rules: { '@typescript-eslint/no-floating-promises': 'off' },
  },
);
