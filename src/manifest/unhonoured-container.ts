/**
 * Owns: what containers ask for and a standalone node cannot give (see unhonoured.ts).
 */
import type { Container, PodSpec } from '../api/pod.ts';
import type { Say } from './unhonoured.ts';

export function unhonouredInContainers(spec: PodSpec, say: Say): void {
  for (const list of ['initContainers', 'containers'] as const) {
    for (const [index, container] of (spec[list] ?? []).entries()) {
      const path = `spec.${list}[${index}]`;
      resources(container, path, say);
      if (container.volumeDevices?.length) {
        say(
          `${path}.volumeDevices`,
          'there are no block volumes here: the container gets no device',
        );
      }
      if (container.securityContext?.windowsOptions) {
        say(`${path}.securityContext.windowsOptions`, 'for Windows only, it has no effect');
      }
    }
  }
}

function resources({ resources: wanted, resizePolicy }: Container, path: string, say: Say): void {
  const said = new Set<string>();
  for (const kind of ['limits', 'requests'] as const) {
    for (const name of Object.keys(wanted?.[kind] ?? {})) {
      if (!isExtended(name) || said.has(name)) continue;
      said.add(name);
      const message = `this node has no ${name}: the container starts without it`;
      say(`${path}.resources.${kind}[${name}]`, message);
    }
  }
  for (const [index, policy] of (resizePolicy ?? []).entries()) {
    if (policy.restartPolicy !== 'NotRequired') continue;
    const at = `${path}.resizePolicy[${index}]`;
    say(at, 'not possible here: a changed file is a new pod, whatever changed in it');
  }
}

/** Devices and the like, which only a plugin could provide. */
function isExtended(resource: string): boolean {
  const [domain = '', name] = resource.split('/');
  return name !== undefined && domain !== 'kubernetes.io' && !domain.endsWith('.kubernetes.io');
}
