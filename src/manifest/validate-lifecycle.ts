/**
 * Owns: validation of a container's lifecycle: hooks and stop signal.
 */
import type { Container, LifecycleHandler, PodSpec } from '../api/pod.ts';
import { validateHandlers } from './validate-probe.ts';
import type { Findings } from './validation.ts';

const WINDOWS_SIGNALS = ['SIGKILL', 'SIGTERM'];
const SIGNAL_NAMES =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX';

export function validateLifecycle(
  findings: Findings,
  container: string,
  { lifecycle }: Container,
  spec: PodSpec,
): void {
  if (!lifecycle) return;
  const path = `${container}.lifecycle`;
  const grace = spec.terminationGracePeriodSeconds;
  if (lifecycle.postStart) validateHook(findings, `${path}.postStart`, lifecycle.postStart, grace);
  if (lifecycle.preStop) validateHook(findings, `${path}.preStop`, lifecycle.preStop, grace);
  const { stopSignal } = lifecycle;
  if (stopSignal === undefined) return;
  const at = `${path}.stopSignal`;
  const os = spec.os?.name ?? '';
  if (os === '') {
    findings.forbidden(at, 'may not be set for containers with empty `spec.os.name`');
  } else if (os === 'windows') {
    findings.oneOf(at, stopSignal, WINDOWS_SIGNALS);
  } else if (os === 'linux') {
    findings.oneOf(at, stopSignal, linuxSignals());
  }
}

function validateHook(
  findings: Findings,
  path: string,
  { exec, httpGet, tcpSocket, sleep }: LifecycleHandler,
  grace: number,
): void {
  validateHandlers(findings, path, { exec, httpGet, tcpSocket, sleep });
  if (sleep && (sleep.seconds < 0 || sleep.seconds > grace)) {
    const detail = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
    findings.invalid(`${path}.sleep`, sleep.seconds, detail);
  }
}

function linuxSignals(): string[] {
  const realtime = Array.from({ length: 15 }, (_, index) => `RTMIN+${index + 1}`);
  const fromTop = Array.from({ length: 14 }, (_, index) => `RTMAX-${index + 1}`);
  return [...SIGNAL_NAMES.split(' '), ...realtime, ...fromTop].map((name) => `SIG${name}`).sort();
}
