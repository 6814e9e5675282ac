/**
 * Owns: the logins in a pod's `imagePullSecrets`, and the events about secrets that give none.
 * Invariant: an event says which secret and what is wrong with its form, never what it holds.
 */
import type { ConfigObjects, Secret } from '../api/config-object.ts';
import type { EventRecorder, EventTarget } from '../api/event.ts';
import { EventReason } from '../api/reasons.ts';
import { messageOf } from '../util/errors.ts';
import { parseDockerConfig } from './docker-config.ts';
import type { DockerConfigForm, DockerEntry } from './docker-config.ts';
import { Keyring } from './keyring.ts';
import type { Login } from './keyring.ts';

export interface SecretLogin extends Login {
  /** `NAMESPACE/NAME`. */
  readonly secret: string;
}

export interface PullSecretsDeps {
  readonly objects: ConfigObjects;
  readonly events: EventRecorder;
}

const FORMS: ReadonlyMap<string, { key: string; form: DockerConfigForm }> = new Map([
  ['kubernetes.io/dockerconfigjson', { key: '.dockerconfigjson', form: 'config.json' }],
  ['kubernetes.io/dockercfg', { key: '.dockercfg', form: '.dockercfg' }],
]);

export class PullSecrets {
  readonly #deps: PullSecretsDeps;

  constructor(deps: PullSecretsDeps) {
    this.#deps = deps;
  }

  /** All logins of the pod's secrets as one set, as if they stood in one file. */
  keyring(namespace: string, names: readonly string[]): Keyring<SecretLogin> {
    const keyring = new Keyring<SecretLogin>();
    for (const name of names) {
      const read = this.#read(namespace, name);
      if (read.kind !== 'entries') continue;
      const secret = secretId(namespace, name);
      for (const { key, login } of read.entries) keyring.add(key, { ...login, secret });
    }
    return keyring;
  }

  /** Says which of the pod's secrets give no logins. */
  announce(target: EventTarget, names: readonly string[]): void {
    const { events } = this.#deps;
    // About the pod, whichever container it was that asked.
    const { kind, namespace, name: podName, uid } = target;
    const pod: EventTarget = { kind, namespace, name: podName, uid };
    const warn = (text: string): void =>
      events.event(pod, 'Warning', EventReason.FailedToRetrieveImagePullSecret, text);
    const missing: string[] = [];
    for (const name of names) {
      const read = this.#read(namespace, name);
      if (read.kind === 'missing') missing.push(name);
      else if (read.kind === 'broken')
        warn(`Image pull secret ${name} is not used: ${read.problem}`);
    }
    if (missing.length === 0) return;
    warn(
      `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`,
    );
  }

  #read(namespace: string, name: string): SecretContent {
    const secret = this.#deps.objects.secret(namespace, name);
    return secret ? contentOf(secret) : { kind: 'missing' };
  }
}

type SecretContent =
  | { readonly kind: 'entries'; readonly entries: readonly DockerEntry[] }
  | { readonly kind: 'missing' }
  | { readonly kind: 'broken'; readonly problem: string };

/** How secrets are told apart in records. */
export function secretId(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

function contentOf(secret: Secret): SecretContent {
  const expected = FORMS.get(secret.type);
  if (!expected) {
    const problem = `its type is ${secret.type}, expected ${[...FORMS.keys()].join(' or ')}`;
    return { kind: 'broken', problem };
  }
  const data = secret.data.get(expected.key);
  if (!data || data.length === 0) return { kind: 'broken', problem: `it has no ${expected.key}` };
  try {
    const entries = parseDockerConfig(new TextDecoder().decode(data), expected.form);
    return { kind: 'entries', entries };
  } catch (error) {
    return { kind: 'broken', problem: `${expected.key}: ${messageOf(error)}` };
  }
}
