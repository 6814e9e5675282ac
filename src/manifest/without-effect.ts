/**
 * Owns: fields of a container's lifecycle that the API accepts and that have no effect, or not the one they seem
 * to have: one warning each, so that nothing is silently ignored.
 */
import type { Container, Pod } from '../api/pod.ts';
import type { FeatureGates } from './model.ts';
import type { Unhonoured } from './unhonoured.ts';

const NO_TCP =
  'tcpSocket is no hook that can run: the container is stopped as soon as it has started';
const NO_TCP_STOP = 'tcpSocket is no hook that can run: the container is stopped without it';
const NO_SIGNAL =
  'has no effect, the signal of the image is used: the feature gate ContainerStopSignals is off';

export function lifecycleWarnings({ spec }: Pod, gates: FeatureGates): Unhonoured[] {
  const { initContainers = [], containers } = spec;
  return [
    ...initContainers.flatMap((c, i) => ofContainer(`spec.initContainers[${i}]`, c, gates)),
    ...containers.flatMap((c, i) => ofContainer(`spec.containers[${i}]`, c, gates)),
  ];
}

function ofContainer(path: string, { lifecycle }: Container, gates: FeatureGates): Unhonoured[] {
  if (!lifecycle) return [];
  const { postStart, preStop, stopSignal } = lifecycle;
  const found: Unhonoured[] = [];
  const warn = (field: string, message: string): void =>
    void found.push({ path: `${path}.lifecycle.${field}`, message });
  if (postStart?.tcpSocket) warn('postStart.tcpSocket', NO_TCP);
  if (preStop?.tcpSocket) warn('preStop.tcpSocket', NO_TCP_STOP);
  if (stopSignal !== undefined && gates['ContainerStopSignals'] !== true) {
    warn('stopSignal', NO_SIGNAL);
  }
  return found;
}
