/**
 * Owns: all credentials that a pod's pull of an image may use, in the order in which they are tried: its
 * pull secrets, the node's files, the plugins (spec: gc-logs-images.md §5).
 */
import type { ConfigObjects } from '../api/config-object.ts';
import type { EventRecorder } from '../api/event.ts';
import type { CredentialProvider } from '../config/model.ts';
import type { Registry } from '../metrics/registry.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import type { CredentialOrigin } from './access.ts';
import type { Login } from './keyring.ts';
import { NodeCredentials } from './node-credentials.ts';
import { pluginAsker } from './plugin-exec.ts';
import { PluginSource } from './plugin-source.ts';
import { PullSecrets } from './pull-secret.ts';
import type { Credential, CredentialAsker, CredentialSource } from './puller.ts';
import { fullImageName, repositoryOf } from './repository.ts';

export interface CredentialsDeps {
  readonly objects: ConfigObjects;
  readonly rootDir: string;
  readonly providers: readonly CredentialProvider[];
  readonly events: EventRecorder;
  readonly metrics: Registry;
  readonly clock: Clock;
  readonly logger: Logger;
}

const OF_THE_NODE: CredentialOrigin = { kind: 'node' };

export class Credentials implements CredentialSource {
  readonly #objects: ConfigObjects;
  readonly #secrets: PullSecrets;
  readonly #node: NodeCredentials;
  readonly #plugins: PluginSource;

  constructor(deps: CredentialsDeps) {
    const { logger } = deps;
    this.#objects = deps.objects;
    this.#secrets = new PullSecrets(deps);
    this.#node = new NodeCredentials({
      rootDir: deps.rootDir,
      cwd: process.cwd(),
      home: process.env['HOME'],
      logger,
    });
    this.#plugins = new PluginSource({ ...deps, ask: pluginAsker(deps.clock) });
  }

  announce(asker: CredentialAsker): void {
    if (asker.pullSecrets.length > 0) this.#secrets.announce(asker.target, asker.pullSecrets);
  }

  secretsOf({ target, pullSecrets }: CredentialAsker): readonly unknown[] {
    return pullSecrets.map((name) => this.#objects.secret(target.namespace, name));
  }

  async credentialsFor(
    image: string,
    asker: CredentialAsker,
    signal: AbortSignal,
  ): Promise<readonly Credential[]> {
    const repository = repositoryOf(image);
    const { namespace } = asker.target;
    const ofThePod = this.#secrets
      .keyring(namespace, asker.pullSecrets)
      .lookup(repository)
      .map(({ secret, ...login }) => credential(login, { kind: 'secret', secret }));
    const ofTheNode = [
      ...this.#node.lookup(repository),
      ...(await this.#plugins.lookup(fullImageName(image), signal)),
    ];
    return [...ofThePod, ...ofTheNode.map((login) => credential(login, OF_THE_NODE))];
  }
}

function credential({ username, password }: Login, origin: CredentialOrigin): Credential {
  return { auth: { username, password }, origin };
}
